"""Which graphs are alive after each step, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..records import AfterStep, GraphHold, GraphsOverSteps, StepGraph
from .text import count

MOST_STEPS = 12
_WHO = {
    "name": "`{path}`",
    "closure": "`{path}`, which the function `{function}` remembers",
    "running": "`{path}` of `{function}`, which is running",
    "ended": "`{path}` of `{function}`, which has ended but is kept",
    "failed": "`{path}` of `{function}`, which is in the last traceback",
    "generator": "`{path}` of the generator `{function}`, which waits",
    "history": "the output history ({path})",
    "widget": "a widget that was not closed ({path})",
    "cycle": "a cycle of a leaf, its .grad and the graph of that",
    "hidden": "something that Python cannot look into",
}
_MOST_NAMED = 3


def graph_memory_sentence(found: GraphsOverSteps) -> str:
    """Do graphs pile up over the steps, and who holds them?"""
    said = []
    if found.after:
        most = max(after.of_steps for after in found.after)
        if len(found.after) == 1:
            said.append(f"After step 1 {'its' if most else 'no'} graph is alive.")
        elif most < 2:
            alive = "the graph of one step at most" if most else "no graph"
            said.append(f"After each step {alive} is alive: nothing grows.")
        elif found.after[-1].of_steps < 2:
            said.append(
                f"The graphs of {most} steps were alive at most; in the end "
                f"{count(found.after[-1].of_steps, 'step')}."
            )
        else:
            said += _piled(found)
    if cycles := sum(after.collected for after in found.after):
        said.append(
            f"{count(cycles, 'tensor')} with a graph had no holder but a cycle of objects: without "
            "this look they stay until Python collects its garbage."
        )
    if not found.whole:
        said.append("There was too much to look at: it may be more.")
    if found.failed:
        where = f" at {found.place}" if found.place else ""
        said.append(f"Step {found.failed} raised {found.error}{where}.")
    return " ".join(said)


def graph_memory_text(found: GraphsOverSteps) -> str:
    """The sentence, and for each step what is alive after it; alike graphs stand in one line."""
    lines = [graph_memory_sentence(found)]
    for after in elided(found.after):
        if after is None:
            lines.append(f"  … {len(found.after) - MOST_STEPS + 1:,} steps more")
        else:
            lines.append(f"  after step {after.step}: {total_text(after)}")
            groups = groupby(after.graphs, key=_alike)
            lines += [f"    {_group_text(list(group))}" for _, group in groups]
    return "\n".join(lines)


def elided(items: Sequence[object]) -> list[object]:
    """All items, or the first and the last of more than twelve, and None for those between.

    >>> elided("abc"), len(elided(range(50)))
    (['a', 'b', 'c'], 12)
    """
    first = (MOST_STEPS - 1) // 2
    if len(items) <= MOST_STEPS:
        return list(items)
    return [*items[:first], None, *items[-(MOST_STEPS - 1 - first) :]]


def total_text(after: AfterStep) -> str:
    """All that is alive after a step, in numbers."""
    if not after.graphs:
        return "no graph is alive"
    more = "" if after.whole else ", at least"
    return (
        f"graphs of {count(after.of_steps, 'step')}{more}, {count(after.nodes, 'node')}, "
        f"{count(after.nbytes, 'byte')}"
    )


def step_graph_text(graph: StepGraph) -> str:
    """What is alive of one step, and who holds it."""
    return _group_text([graph])


def _piled(found: GraphsOverSteps) -> list[str]:
    last = found.after[-1]
    piled = f"After step {last.step} the graphs of {last.of_steps} steps are alive: "
    piled += f"{last.of_steps - 1} more than a step needs; {_holders(last)}."
    counts = [after.of_steps for after in found.after]
    said = [piled]
    if counts == list(range(1, len(counts) + 1)):
        said.append("It is one more after each step.")
    elif found.constant_since <= (half := len(counts) // 2):
        said.append(f"It has been as many since step {found.constant_since}: nothing grows.")
    else:
        said.append(f"After step {half} it was {counts[half - 1]}.")
    if last.nbytes:
        said.append(f"They keep {count(last.nbytes, 'byte')} for a backward pass.")
    elif sum(graph.freed for graph in last.graphs):
        said.append("They keep 0 bytes: a backward pass freed what they saved, their nodes stay.")
    return said


def _holders(after: AfterStep) -> str:
    """Who holds the graphs that are alive, each once."""
    holds = [hold for graph in after.graphs for hold in graph.holds]
    names = list(dict.fromkeys(_short(hold) for hold in holds))
    plural = len(names) > 1
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} more"]
    who = " and ".join([", ".join(names[:-1]), names[-1]] if plural else names)
    said = f"{who} {'hold' if plural else 'holds'} them"
    through = sum(all(hold.through for hold in graph.holds) for graph in after.graphs)
    return f"{said}, {through} of them through a newer graph" if through else said


def _short(hold: GraphHold) -> str:
    return f"`{hold.container}`" if hold.kind in _WHO and "`" in _WHO[hold.kind] else _who(hold)


def _who(hold: GraphHold, until: str = "") -> str:
    """Who holds it; `until` is the last of several paths that are alike."""
    function = hold.function.rpartition("<locals>.")[2]
    path = f"{hold.path}` to `{until}" if until not in ("", hold.path) else hold.path
    who = _WHO[hold.kind].format(path=path, function=function)
    if hold.path.endswith(".grad"):
        who = who.replace(".grad`", ".grad` (made with create_graph=True)")
    return f"the graph of step {hold.through}" if hold.through else who


def _alike(graph: StepGraph) -> tuple[object, ...]:
    holds = tuple((h.kind, h.container, h.function, h.through) for h in graph.holds)
    return graph.made > 0, graph.graphs, graph.nodes, graph.nbytes, graph.freed, holds


def _group_text(group: list[StepGraph]) -> str:
    """Alike graphs of steps that follow each other, in one line."""
    first, last = group[0], group[-1]
    label = f"step {first.made}" if first.made else "before step 1"
    if len(group) > 1:
        label = f"steps {first.made} to {last.made}, each"
    parts = [count(first.graphs, "graph")] if first.graphs else []
    parts += [count(first.nodes, "node"), count(first.nbytes, "byte")]
    if first.freed:
        parts.append(f"{count(first.freed, 'saved tensor')} freed by a backward pass")
    ends = zip(first.holds, last.holds, strict=True)
    who = "; and ".join(dict.fromkeys(_who(hold, until.path) for hold, until in ends))
    return f"{label}: {', '.join(parts)}; held by {who}"
