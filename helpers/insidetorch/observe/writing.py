"""Who sees a write in place, and whose version counter moves?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy
import torch

from ..records import Reader, Value, Write
from . import private
from .layout import layout_of

# Every way to reach the values of `a` that people mistake for another.
WAYS: dict[str, Callable[[torch.Tensor], object]] = {
    "a": lambda a: a,
    "a[1]": lambda a: a[1],
    "a.t()": lambda a: a.t(),
    "a[:, ::2]": lambda a: a[:, ::2],
    "a.reshape(-1)": lambda a: a.reshape(-1),
    "a.t().reshape(-1)": lambda a: a.t().reshape(-1),
    "a[:1].expand(2, 4)": lambda a: a[:1].expand(2, 4),
    "a[[1]]": lambda a: a[[1]],
    "a.detach()": lambda a: a.detach(),
    "a.data": lambda a: a.data,
    "a.numpy()": lambda a: a.numpy(),
    "a.clone()": lambda a: a.clone(),
}

WRITTEN = 100


def write_through(way: str, index: int | None) -> Write:
    """Write in place through one way of reaching a 3 × 4 tensor, and look through all of them.

    Args: `way`, a name in WAYS; `index`, the place of the one value that is set to 100 in
    row-major order, or None to add 100 to every value.
    Returns a `Write`. The tensors are made for it, outside every mode of the user's.
    Raises IndexError if there is no such place.

    >>> [r.name for r in write_through("a.data", 0).readers if r.version_after]
    ['a.data']
    """
    with private.unseen(), torch.inference_mode(False), torch.no_grad():
        a = torch.arange(12, dtype=torch.float32, device="cpu").view(3, 4).clone()
        made = {name: make(a) for name, make in WAYS.items()}
        before = {name: _look(x) for name, x in made.items()}
        target = made[way]
        places = list(product(*map(range, target.shape)))
        if index is not None and not 0 <= index < len(places):
            raise IndexError(
                f"Place {index} of {way} was asked to be written. It has {len(places)} values. "
                f"Give a place from 0 to {len(places) - 1}."
            )
        refusal = ""
        try:
            if index is None:
                target += WRITTEN
            else:
                target[places[index]] = WRITTEN
        except RuntimeError as error:
            refusal = str(error).partition("\n")[0]
        readers = tuple(
            _reader(name, x, a, values, version)
            for (name, x), (values, version) in zip(made.items(), before.values(), strict=True)
        )
    return Write(_statement(way, None if index is None else places[index]), way, readers, refusal)


def _statement(way: str, place: tuple[int, ...] | None) -> str:
    if place is None:
        return f"{way} += {WRITTEN}"
    return f"{way}[{', '.join(map(str, place))}] = {WRITTEN}"


def _look(x: object) -> tuple[tuple[Value, ...], int | None]:
    if isinstance(x, numpy.ndarray):
        return tuple(x.flatten().tolist()), None
    return tuple(x.flatten().tolist()), private.version(x)


def _reader(name: str, x: object, a: torch.Tensor, before: tuple, version: int | None) -> Reader:
    after, version_after = _look(x)
    layout = layout_of(torch.from_numpy(x) if isinstance(x, numpy.ndarray) else x)
    shared = layout.storage_bytes and _address(x) == private.address(a)
    places = product(*map(range, layout.sizes))
    reads = tuple(layout.byte(index) if shared else -1 for index in places)
    return Reader(name, layout.sizes, before, after, reads, version, version_after)


def _address(x: object) -> int:
    return x.ctypes.data if isinstance(x, numpy.ndarray) else private.address(x)
