"""What does a learner read of what was handed in? One HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from insidetorch.learn.prose import inline

from ..verdicts import NOT_ATTEMPTED, NOT_GRADABLE, NOT_YET, RIGHT, Graded, Verdict

MOST_SHOWN = 3000
# Told by the mark and the word as well as by the colour.
MARKS = {RIGHT: "✓", NOT_YET: "✗", NOT_ATTEMPTED: "○", NOT_GRADABLE: "–"}
COLOURS = {RIGHT: "right", NOT_YET: "wrong"}
CSS = """
:root{color-scheme:light dark;--text:#212121;--ground:#fff;--soft:#f3f3f3;--line:#8a8a8a;
--right:#00674a;--wrong:#a33f00}
@media (prefers-color-scheme:dark){:root{--text:#e8e8e8;--ground:#181818;--soft:#262626;
--line:#8a8a8a;--right:#5fd3ac;--wrong:#ffa566}}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;
color:var(--text);background:var(--ground)}
a{color:inherit}
section{border-top:1px solid var(--line);margin-top:1.5rem}
h1,h2,h3{line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.3rem}h3{font-size:1.1rem}
pre{background:var(--soft);padding:.6rem;overflow-x:auto;font-size:.9rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}
dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
li{overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.35rem .8rem .35rem 0;
border-bottom:1px solid var(--line)}
td.number,th.number{text-align:right;white-space:nowrap}
.scroll{overflow-x:auto}
.right{color:var(--right)}.wrong{color:var(--wrong)}
""".strip()


def document(title: str, body: str) -> str:
    """A whole page. `title` is a text, `body` is HTML."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{text(title)}</title>\n<style>\n{CSS}\n</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{text(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def text(words: str) -> str:
    """A text as HTML. Control characters are not allowed there, nor can they be seen."""
    return escape(printable(words))


def printable(words: str) -> str:
    """A text with a sign in place of each character that cannot be seen."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in words)


def title_of(chapter: str) -> str:
    """A chapter's title by its name.

    >>> title_of("01_storage_and_stride")
    '1, storage and stride'
    """
    number, _, words = chapter.partition("_")
    return f"{number.lstrip('0')}, {words.replace('_', ' ')}"


def learner_page(learner: str, graded: Sequence[Graded]) -> str:
    """The page of one learner. Whatever comes from the learner stands there as text."""
    points, most = sum(one.points for one in graded), sum(one.max for one in graded)
    body = f"<p>{points:g} of {most:g} points.</p>\n" if most else ""
    return document(learner, body + "".join(map(_notebook, graded)))


def told_of(verdict: Verdict) -> str:
    """What is told of an outcome, as a sentence about the answer."""
    why = verdict.why
    if why.startswith("it "):
        why = f"the answer {why[3:]}"
    return why[:1].upper() + why[1:]


def _notebook(graded: Graded) -> str:
    if graded.problem:
        return (
            f"<section>\n<h2>{text(graded.file)}</h2>\n"
            f"<p>This file could not be graded: {text(graded.problem)}.</p>\n</section>\n"
        )
    title = f"Chapter {title_of(graded.chapter)}: {graded.points:g} of {graded.max:g} points"
    told = filter(None, (graded.file, graded.attempts, *graded.notes))
    notes = "".join(f"<li>{text(note)}</li>" for note in told)
    ways = "".join(
        f'<li><a href="#{text(one.exercise)}">{text(one.exercise)} {text(one.title)}</a>: '
        f"{MARKS[one.outcome]} {one.outcome}</li>"
        for one in graded.verdicts
    )
    return (
        f"<section>\n<h2>{text(title)}</h2>\n<ul>{notes}</ul>\n"
        f'<nav aria-label="{text(title)}"><ul>{ways}</ul></nav>\n'
        f"{''.join(map(_exercise, graded.verdicts))}</section>\n"
    )


def _exercise(verdict: Verdict) -> str:
    kind = COLOURS.get(verdict.outcome, "")
    points = "" if verdict.points is None else f", {verdict.points:g} of {verdict.max:g} points"
    extra = "" if verdict.core else ", an extra exercise"
    parts = [
        f'<h3 id="{text(verdict.exercise)}">{text(verdict.exercise)} {text(verdict.title)}</h3>',
        f'<p class="{kind}"><b>{MARKS[verdict.outcome]} {verdict.outcome}</b>{points}{extra}</p>',
    ]
    if verdict.why:
        parts.append(f"<p>{inline(printable(told_of(verdict)))}</p>")
    if verdict.outcome == NOT_YET:
        parts.append(_difference(verdict))
    for number, hint in enumerate(verdict.hints, 1):
        title = f"Hint {number} of {len(verdict.hints)}"
        parts.append(f"<details><summary>{title}</summary><p>{inline(hint)}</p></details>")
    if verdict.seen and verdict.outcome == NOT_YET:
        parts.append(_folded("All that the check saw", verdict.seen))
    if verdict.answer and verdict.outcome != NOT_ATTEMPTED:
        parts.append(_folded("Your answer", verdict.answer))
    return "\n".join(filter(None, parts)) + "\n"


def _difference(verdict: Verdict) -> str:
    """The first case that differs: given, seen, expected."""
    told = (
        ("given", verdict.given),
        ("your code", verdict.got),
        ("expected", verdict.expected),
    )
    rows = [f"<dt>{name}</dt><dd><code>{text(said)}</code></dd>" for name, said in told if said]
    return f"<dl>{''.join(rows)}</dl>" if rows else ""


def _folded(title: str, words: str) -> str:
    shown = words if len(words) <= MOST_SHOWN else words[:MOST_SHOWN] + " …"
    return f'<details><summary>{title}</summary><pre tabindex="0">{text(shown)}</pre></details>'
