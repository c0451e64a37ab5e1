import torch


def pinball(guess, wanted, *, share):
    """The loss whose best answer is the quantile: too little costs more than too much."""
    error = wanted - guess
    return torch.maximum(share * error, (share - 1) * error).mean()
