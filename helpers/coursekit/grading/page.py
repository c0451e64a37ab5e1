"""What does a learner read of a graded submission? One HTML page that needs nothing else."""

from __future__ import annotations

from html import escape

from .verdicts import NOT_ATTEMPTED, NOT_GRADABLE, NOT_YET, RIGHT, Graded, Verdict

MOST_SHOWN = 3000
# Told by the mark and the word as well as by the colour.
MARKS = {RIGHT: "✓", NOT_YET: "✗", NOT_ATTEMPTED: "○", NOT_GRADABLE: "–"}
CSS = """
:root{color-scheme:light dark;--text:#212121;--ground:#fff;--soft:#f3f3f3;--line:#8a8a8a;
--right:#00674a;--wrong:#a33f00}
@media (prefers-color-scheme:dark){:root{--text:#e8e8e8;--ground:#181818;--soft:#262626;
--line:#8a8a8a;--right:#5fd3ac;--wrong:#ffa566}}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;
color:var(--text);background:var(--ground)}
section{border-top:1px solid var(--line);margin-top:1.5rem}
h1,h2{line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.15rem}
pre{background:var(--soft);padding:.6rem;overflow-x:auto;font-size:.9rem}
.right{color:var(--right)}.wrong{color:var(--wrong)}
""".strip()


def page(graded: Graded) -> str:
    """The page of one submission. Whatever comes from the learner stands there as text."""
    title = _text(graded.file)
    if graded.problem:
        body = f"<p>This file could not be graded: {_text(graded.problem)}.</p>"
    else:
        notes = "".join(f"<li>{_text(note)}</li>" for note in graded.notes)
        body = (
            f"<p>Chapter {_text(graded.chapter)}: {graded.points:g} of {graded.max:g} points.</p>"
        )
        body += f"<ul>{notes}</ul>" if notes else ""
        body += "".join(map(_section, graded.verdicts))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>\n{CSS}\n</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def _section(verdict: Verdict) -> str:
    kind = {RIGHT: "right", NOT_YET: "wrong"}.get(verdict.outcome, "")
    points = "" if verdict.points is None else f", {verdict.points:g} of {verdict.max:g} points"
    parts = [
        f"<h2>{_text(verdict.exercise)} {_text(verdict.title)}</h2>",
        f'<p class="{kind}"><b>{MARKS[verdict.outcome]} {verdict.outcome}</b>{points}</p>',
    ]
    if verdict.why:
        parts.append(f"<p>{_text(verdict.why)}</p>")
    if verdict.seen and verdict.outcome == NOT_YET:
        parts.append(_folded("What the check saw", verdict.seen))
    if verdict.answer:
        parts.append(_folded("The answer", verdict.answer))
    return "<section>\n" + "\n".join(parts) + "\n</section>\n"


def _folded(title: str, text: str) -> str:
    shown = text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"
    return f'<details><summary>{title}</summary><pre tabindex="0">{_text(shown)}</pre></details>'


def _text(text: str) -> str:
    # Control characters are not allowed in HTML, nor can they be seen.
    return escape("".join(c if c.isprintable() or c in "\n\t" else "�" for c in text))
