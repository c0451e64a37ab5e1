"""What is said of an answer in the clinic?"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

RIGHT, OTHER_CAUSE, USEFUL_LINE, OTHER_LINE, SHOWN = (
    "right",
    "right line, other cause",
    "useful line, not where it begins",
    "not this line",
    "shown",
)
_MARKS = {RIGHT: "✓", SHOWN: "→"}


@dataclass(frozen=True)
class Verdict:
    """How right an answer is, and what is said of it.

    `outcome` is "right", "right line, other cause", "useful line, not where it begins", "not this
    line", or "shown" where the answer was asked for. `hint` is "" once the answer is known, and the
    fields behind it before.
    """

    case_id: str
    outcome: str
    tell: str
    hint: str = ""
    cause: str = ""
    fix: str = ""
    repair: str = ""
    source: str = ""

    @property
    def head(self) -> str:
        """What is told in any case: the outcome, and what it says of the line."""
        return f"{_MARKS.get(self.outcome, '✗')} {self.case_id} {self.outcome}\n{self.tell}"

    @property
    def rest(self) -> str:
        """Cause, repair and source; "" before the answer is known."""
        if not self.cause:
            return ""
        return f"{self.cause}\nRepair: {self.fix}\n{self.repair}\nSource: {self.source}"

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self.head, self.hint, self.rest]))

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre-wrap;word-break:normal">{escape(repr(self))}</pre>'


def told(case_id: str, outcome: str, known: dict, sentence: str, note: str = "") -> Verdict:
    """The verdict that tells all: `known` is what was sealed, `sentence` that of the right kind."""
    where = f"{known['file']}, line {known['line']}. {sentence} {note}".rstrip()
    rest = {name: known[name] for name in ("cause", "fix", "repair", "source")}
    return Verdict(case_id, outcome, where, **rest)


def hinted(case_id: str, outcome: str, *, look: str, tries: int, note: str = "") -> Verdict:
    """The verdict on an answer that is not right yet, with a hint that gives nothing away."""
    tell = {
        OTHER_CAUSE: "The line is right, and its cause is another.",
        USEFUL_LINE: "This line takes part, but the defect begins at another.",
        OTHER_LINE: "The defect does not begin here.",
    }[outcome]
    lines = ["Run the case, then look:", *(f"    {line}" for line in look.splitlines())]
    if tries > 1:
        lines.append(f'clinic_case("{case_id}").reveal() shows the answer.')
    return Verdict(case_id, outcome, f"{tell} {note}".rstrip(), "\n".join(lines))
