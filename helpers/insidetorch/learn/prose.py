"""How do words of the course become HTML? Paragraphs, and `code` between backticks."""

from __future__ import annotations

import re
from html import escape


def html(text: str) -> str:
    """Lines as paragraphs, what stands between backticks as code.

    >>> html("Call `clone()`.\\nNot < more.")
    '<p>Call <code>clone()</code>.</p><p>Not &lt; more.</p>'
    """
    return "".join(f"<p>{inline(line)}</p>" for line in text.splitlines() if line)


def inline(text: str) -> str:
    """One line as HTML.

    >>> inline("`a & b`")
    '<code>a &amp; b</code>'
    """
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
