"""How are the files under source/ read, and what is said where one cannot be?"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from .errors import CourseError

Row = TypeVar("Row")


def read_text(path: Path, *, name: str) -> str:
    """The text of a file, without the mark that some editors put before it (a BOM).

    `name` is how messages call it. Raises CourseError where it cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CourseError(
            f"Asked to read {name}. That cannot be done ({error.strerror}). Check that it is a "
            "file and that you may read it."
        ) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise CourseError(
            f"Asked to read {name}. It is not UTF-8: line {line} holds the byte "
            f"0x{error.object[error.start]:02x}. Save it as UTF-8 in your editor."
        ) from None


def read_rows(path: Path, *, table: str, row: type[Row], beside: Collection[str] = ()) -> list[Row]:
    """The rows `[[table]]` of a TOML file in its order, each as the dataclass `row`.

    Args: `beside`, tables that the file may have for somebody else.
    A field whose default is an empty list may be left out. Raises CourseError for a file that is
    no TOML and for a row with other fields or values.
    """
    name = f"source/{path.name}"
    try:
        tables = tomllib.loads(read_text(path, name=name))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(
            f"Asked to read {name}. It is not valid TOML: {error}. Correct it there."
        ) from None
    if others := sorted({*tables} - {table, *beside}):
        raise CourseError(
            f"Asked to read {name}. It has [{others[0]}], which nothing reads. A row begins with "
            f"[[{table}]]. Correct it there."
        )
    given = tables.get(table, [])
    if not isinstance(given, list) or not all(isinstance(found, dict) for found in given):
        raise CourseError(
            f"Asked to read {name}. Its {table!r} is no list of rows. Begin each row with "
            f"[[{table}]], in double brackets."
        )
    for number, found in enumerate(given, 1):
        _check_row(found, row, place=f"Row {number} of {name}")
    return [row(**found) for found in given]


def _check_row(found: dict[str, Any], row: type[Row], *, place: str) -> None:
    hints, optional = get_type_hints(row), _optional(row)
    if not hints.keys() - optional <= found.keys() <= hints.keys():
        raise CourseError(
            f"{place} has the fields {', '.join(found)}. A row has {', '.join(hints)}"
            f"{''.join(f' ({name} may be left out)' for name in optional)}. Correct the row."
        )
    for field, value in found.items():
        if not _fits(value, hints[field]):
            raise CourseError(
                f"{place} has {field} = {value!r}. That field takes {_said(hints[field])}. "
                "Correct the row."
            )


def _optional(row: type[Row]) -> set[str]:
    return {field.name for field in fields(row) if field.default_factory is list}


def _fits(value: Any, hint: Any) -> bool:
    inner = get_args(hint)
    if inner:
        return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
    return type(value) is hint


def _said(hint: Any) -> str:
    return {
        int: "a whole number",
        str: "a text in quotes",
        list[int]: "a list of whole numbers",
        list[str]: "a list of texts in quotes",
    }[hint]
