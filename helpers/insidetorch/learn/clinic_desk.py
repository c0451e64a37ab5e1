"""The clinic's desk: choose a case, read it, run it, look, name line and cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from threading import Lock

import ipywidgets

from ..draw.code import code_svg
from ..widgets.explorer import Explorer
from ..widgets.show import Picture
from .clinic import QUESTION, clinic_case
from .clinic_apart import shown_apart
from .clinic_data import clinic_data
from .verdict import Verdict

_MARKS = {"": "○", "not yet": "✗", "shown": "✗", "right": "✓"}
_DONE = ("right", "shown")
_NO_LINE = "choose a line …"
_TRIES_BEFORE_THE_ANSWER = 2


class Clinic(Explorer):
    """Real bugs, one after the other: read the code, run it, look inside, name line and cause.

    A case is marked ○ until it is tried, ✗ where the answer is not right yet or was shown, ✓ once
    it is solved. "Run it" and "Look inside" use a process of their own, so nothing of the notebook
    changes; in a cell, `clinic.case.run()` leaves the script's variables to be looked at
    (`clinic.case.loss`). After two tries the answer can be shown.

    >>> Clinic().case.id
    '013'
    """

    def __init__(self) -> None:
        self._cases = {case_id: clinic_case(case_id) for case_id in clinic_data()["cases"]}
        self._running, self._last_kind, self._marking = Lock(), "", False
        self.case = next(iter(self._cases.values()))
        wide, button = {"width": "460px"}, {"width": "auto"}
        self.choose = ipywidgets.Dropdown(description="case", layout={"width": "220px"})
        self.draw = ipywidgets.Button(description="Draw another", layout=button)
        self.solved = ipywidgets.HTML()
        self.symptom = ipywidgets.HTML()
        self.file = ipywidgets.Dropdown(description="file", layout={"width": "260px"})
        self.line = ipywidgets.Dropdown(description="line", layout=wide)
        self.cause = ipywidgets.RadioButtons(layout={"width": "auto"})
        self.run = ipywidgets.Button(description="Run it", layout=button)
        self.look = ipywidgets.Button(description="Look inside", layout=button)
        self.answer = ipywidgets.Button(description="Answer", layout=button)
        self.show = ipywidgets.Button(description="Show the answer", layout=button)
        self.details = ipywidgets.HTML()
        self._said = ""
        self._put_on_the_desk()
        row = {"flex_flow": "row wrap"}
        super().__init__(
            ipywidgets.HBox([self.choose, self.draw, self.solved], layout=row),
            self.symptom,
            ipywidgets.HBox([self.file, self.line], layout=row),
            self.cause,
            ipywidgets.HBox([self.run, self.look, self.answer, self.show], layout=row),
            watch=(self.line,),
        )
        # What is said stands between the code and the controls that ask for it.
        case, symptom, *asking, view = self.children
        self.children = (case, symptom, view, *asking, self.details)
        self.choose.observe(self._on_case, "value")
        self.file.observe(self._on_file, "value")
        self.draw.on_click(self._on_draw)
        self.run.on_click(lambda _button: self._on_run("run"))
        self.look.on_click(lambda _button: self._on_run("look"))
        self.answer.on_click(self._on_answer)
        self.show.on_click(self._on_show)

    def picture(self, *, live: bool) -> Picture:
        """The files of the case; live, the chosen line is marked in them."""
        case = self.case
        chosen = (self.file.value, self.line.value) if live and self.line.value else None
        label = f"The code of case {case.id}. {case.symptom}"
        svg = code_svg(case.files, live=live, chosen=chosen, label=label)
        return Picture(svg, label, repr(case), told=True)

    def _live(self) -> tuple[str, str]:
        return self.picture(live=True).svg, self._said

    def _put_on_the_desk(self) -> None:
        """Show the case in all controls, nothing chosen."""
        case = self.case
        self.symptom.value = (
            f"<div style='line-height:1.4'><b>What one sees:</b> {escape(case.symptom)}</div>"
        )
        self.file.options, self.file.value = list(case.files), "main.py"
        self.file.layout.display = "" if len(case.files) > 1 else "none"
        self.cause.options = [(sentence, kind) for kind, sentence in case.kinds.items()]
        self.cause.value = None
        self._said, self.details.value = QUESTION, ""
        self._offer_lines()
        self._mark_cases()

    def _offer_lines(self) -> None:
        lines = self.case.files[self.file.value].splitlines()
        named = [(f"{n}: {text.strip()}", n) for n, text in enumerate(lines, 1) if text.strip()]
        self.line.options = [(_NO_LINE, 0), *named]
        self.line.value = 0

    def _mark_cases(self) -> None:
        """Marks of all cases, their count, and whether the answer may be shown."""
        states = {case_id: case.state for case_id, case in self._cases.items()}
        options = [
            (f"{_MARKS.get(state, '○')} {case_id}", case_id) for case_id, state in states.items()
        ]
        self._marking = True  # new options choose the first of them, which nobody asked for
        self.choose.options = options
        self.choose.value = self.case.id
        self._marking = False
        count = sum(state == "right" for state in states.values())
        self.solved.value = f"{count} of {len(states)} solved"
        may = self.case.tries >= _TRIES_BEFORE_THE_ANSWER
        self.show.layout.display = "" if may else "none"

    def _on_case(self, change: Mapping[str, object]) -> None:
        chosen = self._cases.get(change["new"])
        if chosen is None or self._marking:
            return
        self.case = chosen
        with self.together():
            self._put_on_the_desk()

    def _on_file(self, _change: object) -> None:
        with self.together():
            self._offer_lines()

    def _on_draw(self, _button: object) -> None:
        """The next case that is open, of another kind than the one solved last."""
        ids = list(self._cases)
        here = ids.index(self.case.id) + 1
        order = [self._cases[case_id] for case_id in ids[here:] + ids[: here - 1]]
        still = [case for case in order if case.state not in _DONE]
        other = [case for case in still if case.kind != self._last_kind]
        if still:
            self.choose.value = (other or still)[0].id
        else:
            self._say("All other cases are solved.")

    def _on_run(self, what: str) -> None:
        """Run the case apart; one at a time."""
        if not self._running.acquire(blocking=False):
            self._say("A script runs already. Wait until it has ended.")
            return
        try:
            case = self.case
            self._say(f"Case {case.id} runs …")
            try:
                shown = shown_apart(what, case.id)
            except Exception as error:  # in a callback it would be lost
                shown = f"{type(error).__name__}: {error}"
            if case is self.case:
                calls = f"{case.look}\n\n" if what == "look" else ""
                self._say(f"Case {case.id} has run.", calls + shown)
        finally:
            self._running.release()

    def _on_answer(self, _button: object) -> None:
        if not self.line.value or self.cause.value is None:
            self._say("Choose a line and a cause first.")
            return
        self._tell(lambda: self.case.answer(self.file.value, self.line.value, self.cause.value))

    def _on_show(self, _button: object) -> None:
        self._tell(self.case.reveal)

    def _tell(self, asked: Callable[[], Verdict]) -> None:
        try:
            verdict = asked()
        except Exception as error:  # in a callback it would be lost
            self._say(f"{type(error).__name__}: {error}")
            return
        with self.together():
            self._mark_cases()
            if verdict.outcome == "right":
                self._last_kind = self.cause.value
            self._say(verdict.head + self._way_on(verdict), verdict.rest)

    def _way_on(self, verdict: Verdict) -> str:
        """Which buttons help, where the answer is not known yet."""
        if not verdict.hint:
            return ""
        may = self.case.tries >= _TRIES_BEFORE_THE_ANSWER
        return f"\nPress “Look inside”{', or “Show the answer”' if may else ''}."

    def _say(self, sentence: str, details: str = "") -> None:
        self._said = sentence
        self.details.value = _pre(details) if details else ""
        self.refresh()


def _pre(text: str) -> str:
    style = "white-space:pre-wrap;word-break:normal;line-height:1.3;margin:0 8px"
    return f'<pre style="{style}">{escape(text)}</pre>'
