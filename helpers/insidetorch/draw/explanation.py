"""What ended a run, in words: the operator, the key, the kernel, and what would run instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..records import Argument, Change, Explanation, Failure
from .backward_remarks import is_known
from .paths import lowered, path_svg
from .text import count
from .trace import trace_svg

_FEW, _MOST = 6, 12


def explanation_sentence(found: Explanation) -> str:
    """How many operators ran, and what was raised."""
    if found.failure is None:
        return found.trace.sentence
    ran = f"{count(len(found.trace), 'operator')} ran. " if len(found.trace) else ""
    return f"{ran}{_raised(found.failure)}"


def explanation_text(found: Explanation) -> str:
    """What was raised, by which operator and why, and the operators that ran before."""
    failure = found.failure
    if failure is None:
        return str(found.trace)
    lines = [_raised(failure), *(f"  {line}" for line in _reasons(failure))]
    ran = str(found.trace) if len(found.trace) else "no operator ran."
    return "\n".join([*lines, f"Before that {ran}"])


def explanation_svg(found: Explanation, *, live: bool = False) -> str:
    """The way of the call that failed; the operators where none did. "" for neither."""
    if found.failure and found.failure.path and found.failure.path.steps:
        return path_svg(found.failure.path, live=live, raised=True)
    return trace_svg(found.trace, live=live)


def _raised(failure: Failure) -> str:
    who = failure.operator or "It"
    inside = f", in backward, run by {failure.node}," if failure.node else ""
    text = f"{who}{inside} raised {failure.error}"
    if failure.is_outer:
        text = f"It raised {failure.error}, from an error of {failure.operator}{inside}"
    return f"{text.removesuffix('.')}, at {failure.place}" if is_known(failure.place) else text


def _reasons(failure: Failure) -> Iterator[str]:
    """What led to the error, and the way out, a sentence or a few a line."""
    if failure.backward_of:
        yield _formula(failure)
    if not failure.operator:
        return
    if failure.arguments:
        yield f"It was given {_given(failure.arguments)}."
    if failure.key:
        yield _no_kernel(failure)
        yield _way_out(failure)
    elif failure.without_fake:
        yield (
            f"{failure.without_fake} is a custom operator with no function that tells the sizes of "
            "its result without values, as a meta tensor and torch.compile need it. What helps: "
            "its register_fake."
        )
    elif devices := _devices(failure):
        yield f"{devices} An operator takes tensors of one device, and numbers."
    elif failure.path is not None and failure.path.ran:
        last = failure.path.steps[-1]
        text = f"The dispatcher took it to {last.key}: {lowered(last.says)}"
        if any(change.kind == "dtype" for change in failure.changes):
            text += " No dtype is a dispatch key."
        yield text
        if any(change.kind == "conversion" for change in failure.changes):
            yield _way_out(failure)
    yield from _changes(failure)


def _given(arguments: Sequence[Argument]) -> str:
    """The arguments; of many, the first ones and those of other kinds."""
    shown, kinds = [], set()
    for one in arguments:
        kind = str(one).removeprefix(one.name)
        if len(shown) < _FEW or (kind not in kinds and len(shown) < _MOST):
            shown.append(str(one))
        kinds.add(kind)
    left = len(arguments) - len(shown)
    return "; ".join(shown) + (f"; and {left:,} more" if left else "")


def _no_kernel(failure: Failure) -> str:
    last = failure.key
    text = f"The call stops at {last}: nothing is registered there for {failure.operator}"
    if failure.inner:
        text = (
            f"Its kernel for {failure.path.steps[-1].key if failure.path else last} calls "
            f"{failure.inner}, and there the call stops: nothing is registered for that at {last}"
        )
    if failure.brought:
        names = failure.brought
        text += f". {_all(names)} {'brings' if len(names) == 1 else 'bring'} this key"
    has = f"{_all(failure.backends)} here" if failure.backends else "no backend of this machine"
    return f"{text}. There are kernels for {has}."


def _way_out(failure: Failure) -> str:
    inner = f"of {failure.inner} " if failure.inner else ""
    register = f"register a kernel {inner}for {failure.key} with torch.library"
    if failure.key == "Meta":
        one = f"a kernel {inner}" if inner else "one "
        register = f"register {one}for tensors without values with torch.library.register_fake"
    if not failure.convert:
        return f"What helps: {register}."
    ways = " and ".join(f".{way}()" for way in failure.convert)
    text = f"What helps: {ways} before the call"
    text += ", with which it runs (tried)" if failure.changes else ""
    text += f"; or {register}." if failure.key else "."
    if failure.namesake:
        text += f" {failure.namesake} is an operator of the same name for quantised tensors."
    return text


def _devices(failure: Failure) -> str:
    """Which argument is on which device; "" if all are on one. A number of the CPU goes along."""
    held = [one for one in failure.arguments if one.sizes != () or one.device != "cpu"]
    if len({one.device for one in held}) < 2:
        return ""
    return f"{_all([f'{one.name} is on {one.device}' for one in held])}."


def _changes(failure: Failure) -> Iterator[str]:
    """What was tried, and ran."""
    on = "on stand-ins of a few elements" if failure.stand_ins else "on tensors like these"
    dtypes = [change for change in failure.changes if change.kind == "dtype"]
    if dtypes:
        yield f"It runs with {', or with '.join(map(_dtypes, dtypes))} (tried {on})."
    for change in failure.changes:
        if change.kind == "device":
            yield f"With all of them on {_any(change.runs)} it runs (tried {on})."


def _dtypes(change: Change) -> str:
    text = f"{_all(change.names)} as {_any(change.runs)}"
    return (
        text
        if len(change.names) == 1 or not change.fails
        else f"{text}, not as {_any(change.fails)}"
    )


def _formula(failure: Failure) -> str:
    at = f" It was called at {failure.called}." if is_known(failure.called) else ""
    if failure.needed:
        return (
            f"The backward function of {failure.backward_of} returned "
            f"{count(failure.returned, 'gradient')}; the operator has "
            f"{count(failure.needed, 'argument')}, and each needs one, None for an argument "
            f"without a gradient.{at}"
        )
    return (
        f"{failure.backward_of} is a custom operator without a backward function, and a result of "
        f"it was differentiated.{at} What helps: its register_autograd, or .detach() of the result."
    )


def _all(words: Sequence[str]) -> str:
    return _joined(words, "and")


def _any(words: Sequence[str]) -> str:
    return _joined(words, "or")


def _joined(words: Sequence[str], last: str) -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
