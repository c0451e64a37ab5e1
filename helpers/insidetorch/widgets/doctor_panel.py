"""What became of the gradients in one's own step, and on which line?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

import ipywidgets
import torch

from ..doctor.finding import Finding
from ..doctor.run import Run
from ..doctor.watching import watch
from ..draw.diagnosis import diagnosis_svg
from ..draw.diagnosis_text import diagnosis_sentence, diagnosis_text
from .explorer import Explorer
from .show import Picture

_ALL = -1


class DoctorPanel(Explorer):
    """The way of the values and the way of the gradient, line by line of one's own code.

    Args: `step`, a function that is called once without arguments, or the `Run` of a `watch` that
    has ended; `model`, whose parameters are all expected to get gradients; `optimizer`, one that
    was made before; `names`, what tensors are called, else by the variables of the function.
    What the step raises is told in the picture, and not raised. Under "finding" each finding leads
    to its line and its explanation; "backward pass" chooses among several.

    >>> layer, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> def step():
    ...     (layer(x).detach().mean() + layer.bias.sum()).backward()
    >>> DoctorPanel(step, model=layer).view.status.partition(". ")[0]
    'Backward pass 1 of 1: 1 of 2 trained tensors got a gradient'
    """

    def __init__(
        self,
        step: Callable[[], object] | Run,
        *,
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        names: Mapping[str, object] | None = None,
    ) -> None:
        self._again = lambda: _watched(step, model, optimizer, names)
        self.run = step if isinstance(step, Run) else self._again()
        wide = {"width": "440px"}
        self.finding = ipywidgets.Dropdown(description="finding", layout=wide)
        self.number = ipywidgets.BoundedIntText(description="backward pass", min=1, max=1)
        self.number.style.description_width = "initial"
        self.number.layout.width = "180px"
        self.again = ipywidgets.Button(description="Run again", icon="refresh")
        self.again.disabled = isinstance(step, Run)
        self._offer()
        super().__init__(
            ipywidgets.HBox(
                [self.finding, self.number, self.again], layout={"flex_flow": "row wrap"}
            ),
            watch=(self.number,),
        )
        self.finding.observe(self._on_finding, "value")
        self.again.on_click(self._on_again)

    def picture(self, *, live: bool) -> Picture:
        """The chosen backward pass, with the chosen finding told below it."""
        if not self.run.passes:
            report = self.run.report()
            return Picture("", report.headline, str(report))
        one = self.run.ways(min(self.number.value, self.run.passes))
        chosen = None if self.finding.value == _ALL else self.finding.value
        svg = diagnosis_svg(one, live=live, chosen=chosen)
        return Picture(svg, diagnosis_sentence(one), diagnosis_text(one))

    def _offer(self) -> None:
        """Every finding and every pass may be chosen."""
        found = self.run.findings
        every = "all findings" if found else "nothing found"
        each = [(f"{k + 1}. {one.severity}: {_named(one)}", k) for k, one in enumerate(found)]
        self.finding.options = [(every, _ALL), *each]
        self.finding.value = _ALL
        self.number.max = max(self.run.passes, 1)
        one = self.run.ways()
        self.number.value = one.number if one is not None else 1

    def _on_finding(self, change: Mapping[str, object]) -> None:
        """Go to a pass that the finding's line has a part in."""
        chosen = change["new"]
        one = None if chosen in (None, _ALL) else self.run.ways(of=self.run.findings[chosen])
        with self.together():
            if one is not None:
                self.number.value = one.number

    def _on_again(self, _button: object) -> None:
        self.run = self._again()
        with self.together():
            self._offer()


def _named(one: Finding) -> str:
    """A finding in a few words."""
    where = f"line {one.place.line}" if one.place is not None else "no line of yours"
    return f"{one.kind}, {where}"


def _watched(
    step: Callable[[], object],
    model: torch.nn.Module | None,
    optimizer: torch.optim.Optimizer | None,
    names: Mapping[str, object] | None,
) -> Run:
    """The run of a step. What it raises is kept there as its `error`."""
    if not callable(step):
        raise TypeError(
            f"A panel for a {type(step).__name__} was asked. There is one of a function, which is "
            "called once, and of a run that was watched. Give the step as a function."
        )
    run = None
    try:
        with watch(model, optimizer=optimizer, namespace=_names(step, names)) as run:
            step()
    except Exception:
        if run is None or run.error is None:
            raise
    return run


def _names(step: Callable[[], object], names: Mapping[str, object] | None) -> dict[str, object]:
    """The variables that a function sees, and those of `names` before all others."""
    inner = inspect.unwrap(step)
    found = dict(getattr(inner, "__globals__", {}))
    if inspect.isfunction(inner):
        found |= inspect.getclosurevars(inner).nonlocals
    return found | dict(names or {})
