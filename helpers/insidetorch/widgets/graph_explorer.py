"""Which graph has autograd recorded behind this tensor, now?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ipywidgets
import torch

from ..draw.folding import MOST_UNFOLDED, items_of, opened_at_first
from ..draw.graph import MOST_BOXES, graph_svg
from ..draw.graph_text import graph_sentence, graph_text, item_label
from ..draw.svg import scaled
from ..observe.graph import graph_of
from ..observe.recorder import ForwardRecorder
from ..records import Graph
from .explorer import Explorer
from .show import Picture

_NONE, _CLOSE = "a folded box …", "fold all again"


class GraphExplorer(Explorer):
    """The live graph of a tensor: nodes from the root down, what they save, the leaves by name.

    In a large graph modules and repeated steps are one box each: choose one under "unfold" to see
    what is in it, or take the tick off "fold". (Modules are known if the forward pass ran under
    `forward`, a `ForwardRecorder(model)`.) Write a part of a leaf's name under "mark" to find it.
    "Read again" looks anew, for instance after `backward()`. The widget keeps the tensor, and so
    the graph, alive.

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
        graph = self.graph
        self._opened = opened_at_first(graph)
        wide = {"width": "260px"}
        self.again = ipywidgets.Button(description="Read again", icon="refresh")
        large = len(graph.nodes) - len(graph.leaves) > MOST_UNFOLDED
        self.fold = ipywidgets.Checkbox(value=large, description="fold", indent=False)
        self.fold.layout.width = "auto"
        self.unfold = ipywidgets.Dropdown(description="unfold", layout=wide)
        self.mark = ipywidgets.Text(
            description="mark", placeholder="part of a leaf's name", layout=wide
        )
        self.zoom = ipywidgets.IntSlider(
            description="zoom in %", value=100, min=20, max=200, step=10, layout=wide
        )
        self._offer(graph)
        controls = [self.again, self.fold, self.unfold, self.mark, self.zoom]
        super().__init__(
            ipywidgets.HBox(controls, layout={"flex_flow": "row wrap"}),
            watch=(self.fold, self.mark, self.zoom),
        )
        self.again.on_click(self.refresh)
        self.unfold.observe(self._on_unfold, "value")
        self.fold.observe(self._on_fold, "value")

    @property
    def graph(self) -> Graph:
        """The graph as it is at this moment."""
        t, module, names, forward = self._asked
        return graph_of(t, module=module, names=names, forward=forward)

    def picture(self, *, live: bool) -> Picture:
        """The graph as the controls want it; a sentence where it is too large to be read."""
        graph, how = self.graph, {"fold": self.fold.value, "opened": self._opened}
        svg, said = graph_svg(graph, live=live, mark=self.mark.value, **how), []
        if graph.nodes and not svg:
            more = "" if self.fold.value else ": fold them"
            said = [f"That would be more than {MOST_BOXES} boxes{more}."]
        if graph.nodes and self.mark.value:
            marked = sum(self.mark.value in leaf.leaf for leaf in graph.leaves)
            said.append(f"{marked:,} of {len(graph.leaves):,} leaves are marked.")
        if live and svg:
            svg = scaled(svg, self.zoom.value / 100)
        return Picture(svg, " ".join([graph_sentence(graph), *said]), graph_text(graph, **how))

    def _offer(self, graph: Graph) -> None:
        """Every folded box may be unfolded."""
        items = items_of(graph, fold=True, opened=self._opened)
        boxes = [(item_label(graph, item), item.key) for item in items if item.key]
        first = opened_at_first(graph)
        closing = [(_CLOSE, _CLOSE)] if set(self._opened) != set(first) else []
        self.unfold.options = [(_NONE, _NONE), *boxes, *closing]
        self.unfold.value = _NONE
        self.unfold.disabled = not self.fold.value or len(self.unfold.options) == 1

    def _on_unfold(self, change: Mapping[str, object]) -> None:
        if change["new"] in (_NONE, None):
            return
        graph = self.graph
        if change["new"] == _CLOSE:
            self._opened = opened_at_first(graph)
        else:
            self._opened = (*self._opened, change["new"])
        with self.together():
            self._offer(graph)

    def _on_fold(self, _change: object) -> None:
        self.unfold.disabled = not self.fold.value or len(self.unfold.options) == 1
