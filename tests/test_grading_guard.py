"""A graded check gives nothing away, and uses what the course gave it: seen with the real torch."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from test_grading_course import code, nbgrader, shown, write

from coursekit.grading.check_cells import graded_check, imports_of
from coursekit.grading.command import main
from coursekit.grading.names import Names, names_of
from coursekit.grading.runs.limits import Limits

GIVEN = "import torch\n\nfrom insidetorch import check"
RULE = "def new_strides(sizes):\n    raise NotImplementedError"
RULE_SOLVED = """def new_strides(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)"""
RULE_CHECK = """check(
    "3.1",
    new_strides,
    [((2, 3),), ((4,),)],
    torch_says=lambda sizes: torch.empty(sizes).stride(),
    by_hand=new_strides,
)"""
COPY = "def keep(t, count):\n    raise NotImplementedError"
COPY_SOLVED = "def keep(t, count):\n    return t[:count].clone()"
COPY_CHECK = """import io
from insidetorch import relation

def look(count):
    t, file = torch.arange(4), io.BytesIO()
    kept = keep(t, count)
    torch.save(kept, file)
    file.seek(0)
    nbytes = torch.load(file).untyped_storage().nbytes()
    return {"saved": nbytes, "shared": relation(kept, t).common_bytes, "values": kept.tolist()}

def wanted(count):
    return {"saved": 8 * count, "shared": 0, "values": list(range(count))}

check("3.2", look, [(2,)], torch_says=wanted)"""
EXERCISES = {
    "3.1": (RULE, RULE_SOLVED, RULE_CHECK, {"results": [[3, 1], [1]], "uses": []}),
    "3.2": (COPY, COPY_SOLVED, COPY_CHECK, [{"saved": 16, "shared": 0, "values": [0, 1]}]),
}
BY_TORCH = "def new_strides(sizes):\n    return torch.empty(sizes).stride()"
VIEW = "def keep(t, count):\n    return t[:count]"
ORACLE = """_check = check
def check(id, answer, cases=None, *, torch_says=None, by_hand=None, **how):
    return _check(id, torch_says or answer, cases, by_hand=print if by_hand else None, **how)
"""
BY_FRAME = """import sys
def new_strides(sizes):
    frame = sys._getframe()
    while "torch_says" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["torch_says"](sizes)"""
PATCHES = """import insidetorch.observe.aliases, sys
from types import SimpleNamespace
def forge(*_):
    insidetorch.relation = lambda *_: SimpleNamespace(common_bytes=0)
    insidetorch._PLACES["relation"] = "nowhere"
    forged = lambda a, b: type("Forged", (), {"common_bytes": 0})
    sys.modules["insidetorch.observe.aliases"].relation.__code__ = forged.__code__
    load = torch.load
    torch.load = lambda file: load(file).clone()
"""
PATCHED_RULE = f"""import insidetorch.learn.check as module
module.names_used = lambda *_, **__: []
{BY_TORCH}"""
TABLE = """table = {}
for sizes in [(2, 3), (4,)]:
    table[sizes] = torch.empty(sizes).stride()
def new_strides(sizes):
    return table[sizes]"""
SOLUTIONS = f"""import insidetorch, sys
from pathlib import Path
for path in [*map(Path, sys.path), *Path(insidetorch.__file__).parents]:
    assert not (path / "solutions").exists() and not (path.parent / "solutions").exists(), path
{RULE_SOLVED}"""
TRIED_OUT = f"""x = torch.zeros(2, 3)
{RULE_SOLVED}
assert new_strides(x.shape) == x.stride()
print(new_strides(torch.ones(2).shape), x.stride().count(1))"""

# What shows an outcome shows what would be right instead.
FORGED_DISPLAY = """shell = get_ipython()
def forging(real):
    def forged(value, *rest, **named):
        found = real(value, *rest, **named)
        data = found[0] if isinstance(found, tuple) else found
        for mime in data or ():
            if mime.endswith("observation+json"):
                data[mime]["seen"] = [{"saved": 16, "shared": 0, "values": [0, 1]}]
        return found
    return forged
"""
BY_FORMAT = "shell.display_formatter.format = forging(shell.display_formatter.format)\n"
BY_CLASS = (
    "formatter = type(shell.display_formatter)\nformatter.format = forging(formatter.format)\n"
)
BY_TYPE = """from insidetorch.learn.check import Outcome
bundle = forging(Outcome._repr_mimebundle_)
shell.display_formatter.mimebundle_formatter.for_type(Outcome, bundle)
"""
BY_HOOK = """real = shell.displayhook.write_format_data
def write(data, metadata=None, **named):
    return real(forging(lambda _: data)(0), metadata, **named)
shell.displayhook.write_format_data = write
"""
FORGED = (BY_FORMAT, BY_CLASS, BY_TYPE, BY_HOOK)

# Name: the two answers, and which are right.
CASES = {
    "solved": (SOLUTIONS, COPY_SOLVED, "RR"),
    "tried out": (TRIED_OUT, f"relation = count = None\n{COPY_SOLVED}", "RR"),
    "oracle": (ORACLE + "def new_strides(sizes):\n    return ()", VIEW, "xx"),
    "frame, patched": (BY_FRAME, f"{PATCHES}forge()\n{VIEW}", "xx"),
    "by torch, patched in the call": (
        BY_TORCH,
        f"{PATCHES}{VIEW.replace('return', 'forge()' + chr(10) + '    return')}",
        "xx",
    ),
    "names_used patched": (PATCHED_RULE, "keep = 5", "xx"),
    "table": (TABLE, COPY_SOLVED, "xR"),
    **{
        f"display {number}": (RULE_SOLVED, f"{FORGED_DISPLAY}{how}{VIEW}", "Rx")
        for number, how in enumerate(FORGED)
    },
    "imported": ("from insidetorch.mini import contiguous_strides as new_strides", VIEW, "xx"),
}


def notebook(answers: dict[str, str]) -> dict:
    cells = [code(GIVEN, id="given")]
    for name, (_, _, check, seen) in EXERCISES.items():
        key = name.replace(".", "-")
        about = nbgrader(f"{name}-check", answer=False)
        answer = nbgrader(name, answer=True)
        cells.append(
            code(f"# answer: {name}\n{answers[name]}", id=f"answer-{key}", metadata=answer)
        )
        cells.append(code(check, id=f"check-{key}", metadata=about, outputs=shown(name, seen)))
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


@pytest.fixture(scope="module")
def graded(tmp_path_factory, one_starter) -> dict:
    folder = tmp_path_factory.mktemp("guard")
    solutions = {name: one[1] for name, one in EXERCISES.items()}
    write(folder / "course" / "solutions" / "03_rules.ipynb", notebook(solutions))
    noted = {
        name: {"title": name, "points": 1, "judge": None, "stub": stub}
        for name, (stub, *_) in EXERCISES.items()
    }
    write(folder / "course" / "exercises" / ".course" / "03.json", {"exercises": noted})
    for name, (rule, copy, _) in CASES.items():
        write(folder / "in" / f"{name}.ipynb", notebook({"3.1": rule, "3.2": copy}))
    out = folder / "out"
    main([str(folder / "in"), "--out", str(out)], root=folder / "course", limits=Limits())
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return {one["file"].removesuffix(".ipynb"): one["verdicts"] for one in results["submissions"]}


@pytest.mark.parametrize("name", CASES)
def test_only_an_answer_that_does_it_gets_the_points(graded, name):
    said = "".join("R" if one["outcome"] == "right" else "x" for one in graded[name])
    assert said == CASES[name][2], graded[name]


def test_a_rule_that_is_not_by_hand_is_told_so(graded):
    why = "the answer uses torch; this exercise asks for the rule in plain Python"
    assert graded["table"][0]["why"] == graded["names_used patched"][0]["why"] == why


def test_a_graded_check_holds_no_oracle_and_the_courses_own_names():
    source = (
        "from m import tool as t\n"
        "def oracle(n): return helper(n)\n"
        "def helper(n): return n\n"
        "def look(t2, check2): return tool(answer, t2, t)\n"
        "check('1', look, torch_says=oracle, given=oracle)"
    )
    imports = [
        *imports_of("import tool, a.b\nfrom x import *\nfrom y import check"),
        *imports_of(source),
    ]
    found = graded_check(source, imports=imports, answers={"answer"}, by_hand=False)
    assert found.splitlines() == [
        "import coursekit.grading.guard as _course_guard",
        "_course_guard.put_back()",
        "import tool as _course_tool",
        "from y import check as _course_check",
        "from m import tool as _course_t",
        "_course_answer = _course_guard.guarded(answer)",
        "from m import tool as t",
        "",
        "def look(t2, check2):",
        "    return _course_tool(_course_answer, t2, _course_t)",
        "_course_check('1', look)",
    ]
    by_hand = graded_check(source, imports=imports, answers={"answer"}, by_hand=True)
    assert "_course_tool(answer, t2, _course_t)" in by_hand and "guarded" not in by_hand


def test_what_a_check_binds_itself_and_what_an_answer_defines_keep_their_names():
    imports = imports_of("from m import a, b, c")
    source = "def f(a):\n    b = a\n    return b + c\ncheck(f)"
    found = graded_check(source, imports=imports, answers={"c"}, by_hand=True)
    assert "_course_a" not in found and "_course_b" not in found and "_course_c" not in found


def test_what_runs_files_of_the_learners_puts_everything_back_as_well():
    imports = imports_of("from insidetorch.learn.project import project")
    found = graded_check("check(project('1'))", imports=imports, answers=(), by_hand=False)
    assert found.splitlines()[-2:] == [
        "_course_project = _course_guard.guarded(_course_project)",
        "check(_course_project('1'))",
    ]


def test_a_cell_of_files_defines_nothing_in_the_notebook():
    text = "x = 1\ndef probe():\n    return y\n"
    assert names_of(f"# file: a.py\n{text}").defined == {"x", "probe"}
    assert names_of(f"%%files 6.7\n# file: a.py\n{text}") == Names()


PUT_BACK = """
import builtins, json, math, sys
from coursekit.grading import guard
guard.remember("from insidetorch import check, relation\\nimport json, math, torch")
import insidetorch, torch
from insidetorch.learn import check as module
from insidetorch.observe import aliases
kept = [insidetorch.relation, torch.load, torch.Tensor.tolist, torch.Tensor.__eq__, json.dumps,
        module.names_used, module.Outcome._repr_mimebundle_, math.prod, len]
insidetorch.relation = insidetorch._PLACES["relation"] = torch.load = json.dumps = None
torch.Tensor.tolist = torch.Tensor.__eq__ = module.Outcome._repr_mimebundle_ = None
module.names_used = None
aliases.len = json.isinstance = lambda *_: True
kept[0].__code__ = (lambda a, b: 1).__code__
sys.modules["insidetorch.observe.aliases"] = math
del math.prod
torch.mine = torch.Tensor.mine = 1
builtins.len = builtins.vars = builtins.hasattr = builtins.zip = None
guard.put_back()
assert kept == [insidetorch.relation, torch.load, torch.Tensor.tolist, torch.Tensor.__eq__,
                json.dumps, module.names_used, module.Outcome._repr_mimebundle_, math.prod, len]
assert "relation" not in vars(insidetorch) and "len" not in vars(aliases)
assert not hasattr(json, "isinstance") and torch.mine == torch.Tensor.mine == 1
assert sys.modules["insidetorch.observe.aliases"] is aliases
assert not relation(torch.ones(1), torch.ones(1)).same_storage
""".replace("assert not relation", "assert not insidetorch.relation")


def test_what_was_replaced_is_put_back_and_what_was_added_beside_it_stays():
    ran = subprocess.run([sys.executable, "-c", PUT_BACK], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_guard_leaves_no_path_to_another_copy_of_the_packages(tmp_path):
    (tmp_path / "insidetorch").mkdir()
    program = (
        "import sys; from coursekit.grading import guard; sys.path.append(sys.argv[1]); "
        "guard.remember(''); assert sys.argv[1] not in sys.path and guard.HERE in sys.path"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True)
