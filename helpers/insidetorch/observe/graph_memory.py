"""Which graphs are alive after each step of a loop, and who holds them?"""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from traceback import walk_tb
from types import MethodType
from typing import NamedTuple

import torch

from ..records import AfterStep, GraphHold, GraphsOverSteps, Place, StepGraph
from . import private, private_nodes
from .alive import Reached, Target, reached_by, targets_since
from .backward import first_sentence
from .held_paths import paths_to
from .memory import held_by, storages
from .places import is_users, place_of
from .reach import tensors_in


def graph_memory(
    step: Callable[..., object],
    *,
    steps: int = 6,
    names: Mapping[str, object] | None = None,
    inputs: object = None,
) -> GraphsOverSteps:
    """Which graphs are alive after each step of this loop, and who holds them?

    Args: `step`, called `steps` times: with the number of the call, from 0 as in a `for` loop over
    `range`, if it takes an argument. `names`, a namespace to look into beside those of all modules
    and of the notebook. `inputs`, tensors that live anyway, alone or in lists, tuples and dicts,
    such as the batch: their bytes are not counted.
    Returns `GraphsOverSteps`. Before each look Python's garbage collector runs, and what `step`
    returned is let go. An error of `step` ends the loop and is part of the record. What another
    thread has made counts as made before the first step. Looking runs no operator, and keeps
    nothing alive.
    Raises TypeError if `step` cannot be called so, ValueError for less than one step.

    >>> w, losses = torch.ones(1000, requires_grad=True), []
    >>> found = graph_memory(lambda: losses.append(w.exp().sum()), steps=3)
    >>> [after.nbytes for after in found.after]
    [4000, 8000, 12000]

    Source: torch.autograd.graph.Node, its sequence number and saved tensors (2.13).
    """
    call = _caller(step)
    if steps < 1:
        raise ValueError(
            f"The graphs after {steps} steps were asked. A loop without a step leaves nothing to "
            "look at. Ask for at least one step."
        )
    spaces = {"step": step, **(names or {})}
    if type(step) is MethodType:
        spaces = {"self": step.__self__, **spaces}
    look = _Look(spaces, inputs)
    after, failed, error, place = [], 0, "", None
    for number in range(1, steps + 1):
        look.starts.append(private_nodes.next_sequence_nr())
        try:
            call(number - 1)
        except Exception as raised:
            failed, place = number, _raised_at(raised)
            error = ": ".join(filter(None, (type(raised).__name__, first_sentence(raised))))
            break
        after.append(look(number))
    return GraphsOverSteps(tuple(after), failed, error, place)


def _caller(step: Callable[..., object]) -> Callable[[int], object]:
    """A call of the step with its number, or without where it takes none."""
    if not callable(step):
        raise TypeError(
            f"The graphs over steps of a {type(step).__name__} were asked. It cannot be called. "
            "Give a function that runs one step."
        )
    try:
        parameters = inspect.signature(step).parameters.values()
    except ValueError:  # a builtin
        parameters = ()
    collects = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p for p in parameters if p.default is p.empty and p.kind not in collects]
    if len(needed) > 1 or any(p.kind == p.KEYWORD_ONLY for p in needed):
        raise TypeError(
            "The graphs over steps were asked of a function that needs "
            f"{', '.join(p.name for p in needed)}. A step is given its number at most. Wrap it in "
            "a function of one argument or none."
        )
    return (lambda number: step(number)) if needed else (lambda _number: step())


def _raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's that was running."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    users = [at for at in lines if is_users(at[0])]
    return place_of(*users[-1]) if users else None


class _Site(NamedTuple):
    """A root: a node that is held from outside, its step, and how it is held."""

    place: int
    made: int
    holds: tuple[GraphHold, ...]


class _Look:
    """Looks at what is alive; `starts` has the number of the first node of each step."""

    def __init__(self, names: Mapping[str, object], inputs: object) -> None:
        self.starts: list[int] = []
        self._names, self._inputs = names, inputs
        gc.collect()
        with private.unseen():  # another thread may have made nodes with the numbers to come
            self._before = {
                id(target.value): (weakref.ref(target.value), _number(target))
                for target in targets_since([0])
                if issubclass(type(target.value), torch.Tensor)
            }

    def __call__(self, step: int) -> AfterStep:
        gc.collect()
        with private.unseen():
            targets = [t for t in targets_since(self.starts) if not self._was_before(t)]
            if not targets:
                return AfterStep(step)
            values = {id(target.value): target.value for target in targets}
            leaves = [target.leaf for target in targets if target.leaf is not None]
            paths, found_all = paths_to(values, leaves, self._names)
            reached = reached_by(targets, self.starts, lambda t: bool(paths[id(t.value)]))
            sites = list(_sites(targets, reached, paths))
            graphs = tuple(self._graphs(reached, sites))
            return AfterStep(step, graphs, found_all and reached.whole)

    def _was_before(self, target: Target) -> bool:
        """Is it a tensor from before, with the graph that it had then?"""
        ref, number = self._before.get(id(target.value), (lambda: None, 0))
        return ref() is target.value and number == _number(target)

    def _graphs(self, reached: Reached, sites: Sequence[_Site]) -> Iterator[StepGraph]:
        """What is alive of each step, the oldest first."""
        seen = {key for _, t in tensors_in({"": self._inputs}) for key, _ in storages(t)}
        for node in reached.nodes:
            if hasattr(node, "variable"):
                seen |= {key for key, _ in storages(node.variable)}
        for made in sorted({made for made in reached.made if made is not None}):
            places = [k for k, step in enumerate(reached.made) if step == made]
            held = [one for k in places for one in held_by(reached.nodes[k])]
            nbytes = 0
            for one in held:
                for key, storage in () if one.tensor is None else storages(one.tensor):
                    nbytes += 0 if key in seen else storage.nbytes()
                    seen.add(key)
            own = [site for site in sites if site.made == made]
            roots = [site for site in own if not reached.above[site.place] >> made & 1]
            holds = [hold for site in roots for hold in site.holds]
            yield StepGraph(
                made=made,
                graphs=len(roots),
                nodes=len(places),
                nbytes=nbytes,
                holds=tuple(dict.fromkeys([*holds, *_through(made, places, reached, sites)])),
                freed=sum(one.freed for one in held),
            )


def _number(target: Target) -> int:
    return private_nodes.sequence_nr(target.node)


def _sites(
    targets: Sequence[Target], reached: Reached, paths: Mapping[int, tuple[GraphHold, ...]]
) -> Iterator[_Site]:
    """Each node that is held from outside, once."""
    leaves = {id(node.variable) for node in reached.nodes if hasattr(node, "variable")}
    at: dict[int, list[Target]] = {}
    for target in targets:
        at.setdefault(reached.place[target.node], []).append(target)
    for place, group in at.items():
        holds = tuple(hold for target in group for hold in paths[id(target.value)])
        if not holds and reached.above[place]:
            continue  # part of a graph that something else holds
        if not holds:
            cycle = any(target.leaf is not None and id(target.leaf) in leaves for target in group)
            holds = (GraphHold("cycle" if cycle else "hidden"),)
        yield _Site(place, group[0].made, holds)


def _through(
    made: int, places: Sequence[int], reached: Reached, sites: Sequence[_Site]
) -> Iterator[GraphHold]:
    """How the newest other step that leads to these nodes is held."""
    steps = 0
    for k in places:
        steps |= reached.above[k]
    others = steps & ~(1 << made)
    if others:
        newest = others.bit_length() - 1
        for site in sites:
            if site.made == newest and not reached.above[site.place] >> newest & 1:
                first = site.holds[0]
                yield GraphHold(first.kind, first.path, first.function, newest)
