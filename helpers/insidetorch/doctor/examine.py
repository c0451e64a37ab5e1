"""From a record to findings: every cause is asked, the heaviest finding is told first."""

from __future__ import annotations

from ..observe import private
from .causes import ALL
from .finding import NOTE, PROBLEM, Finding
from .patient import Patient

MOST_NOTES = 2
# What also happens to the old parameters that an optimizer holds: one finding is enough.
_OF_STALE = {"unused_param", "no_grad", "data", "detach", "step_order"}


def examine(patient: Patient) -> tuple[Finding, ...]:
    """All findings of a run, problems before notes, one for each line."""
    found: list[Finding] = []
    with private.unseen():
        for cause in ALL:
            try:
                found += cause(patient)
            except Exception as error:  # one cause that fails must not cost the report
                name = f"{cause.__module__.rpartition('.')[2]}.{cause.__name__}"
                patient.failures.append(f"The search for one cause failed ({name}: {error!r}).")
    if any(one.kind == "stale_optimizer" for one in found):
        found = [one for one in found if one.kind not in _OF_STALE]
    found.sort(key=lambda one: (one.severity != PROBLEM, -one.weight))
    kept, lines = [], set()
    for one in found:
        key = one.place and (one.place.file, one.place.line)
        if key is not None and key in lines:
            continue
        lines.add(key)
        kept.append(one)
    notes = [one for one in kept if one.severity == NOTE][:MOST_NOTES]
    return tuple(one for one in kept if one.severity == PROBLEM or one in notes)
