import torch


def mixed(images, labels, size):
    """Pairs of samples blended, with the share of the first one."""
    for at in range(0, len(images), size):
        with torch.no_grad():
            x, y = images[at : at + size], labels[at : at + size]
            other = torch.randperm(len(x))
            share = torch.rand(()) * 0.3 + 0.7
            blended = share * x + (1 - share) * x[other]
        yield blended, y, y[other], share.item()
