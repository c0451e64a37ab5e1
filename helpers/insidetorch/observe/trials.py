"""Which change of its arguments makes an operator run that has failed?"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch
from torch.overrides import TorchFunctionMode

from ..records import Change
from . import private, private_dispatch
from .dispatch import operands
from .private_dispatch import Overload
from .stand_ins import Given, converted, is_large, mapped, mapped_all, stand_ins, tensors, way_out

_DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    *(torch.complex64, torch.complex128),
)


class Trials:
    """Runs an operator again, on tensors like its arguments, on smaller ones where they are large.

    Args: the operator, its arguments by name, and what it raised. Only torch's own operators
    are run again, none that could reach a kernel of the user's, and only where these tensors,
    with no integer but 0, fail in the same way: `usable` says so. The arguments, the generators
    and the modes of the user's stay as they are.
    """

    def __init__(self, overload: Overload, given: Given, error: Exception) -> None:
        self.overload = overload
        self.given, self.usable, self.stand_ins, self.devices_used = None, False, False, []
        if not private_dispatch.is_torchs(overload):
            return
        if private_dispatch.calls_others(overload) and private_dispatch.is_replaced():
            return
        with self._aside(), private.unseen(), suppress(Exception):  # as of a device without copies
            self.given = stand_ins(given)
        if self.given is None:
            return
        self.stand_ins = is_large(given)
        self.names = tuple(name for name, value in given.items() if list(operands(value)))
        self.devices_used = list(dict.fromkeys(t.device for t in tensors(given)))
        with self._aside():
            again = self._raised(self._changed((), torch.Tensor.clone))
        self.usable = again is not None and _first_line(again) == _first_line(error)

    def dtypes(self) -> list[Change]:
        """Which dtypes of one argument make it run; of several together where one is not enough."""
        if not self.usable:
            return []
        singles = [(name,) for name in self.names]
        dtypes = {name: {t.dtype for t in operands(self.given[name])} for name in self.names}
        alike = [tuple(name for name in self.names if dtypes[name] == {dtype}) for dtype in _DTYPES]
        several = [names for names in (*alike, self.names) if len(names) > 1]
        for groups in (singles, list(dict.fromkeys(several))):
            found = [self._change("dtype", names, _DTYPES) for names in groups]
            if found := [change for change in found if change.runs]:
                return found
        return []

    def devices(self) -> list[Change]:
        """On which of their devices, all brought to one, it runs."""
        if not self.usable:
            return []
        change = self._change("device", self.names, tuple(self.devices_used))
        return [change] if change.runs else []

    def conversion(self) -> list[Change]:
        """Does it run with plain tensors on the CPU in place of all others?"""
        if not self.usable:
            return []
        names = tuple(n for n in self.names if any(map(way_out, operands(self.given[n]))))
        with self._aside():
            error = self._raised(self._changed(names, converted))
        return [] if error else [Change("conversion", names, ("converted",))]

    def _change(self, kind: str, names: tuple[str, ...], targets: tuple) -> Change:
        told: dict[bool, list[str]] = {True: [], False: []}
        with self._aside():
            for target in targets:
                if kind == "dtype" and all(
                    t.dtype == target for name in names for t in operands(self.given[name])
                ):
                    continue  # as it was
                error = self._raised(self._changed(names, lambda t, to=target: _brought(t, to)))
                told[error is None].append(str(target).removeprefix("torch."))
        return Change(kind, names, tuple(told[True]), tuple(told[False]))

    def _changed(self, names: tuple[str, ...], way: Callable) -> Given:
        with private.unseen():
            fresh = mapped_all(self.given, torch.Tensor.clone)
            try:
                return fresh | {name: mapped(fresh[name], way) for name in names}
            except Exception:
                return {}  # no such conversion: with no arguments the call fails

    def _raised(self, given: Given) -> Exception | None:
        try:
            with _Call(lambda: self.overload(**given)):
                torch.empty(0)
        except Exception as error:
            return error
        return None

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Without a graph, warnings, or a random number that is missed later."""
        cuda = [device for device in self.devices_used if device.type == "cuda"]
        with torch.no_grad(), torch.random.fork_rng(cuda), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


class _Call(TorchFunctionMode):
    """Makes a call in place of a function of torch's: inside of that a warning is Python's.

    Elsewhere it would be printed, whatever the filters are. No mode of the user's sees the call.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self.call = call

    def __torch_function__(self, function, types, args=(), kwargs=None):
        with private.unseen():
            return self.call()


def _brought(t: torch.Tensor, target: torch.dtype | torch.device) -> torch.Tensor:
    """A meta tensor has no values to bring along."""
    if isinstance(target, torch.device) and t.is_meta:
        return torch.zeros(t.shape, dtype=t.dtype, device=target)
    return t.to(target)


def _first_line(error: Exception) -> tuple[type, str]:
    """What kind of error it is, whatever the sizes."""
    return type(error), re.sub(r"\d+", "", str(error).partition("\n")[0])
