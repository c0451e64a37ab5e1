"""The picture of a compilation shows the graphs, breaks and recompiles of its record."""

from __future__ import annotations

import re

from insidetorch import show
from insidetorch.draw.compiled import compilation_svg
from insidetorch.records import Compilation, CompiledGraph, Place, Recompile

HERE = Place("train.py", 7, "if y.sum() > 0:")
ONE = CompiledGraph(("aten.mul", "aten.gt"), "a branch on a tensor's value", HERE)
LAST = CompiledGraph(("aten.sin",))


def said(svg: str) -> list[str]:
    return re.findall(r'data-say="([^"]*)"', svg)


def test_every_operator_break_and_recompile_is_said():
    found = Compilation(3, (ONE, LAST, LAST), (Recompile(2, "n == 3", HERE),))
    assert said(compilation_svg(found, live=True)) == [
        "graph 1: mul",
        "graph 1: gt",
        "break: a branch on a tensor&#x27;s value; train.py, line 7: if y.sum() &gt; 0:",
        "graphs 2-3: sin",
        "call 2 compiled again: n == 3 failed; train.py, line 7: if y.sum() &gt; 0:",
    ]


def test_a_break_before_any_operator_takes_no_number():
    found = Compilation(1, (CompiledGraph((), "print(...)", HERE), LAST))
    words = said(compilation_svg(found, live=True))
    assert words[0].startswith("break: print(...)") and words[1] == "graph 1: sin"


def test_long_graphs_and_many_rows_are_cut_and_counted():
    long = CompiledGraph(tuple(f"aten.op{k}" for k in range(100)))
    words = said(compilation_svg(Compilation(1, (long,)), live=True))
    assert len(words) == 25 and words[-1] == "graph 1: and 76 more"
    many = Compilation(9, (LAST,), tuple(Recompile(k, f"n == {k}") for k in range(2, 22)))
    assert "and 8 more rows" in compilation_svg(many)


def test_rows_are_walked_by_the_arrow_keys():
    found = Compilation(1, (CompiledGraph(tuple(f"aten.operator_{k}" for k in range(20))),))
    places = re.findall(r'data-r="(\d+)" data-c="(\d+)"', compilation_svg(found, live=True))
    assert len(set(places)) == 20 and {row for row, _ in places} == {"0", "1", "2"}


def test_no_graph_is_told_in_words_alone():
    picture = show(Compilation(1, skipped="No kernels were generated."))
    assert picture.svg == "" and "0 graphs" in picture.alt
