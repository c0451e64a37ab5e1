"""Another operator, another tensor, another mode: which way does the call take?"""

from __future__ import annotations

import ipywidgets

from ..draw.paths import path_tally
from ..observe.path_presets import MODES, OPERATORS, TENSORS, preset_path
from ..records import DispatchPath
from .explorer import Explorer
from .show import Picture, picture_of


class DispatchExplorer(Explorer):
    """Choose an operator, what `x` is and a mode: the keys that the call tries, read from torch.

    A key with a solid border runs something, a dotted one lets the call through. The line below
    counts them, and says so where `x` has no part in the call.

    >>> explorer = DispatchExplorer()
    >>> explorer.mode.value = "inference_mode"
    >>> print(explorer.path)
    aten.add.Tensor: CPU: kernel
    """

    def __init__(self, *call: object) -> None:
        if call:
            name = getattr(call[0], "__name__", type(call[0]).__name__)
            raise TypeError(
                f"An explorer of {name} was asked. It has calls of its own to choose from, and "
                "takes no other. Leave the brackets empty, or write show(path_of(torch.mm, x, y)), "
                "with a function and arguments of your own."
            )
        self.operator = ipywidgets.Dropdown(options=list(OPERATORS), description="run")
        self.tensor = ipywidgets.Dropdown(options=list(TENSORS), description="x is")
        self.mode = ipywidgets.Dropdown(options=list(MODES), description="under")
        controls = (self.operator, self.tensor, self.mode)
        super().__init__(
            ipywidgets.HBox(list(controls), layout={"flex_flow": "row wrap"}), watch=controls
        )

    @property
    def path(self) -> DispatchPath:
        """The way of the chosen call, asked now."""
        return preset_path(self.operator.value, self.tensor.value, self.mode.value)

    def picture(self, *, live: bool) -> Picture:
        """The rows of the chosen call."""
        return picture_of(self.path, live=live)

    def _live(self) -> tuple[str, str]:
        path = self.path
        status = path_tally(path)
        if path.steps and not path.argument_keys:
            status += " The call gets no tensor, so what x is changes nothing."
        return picture_of(path, live=True).svg, status
