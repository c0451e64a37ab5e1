"""What graphs keep alive, and who keeps the graphs."""

from __future__ import annotations

from dataclasses import dataclass


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "byte"), counted(1200, "byte")
    ('1 byte', '1,200 bytes')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


@dataclass(frozen=True, repr=False)
class GraphCost:
    """What stays alive as long as a graph does.

    `saved` counts the tensors that its nodes keep for backward, `nbytes` the bytes of their
    storages, each once, those of leaves left out. `freed` counts saved tensors that a backward pass
    has freed, `packed` those that a hook has packed into something whose size is not known.
    `whole` is False where the walk was ended early; `reason` says why there is no graph, if so.
    """

    nodes: int = 0
    saved: int = 0
    nbytes: int = 0
    freed: int = 0
    packed: int = 0
    whole: bool = True
    reason: str = ""

    def __str__(self) -> str:
        if not self.nodes:
            return self.reason
        more = "" if self.whole else "at least "
        text = f"{more}{counted(self.nodes, 'node')}, {more}{counted(self.nbytes, 'byte')} kept"
        if self.freed:
            text += f"; {counted(self.freed, 'saved tensor')} freed by a backward pass"
        if self.packed:
            text += f"; {counted(self.packed, 'saved tensor')} packed by a hook, not counted"
        return f"{text}."

    __repr__ = __str__


MOST_HOLDERS = 40


@dataclass(frozen=True, repr=False)
class Holder:
    """Something that keeps tensors alive which have a graph behind them.

    `kind` is "name" (a variable of a module or a notebook, an attribute, an item), "closure" (a
    variable that a function remembers), "running" or "ended" (a variable of a function that runs,
    or has ended and is kept, say by an exception), "failed" (one of the last traceback),
    "generator" (one of a generator that waits), "history" (the notebook's output history) or
    "widget" (ipywidgets keeps every widget until it is closed).
    `path` is an expression or a variable, `function` whose it is, `cell` the first statement of the
    cell whose output it was. `tensors` counts those with a graph in the same container, `cost` is
    that of their graphs together; `advice` says what ends it.
    """

    kind: str
    path: str
    cost: GraphCost
    advice: str
    tensors: int = 1
    function: str = ""
    cell: str = ""

    def __str__(self) -> str:
        who = _WHO[self.kind].format(path=self.path, function=self.function)
        if self.cell:
            who += f", from the cell {self.cell!r},"
        holds = "holds a graph"
        if self.tensors > 1:
            holds = f"and {self.tensors - 1:,} more beside it hold graphs"
        return f"{who} {holds}: {self.cost} {self.advice}"

    __repr__ = __str__


_WHO = {
    "name": "`{path}`",
    "closure": "The variable `{path}` that the function `{function}` remembers",
    "running": "The variable `{path}` of `{function}`, which is running,",
    "ended": "The variable `{path}` of `{function}`, which has ended but is kept,",
    "failed": "The variable `{path}` of `{function}`, which failed and is in the last traceback,",
    "generator": "The variable `{path}` of the generator `{function}`, which waits,",
    "history": "The output history of the notebook ({path})",
    "widget": "A widget that was not closed, {path},",
}


@dataclass(frozen=True, repr=False)
class Holders:
    """All holders that were found, those of most bytes first.

    `hidden` counts tensors with a graph of their own that something holds where Python cannot look.
    `whole` is False where there was too much to look at.
    """

    found: tuple[Holder, ...] = ()
    hidden: int = 0
    whole: bool = True

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> Holder:
        return self.found[index]

    def __str__(self) -> str:
        lines = [str(holder) for holder in self.found[:MOST_HOLDERS]]
        if left_out := len(self.found) - len(lines):
            lines.append(f"And {counted(left_out, 'more holder')}.")
        if self.hidden:
            lines.append(
                f"{counted(self.hidden, 'tensor')} with a graph: held where Python cannot look, by "
                "a node that is kept or by a gradient that create_graph=True made."
            )
        if not self.whole:
            lines.append("There was too much to look at: some holders are not listed.")
        return "\n".join(lines) or "No live tensor has a graph behind it."

    __repr__ = __str__
