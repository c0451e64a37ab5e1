"""A finding: the line, what it did to a gradient, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import Place

PROBLEM, NOTE = "problem", "note"


@dataclass(frozen=True)
class Finding:
    """One thing that went wrong, or that only you can judge.

    `kind` is one of the doctor's causes, `severity` "problem" or "note". `place` is the line that
    introduced it, `subject` what it concerns, such as the names of parameters. `message` says what
    happened, `fix` what to do. `weight` sorts the findings: the heaviest is told first.
    """

    kind: str
    severity: str
    place: Place | None
    subject: tuple[str, ...]
    message: str
    fix: str
    weight: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """The finding as it stands in the JSON file."""
        place = self.place
        return {
            "kind": self.kind,
            "severity": self.severity,
            "file": place.file or place.cell if place else None,
            "line": place.line if place else None,
            "statement": place.statement if place else "",
            "subject": list(self.subject),
            "message": self.message,
            "fix": self.fix,
        }
