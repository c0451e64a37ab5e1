"""Which graphs are alive after each step of a loop, and who holds them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .steps import Place

_LAST_ITEM = re.compile(r"(\[[^\[\]]*\]|\{…\})$")


@dataclass(frozen=True)
class GraphHold:
    """One way in which a graph is held.

    `kind` is that of a `Holder`, or "cycle" (a leaf holds its gradient, and the graph of that holds
    the leaf) or "hidden" (by something that Python cannot look into). `path` is an expression or a
    variable, `function` whose it is. `through` is the step whose newer graph reaches into this one
    and is what the path leads to; 0 where the path leads to the graph itself.
    """

    kind: str
    path: str = ""
    function: str = ""
    through: int = 0

    @property
    def container(self) -> str:
        """The path without its last item: what holds all graphs that differ in that one only.

        >>> GraphHold("name", "run.losses[3]").container, GraphHold("name", "total").container
        ('run.losses', 'total')
        """
        return _LAST_ITEM.sub("", self.path)


@dataclass(frozen=True)
class StepGraph:
    """What is alive of the nodes that one step made; those of leaves are counted in no step.

    `made` is the step, 0 for all that was made before the first one. `graphs` counts the roots,
    which are held from outside, and to which no other root of this step leads; 0 where newer graphs
    alone keep the nodes. `nbytes` are those of the storages that saved tensors read, each counted
    once, at the first step that keeps it, without those of leaves and of inputs. `freed` counts
    saved tensors that a backward pass has freed. `holds` has at least one entry, those of roots
    first, and of the items of one container the first only.
    """

    made: int
    graphs: int
    nodes: int
    nbytes: int
    holds: tuple[GraphHold, ...]
    freed: int = 0


@dataclass(frozen=True)
class AfterStep:
    """The graphs that are alive after a step, the oldest first.

    `collected` counts the tensors with a graph that only a cycle of objects held: they were alive
    until the garbage was collected for this look. `whole` is False where there was too much to
    look at.
    """

    step: int
    graphs: tuple[StepGraph, ...] = ()
    whole: bool = True
    collected: int = 0

    @property
    def of_steps(self) -> int:
        """Of how many steps is something alive? What was made before the first is left out."""
        return sum(graph.made > 0 for graph in self.graphs)

    @property
    def nodes(self) -> int:
        """The nodes of all these graphs."""
        return sum(graph.nodes for graph in self.graphs)

    @property
    def nbytes(self) -> int:
        """The bytes that all these graphs keep, each storage once."""
        return sum(graph.nbytes for graph in self.graphs)


@dataclass(frozen=True)
class GraphsOverSteps:
    """What was alive after each step that ended.

    `failed` is the number of the step that raised `error`, 0 if none did; `place`, the line.
    """

    after: tuple[AfterStep, ...] = ()
    failed: int = 0
    error: str = ""
    place: Place | None = None

    @property
    def whole(self) -> bool:
        """Was all of it looked at?"""
        return all(one.whole for one in self.after)

    @property
    def constant_since(self) -> int:
        """Since which step are the graphs of as many steps alive as after the last one?"""
        since = len(self.after)
        while since > 1 and self.after[since - 2].of_steps == self.after[-1].of_steps:
            since -= 1
        return since
