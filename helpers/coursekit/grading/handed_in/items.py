"""What can lie in a folder or a zip file that is to be graded?"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

# Some programs add an ending of their own to what they download.
NOTEBOOK = re.compile(r"\.ipynb(\.json|\.txt)?$", re.IGNORECASE)
ZIP = ".zip"
OTHER_ARCHIVES = (".7z", ".rar", ".tar", ".tar.bz2", ".tar.gz", ".tar.xz", ".tar.zst", ".tgz")
UNPACK = "it is an archive that is no zip file; unpack it first"
# What macOS and Python leave behind.
LEFT_OUT = ("__MACOSX", "__pycache__")


@dataclass(frozen=True)
class Item:
    """A notebook, or a folder, or an archive, which counts as a folder.

    `parts` is its place below the path that was named, folder by folder, with its own name last.
    `path` is the file itself, or the zip file that holds it as `member`; `inside` is the zip file
    within that one, if there are two. `problem` says why it cannot be read.
    """

    parts: tuple[str, ...]
    path: Path
    member: str = ""
    inside: str = ""
    modified: float = 0
    problem: str = ""
    is_folder: bool = False

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that lead to it, itself included if it is one."""
        return self.parts if self.is_folder else self.parts[:-1]


def is_notebook(name: str) -> bool:
    return NOTEBOOK.search(name) is not None


def is_zip(name: str) -> bool:
    return name.lower().endswith(ZIP)


def is_other_archive(name: str) -> bool:
    return name.lower().endswith(OTHER_ARCHIVES)


def matters(name: str) -> bool:
    """Does a file of this name count: as a notebook, or as an archive that may hold some?"""
    return is_notebook(name) or is_zip(name) or is_other_archive(name)


def left_out(name: str) -> bool:
    """Is this the name of a file or folder that nobody hands in: hidden, or a machine's own?"""
    return name in LEFT_OUT or (name.startswith(".") and name not in (".", ".."))


def without_archive(name: str) -> str:
    """The name of an archive without its ending; any other name as it is."""
    ending = next((end for end in (ZIP, *OTHER_ARCHIVES) if name.lower().endswith(end)), "")
    return name[: len(name) - len(ending)]


def shown(text: str) -> str:
    """A name as reports show it: one form of each letter, and no sign that cannot be seen.

    >>> shown("Mu\u0308ller\\t2") == "M\u00fcller 2"
    True
    """
    text = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFC", text))
