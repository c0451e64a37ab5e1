"""How is a file of somebody's replaced without loss?"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace a file at once: whoever reads it sees the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(temporary).chmod(path.stat().st_mode if path.exists() else 0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def back_up(root: Path, path: Path, *, name: str) -> Path:
    """Copy a file under .insidetorch/backup/ with the next free number; returns the copy."""
    folder = root / ".insidetorch" / "backup"
    folder.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes()
    number = 1
    while True:
        copy = folder / f"{name}-{number}{path.suffix}"
        try:
            with copy.open("xb") as file:
                file.write(content)
            return copy
        except FileExistsError:
            number += 1
