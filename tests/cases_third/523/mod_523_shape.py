import torch


def box_cox(flow, power):
    """(flow**power - 1) / power, which is log(flow) where the power is 0."""
    small = power.abs() < 1e-3
    log = flow.log()
    near = log + 0.5 * power * log**2
    far = (flow.pow(power) - 1) / power
    return torch.where(small, near, far)
