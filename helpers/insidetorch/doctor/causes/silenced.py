"""Which leaves lie behind an argument for which a custom backward returns nothing?"""

from __future__ import annotations

from ..passes import NONE, Node
from ..patient import Patient
from ..values import Value


def leaves_below(node: Node) -> list[Value]:
    """The leaves that a node leads to."""
    seen, waiting, found = {id(node)}, [node], []
    while waiting:
        one = waiting.pop()
        if one.leaf is not None:
            found.append(one.leaf)
        for below, _ in one.below:
            if below is not None and id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)
    return found


def silenced(patient: Patient) -> set[Value]:
    """The leaves behind an argument for which a custom backward returns None."""
    return {
        leaf
        for one in patient.history.losses() for node in one.nodes
        if node.function is not None and node.ran
        for state, (below, _) in zip(node.went, node.below, strict=False)
        if state == NONE and below is not None for leaf in leaves_below(below)
    }  # fmt: skip
