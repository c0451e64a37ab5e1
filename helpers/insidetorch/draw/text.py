"""The same facts in words, for nbval, for a screen reader and for a terminal."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from ..records import Cell, Family, Layout, Value, XRay
from .theme import CHAR_WIDTH, PAGE_WIDTH


def value_text(value: Value) -> str:
    """A value as it stands in a cell: four significant digits, integers whole.

    >>> value_text(0.123456), value_text(1 + 2j), value_text(True), value_text(None)
    ('0.1235', '1+2j', 'True', '×')
    """
    if value is None:
        return "×"
    if isinstance(value, complex):
        return f"{value.real:.4g}{value.imag:+.4g}j"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def sizes_text(layout: Layout) -> str:
    """Sizes in words, for the start of a sentence.

    >>> from insidetorch.observe.layout import layout_of
    >>> import torch
    >>> sizes_text(layout_of(torch.zeros(2, 3)))
    'A 2 × 3 float32 tensor'
    """
    if not layout.sizes:
        return f"{'An' if layout.dtype.startswith('int') else 'A'} {layout.dtype} scalar"
    return f"A {' × '.join(map(str, layout.sizes))} {layout.dtype} tensor"


def xray_sentence(x: XRay) -> str:
    """An x-ray in two or three sentences: its alternative text and its status line."""
    layout = x.layout
    asked = f"{sizes_text(layout)} with strides {layout.strides} at offset {layout.offset}."
    if x.refusal or not layout.fits:
        return " ".join([asked, *warnings(x)])
    read = (
        f"It reads {count(layout.distinct, 'element')} of a storage with "
        f"{count(layout.storage_elements, 'element')} ({count(layout.storage_bytes, 'byte')})."
    )
    return " ".join([asked, read, *warnings(x)])


def warnings(x: XRay) -> list[str]:
    """What is not as usual about this tensor, one sentence each."""
    layout, found = x.layout, []
    if x.refusal:
        found.append(f"torch refuses: {x.refusal}")
    elif not layout.fits:
        found.append(
            f"The storage is too small: {layout.needed_bytes:,} bytes are needed, "
            f"{layout.storage_bytes:,} are there. Reading a value may raise an error, return what "
            "other data left there, or end the process."
        )
    if layout.overlaps and not x.refusal:
        found.append(f"Its {layout.numel:,} values share {count(layout.distinct, 'element')}.")
        found.append(f"{layout.write_warning.capitalize()}.")
    if layout.is_conj:
        found.append("The conjugate bit is set: memory holds the conjugates of the values.")
    if layout.is_neg:
        found.append("The negative bit is set: memory holds the negatives of the values.")
    if layout.quantizer:
        found.append(f"It is quantised: memory holds integers, with {layout.quantizer}.")
    return found


def traits(layout: Layout) -> str:
    """The flags of a tensor in one line."""
    words = ["contiguous" if layout.is_contiguous else "not contiguous"]
    if layout.is_channels_last:
        words.append("channels_last")
    words.append("view" if layout.is_view else "no view")
    if layout.version is None and not layout.is_inference:  # an array: autograd knows none
        return ", ".join([*words, "no version"])
    words.append("leaf" if layout.is_leaf else "result of an operation")
    if layout.requires_grad:
        words.append("requires grad")
    words.append("inference tensor" if layout.is_inference else f"version {layout.version}")
    return ", ".join(words)


def xray_text(x: XRay) -> str:
    """An x-ray as plain text: every shown value as value@element, and the storage beside it."""
    layout = x.layout
    lines = [
        f"{layout.type_name} of {layout.dtype} on {layout.device}: {traits(layout)}",
        f"sizes    {layout.sizes}",
        f"strides  {layout.strides}",
        f"offset   {layout.offset} = byte {layout.offset * layout.itemsize}",
        f"storage  {count(layout.storage_bytes, 'byte')} = "
        f"{count(layout.storage_elements, 'element')} of {count(layout.itemsize, 'byte')}, "
        + (f"{layout.distinct:,} read" if layout.fits else "too few"),
        *warnings(x),
    ]
    if not x.cells:
        return "\n".join([*lines, "no values"])
    lines.append("values, each with the storage element that it is read from:")
    for outer, cells in groupby(x.cells, key=lambda cell: cell.index[:-2]):
        if outer:
            lines.append(f"[{', '.join(map(str, outer))}, :, :]")
        for _, row in groupby(cells, key=lambda cell: cell.index[:-1]):
            lines.append("  " + _row(list(row)))
    return "\n".join(lines)


def _row(cells: list[Cell]) -> str:
    out, last = [], None
    for cell in cells:
        here = cell.index[-1] if cell.index else 0
        if last is not None and here != last + 1:
            out.append("…")
        out.append(f"{value_text(cell.value)}@{cell.element}")
        last = here
    return "  ".join(out)


def family_text(family: Family) -> str:
    """Who shares one storage, a line for each tensor."""
    lines = [f"{block_text(family)}, read by:"]
    for member in family.members:
        layout = member.layout
        lines.append(
            f"  {' = '.join(member.names)}: {layout.dtype}, sizes {layout.sizes}, strides "
            f"{layout.strides}, offset {layout.offset}; {member.role}; "
            + ("no version" if layout.version is None else f"version {layout.version}")
        )
    if family.others:
        lines.append(f"  {others_text(family)}")
    if family.is_kept_by_a_part:
        most = "at most " if any(member.has_holes for member in family.members) else ""
        kept = f"all {count(family.block_bytes, 'byte')} are kept alive"
        lines.append(f"  {kept}, and {most}{family.read_bytes:,} of them are read here")
    return "\n".join(lines)


def block_text(family: Family) -> str:
    """The memory of a family."""
    size = count(family.block_bytes, "byte")
    if family.storages > 1:
        return f"{family.storages} storage objects over the same {size}"
    return f"storage of {size}"


def others_text(family: Family) -> str:
    """The holders of a storage that have no name."""
    return f"and {count(family.others, 'holder')} without a name here"


def families_text(families: tuple[Family, ...]) -> str:
    """All families; a sentence where there are none."""
    shown, left_out = first_rows(families)
    lines = list(map(family_text, shown)) or [families_sentence(families)]
    if left_out:
        lines.append(f"and {left_out:,} more tensors")
    return "\n".join(lines)


def first_rows(families: tuple[Family, ...], *, most: int = 60) -> tuple[list[Family], int]:
    """The families with the first `most` members, and how many members are left out."""
    shown, room = [], most
    for family in families:
        if room:
            shown.append(replace(family, members=family.members[:room]))
            room -= len(shown[-1].members)
    found = sum(len(family.members) for family in families)
    return shown, found - (most - room)


def families_sentence(families: tuple[Family, ...]) -> str:
    """How many tensors share how much memory: the status line of the map."""
    shared = [family for family in families if len(family.members) > 1]
    members = sum(len(family.members) for family in shared)
    parts = sum(family.is_kept_by_a_part for family in families)
    text = "No two tensors found here share memory."
    if shared:
        blocks = "one block" if len(shared) == 1 else f"{len(shared)} blocks"
        text = f"{members} tensors share {blocks} of memory."
    if parts:
        kept, part = ("1 block is", "it") if parts == 1 else (f"{parts} blocks are", "each")
        text += f" {kept} kept alive for less than half of {part}."
    return text


def count(n: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "byte"), count(1200, "byte")
    ('1 byte', '1,200 bytes')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def wrapped(sentence: str, width: int = int(PAGE_WIDTH / CHAR_WIDTH)) -> list[str]:
    """A sentence in lines that fit the page."""
    lines, line = [], ""
    for word in sentence.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
