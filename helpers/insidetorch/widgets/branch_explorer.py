"""The same function, another input: which graph does it leave?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import ipywidgets
import torch

from ..draw.branching import branch_sentence, branch_svg, branch_text
from ..observe.branches import branch_of
from ..records import Branch
from .explorer import Explorer
from .show import Picture


class BranchExplorer(Explorer):
    """Call a function with one input after another, and see the graph that each call leaves.

    Args: `fn` takes a tensor and returns one; `inputs`, the values to choose from, numbers or
    nested lists of them; `names`, further tensors that `fn` uses. Lines of `fn` that left a node
    are marked.

    >>> explorer = BranchExplorer(lambda x: x * 2 if x > 0 else x.exp(), [1.0, -1.0])
    >>> explorer.input.value = 1
    >>> explorer.branch.graph.nodes[0].name
    'ExpBackward0'
    """

    def __init__(
        self,
        fn: Callable[[torch.Tensor], torch.Tensor],
        inputs: Sequence[object],
        *,
        names: Mapping[str, object] | None = None,
    ) -> None:
        inputs = list(inputs) if isinstance(inputs, Iterable) else [inputs]
        if not inputs:
            raise ValueError(
                "A branch explorer without inputs was asked. There is nothing to call the function "
                "with. Give at least one value."
            )
        self._asked = fn, inputs, names
        first = branch_of(fn, inputs[0], names=names)
        self.input = ipywidgets.SelectionSlider(
            options=[(str(given), k) for k, given in enumerate(inputs)],
            description=first.argument,
            readout=False,  # the page would cut it, and the line below the picture says it
        )
        super().__init__(self.input, watch=(self.input,))

    @property
    def branch(self) -> Branch:
        """The call with the chosen input, made now."""
        fn, inputs, names = self._asked
        return branch_of(fn, inputs[self.input.value], names=names)

    def picture(self, *, live: bool) -> Picture:
        """The function and the graph of one call of it."""
        branch = self.branch
        return Picture(branch_svg(branch, live=live), branch_sentence(branch), branch_text(branch))
