import torch


def augmented(scans, labels, size):
    """Shuffled batches, a little noisy and normalised."""
    with torch.no_grad():
        order = torch.randperm(len(scans))
        for at in range(0, len(scans), size):
            chosen = order[at : at + size]
            x = scans[chosen]
            x = x + 0.05 * torch.randn_like(x)
            x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True)
            yield x, labels[chosen]
