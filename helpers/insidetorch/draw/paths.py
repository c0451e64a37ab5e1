"""The way of a call through the dispatcher: a row for each key, those let through dotted."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import DispatchPath, KeyStep
from ..records.dispatch import FALLTHROUGH, MISSING
from .svg import Canvas
from .text import wrapped
from .theme import CELL_HEIGHT, CHAR_WIDTH, MARGIN, PAGE_WIDTH, SMALL_CHAR_WIDTH

_GAP = 12
_KINDS = {FALLTHROUGH: "free", MISSING: "bad"}
_INDENT = 22
_LINE = 15


def path_sentence(path: DispatchPath) -> str:
    """Where something runs, and why the call fails if it does."""
    keeps = next((k + 1 for k, step in enumerate(path.steps) if step.may_keep), len(path.steps))
    first, later = (
        [step.key for step in part if step.runs]
        for part in (path.steps[:keeps], path.steps[keeps:])
    )
    if path.refusal and keeps == len(path.steps):
        return f"{path.operator}: {path.refusal}"
    let_through = [step.key for step in path.steps if step.holds == FALLTHROUGH]
    text = f"{path.operator} runs at {_names(first)}"
    if path.refusal:
        return f"{text}. If the code there passes the call on: {path.refusal}"
    if later:
        text += f", and at {_names(later)} if the code there passes the call on"
    return f"{text}; {_names(let_through)} let it through." if let_through else f"{text}."


def path_tally(path: DispatchPath) -> str:
    """How many keys are drawn, and at how many of them something runs; why none is drawn."""
    if not path.steps:
        return "No key is drawn: the call never gets to the dispatcher."
    tried = f"Keys tried: {len(path.steps)}"
    if path.refusal:
        return f"{tried}; at the last of them the call fails."
    return f"{tried}; keys at which something runs: {len(path.ran)}."


def path_text(path: DispatchPath) -> str:
    """The keys of the call, and what stands at each of those that are tried."""
    lines = [path_sentence(path), *_heads(path)]
    wide = max((len(_label(step)) for step in path.steps), default=0)
    kind = max((len(step.holds) for step in path.steps), default=0)
    for step in path.steps:
        lines.append(f"{_mark(step)} {_label(step):{wide}}  {step.holds:{kind}}  {step.says}")
    return "\n".join(lines)


def path_svg(path: DispatchPath, *, live: bool = False, raised: bool = False) -> str:
    """A row for each key that is tried: the key, what stands there, what it does.

    With `raised`, the last of them is where the call has failed.
    """
    canvas = Canvas(live=live)
    y = 18.0
    title = path_sentence(path)
    if raised and not path.refusal:
        title = f"{path.operator} reached {path.steps[-1].key}, and failed there."
    for number, line in enumerate([title, *_heads(path)]):
        for part in wrapped(line):
            canvas.text(MARGIN, y, part, kind="" if number else "h")
            y += _LINE
    keys = max((len(step.key) for step in path.steps), default=0) * CHAR_WIDTH
    kinds = max((len(step.holds) for step in path.steps), default=0) * SMALL_CHAR_WIDTH
    width = max(keys, kinds) + 16
    inset = _INDENT if any(step.layer for step in path.steps) else 0
    words = int((PAGE_WIDTH - 2 * MARGIN - inset - width - _GAP) / CHAR_WIDTH)
    before = None
    for row, step in enumerate(path.steps):
        x = MARGIN + (inset if step.layer else 0)
        if before is not None:
            canvas.line([(before, y - _GAP), (before, y - 5), (x + 16, y - 5), (x + 16, y)])
        canvas.cell(
            *(x, y, width, step.key, step.holds),
            kind="bad" if raised and step is path.steps[-1] else _KINDS.get(step.holds, "used"),
            link=step.key,
            say=f"{step}. {step.says}",
            at=(row, 0),
        )
        inside = f"Inside {step.layer}: {lowered(step.says)}" if step.layer else step.says
        lines = wrapped(inside, words)
        top = y + (CELL_HEIGHT - (len(lines) - 1) * _LINE) / 2 + 4
        for number, part in enumerate(lines):
            canvas.text(MARGIN + inset + width + _GAP, top + number * _LINE, part)
        y += max(CELL_HEIGHT, len(lines) * _LINE) + _GAP
        before = x + 16
    return canvas.svg(title)


def lowered(sentence: str) -> str:
    """A sentence as it stands after a colon.

    >>> lowered("Runs here.")
    'runs here.'
    """
    return sentence[:1].lower() + sentence[1:]


def _heads(path: DispatchPath) -> list[str]:
    """What stands above the rows."""
    if not path.steps:
        return []
    lines = [f"The arguments bring {_names(path.argument_keys)}."]
    if added := [key for key in path.included if key not in path.argument_keys]:
        lines.append(f"The thread adds {_names(added)}.")
    if path.excluded:
        lines.append(f"The thread leaves out {_names(path.excluded)}.")
    return [*lines, path.remark] if path.remark else lines


def _label(step: KeyStep) -> str:
    return f"  {step.key} (inside {step.layer})" if step.layer else step.key


def _mark(step: KeyStep) -> str:
    return {FALLTHROUGH: "·", MISSING: "×"}.get(step.holds, ">")


def _names(keys: Sequence[str]) -> str:
    if len(keys) < 2:
        return keys[0] if keys else "no key"
    return f"{', '.join(keys[:-1])} and {keys[-1]}"
