"""What does a class get? The course without answers: `course.py handout DIR`.

A handout opens chapters and exercises, checks answers, hints and resets. It holds no solution, none
of the sources from which solutions are built, and nothing that grades.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .environment import ROOT
from .errors import CourseError
from .exercises.build import solved_in
from .exercises.parse import find_sets, read_set
from .launcher import parser
from .notebook import edited_by_hand, read_notebook
from .texts import read_text

# What of the course is copied as it is.
FILES = (
    *("LICENSE", "LICENSE-text", ".gitignore", "course.py", "pyproject.toml", "environment.yml"),
    *("notebooks/*.ipynb", "notebooks/*.html", "notebooks/clinic/*/*.py"),
    *("exercises/*.ipynb", "exercises/.course/*.json"),
    *("helpers/insidetorch/**/*.py", "helpers/insidetorch/**/*.js"),
)
# What of coursekit `lab` and `reset` need; a test reads that they need nothing else.
LEARNERS = (
    *("__init__", "__main__", "launcher", "environment", "install", "explain", "errors"),
    *("labcheck", "lab", "machine", "reset", "files", "texts"),
)
README = "teach/handout_readme.md"


def main(argv: Sequence[str], *, root: Path = ROOT) -> int:
    """Carries out `course.py handout`; returns 0 where it was written."""
    args = parser().parse_args(["handout", *argv])
    try:
        print(write_handout(Path(args.folder), zipped=args.zip, root=root))
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def write_handout(folder: Path, *, zipped: bool = False, root: Path = ROOT) -> str:
    """Write the handout into a new folder, and beside it as a zip file; returns what to tell.

    Raises CourseError, and writes nothing, where the folder or the zip file is there already, and
    where somebody has worked in the notebooks.
    """
    archive = folder.with_name(f"{folder.name}.zip")
    for taken in [folder, *([archive] if zipped else [])]:
        if taken.is_file() or (taken.is_dir() and any(taken.iterdir())):
            raise CourseError(
                f"Asked to write a handout to {folder}. {taken} is there already. Name a new "
                "folder, or move it away."
            )
    _refuse_work(root)
    files = sorted({path for pattern in FILES for path in root.glob(pattern)})
    files += [root / "helpers" / "coursekit" / f"{name}.py" for name in LEARNERS]
    for path in files:
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    readme = read_text(root / README, name=README).replace("{chapters}", _chapters(root))
    (folder / "README.md").write_text(readme, encoding="utf-8", newline="\n")
    told = f"{folder}: {len(files) + 1} files, no answer among them"
    if zipped:
        shutil.make_archive(str(folder), "zip", root_dir=folder.parent, base_dir=folder.name)
        told += f"\n{archive}: the same, in one file"
    return told


def _refuse_work(root: Path) -> None:
    """Raise CourseError for answers in exercises/ and edits in notebooks/."""
    solved = [one for name in find_sets(root) for one in solved_in(read_set(root, name))]
    if solved:
        raise CourseError(
            f"Asked for a handout. The answers to {', '.join(solved)} in exercises/ are not the "
            "stubs, and a handout holds no answer. Reset them (`python course.py reset 01` keeps "
            "the old notebook), or hand out from a fresh copy of the course."
        )
    for path in sorted(root.glob("notebooks/*.ipynb")):
        name = path.relative_to(root).as_posix()
        if edited_by_hand(read_notebook(path, name=name)):
            raise CourseError(
                f"Asked for a handout. {name} was edited after it was built. Put it back with `git "
                f"checkout {name}`, or bring the edit into the course with `python course.py build "
                f"--from {name}`."
            )


def _chapters(root: Path) -> str:
    """The table of the chapters, as the README has it."""
    return "\n".join(_rows(read_text(root / "README.md", name="README.md").splitlines()))


def _rows(lines: Sequence[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        inside = line == "## Chapters" or (inside and not line.startswith("## "))
        if inside and line.startswith("|"):
            yield line
