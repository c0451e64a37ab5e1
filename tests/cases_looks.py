"""A look at a case: one call of the package, made where a learner would make it."""

from __future__ import annotations

from collections.abc import Sequence
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


def check(look: Look) -> None:
    """The call says on the script what it must."""
    text = said(look)
    assert [words for words in look.says if words not in text] == []


def check_twin(look: Look, alarms: Sequence[str] = ()) -> None:
    """The call says nothing of that on the healthy twin, but what it must there; and no alarm."""
    text = said_on_twin(look)
    assert [words for words in look.says if words in text] == []
    assert [words for words in look.twin_says if words not in text] == []
    assert [alarm for alarm in alarms if alarm in text] == []


def check_control(look: Look, alarms: Sequence[str]) -> None:
    """The call raises no alarm on a script that is healthy."""
    text = said(look)
    assert [alarm for alarm in alarms if alarm in text] == []


def _value(run: Run, call: str) -> str:
    """With the public names of the package at hand, and all names of the script as `names`."""
    package = {name: getattr(insidetorch, name) for name in insidetorch.__all__}
    return str(run.value(call, names=run.names, **package))
