"""What does a class get? The course without answers: `course.py handout DIR`.

A handout opens chapters and exercises, checks answers, hints and resets. It holds no solution, none
of the sources from which solutions are built, and nothing that grades.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from insidetorch.mini.sources import INSTEAD, PACKED
from insidetorch.packed import pack

from .arguments import parser
from .environment import ROOT
from .errors import CourseError
from .exercises.build import solved_in
from .exercises.parse import find_sets, read_set
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
    *("__init__", "__main__", "arguments", "launcher", "environment", "install", "explain"),
    *("errors", "labcheck", "lab", "machine", "reset", "files", "texts", "grade_ids"),
)
README = "teach/handout_readme.md"
SYMPTOMS = """\
From what you see to the call that shows why: [one page for all
chapters](notebooks/symptom_table.html), to print.

"""
MINI = "helpers/insidetorch/mini"
# How a piece of MiniTorch begins.
PIECE = re.compile(r"Piece [0-9] of MiniTorch")


def main(argv: Sequence[str], *, root: Path = ROOT) -> int:
    """Carries out `course.py handout`; returns 0 where it was written."""
    args = parser().parse_args(["handout", *argv])
    try:
        told = write_handout(Path(args.folder), zipped=args.zip, through=args.through, root=root)
        print(told)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def write_handout(
    folder: Path, *, zipped: bool = False, through: int | None = None, root: Path = ROOT
) -> str:
    """Write the handout into a new folder, and beside it as a zip file; returns what to tell.

    `through` is the last chapter in it: what comes after it is left out. The pieces of MiniTorch,
    which learners build, are packed, so that nobody reads them by accident. Raises CourseError, and
    writes nothing, where the folder or the zip file is there already, where there is no such
    chapter, and where somebody has worked in the notebooks.
    """
    archive = folder.with_name(f"{folder.name}.zip")
    for taken in [folder, *([archive] if zipped else [])]:
        if taken.is_file() or (taken.is_dir() and any(taken.iterdir())):
            raise CourseError(
                f"Asked to write a handout to {folder}. {taken} is there already. Name a new "
                "folder, or move it away."
            )
    _refuse_work(root)
    later = chapters_after(through, root)
    files = sorted({path for pattern in FILES for path in root.glob(pattern)})
    files += [root / "helpers" / "coursekit" / f"{name}.py" for name in LEARNERS]
    files = [path for path in files if not _is_of(later, path.relative_to(root))]
    for path in files:
        copy = folder / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    _pack_pieces(folder / MINI)
    readme = read_text(root / README, name=README)
    readme = readme.replace("{chapters}", _chapters(root, later))
    readme = readme.replace("{symptoms}", "" if later else SYMPTOMS)
    (folder / "README.md").write_text(readme, encoding="utf-8", newline="\n")
    told = f"{folder}: {len(files) + 1} files, no answer among them"
    if zipped:
        shutil.make_archive(str(folder), "zip", root_dir=folder.parent, base_dir=folder.name)
        told += f"\n{archive}: the same, in one file"
    return told


def chapters_after(through: int | None, root: Path) -> list[str]:
    """The numbers of the chapters that come after one, such as "04"; none without one."""
    numbers = sorted(path.name[:2] for path in root.glob("notebooks/[0-9]*.ipynb"))
    if through is None:
        return []
    if f"{through:02}" not in numbers:
        raise CourseError(
            f"Asked for a handout through chapter {through}. There is no such chapter. Name one "
            f"from {int(numbers[0])} to {int(numbers[-1])}, or leave --through out."
        )
    return [number for number in numbers if int(number) > through]


def _is_of(later: Collection[str], path: Path) -> bool:
    """Does a file belong to one of these chapters, or to all of them at once?"""
    if path.parts[0] not in ("notebooks", "exercises"):
        return False
    of_all = path.suffix == ".html" or "clinic" in (path.stem, *path.parts)
    return path.name[:2] in later or (of_all and bool(later))


def _pack_pieces(mini: Path) -> None:
    """Pack the pieces of MiniTorch; what learners are handed stays to be read."""
    packed = {}
    for path in sorted(mini.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if PIECE.search(source.partition("\n")[0]):
            packed[path.name] = pack({"source": source})
            instead = INSTEAD.format(name=path.name)
            path.write_text(instead, encoding="utf-8", newline="\n")
    text = json.dumps(packed, indent=1) + "\n"
    (mini / PACKED).write_text(text, encoding="utf-8", newline="\n")


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


def _chapters(root: Path, later: Collection[str]) -> str:
    """The table of the chapters, as the README has it, without the later ones."""
    rows = _rows(read_text(root / "README.md", name="README.md").splitlines())
    return "\n".join(row for row in rows if not any(f"/{number}_" in row for number in later))


def _rows(lines: Sequence[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        inside = line == "## Chapters" or (inside and not line.startswith("## "))
        if inside and line.startswith("|"):
            yield line
