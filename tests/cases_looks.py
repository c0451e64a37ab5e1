"""A look at a case: one call of the package, made where a learner would make it."""

from __future__ import annotations

from dataclasses import dataclass

from cases_runner import CASES, Run, running

import insidetorch


@dataclass(frozen=True)
class Look:
    """A call, and the words that it must say, once on the script and once on its healthy twin.

    `inside` names the function in which the call is made; where it is "", that is the end of the
    script. `twin_call` is the call on the twin where the repair changes what there is to look at.
    """

    case: str
    call: str
    says: tuple[str, ...]
    twin_says: tuple[str, ...] = ()
    inside: str = ""
    twin_call: str = ""


def name_of(look: Look) -> str:
    return f"{look.case} {look.call}"


def said(look: Look) -> str:
    """What the call says on the script."""
    with running(CASES / look.case, watch=look.inside) as run:
        return _value(run, look.call)


def said_on_twin(look: Look) -> str:
    """What the call says on the healthy twin."""
    with running(CASES / look.case / "fixed", watch=look.inside) as run:
        return _value(run, look.twin_call or look.call)


def _value(run: Run, call: str) -> str:
    """With the public names of the package at hand, and all names of the script as `names`."""
    package = {name: getattr(insidetorch, name) for name in insidetorch.__all__}
    return str(run.value(call, names=run.names, **package))
