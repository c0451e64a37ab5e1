"""Which operators does this function really run, forward and backward?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import ipywidgets

from ..observe.trace import trace
from ..records import Trace
from .explorer import Explorer
from .show import Picture, picture_of


class OperatorTrace(Explorer):
    """The operators of a run: what each was given and returned, and the bytes that it moves.

    Args: `fn`, called without arguments when the widget is made, and again with "Run again". Rows
    that use one result light up together. With the tick off "views", operators that move no memory
    are left out.

    >>> import torch
    >>> a, b, c = torch.ones(3, 1000)
    >>> OperatorTrace(lambda: a * b + c).view.status.partition(";")[0]
    '2 operators read 16,000 bytes and wrote 8,000'
    """

    def __init__(self, fn: Callable[[], object]) -> None:
        self._fn = fn
        self.trace = trace(fn)
        self.again = ipywidgets.Button(description="Run again", icon="refresh")
        self.views = ipywidgets.Checkbox(value=True, description="views", indent=False)
        super().__init__(ipywidgets.HBox([self.again, self.views]), watch=(self.views,))
        self.again.on_click(self._run)

    def picture(self, *, live: bool) -> Picture:
        """The table of the last run."""
        shown = self.trace if self.views.value else self._moving()
        return picture_of(shown, live=live)

    def _moving(self) -> Trace:
        return replace(self.trace, found=tuple(one for one in self.trace.found if one.moved))

    def _run(self, _button: object) -> None:
        with self._lock:
            self.trace = trace(self._fn)
        self.refresh()
