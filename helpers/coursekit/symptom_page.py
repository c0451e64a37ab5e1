"""What does the page with the symptoms of all chapters look like, and is the stored one current?

It is one file without script or network, and is printed on one sheet, A4 landscape.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from .errors import CourseError
from .files import back_up, write_atomically
from .sources import Lesson, find_lessons, read_lesson
from .tables import FILES, Symptom, load_symptoms

NAME = "symptom_table.html"
TITLE = "Inside PyTorch: from the symptom to the line"

# Type on paper is 6 pt at least; four columns, since short lines of small type are easier to read.
CSS = """
:root{color-scheme:light dark;--text:#212121;--soft:#555;--line:#bbb;--code:#0b4f71;--ground:#fff}
@media (prefers-color-scheme:dark){
:root{--text:#e6e6e6;--soft:#b0b0b0;--line:#5a5a5a;--code:#8fd0f0;--ground:#1b1b1b}}
body{font:15px/1.45 Arial,Helvetica,"Liberation Sans","DejaVu Sans",sans-serif;color:var(--text);
background:var(--ground);max-width:1300px;margin:0 auto;padding:16px}
h1{font-size:1.5em;margin:0 0 .2em}
h2{font-size:1.15em;margin:1.4em 0 0;border-bottom:2px solid var(--line)}
a{color:inherit}
p,dl,dd{margin:0}
dl>div{display:grid;grid-template-columns:1.2fr 1.1fr 1.3fr 1.5fr;gap:2px 18px;padding:7px 0;
border-bottom:1px solid var(--line);break-inside:avoid;overflow-wrap:anywhere}
dt{font-weight:bold}
dd b{display:block;font-weight:normal;font-size:.8em;color:var(--soft)}
code{font-family:"DejaVu Sans Mono","Liberation Mono",Consolas,Menlo,monospace;font-size:.9em;
color:var(--code);overflow-wrap:anywhere}
.key{color:var(--soft)}
.paper{display:none}
@media (max-width:800px){dl>div{display:block}}
@page{size:A4 landscape;margin:7mm}
@media print{
:root{color-scheme:light;--text:#000;--soft:#000;--line:#aaa;--code:#000;--ground:#fff}
body{font-size:6.2pt;line-height:1.15;max-width:none;padding:0}
h1{font-size:9pt;display:inline;margin-right:2em}
header p{display:inline}
main{columns:4;column-gap:3.5mm;margin-top:1mm}
h2{font-size:7.5pt;margin:1.2mm 0 .2mm;border-bottom:1pt solid #000;break-after:avoid}
section:first-child h2{margin-top:0}
a{text-decoration:none}
dl>div{display:block;padding:.25mm 0;border-width:.5pt}
dt,dd{display:inline}
.ask{font-style:italic}
dd:last-child::before{content:"→ "}
dd b,.screen{display:none}
.paper{display:inline}
code{font-size:6pt}
}
"""
KEY = (
    '<p class="key screen">What you see, what to ask first, the call that answers, and what it '
    "usually is. Printed, it is one sheet, A4 landscape.</p>"
    '<p class="key paper"><b>What you see.</b> <i>What to ask first?</i> '
    "<code>the call that answers</code> → what it usually is</p>"
)


def page(symptoms: Sequence[Symptom], titles: dict[int, tuple[str, str]]) -> str:
    """The page with these rows, by chapters; `titles` has a chapter's title and its notebook."""
    sections = "\n".join(
        _section(chapter, [row for row in symptoms if row.chapter == chapter], titles)
        for chapter in sorted({row.chapter for row in symptoms})
    )
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n"
        f"<!-- Written by `python course.py build` from {FILES['symptoms']}. -->\n"
        f"<style>{CSS}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(TITLE)}</h1>{KEY}</header>\n"
        f"<main>\n{sections}\n</main>\n</body>\n</html>\n"
    )
    return f"{text}<!-- {_digest(text)} -->\n"


def build_symptom_page(root: Path) -> str:
    """Write the page if it is not as the table gives it; returns what to tell, "" for nothing.

    One that somebody has changed is backed up first. Raises CourseError for a table or a lesson
    that cannot be read.
    """
    if not _has_table(root):
        return ""
    wanted, stored = _wanted(root), _stored(root)
    if stored == wanted.encode():
        return ""
    told = f"notebooks/{NAME}: built"
    try:
        if stored is not None and _is_edited(stored):
            copy = back_up(root, _file(root), name=_file(root).stem)
            told += f"\n  the edited page is kept as {copy.relative_to(root).as_posix()}"
        write_atomically(_file(root), wanted)
    except OSError as error:
        raise _error(error) from None
    return told


def check_symptom_page(root: Path) -> list[str]:
    """Does the stored page differ from what the table gives?"""
    if not _has_table(root):
        return []
    stored = _stored(root)
    if stored is None:
        return [f"notebooks/{NAME} is missing."]
    if stored != _wanted(root).encode():
        return [f"notebooks/{NAME} is not what {FILES['symptoms']} gives."]
    return []


def _section(chapter: int, rows: Sequence[Symptom], titles: dict[int, tuple[str, str]]) -> str:
    title, notebook = titles.get(chapter, (f"Chapter {chapter}", ""))
    head = f'<a href="{escape(notebook)}">{escape(title)}</a>' if notebook else escape(title)
    body = "\n".join(map(_row, rows))
    return f"<section>\n<h2>{head}</h2>\n<dl>\n{body}\n</dl>\n</section>"


def _row(row: Symptom) -> str:
    return (
        f"<div><dt>{escape(row.symptom)}</dt> "
        f'<dd class="ask"><b>Ask first</b> {escape(row.question)}</dd> '
        f"<dd><b>Look with</b> <code>{escape(row.tool)}</code></dd> "
        f"<dd><b>Usual causes</b> {escape('; '.join(row.causes))}</dd></div>"
    )


def _wanted(root: Path) -> str:
    titles = {lesson.chapter: _title(lesson) for lesson in find_lessons(root)}
    return page(load_symptoms(root / FILES["symptoms"]), titles)


def _title(lesson: Lesson) -> tuple[str, str]:
    """The first heading of a lesson, and the notebook as the page links it."""
    first = read_lesson(lesson)[0].first_line
    return first.lstrip("# "), lesson.notebook.name


def _stored(root: Path) -> bytes | None:
    """The page as it is; None where there is none."""
    try:
        return _file(root).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _error(error) from None


def _error(error: OSError) -> CourseError:
    return CourseError(
        f"Asked for notebooks/{NAME}. It cannot be read and written ({error.strerror}). Move away "
        "what is there, then build again."
    )


def _is_edited(stored: bytes) -> bool:
    """Did somebody change the page after it was built? Its last line has the digest of the rest."""
    text, _, digest = stored.decode(errors="replace").rpartition("<!-- ")
    return digest != f"{_digest(text)} -->\n"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _has_table(root: Path) -> bool:
    return (root / FILES["symptoms"]).is_file()


def _file(root: Path) -> Path:
    return root / "notebooks" / NAME
