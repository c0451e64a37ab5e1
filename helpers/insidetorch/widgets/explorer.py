"""What all explorers have in common: controls above, a live picture below, a static twin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import ipywidgets

from .show import Picture
from .view import SvgView


class Explorer(ipywidgets.VBox):
    """A box of controls over a picture.

    A subclass makes its controls, hands them to `__init__`, and says in `picture` what they show:
    the only method that reads the controls. Callbacks run in another thread than the cells, so a
    redraw holds a lock, and an error in it is told in the status line, where the page would show
    nothing.
    """

    def __init__(self, *controls: ipywidgets.Widget, watch: tuple[ipywidgets.Widget, ...]) -> None:
        self.view = SvgView()
        self._lock = RLock()
        self._quiet = False
        super().__init__([*controls, self.view])
        self.add_class("it-box")
        for control in watch:
            control.observe(self.refresh, "value")
        self.view.show(*self._live())

    @abstractmethod
    def picture(self, *, live: bool) -> Picture:
        """The picture of what the controls say now."""

    def refresh(self, _change: object = None) -> None:
        """Draw again, once for a group of changes."""
        with self._lock:
            if self._quiet:
                return
            try:
                svg, status = self._live()
            except Exception as error:  # would be swallowed: the page shows no callback errors
                svg, status = self.view.svg, f"{type(error).__name__}: {error}"
            self.view.show(svg, status)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Change several controls and draw once."""
        with self._lock:
            self._quiet = True
            try:
                yield
            finally:
                self._quiet = False
        self.refresh()

    def close(self) -> None:
        """Let go of what is shown: ipywidgets keeps a widget, its parts too, until it is closed."""
        parts = list(self.children)
        for part in parts:
            parts += getattr(part, "children", ())
            part.close()
        super().close()

    def _live(self) -> tuple[str, str]:
        now = self.picture(live=True)
        return now.svg, now.alt

    def __repr__(self) -> str:
        return f"{type(self).__name__}\n{self.picture(live=False).text}"

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        bundle = super()._repr_mimebundle_(**kwargs)
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = self.picture(live=False)._repr_html_()
        return bundle
