"""A picture that needs no kernel, no trust and no script."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import torch

from ..draw.aliases import aliases_svg
from ..draw.backward import backward_text, step_svg
from ..draw.comparison import comparison_text
from ..draw.compilation import compilation_sentence, compilation_text
from ..draw.compiled import compilation_svg
from ..draw.diagnosis import diagnosis_svg
from ..draw.diagnosis_text import diagnosis_sentence, diagnosis_text
from ..draw.explanation import explanation_sentence, explanation_svg, explanation_text
from ..draw.fusion import fusion_sentence, fusion_svg, fusion_text
from ..draw.graph import graph_svg
from ..draw.graph_memory import graph_memory_svg
from ..draw.graph_memory_text import graph_memory_sentence, graph_memory_text
from ..draw.graph_text import graph_sentence, graph_text
from ..draw.ledger import ledger_svg
from ..draw.passes import passes_sentence, passes_text
from ..draw.paths import path_sentence, path_svg, path_text
from ..draw.svg import img
from ..draw.text import families_sentence, families_text, xray_sentence, xray_text
from ..draw.trace import trace_svg
from ..draw.viewing import view_sentence, view_svg, view_text
from ..draw.writing import write_sentence, write_svg, write_text
from ..draw.xray import xray_svg
from ..observe.arrays import array_xray, is_array
from ..observe.layout import NoStorageError
from ..observe.xray import xray_of
from ..records import (
    Backward,
    Comparison,
    Compilation,
    Diagnosis,
    DispatchPath,
    Explanation,
    Family,
    Fusion,
    Graph,
    GraphsOverSteps,
    Index,
    Ledger,
    Passes,
    Trace,
    ViewRule,
    Write,
    XRay,
)


@dataclass(frozen=True)
class Picture:
    """A picture beside a text with the same facts; a notebook shows it as a cell's value.

    `svg` is "" where only a sentence can be said. `told` shows the text below the picture, where it
    says more than the picture can.
    """

    svg: str
    alt: str
    text: str
    told: bool = False

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        words = f'<pre style="white-space:pre-wrap;word-break:normal">{escape(self.text)}</pre>'
        if not self.svg:
            return words if "\n" in self.text else f"<p>{escape(self.text)}</p>"
        return img(self.svg, self.alt) + (words if self.told else "")


def show(x: object) -> Picture:
    """What does this look like from inside?

    Args: `x`, a tensor, a NumPy array, or a record: an XRay, a ViewRule, a Write, a Comparison, a
    Graph, a Ledger, a Backward, Passes, a DispatchPath, an Explanation, a Compilation, a
    Fusion, GraphsOverSteps, what `families` returns.
    Any tensor and any array at all is answered: one without addresses, or that torch does not take,
    by a sentence that says why. An array is shown as the tensor over its memory, with strides in
    elements.
    Returns a `Picture`. Raises TypeError for anything else.

    >>> show(torch.eye(2).to_sparse())
    This Tensor has no element addresses: its layout is torch.sparse_coo, and its indices and \
values are kept in tensors of their own.
    """
    return picture_of(x, live=False)


def picture_of(x: object, *, live: bool, outer: Index | None = None) -> Picture:
    """The picture of a tensor, an array or a record; `outer` chooses one block of a tensor."""
    kind = type(x)  # not isinstance: an object may lie about its class, or raise when asked
    if kind is tuple and all(type(family) is Family for family in x):
        words = families_text(x)
        return Picture(aliases_svg(x, live=live), families_sentence(x), words, told=bool(x))
    if kind in _RECORDS:
        return _RECORDS[kind](x, live)
    if kind is not XRay:
        if not is_array(x) and not issubclass(kind, torch.Tensor):
            raise TypeError(
                f"A picture of a {kind.__name__} was asked. There is one of tensors, of NumPy "
                "arrays and of this package's records. Show the tensors of a container one by one."
            )
        try:
            x = (array_xray if is_array(x) else xray_of)(x, outer=outer)
        except Exception as error:  # a display never raises, whatever a subclass does
            sentence = _sentence(kind, error)
            return Picture("", sentence, sentence)
    return Picture(xray_svg(x, live=live), xray_sentence(x), xray_text(x))


def _ledger(x: Ledger, _live: bool) -> Picture:
    return Picture(ledger_svg(x) if x.lines else "", x.sentence, str(x), told=True)


def _comparison(x: Comparison, live: bool) -> Picture:
    svg = aliases_svg(x.families, live=live) if x.families else ""
    return Picture(svg, "The memory that both read.", comparison_text(x), told=True)


def _backward(x: Backward, live: bool) -> Picture:
    svg = step_svg(x, 0, live=live) if x.steps else ""
    text = backward_text(x)
    return Picture(svg, text.partition("\n")[0], text, told=True)


def _explanation(x: Explanation, live: bool) -> Picture:
    svg, text = explanation_svg(x, live=live), explanation_text(x)
    return Picture(svg, explanation_sentence(x), text, told=x.failure is not None)


def _graph_memory(x: GraphsOverSteps, live: bool) -> Picture:
    svg = graph_memory_svg(x, live=live)
    return Picture(svg, graph_memory_sentence(x), graph_memory_text(x), told=True)


def _compilation(x: Compilation, live: bool) -> Picture:
    svg = compilation_svg(x, live=live)
    return Picture(svg, compilation_sentence(x), compilation_text(x), told=True)


_RECORDS: dict[type, Callable[..., Picture]] = {
    Backward: _backward,
    Comparison: _comparison,
    Compilation: _compilation,
    Diagnosis: lambda x, live: Picture(
        diagnosis_svg(x, live=live), diagnosis_sentence(x), diagnosis_text(x)
    ),
    DispatchPath: lambda x, live: Picture(path_svg(x, live=live), path_sentence(x), path_text(x)),
    Explanation: _explanation,
    Fusion: lambda x, live: Picture(fusion_svg(x, live=live), fusion_sentence(x), fusion_text(x)),
    Graph: lambda x, live: Picture(graph_svg(x, live=live), graph_sentence(x), graph_text(x)),
    GraphsOverSteps: _graph_memory,
    Ledger: _ledger,
    Trace: lambda x, live: Picture(trace_svg(x, live=live), x.sentence, str(x)),
    Passes: lambda x, _live: Picture("", passes_sentence(x), passes_text(x)),
    ViewRule: lambda x, live: Picture(view_svg(x, live=live), view_sentence(x), view_text(x)),
    Write: lambda x, live: Picture(write_svg(x, live=live), write_sentence(x), write_text(x)),
}


def _sentence(kind: type, error: Exception) -> str:
    """Why there is no picture; without addresses, which differ each time."""
    try:
        first = re.sub(r"0x[0-9a-f]+", "0x…", str(error).partition("\n")[0])
    except Exception:
        first = "an error that cannot be printed"
    if isinstance(error, NoStorageError):
        return first
    return f"This {kind.__name__} cannot be described: {type(error).__name__}: {first}"
