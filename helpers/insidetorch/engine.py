"""In which order does the backward engine run the nodes of a graph? A model, on plain integers.

The engine never sorts the graph. It counts for each node how many edges lead to it from nodes that
will run, keeps the nodes whose counts have reached zero in a queue, and always runs the youngest of
them: the one with the highest sequence number. `AccumulateGrad` has the highest number there is, so
it runs as soon as it is ready. The tests compare the model with the real engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The sequence number of every AccumulateGrad node.
AT_ONCE = 2**64 - 1


@dataclass(frozen=True)
class Step:
    """One turn of the engine: the node that ran, and what was waiting before it was chosen.

    `ready` lists the queue, the next one first; `missing` gives for each node that has received
    something and is not ready how many edges it still waits for.
    """

    node: int
    ready: tuple[int, ...]
    missing: tuple[tuple[int, int], ...]


def dependencies(edges: Sequence[Sequence[int]], root: int = 0) -> list[int]:
    """How many edges lead to each node from the nodes that the root reaches?

    Args: `edges`, for each node the nodes that it sends gradients to, once for each edge.

    >>> dependencies([[1, 2], [2], []])
    [0, 1, 2]
    """
    counts = [0] * len(edges)
    reached, waiting = {root}, [root]
    while waiting:
        for target in edges[waiting.pop()]:
            counts[target] += 1
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return counts


def run(edges: Sequence[Sequence[int]], sequence: Sequence[int], root: int = 0) -> list[Step]:
    """In which order do the nodes run, and what waits at each turn?

    Args: `edges` as for `dependencies`; `sequence`, the sequence number of each node.
    Returns the steps in order, the root first.

    >>> [step.node for step in run([[1, 2], [3], [3], []], [9, 2, 5, AT_ONCE])]
    [0, 2, 1, 3]

    Source: torch/csrc/autograd/engine.cpp, `Engine::evaluate_function`, and `CompareNodeTaskTime`
    (2.13).
    """
    counts = dependencies(edges, root)
    queue, waiting, steps = ReadyQueue(sequence), set(), []
    queue.push(root)
    while queue.nodes:
        ready = queue.in_order()
        missing = tuple((node, counts[node]) for node in sorted(waiting))
        node = queue.pop()
        steps.append(Step(node, ready, missing))
        for target in edges[node]:
            counts[target] -= 1
            waiting.add(target)
            if counts[target] == 0:
                waiting.remove(target)
                queue.push(target)
    return steps


class ReadyQueue:
    """The engine's queue: the highest sequence number first.

    Nodes of the same number leave it in the order of the C++ library's heap (here libstdc++'s),
    which is not the order in which they came.

    >>> queue = ReadyQueue([AT_ONCE] * 5)
    >>> for node in range(5): queue.push(node)
    >>> [queue.pop() for _ in range(5)]
    [0, 2, 4, 1, 3]
    """

    def __init__(self, sequence: Sequence[int]) -> None:
        self.sequence = sequence
        self.nodes: list[int] = []

    def push(self, node: int) -> None:
        """A node becomes ready."""
        self.nodes.append(node)
        self._rise(len(self.nodes) - 1)

    def pop(self) -> int:
        """The node that runs next."""
        nodes = self.nodes
        first, last = nodes[0], nodes.pop()
        if nodes:
            hole, count = 0, len(nodes)
            while (child := 2 * hole + 2) < count:
                if self.sequence[nodes[child]] < self.sequence[nodes[child - 1]]:
                    child -= 1
                nodes[hole], hole = nodes[child], child
            if child == count:
                nodes[hole], hole = nodes[child - 1], child - 1
            nodes[hole] = last
            self._rise(hole)
        return first

    def in_order(self) -> tuple[int, ...]:
        """The nodes in the order in which they would leave, if none came."""
        copy = ReadyQueue(self.sequence)
        copy.nodes = list(self.nodes)
        return tuple(copy.pop() for _ in self.nodes)

    def _rise(self, hole: int) -> None:
        """Move the node at a place up past all that are older."""
        nodes = self.nodes
        node = nodes[hole]
        while hole and self.sequence[nodes[(hole - 1) // 2]] < self.sequence[node]:
            nodes[hole], hole = nodes[(hole - 1) // 2], (hole - 1) // 2
        nodes[hole] = node
