import torch


@torch.no_grad()
def follow(slow, fast, *, share):
    """Move the slow network a little towards the fast one."""
    for own, other in zip(slow.parameters(), fast.parameters(), strict=True):
        own.lerp_(other, share)
