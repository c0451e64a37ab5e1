import torch


def grid(height, width):
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([rows, columns], dim=-1).float().flatten(0, 1)


def peak(heat):
    """Row and column of the maximum of each map."""
    places = grid(*heat.shape[1:])
    return heat.flatten(1).softmax(1) @ places


def brightness(heat):
    return heat.flatten(1).logsumexp(1)
