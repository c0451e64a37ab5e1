"""Who keeps which graph alive, over the steps of a loop?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import ipywidgets

from ..observe.graph_memory import graph_memory
from ..observe.graph_memory_presets import LOOPS, source_of
from ..observe.loop_memory import loop_memory
from ..records import GraphsOverSteps
from .explorer import Explorer
from .show import Picture, picture_of

MOST_STEPS = 12


class GraphMemory(Explorer):
    """Run a loop, and see after each step which graphs are alive, made by which step, held by whom.

    Args: `step`, one step of a loop of yours, and `names` and `inputs`, as for `graph_memory`;
    without it one of some small training loops is chosen, whose code stands above the picture.
    `steps`, how many. Whenever the number of steps is changed, or "run again" is pressed, the loop
    runs anew: one of yours goes on with whatever it has kept.
    Raises ValueError for fewer than 1 or more than 12 steps.

    >>> GraphMemory(steps=3).view.status
    'After each step no graph is alive: nothing grows.'
    """

    def __init__(
        self,
        step: Callable[..., object] | None = None,
        *,
        steps: int = 6,
        names: Mapping[str, object] | None = None,
        inputs: object = None,
    ) -> None:
        if steps not in range(1, MOST_STEPS + 1):
            raise ValueError(
                f"A widget with {steps} steps was asked. Its slider goes from 1 to {MOST_STEPS}. "
                "Choose a number in between, or ask `graph_memory`."
            )
        self._asked = step, names, inputs
        self.steps = ipywidgets.IntSlider(
            description="steps", value=steps, min=1, max=MOST_STEPS, continuous_update=False
        )
        self.again = ipywidgets.Button(description="Run again", icon="refresh")
        controls, code = [self.steps, self.again], []
        if step is None:
            self.loop = ipywidgets.Dropdown(
                description="loop", options=list(LOOPS), layout={"width": "380px"}
            )
            self.source = ipywidgets.HTML()
            controls, code = [self.loop, *controls], [self.source]
        self.memory = self._run()
        super().__init__(
            ipywidgets.HBox(controls, layout={"flex_flow": "row wrap"}), *code, watch=()
        )
        for control in controls[:-1]:
            control.observe(self.run, "value")
        self.again.on_click(self.run)

    def run(self, _change: object = None) -> None:
        """Run the loop anew and show what was alive."""
        with self._lock:
            self.view.show(self.view.svg, "The loop runs …")
            try:
                self.memory = self._run()
            except Exception as error:  # would be swallowed: the page shows no callback errors
                self.view.show(self.view.svg, f"{type(error).__name__}: {error}")
            else:
                self.refresh()

    def picture(self, *, live: bool) -> Picture:
        """What was alive in the last run; nothing runs again for it."""
        found = picture_of(self.memory, live=live)
        if self._asked[0] is not None:
            return found
        code = source_of(self.loop.value)
        return Picture(found.svg, found.alt, f"{code}\n\n{found.text}", told=True)

    def _run(self) -> GraphsOverSteps:
        step, names, inputs = self._asked
        if step is not None:
            return graph_memory(step, steps=self.steps.value, names=names, inputs=inputs)
        self.source.value = f"<pre>{escape(source_of(self.loop.value))}</pre>"
        return loop_memory(self.loop.value, steps=self.steps.value)
