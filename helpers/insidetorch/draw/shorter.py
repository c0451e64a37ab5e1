"""Long texts and large numbers, made to fit into a box."""

from __future__ import annotations


def cut(text: str, longest: int) -> str:
    """A text, its end left out where it is longer than so many characters.

    >>> cut("a * b + c", 9), cut("a * b + c + d", 9)
    ('a * b + c', 'a * b + …')
    """
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def amount(n: float, unit: str = "B") -> str:
    """A number of units to three digits.

    >>> amount(12_600_000), amount(800, ""), amount(8000, "")
    ('12.6 MB', '800', '8 k')
    """
    for prefix, size in (("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {prefix}{unit}"
    return f"{n:.3g} {unit}".rstrip()
