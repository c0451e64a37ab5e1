"""Which tensors of my notebook share memory?"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import ipywidgets

from ..observe.aliases import families
from ..records import Family
from .explorer import Explorer
from .show import Picture, picture_of

_NOTEBOOK_NAMES = ("In", "Out", "exit", "quit", "get_ipython")


class AliasMap(Explorer):
    """Every live tensor of the notebook that shares a storage with another, by name.

    Looks through the names of the notebook, or of `names`: tensors, modules, and lists, tuples
    and dicts of them. Left out are names with an underscore in front and what the notebook keeps
    of its own cells. "Read again" looks anew.

    >>> import torch
    >>> x = torch.zeros(2, 3)
    >>> AliasMap({"x": x, "column": x[:, 0]}).view.status
    '2 tensors share one block of memory.'
    """

    def __init__(self, names: Mapping[str, object] | None = None) -> None:
        self._names = sys._getframe(1).f_globals if names is None else names
        self.alone = ipywidgets.Checkbox(
            description="also tensors that share with none", indent=False
        )
        self.again = ipywidgets.Button(description="Read again", icon="refresh")
        super().__init__(ipywidgets.HBox([self.again, self.alone]), watch=(self.alone,))
        self.again.on_click(self.refresh)

    def families(self) -> tuple[Family, ...]:
        """The tensors that share a storage, as they are at this moment."""
        own = {
            name: value
            for name, value in list(self._names.items())
            if not name.startswith("_") and name not in _NOTEBOOK_NAMES
        }
        return families(own, alone=self.alone.value)

    def picture(self, *, live: bool) -> Picture:
        """The map of the families as they are at this moment."""
        return picture_of(self.families(), live=live)
