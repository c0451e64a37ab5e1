"""How did the real engine run through this graph? Step by step, forwards and back."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets
import torch

from ..draw.backward import backward_text, step_sentence, step_svg
from ..observe.backward import record_backward
from ..observe.recorder import ForwardRecorder
from .explorer import Explorer
from .show import Picture


class BackwardStepper(Explorer):
    """Run `loss.backward()`, record what the engine does, and step through the record.

    Args: `loss`, a tensor; `gradient` as for `backward`; `module` and `names` name the leaves;
    `forward`, a `ForwardRecorder` under which the forward pass ran, gives each node its line; `how`
    is handed to `backward`, such as `retain_graph=True`. The pass runs once, when the widget
    is made: it fills `.grad` and frees the graph as always. Stepping only reads the record.

    >>> x = torch.ones(2, requires_grad=True)
    >>> stepper = BackwardStepper((x * 3).sum(), names={"x": x})
    >>> stepper.step.value = 3
    >>> stepper.view.status
    'Step 3 of 3: AccumulateGrad of x receives [3, 3]. Its .grad held nothing and now holds [3, 3].'
    """

    def __init__(
        self,
        loss: torch.Tensor,
        gradient: torch.Tensor | None = None,
        *,
        module: torch.nn.Module | None = None,
        names: Mapping[str, object] | None = None,
        forward: ForwardRecorder | None = None,
        **how: bool,
    ) -> None:
        self.record = record_backward(
            loss, gradient, module=module, names=names, forward=forward, **how
        )
        last = len(self.record.steps)
        self.step = ipywidgets.IntSlider(description="step", value=1, min=1, max=last)
        self.play = ipywidgets.Play(value=1, min=1, max=last, interval=800)
        ipywidgets.jslink((self.play, "value"), (self.step, "value"))
        super().__init__(ipywidgets.HBox([self.play, self.step]), watch=(self.step,))

    def picture(self, *, live: bool) -> Picture:
        """The graph at the chosen step, and what happens in it."""
        number = self.step.value - 1
        svg = step_svg(self.record, number, live=live)
        return Picture(svg, step_sentence(self.record, number), backward_text(self.record))
