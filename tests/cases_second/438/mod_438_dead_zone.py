import torch


class DeadZone(torch.autograd.Function):
    """Squared error beyond a tolerance, with a steeper slope below."""

    @staticmethod
    def forward(ctx, error, tolerance, steep):
        outside = torch.where(error > 0, error - tolerance, error + tolerance)
        outside = torch.where(error.abs() > tolerance, outside, torch.zeros_like(error))
        factor = torch.where(error < 0, steep, 1.0)
        ctx.save_for_backward(outside, factor)
        return factor * outside.pow(2)

    @staticmethod
    def backward(ctx, grad):
        outside, factor = ctx.saved_tensors
        return grad * 2 * factor * outside, None, None


def dead_zone(error, tolerance=0.05, steep=3.0):
    return DeadZone.apply(error, tolerance, steep)
