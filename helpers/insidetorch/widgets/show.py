"""A picture that needs no kernel, no trust and no script."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import torch

from ..draw.aliases import aliases_svg
from ..draw.svg import img
from ..draw.text import families_sentence, families_text, xray_sentence, xray_text
from ..draw.xray import xray_svg
from ..observe.layout import NoStorageError
from ..observe.xray import xray_of
from ..records import Family, Index, XRay


@dataclass(frozen=True)
class Picture:
    """A picture beside a text with the same facts; a notebook shows it as a cell's value.

    `svg` is "" where only a sentence can be said.
    """

    svg: str
    alt: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return img(self.svg, self.alt) if self.svg else f"<p>{escape(self.text)}</p>"


def show(x: object) -> Picture:
    """What does this look like from inside?

    Args: `x`, a tensor, an XRay, or what `families` returns. Any tensor at all is answered: one
    without addresses by a sentence that says why it has none.
    Returns a `Picture`. Raises TypeError for anything else.

    >>> show(torch.eye(2).to_sparse())
    This Tensor has no element addresses: its layout is torch.sparse_coo, and its indices and \
values are kept in tensors of their own.
    """
    return picture_of(x, live=False)


def picture_of(x: object, *, live: bool, outer: Index | None = None) -> Picture:
    """The picture of a tensor or a record; `outer` chooses one block of a tensor."""
    if isinstance(x, tuple) and all(isinstance(family, Family) for family in x):
        return Picture(aliases_svg(x, live=live), families_sentence(x), families_text(x))
    if not isinstance(x, XRay):
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"A picture of a {type(x).__name__} was asked. There is one of tensors and of "
                "this package's records. Show the tensors of a container one by one."
            )
        try:
            x = xray_of(x, outer=outer)
        except Exception as error:  # a display never raises, whatever a subclass does
            sentence = _sentence(x, error)
            return Picture("", sentence, sentence)
    return Picture(xray_svg(x, live=live), xray_sentence(x), xray_text(x))


def _sentence(t: torch.Tensor, error: Exception) -> str:
    if isinstance(error, NoStorageError):
        return str(error)
    first = str(error).partition("\n")[0]
    return f"torch does not describe this {type(t).__name__}: {type(error).__name__}: {first}"
