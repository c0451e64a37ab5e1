"""One call on a buggy script says what the compiler makes of it; on its twin, the opposite."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest
from cases_looks import Look, name_of
from cases_runner import RECORDS

LOOKS = [
    Look(
        "110",
        'explain_compile(cache, *[(torch.ones(4),)] * 12, backend="aot_eager")',
        (
            "12 calls: 8 graphs, 0 graph breaks, 7 recompiles.",
            "the guard self.pos == 12 failed; asked for by main.py, line 14: self.pos += 1",
            "torch's limit of recompiles was reached",
            "A Python number is a constant in a graph, guarded by equality. One that changes from "
            "call to call belongs in a tensor.",
        ),
        ("12 calls: 1 graph, 0 graph breaks, 0 recompiles.",),
    ),
    Look(
        "111",
        'explain_compile(project, (x, w), backend="aot_eager")',
        (
            "graph 1: aten.mm",
            "The graph has one operator that computes. There is usually little to gain: there is "
            "nothing to fuse it with, and each call pays for its guards.",
        ),
        ("graph 1: aten.mm, aten.tanh, aten.mul, aten.add, aten.relu, aten.sum",),
    ),
    Look(
        "112",
        "explain_compile(f, (torch.randn(64),))",
        (
            "graph 1: aten.mul, aten.add, aten.sin, aten.relu, aten.mul",
            "No kernels were generated: no C++ compiler was found that works. The operators of "
            "each graph ran one by one instead. Install one:",
        ),
        ('the backend "aot_eager" was asked',),
        twin_call='explain_compile(f, (torch.randn(64),), backend="aot_eager")',
    ),
]
# Says each look on its script and on the twin. The scripts change the compiler for good.
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from cases_looks import Look, said, said_on_twin

looks = [Look(**values) for values in json.load(sys.stdin)]
print(json.dumps([[said(look), said_on_twin(look)] for look in looks]))
"""


@cache
def everything_said() -> dict[str, list[str]]:
    """What the calls say on each script and on its twin, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)],
        input=json.dumps([asdict(look) for look in LOOKS]),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip((look.case for look in LOOKS), json.loads(done.stdout), strict=True))


def test_every_case_about_the_compiler_is_looked_at():
    causes = ("recompile", "no_fusion", "no_compiler")
    assert {look.case for look in LOOKS} == {
        record["id"] for record in RECORDS.values() if record["cause_kind"] in causes
    }


@pytest.mark.parametrize("look", LOOKS, ids=name_of)
def test_one_call_on_the_script_says_what_is_there(look):
    text, _ = everything_said()[look.case]
    assert [words for words in look.says if words not in text] == []


@pytest.mark.parametrize("look", LOOKS, ids=name_of)
def test_the_call_on_the_twin_says_the_opposite(look):
    _, text = everything_said()[look.case]
    # The first words are about the graph, which may be the same.
    assert [words for words in look.says[1:] if words in text] == []
    assert [words for words in look.twin_says if words not in text] == []


def test_the_line_of_the_cause_is_the_one_that_the_record_names():
    text, _ = everything_said()["110"]
    culprit = RECORDS["110"]["culprit"]
    assert f"{culprit['file']}, line {culprit['line']}: {culprit['text']}" in text
