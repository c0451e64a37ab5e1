"""What do two tensors have in common, and where do they differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import torch

from ..records import Comparison, Index, Layout, Relation, Values
from . import private
from .aliases import families, relation
from .arrays import array_layout, first_sentence, is_array, tensor_over
from .layout import NoStorageError, layout_of

# More values than this are not read.
MOST_VALUES = 1_000_000
_MOST_DIMS = 5


def comparison_of(
    a: object, b: object, *, names: tuple[str, str] = ("first", "second")
) -> Comparison:
    """Compare two tensors, or NumPy arrays: memory, sizes, values.

    Returns a `Comparison`. What has no addresses is described by a sentence, and values are
    compared up to a million of them; nothing of either changes.
    Raises TypeError if one of them is neither a tensor nor an array.

    >>> x = torch.arange(6).reshape(2, 3)
    >>> comparison_of(x, x.t().reshape(2, 3)).values.order
    'permuted'
    """
    first, a_said = _described(a)
    second, b_said = _described(b)
    both = isinstance(a_said, Layout) and isinstance(b_said, Layout)
    with private.unseen(), torch.no_grad():
        return Comparison(
            names=names,
            a=a_said,
            b=b_said,
            relation=_relation(first, second, (a_said, b_said)) if both else None,
            broadcast=_broadcast(a_said.sizes, b_said.sizes) if both else None,
            values=_values(first, second) if both else None,
            families=families(dict(zip(names, (first, second), strict=True)), alone=True)
            if both
            else (),
        )


def _described(x: object) -> tuple[torch.Tensor | None, Layout | str]:
    """A tensor over the memory of `x` and its layout, or None and why there is none."""
    if not is_array(x) and not issubclass(type(x), torch.Tensor):
        raise TypeError(
            f"A {type(x).__name__} was asked to be compared. Only tensors and NumPy arrays have "
            "memory that can be compared. Give two of these."
        )
    try:
        if is_array(x):
            over = tensor_over(x)
            return over, array_layout(x, layout_of(over))
        return x, layout_of(x)
    except NoStorageError as error:
        return None, str(error)


def _relation(a: torch.Tensor, b: torch.Tensor, layouts: tuple[Layout, Layout]) -> Relation:
    """What they share; the tensor over an array has a version counter, the array has none."""
    shared = relation(a, b)
    if any(layout.version is None for layout in layouts):
        return replace(shared, one_counter=None)
    return shared


def _broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    try:
        return tuple(torch.broadcast_shapes(a, b))
    except RuntimeError:
        return None


def _values(a: torch.Tensor, b: torch.Tensor) -> Values:
    if max(a.numel(), b.numel()) > MOST_VALUES:
        return Values("unknown", why=f"there are more than {MOST_VALUES:,} of them")
    try:
        first, second = _readable(a), _readable(b)
        if first.shape == second.shape:
            return _same_sizes(first, second)
        if first.numel() != second.numel():
            return Values("different")
        return _other_sizes(first, second)
    except Exception as error:  # a dtype without comparison, a storage that is gone
        return Values("unknown", why=first_sentence(error))


def _readable(t: torch.Tensor) -> torch.Tensor:
    """The values on the CPU, in a tensor of their own."""
    layout = layout_of(t)
    if not layout.fits:
        raise RuntimeError("the storage is too small for the sizes.")
    t = t.as_subclass(torch.Tensor).detach().cpu()
    return (t.dequantize() if t.is_quantized else t).resolve_conj().resolve_neg()


def _same_sizes(a: torch.Tensor, b: torch.Tensor) -> Values:
    unequal = _unequal(a, b)
    if not unequal.any():
        return Values("equal")
    at = tuple(unequal.nonzero()[0].tolist())
    facts = {
        "unequal": int(unequal.sum()),
        "at": at,
        "found": (a[at].item(), b[at].item()),
        "origin": _origin(a, b[at]),
    }
    if not _same_values(a, b):
        return Values("different", **{**facts, "origin": None})
    dims = _permutation(a, b)
    return Values("permuted", **facts, dims=dims) if dims else Values("moved", **facts)


def _other_sizes(a: torch.Tensor, b: torch.Tensor) -> Values:
    if not _unequal(a.reshape(-1), b.reshape(-1)).any():
        return Values("recut", repeated=_repeats(a))
    if not _same_values(a, b):
        return Values("different")
    at = tuple(_unequal(a.reshape(-1), b.reshape(-1)).view(b.shape).nonzero()[0].tolist())
    dims = _permutation(a, b)
    return Values("permuted" if dims else "moved", at=at, origin=_origin(a, b[at]), dims=dims)


def _permutation(a: torch.Tensor, b: torch.Tensor) -> Index:
    """The order of a's dimensions in which its values, row by row, are b's; () if there is none."""
    if a.dim() <= _MOST_DIMS:
        flat = b.reshape(-1)
        for dims in permutations(range(a.dim())):
            if not _unequal(a.permute(dims).reshape(-1), flat).any():
                return dims
    return ()


def _repeats(t: torch.Tensor) -> bool:
    """Does a value occur more than once?"""
    return len(set(t.reshape(-1).tolist())) < t.numel()


def _origin(a: torch.Tensor, value: torch.Tensor) -> Index | None:
    """Where in `a` a value stands, if it stands there once."""
    places = (a == value).nonzero().tolist()
    return tuple(places[0]) if len(places) == 1 else None


def _same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.is_complex() or b.is_complex():
        first, second = (sorted(t.reshape(-1).tolist(), key=_key) for t in (a, b))
        return first == second
    return not _unequal(a.reshape(-1).sort().values, b.reshape(-1).sort().values).any()


def _key(value: complex) -> tuple[float, float]:
    return complex(value).real, complex(value).imag


def _unequal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where values differ; two NaN are the same."""
    return (a != b) & ~((a != a) & (b != b))
