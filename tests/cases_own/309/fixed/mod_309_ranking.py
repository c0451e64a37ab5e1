"""Rank statistics of one-dimensional scores."""

import torch
from torch import Tensor


def ranks(values: Tensor) -> Tensor:
    return torch.sigmoid((values[:, None] - values[None, :]) / 0.1).sum(dim=1)


def centred(values: Tensor) -> Tensor:
    return values - values.mean()


def spearman(prediction: Tensor, target: Tensor) -> Tensor:
    a, b = centred(ranks(prediction)), centred(ranks(target))
    return (a * b).sum() / (a.norm() * b.norm() + 1e-8)
