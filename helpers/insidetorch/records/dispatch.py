"""The dispatch keys that are tried for one call of an operator, and what stands at each of them."""

from __future__ import annotations

from dataclasses import dataclass

KERNEL = "kernel"
AUTOGRAD = "autograd kernel"
COMPOSITE = "composite kernel"
DEFAULT = "default backend kernel"
FALLBACK = "backend fallback"
FALLTHROUGH = "fallthrough"
MISSING = "missing"


@dataclass(frozen=True, repr=False)
class KeyStep:
    """One dispatch key that is tried.

    `holds` is what the operator's table has at the key, one of the names above. `ends` says that
    the call is over here: it has computed, has called other operators, or has failed. `layer` names
    the transform of torch.func that the call is inside of, "" for none.
    """

    key: str
    holds: str
    says: str
    ends: bool = False
    layer: str = ""

    @property
    def runs(self) -> bool:
        return self.holds not in (FALLTHROUGH, MISSING)

    @property
    def may_keep(self) -> bool:
        """Does the operator's own code for autograd run here, which need not pass the call on?"""
        return self.holds == KERNEL and self.key.startswith("Autograd")

    def __str__(self) -> str:
        return f"{self.key}: {self.holds}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class DispatchPath:
    """The way of one call through the dispatcher.

    `argument_keys` are those of all arguments together, `included` those that the thread adds, and
    `excluded` those of both that the thread leaves out, each in the order in which they would be
    tried. `remark` says what happens before the dispatcher, "" if nothing does; `refusal` why the
    call fails, "" if some kernel takes it.
    """

    operator: str
    argument_keys: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    steps: tuple[KeyStep, ...] = ()
    remark: str = ""
    refusal: str = ""

    @property
    def ran(self) -> tuple[str, ...]:
        """The keys at which something runs."""
        return tuple(step.key for step in self.steps if step.runs)

    def __getitem__(self, key: str) -> KeyStep:
        """The first step at a key; raises KeyError if the key is not tried."""
        for step in self.steps:
            if step.key == key:
                return step
        raise KeyError(key)

    def __str__(self) -> str:
        ran = " → ".join(map(str, (step for step in self.steps if step.runs)))
        text = f"{self.operator}: {ran or 'nothing runs'}"
        return f"{text}. {self.refusal}" if self.refusal else text

    __repr__ = __str__
