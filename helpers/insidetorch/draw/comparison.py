"""Two tensors side by side, in words."""

from __future__ import annotations

from math import prod

from ..records import Comparison, Index, Layout, Relation, Values
from .text import count, value_text


def comparison_text(c: Comparison) -> str:
    """A line for each tensor, then what they share, how their sizes fit, how values compare."""
    lines = [_line(name, said) for name, said in zip(c.names, (c.a, c.b), strict=True)]
    if c.relation is not None:
        lines.append(f"memory: {relation_text(c.relation, c.names)}")
        if c.a.sizes != c.b.sizes:
            lines.append(f"sizes: {_broadcast_text(c)}")
        lines.append(f"values: {_values_text(c.values, c.names)}")
    return "\n".join(lines)


def relation_text(r: Relation, names: tuple[str, str] = ("first", "second")) -> str:
    """What two tensors share, and who notices a write."""
    a, b = names
    if r.same_object:
        return "one and the same tensor"
    text = r.words
    views = {"b of a": f"{b} is a view of {a}", "a of b": f"{a} is a view of {b}"}
    if r.recorded:
        text += f"; {views.get(r.recorded, 'both are views of one tensor')}"
    elif r.same_storage:
        text += "; torch records neither as a view of the other"
    if r.common_bytes:
        text += {
            True: "; one version counter, so autograd notices a write through either",
            False: "; a version counter each, so autograd does not notice a write through the "
            "other",
            None: "; one of them keeps no version, so autograd does not notice a write through it",
        }[r.one_counter]
    return text


def _line(name: str, said: Layout | str) -> str:
    if isinstance(said, str):
        return f"{name}: {said}"
    text = (
        f"{name}: {said.dtype} on {said.device}, sizes {said.sizes}, strides {said.strides}, "
        f"offset {said.offset}"
    )
    if said.version is not None:
        text += f", version {said.version}"
    return text + (f"; {said.write_warning}" if said.write_warning else "")


def _broadcast_text(c: Comparison) -> str:
    if c.broadcast is None:
        return f"{c.a.sizes} and {c.b.sizes} do not broadcast: an elementwise operator raises"
    pairs = count(prod(c.broadcast), "pair")
    return f"{c.a.sizes} and {c.b.sizes} broadcast to {c.broadcast}, {pairs} of values"


def _values_text(v: Values, names: tuple[str, str]) -> str:
    a, b = names
    where = ""
    if v.at is not None and v.origin is not None:
        where = f"; {b}{_at(v.at)} is {a}{_at(v.origin)}"
    if v.order == "equal":
        return "equal at every index"
    if v.order == "recut":
        again = " (values repeat, so another order may fit as well)" if v.repeated else ""
        return (
            f"the same in row-major order: {b} is {a} cut to other sizes, as if no dimension was "
            f"moved{again}"
        )
    if v.order == "permuted":
        return f"the same in another order: {b} is {a}.permute{v.dims} read row by row{where}"
    if v.order == "moved":
        return f"the same in another order, not that of a permutation of {a}{where}"
    if v.order == "unknown":
        return f"not compared: {v.why}"
    if v.at is None:
        return "not the same"
    first, second = map(value_text, v.found)
    if first == second:  # they differ beyond the digits that are usually shown
        first, second = map(repr, v.found)
    at = f"first at {_at(v.at)}: {first} and {second}"
    return f"{v.unequal:,} {'index differs' if v.unequal == 1 else 'indices differ'}, {at}"


def _at(index: Index) -> str:
    return f"[{', '.join(map(str, index))}]"
