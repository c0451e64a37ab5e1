"""What do these two tensors have in common, and where do they differ?"""

from __future__ import annotations

from ..observe.compare import comparison_of
from .show import Picture, show


def compare(first: object, second: object) -> Picture:
    """What do two tensors share, how do their sizes fit, and where do their values differ?

    Args: two tensors, or NumPy arrays. What has no addresses is answered by a sentence.
    Returns a `Picture`: a map of the memory that both read, and a text that also says whether one
    is recorded as a view of the other, who notices a write, and whether values are equal, merely
    cut to other sizes, or stand elsewhere.
    Raises TypeError if one of them is neither a tensor nor an array.

    >>> import torch
    >>> x = torch.arange(6).reshape(2, 3)
    >>> print(compare(x, x.t()).text.splitlines()[2])
    memory: reading the same 48 bytes; both are views of one tensor; one version counter, so \
autograd notices a write through either
    """
    return show(comparison_of(first, second))
