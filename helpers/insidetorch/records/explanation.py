"""A run of some code as its operators tell it, and the operator that ended it."""

from __future__ import annotations

from dataclasses import dataclass

from .dispatch import DispatchPath
from .layout import Sizes
from .steps import Place
from .trace import Trace


@dataclass(frozen=True)
class Argument:
    """A tensor that an operator was given; one in a list has its place there in its name."""

    name: str
    dtype: str
    sizes: Sizes | None
    device: str = "cpu"
    layout: str = "strided"

    def __str__(self) -> str:
        text = f"{self.name} {self.dtype}" + ("" if self.sizes is None else f" {self.sizes}")
        text += "" if self.layout == "strided" else f", {self.layout}"
        return text if self.device == "cpu" else f"{text}, on {self.device}"


@dataclass(frozen=True)
class Change:
    """One change of some arguments, all at once: with what the operator ran, and with what not.

    `kind` says what was changed: "dtype", "device" or "conversion" (another layout, or out of the
    quantised form).
    """

    kind: str
    names: tuple[str, ...]
    runs: tuple[str, ...]
    fails: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """What a run raised, and the operator that raised it, "" if none was running.

    `node` is the node of the graph that ran it in a backward pass, "" in a forward pass.
    `is_outer` says that the code has raised an error of its own from that of the operator.
    `path` is the way of the call that was made of it below autograd. `key` is the one that has
    no kernel, "" if the dispatcher found one; `inner` the operator that lacks it, where the
    kernel of this one calls that; `brought` names the arguments with that key, `backends` the
    keys of this machine that have a kernel. `changes` were tried, on `stand_ins` of a few
    elements where the arguments are large. `convert` are the methods that leave the layout or
    the device, tried or not; `namesake` is an operator of the same name for quantised tensors.
    `without_fake` is a custom operator that cannot tell its result's sizes without values.

    `backward_of` is a custom operator whose backward failed, `called` its line; its formula
    returned `returned` gradients for `needed` arguments, or is missing where these are 0.
    """

    error: str
    place: Place | None = None
    operator: str = ""
    arguments: tuple[Argument, ...] = ()
    node: str = ""
    is_outer: bool = False
    path: DispatchPath | None = None
    key: str = ""
    inner: str = ""
    brought: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    convert: tuple[str, ...] = ()
    namesake: str = ""
    without_fake: str = ""
    changes: tuple[Change, ...] = ()
    stand_ins: bool = False
    backward_of: str = ""
    called: Place | None = None
    needed: int = 0
    returned: int = 0


@dataclass(frozen=True)
class Explanation:
    """The operators that a run has run, and its failure if it ended in one."""

    trace: Trace
    failure: Failure | None = None
