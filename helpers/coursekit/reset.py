"""How does an exercise get its stub back? `course.py reset 1.3`, or a whole notebook."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .arguments import parser
from .environment import ROOT
from .errors import CourseError
from .files import back_up, write_atomically
from .grade_ids import exercise_of
from .texts import read_text


def main(argv: Sequence[str], *, root: Path = ROOT, ask: Callable[[str], str] = input) -> int:
    """Carries out `course.py reset`; returns 0 where it was done or declined."""
    args = parser().parse_args(["reset", *argv])
    try:
        print(reset(args.what, root=root, ask=None if args.yes else ask))
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def reset(what: str, *, root: Path, ask: Callable[[str], str] | None) -> str:
    """Put the stubs of one exercise, or of all in a notebook, back; returns what to tell.

    Nothing else in the notebook changes, and the old notebook is kept. `ask` is called with a
    question before; anything but "y" leaves all as it is. Raises CourseError for what is neither
    an exercise nor a notebook of exercises.
    """
    notebook, stubs = _found(what, root)
    name = notebook.relative_to(root).as_posix()
    try:
        content = json.loads(read_text(notebook, name=name))
        cells = [cell for cell in content["cells"] if _exercise(cell) in stubs]
    except (ValueError, KeyError, TypeError):
        raise CourseError(
            f"Asked to reset {what} in {name}. That file is no notebook any more. Move it away, "
            "and take that notebook from a fresh copy of the course."
        ) from None
    missing = set(stubs) - {_exercise(cell) for cell in cells}
    changed = [cell for cell in cells if "".join(cell["source"]) != stubs[_exercise(cell)]]
    if missing and not changed:
        raise CourseError(
            f"Asked to reset {', '.join(sorted(missing))} in {name}. Its answer cell is not there. "
            "Get that notebook anew from the course."
        )
    if not changed:
        return f"{name} holds the stub of {what} already."
    which = ", ".join(_exercise(cell) for cell in changed)
    question = f"Put back the stub of {which} in {name}? The old one is kept. [y/N] "
    if ask and _answer(ask, question) != "y":
        return "Nothing was changed."
    copy = back_up(root, notebook, name=f"{notebook.stem}-exercises").relative_to(root).as_posix()
    for cell in changed:
        cell["source"] = stubs[_exercise(cell)].splitlines(keepends=True)
        cell["outputs"], cell["execution_count"] = [], None
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    write_atomically(notebook, text)
    return (
        f"{name}: {which} is as it was at first; your old notebook is {copy}.\n"
        "If the notebook is open in JupyterLab, choose File > Reload Notebook from Disk there, and "
        "run the cell of the stub before its check."
    )


def _answer(ask: Callable[[str], str], question: str) -> str:
    try:
        return ask(question).strip().lower()
    except EOFError:  # nobody is there to answer
        print()
        return ""


def _found(what: str, root: Path) -> tuple[Path, dict[str, str]]:
    """The notebook that is meant, and the stubs to put back."""
    stem = Path(what).name.removesuffix(".ipynb")
    known = {}
    for file in sorted((root / "exercises" / ".course").glob("[0-9][0-9].json")):
        exercises = json.loads(file.read_text(encoding="utf-8"))["exercises"]
        stubs = {exercise_id: entry["stub"] for exercise_id, entry in exercises.items()}
        notebook = next((root / "exercises").glob(f"{file.stem}_*.ipynb"), None)
        if notebook is None:
            continue
        known[notebook.stem] = list(stubs)
        if what in stubs:
            return notebook, {what: stubs[what]}
        if stem == notebook.stem:
            return notebook, stubs
    names = [name for notebook, ids in known.items() for name in (notebook, *ids)]
    raise CourseError(
        f"Asked to reset {what!r}. That is no exercise and no notebook of exercises. "
        f"Name one of: {', '.join(names) or '(there are no exercises yet)'}."
    )


def _exercise(cell: dict) -> str:
    grading = cell.get("metadata", {}).get("nbgrader", {})
    return exercise_of(grading.get("grade_id", "")) if grading.get("solution") else ""
