"""A custom function or a custom operator gives back what it should not."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

from ...observe.places import place_of
from ...records import Place
from ..finding import PROBLEM, Finding
from ..passes import NONE
from ..patient import Patient
from .common import place
from .silenced import leaves_below

_COUNT = r"function (\w+)Backward returned an incorrect number of gradients"
_ORDER = r"function (\w+)Backward returned a gradient different than None"
_SHAPE = r"Function (\w+)Backward returned an invalid gradient"


def find(patient: Patient) -> Iterator[Finding]:
    """Wrong counts and shapes of gradients, and tensors kept on ctx that must not be."""
    yield from _raised(patient)
    yield from _summed(patient)
    yield from _ignored(patient)
    yield from _spoiled(patient)
    yield from _none(patient)
    yield from _kept(patient)


def _raised(patient: Patient) -> Iterator[Finding]:
    text = str(patient.error or "")
    found = re.search(f"{_COUNT}|{_SHAPE}|{_ORDER}", text)
    if not found:
        return
    name = found[1] or found[2] or found[3]
    function = next((f for f in _functions(patient) if f.__name__ == name), None)
    where = backward_line(function) if function is not None else None
    wanted = (
        "as many gradients as forward has arguments" if found[1]
        else "a gradient of the size of each argument" if found[2]
        else "None for each argument that is no tensor"
    )  # fmt: skip
    yield Finding(
        "custom_function", PROBLEM, where, (name,),
        f"{name}.backward does not return {wanted}: {text.split(' Function ')[-1][:120]}.",
        "Return one gradient for each argument of forward, in their order, of their sizes, and "
        "None for what is no tensor.",
        weight=95,
    )  # fmt: skip


def _functions(patient: Patient) -> list[type]:
    return [c.note["function"] for c in patient.history.calls if c.name == "apply"]


def backward_line(function: type) -> Place | None:
    """The last line of a function's backward that returns something; else its last line."""
    code = getattr(inspect.unwrap(function.backward), "__code__", None)
    return None if code is None else _end_of(code)


def _end_of(code) -> Place | None:
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return None
    returns = [n for n in ast.walk(tree) if isinstance(n, ast.Return)]
    last = max((n.lineno for n in returns), default=None)
    body = tree.body[0].body[-1].lineno
    return place_of(code.co_filename, first + (last or body) - 1)


def _summed(patient: Patient) -> Iterator[Finding]:
    """A gradient of another size than its argument, which torch adds up without a word."""
    for function, (given, wanted) in patient.recorder.summed.items():
        name = function.__name__
        yield Finding(
            "custom_function", PROBLEM, backward_line(function), (name,),
            f"{name}.backward returns a gradient of size {given} for an argument of size {wanted}. "
            "torch adds it up to that size without a word.",
            "Return a gradient of the size of the argument, and compare with "
            "torch.autograd.gradcheck.",
            weight=75,
        )  # fmt: skip


def _none(patient: Patient) -> Iterator[Finding]:
    """A backward that returns None for an argument that wants a gradient."""
    told = set()
    for one in patient.history.losses():
        for node in one.nodes:
            function = node.function
            if function is None or not node.ran or function.__module__.startswith("torch."):
                continue
            for state, (below, _) in zip(node.went, node.below, strict=False):
                if state != NONE or below is None or function in told:
                    continue
                leaves = [
                    leaf for leaf in leaves_below(below)
                    if patient.missing(leaf) and patient.wanted.wants(leaf)
                ]  # fmt: skip
                if not leaves:
                    continue
                told.add(function)
                name = patient.names.listed(leaves)
                yield Finding(
                    "custom_function", PROBLEM, backward_line(function), name,
                    f"{function.__name__}.backward returns None on the way to {name}, which "
                    "requires a gradient.",
                    "Return its gradient; None is for what is no tensor, or needs none.",
                    weight=73,
                )  # fmt: skip


def _ignored(patient: Patient) -> Iterator[Finding]:
    """A backward that does not use the gradient it is given."""
    for function in patient.recorder.ignored:
        name = function.__name__
        yield Finding(
            "custom_function", PROBLEM, backward_line(function), (name,),
            f"{name}.backward does not use the gradient that it is given: what comes after the "
            "function in the loss has no influence on the gradient.",
            "Multiply by the incoming gradient: return grad * ..., and compare with "
            "torch.autograd.gradcheck.",
            weight=74,
        )  # fmt: skip


def _spoiled(patient: Patient) -> Iterator[Finding]:
    """A backward that writes to the gradient it is given."""
    for function, writer in patient.recorder.spoiled.items():
        name = function.__name__
        where = place(writer.spot) if writer is not None else backward_line(function)
        yield Finding(
            "custom_function", PROBLEM, where, (name,),
            f"{name}.backward writes to the gradient that it is given. The engine may hand the "
            "same tensor to other branches, which then get the changed one.",
            "Compute a new gradient: grad * factor, not grad.mul_(factor).",
            weight=76,
        )  # fmt: skip


def _kept(patient: Patient) -> Iterator[Finding]:
    """Tensors on ctx: a result makes a cycle, a value in between has no second derivative."""
    twice = any(one.create for one in patient.history.passes)
    told = set()
    for call in patient.history.calls:
        function = call.note.get("function")
        for name, which in call.note.get("kept", {}).items():
            if (function, name) in told or function.__module__.startswith("torch."):
                continue
            told.add((function, name))
            where = _assignment(function, name)
            if which == "output":
                yield Finding(
                    "graph_leak", PROBLEM, where, (f"ctx.{name}",),
                    "The function keeps its own result on ctx, and the result keeps ctx: a cycle "
                    "that only the garbage collector ends.",
                    "Use ctx.save_for_backward for results and arguments.",
                    weight=65,
                )  # fmt: skip
            elif twice:
                yield Finding(
                    "custom_function", PROBLEM, where, (f"ctx.{name}",),
                    f"backward reads ctx.{name}, a value in between that has no graph: the second "
                    "derivative misses what depends on it.",
                    "Save the arguments with ctx.save_for_backward, and compute the value again in "
                    "backward.",
                    weight=65,
                )  # fmt: skip


def _assignment(function: type, name: str) -> Place | None:
    """The line of a function that assigns to an attribute of ctx."""
    for method in (function.forward, getattr(function, "setup_context", None)):
        code = getattr(method, "__code__", None)
        if code is None:
            continue
        try:
            lines, first = inspect.getsourcelines(code)
        except OSError:
            continue
        for k, line in enumerate(lines):
            if re.search(rf"\bctx\.{name}\b[^=]*=[^=]", line):
                return place_of(code.co_filename, first + k)
    return None
