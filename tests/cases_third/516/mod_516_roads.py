import torch


def close_roads(shares, closed):
    """Shares of the open roads, which add up to one."""
    shares[closed] = 0.0
    return shares / shares.sum(dim=1, keepdim=True)


def counts(roads, closed):
    """Shares that were counted on a day when the first feature was what mattered."""
    cost = roads[:, :, 0].masked_fill(closed, float("inf"))
    return torch.softmax(-cost, dim=1)
