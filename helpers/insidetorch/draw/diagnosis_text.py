"""The ways of values and gradient in words: each line, who reads it, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..records import Diagnosis, Found, PathLine, Trained
from .text import count

MOST_LINES = 24
_MOST_NAMES = 6
_WORDS = {
    "fine": "a gradient comes back",
    "zero": "a gradient that is zero everywhere",
    "not finite": "a gradient with NaN or infinity in it",
    "none": "no gradient comes back",
}


def diagnosis_sentence(one: Diagnosis) -> str:
    """How many parameters got a gradient, and where its way ends."""
    trained = one.trained
    if not trained:
        return "No value of a leaf that requires a gradient went into this loss."
    fine = sum(t.gradient == "fine" for t in trained)
    said = f"Backward pass {one.number} of {one.passes}: {fine} of "
    said += f"{count(len(trained), 'trained tensor')} got a gradient."
    if one.cuts:
        said += f" The gradient's way ends on {count(len(one.cuts), 'line')}."
    return said + (f" It raised {one.error}" if one.error else "")


def diagnosis_text(one: Diagnosis) -> str:
    """Every line on the way, and every finding."""
    shown = shortened(one)
    lines = [diagnosis_sentence(one)]
    for number, line in enumerate(shown.lines):
        lines += _line(shown, number, line)
    if shown.lines:
        lines.append(f"{len(shown.lines) + 1:>3} {one.place or 'the loss'}")
    if one.unread:
        lines.append("read by no line on the way to this loss:")
        lines += [f"      {text}" for text in trained_texts(one.unread)]
    lines += [f"{found_text(found)}\n  To do: {found.fix}" for found in one.findings]
    return "\n".join(lines)


def _line(shown: Diagnosis, number: int, line: PathLine) -> Iterator[str]:
    yield f"{number + 1:>3} {line_text(line)}"
    readers = [str(target + 1) for source, target in shown.values if source == number]
    words = _WORDS[line.gradient]
    yield f"      {calls_text(line)}; read by {', '.join(readers) or 'none'}; {words}"
    if line.cut:
        yield f"      ENDS HERE ({line.cut}): what stands before gets nothing through it"
    yield from (f"      {text}" for text in trained_texts(line.trained))


def line_text(line: PathLine) -> str:
    """The line itself, or what stands for several."""
    if line.merged > 1:
        return f"{line.merged} lines"
    return str(line.place) if line.place else "code that is not yours"


def calls_text(line: PathLine, *, most: int = 5) -> str:
    """The functions that a line calls."""
    more = f" and {len(line.calls) - most} more" if len(line.calls) > most else ""
    return ", ".join(line.calls[:most]) + more


def trained_texts(trained: tuple[Trained, ...]) -> Iterator[str]:
    """Leaves by what came back to them, the worst first."""
    for state in ("none", "not finite", "zero", "fine"):
        names = [one.name for one in trained if one.gradient == state]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        if names:
            yield f"{', '.join(names[:_MOST_NAMES])}{more}: {_WORDS[state]}"


def found_text(found: Found) -> str:
    """A finding: how grave it is, its line, and what happened."""
    where = str(found.place) if found.place else "no line of your code"
    return f"{found.severity} ({found.kind}), {where}\n  {found.message}"


def shortened(one: Diagnosis, most: int = MOST_LINES) -> Diagnosis:
    """The same with at most about so many lines: neighbours without a mark become one."""
    if len(one.lines) <= most:
        return one
    ranked = sorted(range(len(one.lines)), key=lambda k: _rank(one, k))
    marked = set(ranked[: most // 2])
    groups: list[list[int]] = []
    for k, line in enumerate(one.lines):
        last = groups[-1][-1] if groups else None
        apart = last is None or last in marked or one.lines[last].gradient != line.gradient
        if k in marked or apart:
            groups.append([k])
        else:
            groups[-1].append(k)
    numbers = {k: n for n, group in enumerate(groups) for k in group}
    numbers[len(one.lines)] = len(groups)
    return replace(
        one,
        lines=tuple(_merged([one.lines[k] for k in group]) for group in groups),
        values=_renumbered(one.values, numbers),
        gradients=_renumbered(one.gradients, numbers),
        findings=tuple(
            replace(f, line=None if f.line is None else numbers[f.line]) for f in one.findings
        ),
    )


def _rank(one: Diagnosis, number: int) -> tuple[bool, bool, bool, int]:
    """What is told of a line first: that something was found there, cut, lost or read."""
    line = one.lines[number]
    found = bool(line.cut) or any(found.line == number for found in one.findings)
    lost = any(leaf.gradient != "fine" for leaf in line.trained)
    return (not found, not lost, not line.trained, number)


def _merged(lines: list[PathLine]) -> PathLine:
    if len(lines) == 1:
        return lines[0]
    return PathLine(
        lines[0].place,
        tuple(dict.fromkeys(call for line in lines for call in line.calls)),
        tuple(one for line in lines for one in line.trained),
        lines[0].gradient,
        merged=len(lines),
    )


def _renumbered(pairs: tuple, numbers: dict[int, int]) -> tuple[tuple[int, int], ...]:
    new = {(numbers[a], numbers[b]) for a, b in pairs}
    return tuple(sorted((a, b) for a, b in new if a != b))
