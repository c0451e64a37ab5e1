"""Which graph does create_graph add?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ipywidgets
import torch

from ..draw.derivative import derivative_sentence, derivative_svg, derivative_text
from ..observe.derivatives import derivative_of
from ..records import Derivative
from .explorer import Explorer
from .show import Picture


class SecondOrderExplorer(Explorer):
    """The graph of a function's value, of its derivative, of the derivative of that.

    Args: `fn` takes a tensor and returns one; `given`, the values of its argument; `names`, further
    tensors that `fn` uses; `orders`, the highest derivative. Take the tick off "create_graph in
    the last pass" and the derivative has no graph.

    >>> explorer = SecondOrderExplorer(lambda x: x**3, 2.0)
    >>> explorer.view.status.partition(". ")[0]
    'The first derivative is 12'
    """

    def __init__(
        self,
        fn: Callable[[torch.Tensor], torch.Tensor],
        given: object,
        *,
        names: Mapping[str, object] | None = None,
        orders: int = 3,
    ) -> None:
        if orders < 0:
            raise ValueError(
                f"Derivatives up to order {orders} were asked. The function itself is 0. Give 0 or "
                "more."
            )
        self._asked = fn, given, names
        self.order = ipywidgets.IntSlider(
            description="order", value=min(1, orders), min=0, max=orders
        )
        self.create_graph = ipywidgets.Checkbox(
            value=True, description="create_graph in the last pass", indent=False
        )
        super().__init__(
            ipywidgets.HBox([self.order, self.create_graph], layout={"flex_flow": "row wrap"}),
            watch=(self.order, self.create_graph),
        )

    @property
    def derivative(self) -> Derivative:
        """The chosen derivative, computed now."""
        fn, given, names = self._asked
        return derivative_of(
            fn, given, self.order.value, create_graph=self.create_graph.value, names=names
        )

    def picture(self, *, live: bool) -> Picture:
        """The graph behind the derivative; a sentence where there is none."""
        found = self.derivative
        return Picture(
            derivative_svg(found, live=live), derivative_sentence(found), derivative_text(found)
        )
