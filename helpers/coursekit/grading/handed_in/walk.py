"""What lies in a folder that can be graded? No link is followed that leads out of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..submissions import LARGEST_FILE, Unreadable
from .archives import NO_FILE, NOT_THERE, items_in_zip, too_large
from .attempts import LONGEST_STAMP, TIMESTAMP, submitted_at
from .items import UNPACK, Item, is_notebook, is_other_archive, is_zip, left_out, matters, shown

LEADS_OUT = "it is a link that leads out of the folder, which is not followed"
LEADS_NOWHERE = "it is a link that leads nowhere"


def items_in_folder(root: Path) -> list[Item]:
    """The folder itself, and all that matters in it and in the zip files that it holds.

    Hidden files and folders are left out. A link to another file in the folder is the same file.
    """
    top = place_of(root)
    found: list[Item] = []
    links: list[tuple[Item, Path]] = []
    places: set[Path] = set()
    waiting = [(Item((), root, is_folder=True), top)]
    while waiting:
        folder, place = waiting.pop()
        try:
            paths = sorted(one for one in folder.path.iterdir() if not left_out(one.name))
        except OSError as error:
            found.append(replace(folder, problem=f"it cannot be opened ({error.strerror})"))
            continue
        found.append(folder)
        for path in paths:
            looked = _look(path, (*folder.parts, shown(path.name)), top=top)
            if looked is None:
                continue
            item, there = looked
            is_link = there != place / path.name
            if item.problem:
                found.append(item)
            elif path.is_dir():
                waiting += [] if is_link else [looked]
            elif is_link:
                links.append(looked)
            else:
                places.add(there)
                found += items_of_file(path, item.parts)
    for item, there in links:
        if there not in places:
            found += items_of_file(item.path, item.parts)
    return found


def items_of_file(path: Path, parts: tuple[str, ...]) -> list[Item]:
    """What matters in a file: itself, or what it holds where it is a zip file."""
    if is_zip(path.name):
        return items_in_zip(path, parts)
    item = Item(parts, path, is_folder=is_other_archive(path.name))
    if item.is_folder:
        return [replace(item, problem=UNPACK)]
    try:
        status = path.stat()
        problem = too_large(status.st_size, path.name) if path.is_file() else NO_FILE
    except OSError as error:
        return [replace(item, problem=_why(error))]
    return [replace(item, modified=_submitted_at(path) or status.st_mtime, problem=problem)]


def read_file(path: Path) -> bytes:
    """What a file holds. Raises Unreadable."""
    try:
        # A pipe would be waited for.
        if not path.is_file():
            raise Unreadable(NO_FILE if path.exists() else NOT_THERE)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise Unreadable(_why(error)) from None
    if problem := too_large(len(content), path.name):
        raise Unreadable(problem)
    return content


def place_of(path: Path) -> Path:
    """Where a file is, whatever path leads to it."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link that leads to itself
        return path.absolute()


def _look(path: Path, parts: tuple[str, ...], *, top: Path) -> tuple[Item, Path] | None:
    """A folder, or a file that matters, and where it is; None of all others."""
    item = Item(parts, path, is_folder=not is_notebook(path.name))
    try:
        is_folder = path.is_dir()
        if not is_folder and not matters(path.name):
            return None
        there = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        return replace(item, problem=LEADS_NOWHERE if _is_link(path) else _why(error)), path
    problem = "" if there.is_relative_to(top) else LEADS_OUT
    return replace(item, is_folder=is_folder or item.is_folder, problem=problem), there


def _is_link(path: Path) -> bool:
    # Where a folder may be listed but not entered, even this cannot be asked.
    with suppress(OSError):
        return path.is_symlink()
    return False


def _submitted_at(path: Path) -> float:
    """The time in nbgrader's timestamp.txt beside a file; 0 where there is none."""
    stamp = path.with_name(TIMESTAMP)
    with suppress(OSError, ValueError):
        if stamp.is_file() and stamp.stat().st_size <= LONGEST_STAMP:
            return submitted_at(stamp.read_text(encoding="utf-8"))
    return 0


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return NOT_THERE
    return f"it cannot be read ({getattr(error, 'strerror', '') or error})"
