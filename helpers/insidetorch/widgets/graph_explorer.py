"""Which graph has autograd recorded behind this tensor, now?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ipywidgets
import torch

from ..draw.graph import MOST_BOXES, graph_svg
from ..draw.graph_text import graph_sentence, graph_text
from ..observe.graph import graph_of
from ..observe.recorder import ForwardRecorder
from ..records import Graph
from .explorer import Explorer
from .show import Picture


class GraphExplorer(Explorer):
    """The live graph of a tensor: nodes from the root down, what they save, the leaves by name.

    Repeated steps, as of a recurrent loop or a stack of layers, are one box; "unfold" shows each.
    Write a part of a leaf's name under "mark" to find it. "Read again" looks anew, for instance
    after `backward()`. The widget keeps the tensor, and so the graph, alive.

    >>> w = torch.ones(2, requires_grad=True)
    >>> GraphExplorer((w * 3).sum(), names={"w": w}).view.status
    '3 nodes, 2 edges, 1 leaf; 8 bytes saved for backward.'
    """

    def __init__(
        self,
        t: torch.Tensor | Sequence[torch.Tensor],
        *,
        module: torch.nn.Module | None = None,
        names: Mapping[str, object] | None = None,
        forward: ForwardRecorder | None = None,
    ) -> None:
        self._asked = t, module, names, forward
        self.again = ipywidgets.Button(description="Read again", icon="refresh")
        self.fold = ipywidgets.Checkbox(value=True, description="fold repeats", indent=False)
        self.mark = ipywidgets.Text(description="mark", placeholder="part of a leaf's name")
        super().__init__(
            ipywidgets.HBox([self.again, self.fold, self.mark], layout={"flex_flow": "row wrap"}),
            watch=(self.fold, self.mark),
        )
        self.again.on_click(self.refresh)

    @property
    def graph(self) -> Graph:
        """The graph as it is at this moment."""
        t, module, names, forward = self._asked
        return graph_of(t, module=module, names=names, forward=forward)

    def picture(self, *, live: bool) -> Picture:
        """The graph as the controls want it; a sentence where it is too large to be read."""
        graph, fold = self.graph, self.fold.value
        svg, said = graph_svg(graph, live=live, fold=fold, mark=self.mark.value), []
        if graph.nodes and not svg:
            said = [f"That would be more than {MOST_BOXES} boxes: fold the repeats."]
        return Picture(svg, " ".join([graph_sentence(graph), *said]), graph_text(graph, fold=fold))
