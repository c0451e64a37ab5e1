"""Which graphs are alive now, which step made them, and who holds them?"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from ..records import AfterStep, GraphHold, StepGraph
from . import private
from .alive import Reached, Target, living, reached_by, targets_of
from .held_paths import paths_to
from .memory import held_by, storages
from .reach import tensors_in


class _Site(NamedTuple):
    """A root: the place of a node that is held from outside, its step, and how it is held."""

    place: int
    made: int
    holds: tuple[GraphHold, ...]


class GraphLook:
    """Looks at what is alive; `starts` has the number of the first node of each step."""

    def __init__(self, names: Mapping[str, object], inputs: object) -> None:
        self.starts: list[int] = []
        self._names, self._inputs = names, inputs
        gc.collect()
        with private.unseen():  # another thread may have made nodes with the numbers to come
            self._before = {
                key: (weakref.ref(value), private.version(value))
                for key, value in living([])[0].items()
            }

    def __call__(self, step: int) -> AfterStep:
        enabled = gc.isenabled()
        gc.disable()
        try:
            alive = self._count()
            gc.collect()
            return replace(self._after(step), collected=max(0, alive - self._count()))
        finally:
            gc.collect(0)  # the frames that a search for holders has seen, which hold each other
            if enabled:
                gc.enable()

    def _count(self) -> int:
        """How many tensors of the steps have a graph."""
        with private.unseen():
            values = living([])[0].values()
            return sum(not self._was_before(one) for one in values)

    def _after(self, step: int) -> AfterStep:
        with private.unseen():
            values, leaves = living(self.starts)
            values = {key: one for key, one in values.items() if not self._was_before(one)}
            leaves = {key: leaf for key, leaf in leaves.items() if key in values}
            if not values:
                return AfterStep(step)
            paths, whole = paths_to(values, list(leaves.values()), self._names)
            held = [key for key in values if paths[key]]
            unheld = sorted((key for key in values if not paths[key]), key=leaves.__contains__)
            reached = reached_by(values, held, unheld, self.starts)
            sites = _sites(targets_of(values, held, self.starts), reached, paths, leaves)
            graphs = tuple(self._graphs(reached, sites))
            return AfterStep(step, graphs, whole and reached.whole)

    def _was_before(self, value: object) -> bool:
        """Is it a tensor from before that was not written to since?"""
        ref, version = self._before.get(id(value), (None, None))
        return ref is not None and ref() is value and version == private.version(value)

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
            roots = _roots(own, reached)
            holds = [hold for site in dict.fromkeys([*roots, *own]) for hold in site.holds]
            yield StepGraph(
                made=made,
                graphs=len(roots),
                nodes=len(places),
                nbytes=nbytes,
                holds=_once([*holds, *_through(made, places, reached, sites)]),
                freed=sum(one.freed for one in held),
            )


def _sites(
    held: Sequence[Target],
    reached: Reached,
    paths: Mapping[int, tuple[GraphHold, ...]],
    leaves: Mapping[int, torch.Tensor],
) -> list[_Site]:
    """Each node that is held from outside, once, in the order of the paths to them."""
    at: dict[tuple[int, int], list[GraphHold]] = {}
    for target in held:
        at.setdefault((reached.place[target.node], target.made), []).extend(paths[target.key])
    known = {id(node.variable) for node in reached.nodes if hasattr(node, "variable")}
    for target in reached.unheld:
        kind = "cycle" if id(leaves.get(target.key)) in known else "hidden"
        at[reached.place[target.node], target.made] = [GraphHold(kind)]
    sites = [_Site(place, made, tuple(holds)) for (place, made), holds in at.items()]
    return sorted(sites, key=lambda site: site.holds[0].path)


def _once(holds: Sequence[GraphHold]) -> tuple[GraphHold, ...]:
    """The first of those that are items of one container."""
    first: dict[object, GraphHold] = {}
    for hold in holds:
        first.setdefault((hold.kind, hold.container, hold.function, hold.through), hold)
    return tuple(first.values())


def _roots(sites: Sequence[_Site], reached: Reached) -> list[_Site]:
    """Those sites to which no other one of their step leads."""
    return [site for site in sites if not reached.above[site.place] >> site.made & 1]


def _through(
    made: int, places: Sequence[int], reached: Reached, sites: Sequence[_Site]
) -> Iterator[GraphHold]:
    """How the newest other step that leads to these nodes is held."""
    steps = 0
    for k in places:
        steps |= reached.above[k]
    others = steps & ~(1 << made)
    newest = others.bit_length() - 1
    for site in _roots(sites, reached) if others else ():
        if site.made == newest:
            yield replace(site.holds[0], through=newest)
