import torch


def box_cox(flow, power):
    """(flow**power - 1) / power, which is log(flow) where the power is 0."""
    small = power.abs() < 1e-3
    log = flow.log()
    near = log + 0.5 * power * log**2
    safe = torch.where(small, torch.ones_like(power), power)
    far = (flow.pow(safe) - 1) / safe
    return torch.where(small, near, far)
