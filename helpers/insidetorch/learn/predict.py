"""A question before the cell runs: commit to an answer, then see what torch does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import ipywidgets

from ..widgets.view import SvgView
from .progress import keep, remembered
from .prose import inline


class Prediction(ipywidgets.VBox):
    """A question with options; torch's answer appears after the learner has chosen.

    Outside a running widget the question stands with its answer folded away: that is also what
    the build stores and nbval compares.
    """

    def __init__(
        self, prediction_id: str, question: str, options: Mapping[object, str], answer: object
    ) -> None:
        self.prediction_id, self.question = prediction_id, question
        self.explanations = {_text(value): why for value, why in options.items()}
        self.answer = _text(answer)
        self.choice = ipywidgets.RadioButtons(
            options=list(self.explanations), value=None, layout={"width": "max-content"}
        )
        self.commit = ipywidgets.Button(description="That is my answer", disabled=True)
        self.again = ipywidgets.Button(description="Ask me again", layout={"display": "none"})
        self.view = SvgView()
        heading = ipywidgets.HTML(f"<div style='line-height:1.4'>{self._heading()}</div>")
        buttons = ipywidgets.HBox([self.commit, self.again])
        super().__init__([heading, self.choice, buttons, self.view])
        self.add_class("it-box")
        self.choice.observe(self._on_choice, "value")
        self.commit.on_click(self._on_commit)
        self.again.on_click(self._on_again)
        earlier = remembered("predictions", prediction_id)
        said = earlier.get("said") if isinstance(earlier, dict) else None
        if isinstance(said, str) and said in self.explanations:
            self.choice.value = said
            self._reveal("Earlier you said")

    def _on_choice(self, change: dict) -> None:
        self.commit.disabled = change["new"] is None

    def _on_commit(self, _button: object) -> None:
        note = ""
        try:
            keep("predictions", self.prediction_id, self._to_keep())
        except Exception as error:  # in a callback it would be lost
            note = f" (Not saved: {error})"
        self._reveal("You said", note)

    def _on_again(self, _button: object) -> None:
        self.choice.disabled, self.choice.value = False, None
        self.again.layout.display = "none"
        self.view.show("", "")

    def _to_keep(self) -> dict[str, object]:
        """The answer, and whether the first one was right: who is asked again knows it by then."""
        right = self._is_right()
        earlier = remembered("predictions", self.prediction_id)
        known = earlier if isinstance(earlier, dict) else {}
        first = known.get("first", known.get("right"))
        return {
            "said": self.choice.value,
            "right": right,
            "first": right if first is None else first,
        }

    def _is_right(self) -> bool:
        return self.choice.value == self.answer

    def _reveal(self, opening: str, note: str = "") -> None:
        self.choice.disabled = self.commit.disabled = True
        self.again.layout.display = ""
        mine, why = self.choice.value, self.explanations[self.choice.value]
        if self._is_right():
            text = f"✓ {opening} {mine}, and so does torch. {why}"
        else:
            right = self.explanations[self.answer]
            text = f"✗ {opening} {mine}. {why}\n→ torch says {self.answer}. {right}"
        self.view.show("", text.replace("`", "") + note)  # the view shows no code

    def __repr__(self) -> str:
        lines = [f"Predict {self.prediction_id}. {self.question}"]
        for text, why in self.explanations.items():
            mark = "→" if text == self.answer else " "
            lines += [f" {mark} {text}", f"     {why}"]
        return "\n".join(lines)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        bundle = super()._repr_mimebundle_(**kwargs)
        bundle["text/plain"] = repr(self)
        bundle["text/html"] = self._html()
        return bundle

    def _heading(self) -> str:
        return f"<b>Predict {escape(self.prediction_id)}.</b> {inline(self.question)}"

    def _html(self) -> str:
        options = "".join(f"<li><code>{escape(text)}</code></li>" for text in self.explanations)
        rest = "".join(
            f"<li><code>{escape(text)}</code>: {inline(why)}</li>"
            for text, why in self.explanations.items()
            if text != self.answer
        )
        return (
            f"<p>{self._heading()}</p><ul>{options}</ul>"
            f"<details><summary>What torch does</summary>"
            f"<p><code>{escape(self.answer)}</code>. {inline(self.explanations[self.answer])}</p>"
            f"<ul>{rest}</ul></details>"
        )


def predict(
    prediction_id: str,
    question: str,
    options: Mapping[object, str],
    *,
    reveal: Callable[[], object],
) -> Prediction:
    """Ask for a prediction, and answer it with what torch does.

    Args: `prediction_id`, chapter and number such as "1.3"; in `question`, backticks hold code;
    `options` maps each possible answer
    (a plain Python value) to what is to be said of it: why it is right, or the misconception that
    leads to it; `reveal` runs now, its result is shown after the learner has chosen.
    Returns the question as a widget. Raises ValueError if `reveal` gives none of the options (the
    right answer comes from torch, never from this call) or if two options look the same.

    >>> predict("0.1", "1 + 1?", {2: "Of course.", 11: "That joins texts."}, reveal=lambda: 1 + 1)
    Predict 0.1. 1 + 1?
     → 2
         Of course.
       11
         That joins texts.
    """
    texts = [_text(value) for value in options]
    if len(set(texts)) < len(texts):
        raise ValueError(
            f"Prediction {prediction_id} was asked with the options {texts}. Two of them look the "
            "same, so an answer would not tell which is meant. Make them differ."
        )
    answer = reveal()
    if _text(answer) not in texts:
        raise ValueError(
            f"Prediction {prediction_id} was asked with the options {list(options)}. "
            f"Running it gives {answer!r}, which is none of them. Correct the options."
        )
    return Prediction(prediction_id, question, options, answer)


def _text(value: object) -> str:
    """An answer as it stands beside its button."""
    if isinstance(value, tuple):
        value = tuple(value)  # torch.Size prints its name
    if type(value) is int:
        return f"{value:,}"
    return value if isinstance(value, str) else repr(value)
