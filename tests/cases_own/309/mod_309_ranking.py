"""Rank statistics of one-dimensional scores."""

from torch import Tensor


def ranks(values: Tensor) -> Tensor:
    return values.argsort().argsort().to(values.dtype)


def centred(values: Tensor) -> Tensor:
    return values - values.mean()


def spearman(prediction: Tensor, target: Tensor) -> Tensor:
    a, b = centred(ranks(prediction)), centred(ranks(target))
    return (a * b).sum() / (a.norm() * b.norm() + 1e-8)
