"""What does a zip file hold that can be graded? It is read where it lies; nothing is unpacked.

A zip file may come from anybody: names that lead elsewhere, links, passwords, damage and what would
fill the memory are told of the one file that they concern.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from lzma import LZMAError
from pathlib import Path, PureWindowsPath
from stat import S_ISLNK
from zipfile import BadZipFile, ZipFile, ZipInfo

from ..submissions import LARGEST_FILE, Unreadable
from .attempts import LONGEST_STAMP, TIMESTAMP, submitted_at
from .items import UNPACK, Item, is_notebook, is_zip, left_out, matters, shown

MOST_ENTRIES = 100_000
NO_FILE = "it is no file that can be read"
NOT_THERE = "it is no longer there"
TOO_DEEP = "it is a zip file in a zip file in a zip file; unpack it first"
ENCRYPTED = 0x1
NAMED_IN_UTF8 = 0x800
# What zipfile and the modules that unpack for it raise where the bytes are not what they expect.
DAMAGE = (BadZipFile, EOFError, LZMAError, MemoryError, ValueError, struct.error, zlib.error)


def items_in_zip(path: Path, parts: tuple[str, ...]) -> list[Item]:
    """The zip file itself, and all that matters in it and in the zip files that it holds.

    `parts` is its own place below the path that was named.
    """
    here = Item(parts, path, is_folder=True)
    try:
        with _opened(path) as archive:
            return _items(archive, here)
    except Unreadable as problem:
        return [replace(here, problem=str(problem))]


def read_member(path: Path, member: str, *, inside: str = "") -> bytes:
    """What a member of a zip file holds, or of the zip file `inside` it. Raises Unreadable."""
    with _opened(path, inside) as archive:
        return _read(archive, archive.getinfo(member))


def too_large(size: int, name: str) -> str:
    """Why a file of this many bytes is not read; "" where it is."""
    if size <= LARGEST_FILE:
        return ""
    advice = "clear its outputs" if is_notebook(name) else "unpack it first"
    return f"it is larger than {LARGEST_FILE // 1_000_000} MB; {advice}"


def _items(archive: ZipFile, here: Item) -> list[Item]:
    """`here`, what matters in it, and every folder in it, once."""
    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise Unreadable(f"it holds more than {MOST_ENTRIES} files; unpack it first")
    last = {info.filename: info for info in infos}
    found, folders = [here], {here.parts: here}
    for info in infos:
        names = re.split(r"[/\\]", _name(info))
        if not any(names) or any(map(left_out, names)):
            continue
        parts = (*here.parts, *filter(None, names))
        for depth in range(len(here.parts) + 1, len(parts) + info.is_dir()):
            folder = Item(parts[:depth], here.path, inside=here.inside, is_folder=True)
            folders.setdefault(folder.parts, folder)
        if info.is_dir() or not matters(names[-1]):
            continue
        item = Item(
            parts,
            here.path,
            member=info.filename,
            inside=here.inside,
            modified=_submitted_at(archive, info, last) or _modified(info),
            problem=_problem(info, replaced=last[info.filename] is not info),
            is_folder=not is_notebook(info.filename),
        )
        found += _inner(archive, info, item) if is_zip(info.filename) else [item]
    return [*found, *list(folders.values())[1:]]


def _inner(archive: ZipFile, info: ZipInfo, item: Item) -> list[Item]:
    """The zip file that is a member of another one, and what matters in it."""
    if item.problem:
        return [item]
    if item.inside:
        return [replace(item, problem=TOO_DEEP)]
    try:
        with _told(), ZipFile(io.BytesIO(_read(archive, info))) as inner:
            return _items(inner, replace(item, member="", inside=info.filename))
    except Unreadable as problem:
        return [replace(item, problem=str(problem))]


@contextmanager
def _opened(path: Path, inside: str = "") -> Iterator[ZipFile]:
    """A zip file, or the one `inside` it, to be read. Raises Unreadable, whatever goes wrong."""
    with _told():
        if not path.is_file():
            raise Unreadable(NO_FILE if path.exists() else NOT_THERE)
        with ZipFile(path) as archive:
            if not inside:
                yield archive
                return
            with ZipFile(io.BytesIO(_read(archive, archive.getinfo(inside)))) as inner:
                yield inner


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong meanwhile with a zip file is told as Unreadable."""
    try:
        yield
    except OSError as error:
        raise Unreadable(f"it cannot be read ({error.strerror or error})") from None
    except KeyError:
        raise Unreadable(NOT_THERE) from None
    except DAMAGE:
        raise Unreadable("it is damaged") from None
    except RuntimeError:  # and NotImplementedError, which is one
        raise Unreadable("it is packed in a way that Python does not read") from None


def _read(archive: ZipFile, info: ZipInfo) -> bytes:
    if problem := too_large(info.file_size, info.filename):
        raise Unreadable(problem)
    # No more than it says: zipfile stops there.
    return archive.read(info)


def _problem(info: ZipInfo, *, replaced: bool) -> str:
    """Why a member is not read; "" where it is."""
    if _leads_out(info.orig_filename):
        return "it has a name that can lead out of its folder"
    if S_ISLNK(info.external_attr >> 16):
        return "it is a link, which is not followed"
    if info.flag_bits & ENCRYPTED:
        return "it is locked with a password"
    if replaced:
        return "it is followed by another file of the same name, which counts"
    if not (is_notebook(info.filename) or is_zip(info.filename)):
        return UNPACK
    return too_large(info.file_size, info.filename)


def _leads_out(name: str) -> bool:
    """Would a program that unpacks this name write elsewhere, on some system?"""
    drive = PureWindowsPath(name).drive
    return name.startswith("/") or "\\" in name or ".." in name.split("/") or bool(drive)


def _name(info: ZipInfo) -> str:
    """A member's name as it was meant: macOS writes UTF-8 and does not say so."""
    name = info.filename
    if not info.flag_bits & NAMED_IN_UTF8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return shown(name)


def _modified(info: ZipInfo) -> float:
    """The time of a member, which zip files tell without its zone; 0 where it tells nothing."""
    with suppress(ValueError, OverflowError, OSError):
        if info.date_time[:3] != (1980, 1, 1):
            return datetime(*info.date_time).timestamp()
    return 0


def _submitted_at(archive: ZipFile, info: ZipInfo, infos: dict[str, ZipInfo]) -> float:
    """The time in nbgrader's timestamp.txt beside a member; 0 where there is none."""
    folder, slash, _ = info.filename.rpartition("/")
    stamp = infos.get(f"{folder}{slash}{TIMESTAMP}")
    if stamp is None or stamp.file_size > LONGEST_STAMP:
        return 0
    with suppress(*DAMAGE, OSError, RuntimeError):
        return submitted_at(archive.read(stamp).decode("utf-8"))
    return 0
