"""How deep may a graph still be looked at, so that torch can free it?

torch 2.13 frees a deep graph without recursion, but not the nodes that Python has looked at:
50,000 in a row overflow a stack of 8 MB, and the process ends. So the depths of all graphs that
were looked at and are still alive are added up, and a look ends early where the sum would be too
large.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from . import private_nodes

MOST = 30_000
LEAST = 100
_SHALLOW = 500  # of a graph that is not deeper, nothing is remembered


class _Look(NamedTuple):
    """One look: the root it began at, the deepest node it came to, and how deep that was."""

    root: weakref.ref
    deepest: weakref.ref
    depth: int


_looks: list[_Look] = []


def room(root: object) -> int:
    """So many nodes in a row may be looked at from this root; never less than LEAST.

    What was looked at from the same root does not count again.
    """
    _looks[:] = [look for look in _looks if look.deepest() is not None]
    if not _looks:
        return MOST
    known = private_nodes.hooks_dict(root)
    return max(MOST - sum(look.depth for look in _looks if look.root() is not known), LEAST)


def looked_at(root: object, deepest: object, depth: int) -> None:
    """Remember how deep a look went, for as long as its deepest node lives."""
    if depth <= _SHALLOW:
        return
    first, last = private_nodes.hooks_dict(root), private_nodes.hooks_dict(deepest)
    _looks[:] = [look for look in _looks if look.root() is not first]
    _looks.append(_Look(weakref.ref(first), weakref.ref(last), depth))
