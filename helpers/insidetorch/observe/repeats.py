"""Does an operator that writes through indices name a place more than once?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy
import torch

from . import private
from .private_dispatch import Overload, schema_arguments

_MOST = 100_000
# The operators that write through indices, and what adds up in their place.
_ADDING = {
    ("aten.index_put", "aten.index_put_"): (
        "index_add_, or index_put_ with accumulate=True, adds them up; torch.bincount counts"
    ),
    ("aten.scatter", "aten.scatter_"): "scatter_add_ adds them up",
    ("aten.index_copy", "aten.index_copy_"): "index_add_ adds them up",
}

Given = Mapping[str, object]


def repeats_remark(name: str, op: Overload, args: Sequence[object], kwargs: Given) -> str:
    """How many indices name how many places, where a place is written by more than one of them.

    Args: `name`, the operator `op` without its overload, and what it is called with. "" where each
    place is written once, where the values are added up or are all one, and where the indices
    cannot be read or are more than 100,000.

    >>> indices, values = [torch.tensor([0, 2, 2])], torch.ones(3)
    >>> put = torch.ops.aten.index_put_.default
    >>> repeats_remark("aten.index_put_", put, (torch.zeros(4), indices, values), {})[:29]
    '3 indices name 2 places: wher'
    """
    adding = next((way for names, way in _ADDING.items() if name in names), "")
    if not adding:
        return ""
    given = dict(zip((one[0] for one in schema_arguments(op)), args, strict=False)) | dict(kwargs)
    try:
        with private.unseen():
            found = _repeats(given)
    except Exception:  # fake tensors, tensors without values: looking must not end the user's run
        return ""
    if found is None:
        return ""
    n, distinct = found
    places = "place" if distinct == 1 else "places"
    return (
        f"{n:,} indices name {distinct:,} {places}: where one is named more than once, one value "
        f"stays and the others are overwritten. {adding}."
    )


def _repeats(given: Given) -> tuple[int, int] | None:
    if given.get("accumulate") or "reduce" in given:
        return None
    if "indices" in given:
        return _counted(given["values"], _places(given["self"], given["indices"]))
    source = given.get("src", given.get("source"))
    return _counted(source, _along(given["self"], given["dim"], given["index"]))


def _counted(values: object, places: numpy.ndarray | None) -> tuple[int, int] | None:
    if not isinstance(values, torch.Tensor) or values.numel() < 2 or places is None:
        return None
    distinct = len(numpy.unique(places))
    return (places.size, distinct) if distinct < places.size else None


def _places(written: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> numpy.ndarray | None:
    """The number of each place that the indices of an assignment name together."""
    used = [(k, index) for k, index in enumerate(indices) if index is not None]
    # A mask names no place twice; beside other indices it stands for as many as its dimensions.
    if any(index.dtype in (torch.bool, torch.uint8) for _, index in used):
        return None
    sizes = [written.shape[k] for k, _ in used]
    if math.prod(torch.broadcast_shapes(*(index.shape for _, index in used))) > _MOST:
        return None
    arrays = numpy.broadcast_arrays(*(_array(index) for _, index in used))
    places = numpy.zeros(arrays[0].shape, dtype=numpy.int64)
    for array, size in zip(arrays, sizes, strict=True):
        places = places * size + array % size  # a negative index counts from the end
    return places


def _along(written: torch.Tensor, dim: int, index: torch.Tensor) -> numpy.ndarray | None:
    """The number of each place that a scatter writes, or each row that an index_copy writes."""
    if index.numel() > _MOST:
        return None
    array = _array(index)
    if array.ndim < 2:
        return array
    grid = numpy.indices(array.shape)
    grid[dim] = array
    return numpy.ravel_multi_index(tuple(grid), tuple(written.shape))


def _array(index: torch.Tensor) -> numpy.ndarray:
    return index.detach().cpu().numpy().astype(numpy.int64)
