"""What torch.compile made of a function in words: graphs, breaks, recompiles, kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ..records import Compilation, CompiledGraph, Recompile
from .text import count

_MOST_GRAPHS = 20
_MOST_OPERATORS = 30
_MOST_RECOMPILES = 12
# A number that the function is given or has, and none that it counts, such as len(x).
_NUMBER = re.compile(r"^([^()]+) == -?[\d.]+$")
_AROUND = {
    "print(...)": "Print after the function has returned, or leave the printing out.",
    ".item(), which needs a tensor's value": "Keep the value in a tensor.",
    "a branch on a tensor's value": "Let torch.where choose between values, or torch.cond between "
    "computations.",
}


def compilation_sentence(found: Compilation) -> str:
    """How many calls made how many graphs, breaks, recompiles and kernels."""
    text = (
        f"{count(found.calls, 'call')}: {count(len(found.captured), 'graph')}, "
        f"{count(len(found.breaks), 'graph break')}, {count(len(found.recompiles), 'recompile')}"
    )
    if found.kernels is not None:
        text += f", {count(found.kernels, 'kernel')}"
    if found.backward_kernels:
        text += f" and {count(found.backward_kernels, 'kernel')} for backward"
    return f"{text}."


def compilation_text(found: Compilation) -> str:
    """Each graph with its operators and what ended it, each recompile with its guard, remarks."""
    lines = [compilation_sentence(found)]
    if found.was_compiled:
        lines.append("The function was compiled already; what is told is of the function inside.")
    number, runs = 0, [(graph, len(list(same))) for graph, same in groupby(found.graphs)]
    for graph, n in runs[:_MOST_GRAPHS]:
        lines += _graph_lines(graph, number + 1, n)
        number += n if graph.operators else 0
    if len(runs) > _MOST_GRAPHS:
        lines.append(f"and {count(len(found.captured) - number, 'more graph')}")
    lines += map(_recompile_text, found.recompiles[:_MOST_RECOMPILES])
    if len(found.recompiles) > _MOST_RECOMPILES:
        lines.append(f"and {count(len(found.recompiles) - _MOST_RECOMPILES, 'more recompile')}")
    return "\n".join([*lines, *_remarks(found)])


def _graph_lines(graph: CompiledGraph, first: int, n: int) -> Iterator[str]:
    where = f", at {graph.place}" if graph.place else ""
    if graph.eager:
        why = " stands in a loop or block in which torch cannot go on" if graph.in_loop else ""
        yield f"A whole function ran as written, without a graph: {graph.ended_by}{why}{where}"
        return
    if not graph.operators:
        yield f"A break before any operator: {graph.ended_by}{where}"
        return
    last = first + n - 1
    name = f"graphs {first} {'and' if n == 2 else 'to'} {last}, each" if n > 1 else f"graph {first}"
    shown = ", ".join(graph.operators[:_MOST_OPERATORS])
    more = len(graph.operators) - _MOST_OPERATORS
    name += "" if graph.aten else ", with Python's names"
    yield f"{name}: {shown}" + (f", and {count(more, 'more operator')}" if more > 0 else "")
    if graph.ended_by:
        yield f"  ended by {graph.ended_by}{where}"


def _recompile_text(one: Recompile) -> str:
    where = f"; asked for by {one.place}" if one.place else ""
    return f"call {one.call} compiled again: the guard {one.guard} failed{where}"


def _remarks(found: Compilation) -> Iterator[str]:
    """What follows from it, and the way out."""
    if found.gave_up:
        yield (
            "Then torch's limit of recompiles was reached: a later call that fits no graph runs as "
            "written."
        )
    yield from _way_out_of_recompiles(found)
    if found.breaks:
        yield "With fullgraph=True torch raises at the first break instead."
    yield from (words for ended, words in _AROUND.items() if _breaks_by(found, ended))
    computing = [len(graph.operators) - graph.views for graph in found.captured]
    if computing and max(computing) <= 1:
        which = "The graph has" if len(computing) == 1 else "Each graph has"
        yield (
            f"{which} {'one operator that computes' if max(computing) else 'views only'}. There is "
            "usually little to gain: there is nothing to fuse it with, and each call pays for its "
            "guards. Compile a larger region, or leave it as it is."
        )
    if found.kernels == 0:
        yield (
            "No kernel was generated: a library or torch itself has those of these operators, or "
            "they compute nothing."
        )
    if found.skipped:
        yield found.skipped


def _way_out_of_recompiles(found: Compilation) -> Iterator[str]:
    guards = [one.guard for one in found.recompiles]
    if any("size mismatch" in guard for guard in guards):
        yield "With dynamic=True one graph fits all sizes, where the function allows it."
    names = [number[1] for guard in guards if (number := _NUMBER.search(guard))]
    fixed = found.dynamic is False
    if any(fixed or name.startswith("self.") or names.count(name) > 1 for name in names):
        yield (
            "A Python number is a constant in a graph, guarded by equality. One that changes from "
            "call to call belongs in a tensor."
        )
    elif any("." not in name for name in names):
        yield (
            "The first graph takes a Python number for a constant. When it changes, torch compiles "
            "once more, with a variable."
        )


def _breaks_by(found: Compilation, ended: str) -> bool:
    return any(graph.ended_by == ended for graph in found.breaks)
