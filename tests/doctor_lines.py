"""Which lines does the doctor name in a small function that runs under `watch`?"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from score_cases import INTENT

import insidetorch
from insidetorch.doctor.finding import NOTE, Finding

Line = tuple[str, int]  # the name of a file, and the number of a line in it


def findings(fn: Callable[[], dict | None]) -> tuple[Finding, ...]:
    """What the doctor finds in a function, which is run once.

    Args: `fn`, a function that returns `locals()`, so that its variables live on and have names as
    those of a script do. What it raises is not raised here.
    """
    torch.manual_seed(0)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch itself warns of some of these bugs
        try:
            with insidetorch.watch(namespace=names) as run:
                names.update(fn() or {})
        except Exception as error:
            names.update(_names_at(error, fn))
        found = run.findings
    failures = [text for text in run.unseen if "could not" in text or "failed" in text]
    assert not failures, failures
    for one in found:  # what only the user can judge is a note; so is a part that is left out
        note = one.kind in INTENT or (one.kind == "unregistered" and one.severity == NOTE)
        assert (one.severity == NOTE) == note, one
    return found


def told(fn: Callable[[], dict | None]) -> list[tuple[str, Line | None]]:
    """Kind and line of each finding, the heaviest first."""
    return [(one.kind, _line_of(one)) for one in findings(fn)]


def here(fn: Callable, mark: str = "# here") -> Line:
    """The one line of a function that ends with a mark."""
    lines, first = inspect.getsourcelines(fn)
    (found,) = (k for k, line in enumerate(lines, first) if line.rstrip().endswith(mark))
    return Path(inspect.getsourcefile(fn)).name, found


def _line_of(one: Finding) -> Line | None:
    return None if one.place is None else (Path(one.place.file).name, one.place.line)


def _names_at(error: BaseException, fn: Callable) -> dict[str, object]:
    """The variables of the function when it raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not fn.__code__:
        trace = trace.tb_next
    return {} if trace is None else dict(trace.tb_frame.f_locals)
