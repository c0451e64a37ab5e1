"""Do the gradients of small batches add up to that of the large one?"""

from __future__ import annotations

import ipywidgets

from ..draw.accumulation import accumulation_sentence, accumulation_svg, accumulation_text
from ..observe.accumulation import DIVIDE, SAMPLES, ZERO, accumulate
from ..records import Accumulation
from .explorer import Explorer
from .show import Picture


class AccumulationLab(Explorer):
    """Ten samples in parts, a linear model, a mean of squared errors: what does `.grad` hold?

    Choose how long a part is, what its loss is multiplied with, and when `.grad` is cleared;
    whether some targets are ignored, and whether BatchNorm comes first. Everything is run by torch
    on tensors of the lab's own.

    >>> lab = AccumulationLab(5)
    >>> lab.view.status
    '2 parts: .grad holds [3.8, 1.2], the gradient of the whole batch. After three such steps SGD \
is at the same weights and Adam is at the same weights.'
    """

    def __init__(self, length: int = 4) -> None:
        style = {"description_width": "110px"}
        wide = {"width": "380px"}
        self.length = ipywidgets.IntSlider(
            description="samples a part", value=length, min=1, max=SAMPLES, style=style, layout=wide
        )
        self.divide = ipywidgets.Dropdown(
            description="weigh the loss", options=DIVIDE, value=DIVIDE[1], style=style, layout=wide
        )
        self.zero = ipywidgets.Dropdown(
            description="clear .grad", options=ZERO, style=style, layout=wide
        )
        self.ignore = ipywidgets.Checkbox(description="ignore targets 3, 8, 9", indent=False)
        self.normalise = ipywidgets.Checkbox(description="BatchNorm first", indent=False)
        wrap = {"flex_flow": "row wrap"}
        controls = (self.length, self.divide, self.zero, self.ignore, self.normalise)
        super().__init__(
            ipywidgets.HBox([self.length, self.divide], layout=wrap),
            ipywidgets.HBox([self.zero, self.ignore, self.normalise], layout=wrap),
            watch=controls,
        )

    @property
    def accumulation(self) -> Accumulation:
        """What the controls describe, run now."""
        return accumulate(
            self.length.value,
            zero=self.zero.value,
            divide=self.divide.value,
            ignore=self.ignore.value,
            normalise=self.normalise.value,
        )

    def picture(self, *, live: bool) -> Picture:
        """Every part, and the whole batch."""
        found = self.accumulation
        title = f"{SAMPLES} samples, {self.length.value} a part, weighed {self.divide.value}"
        return Picture(
            accumulation_svg(found, title=title, live=live),
            accumulation_sentence(found),
            accumulation_text(found),
        )
