"""Accidents and attacks: honest work keeps its points, tampering gains nothing.

All submissions are graded once, for all tests. Where the effects of several accidents cannot mix,
they stand in one submission.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import psutil
import pytest
from test_grading_course import STORAGE, code, nbgrader, shown, solutions, submission, write_course

from coursekit.grading.chapters import OBSERVATION
from coursekit.grading.command import main
from coursekit.grading.runs.limits import Limits
from coursekit.grading.runs.starters import Plain
from coursekit.grading.verdicts import NOT_ATTEMPTED, NOT_YET, RIGHT

SOLVED = solutions(STORAGE)
LETTERS = {RIGHT: "R", NOT_YET: "x", NOT_ATTEMPTED: "o"}
SLEEPER = "import time; time.sleep(900)"
LEAVES_A_PROCESS = f"""{SOLVED["1.1"]}
import subprocess, sys
for _ in range(2):
    subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=True)
"""
# Leaves the tree of processes: its parent ends at once.
LEAVES_AN_ORPHAN = f"""strides = (1, 3)
import subprocess, sys
starts = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPER!r}],"
starts += " start_new_session=True)"
subprocess.run([sys.executable, "-c", starts], check=True)
"""
# Leaves the tree of processes, and nothing in its environment tells where it comes from.
LEAVES_NO_TRACE = LEAVES_AN_ORPHAN.replace("=True)", "=True, env={})")
FORGED = f'display({{{OBSERVATION!r}: {{"v": 1, "id": name, "seen": %s}}}}, raw=True)'


def edited(cells: list[dict], **fields: object) -> dict:
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **fields}


def fake_see(*seen: str) -> str:
    lines = "\n    ".join(FORGED % one for one in seen)
    return f"def see(name, look):\n    {lines}\n"


def checks_edited_deleted_reordered() -> dict:
    """Checks that show nothing, a deleted one, extra cells that raise, and another order."""
    found = submission()
    given, a1, c1, a2, _, a3, c3 = found["cells"]
    c1["source"], c3["source"], given["source"] = "pass", "1 / 0", "raise SystemExit"
    extra = code("raise ValueError('mine')", id="mine")
    text = {"cell_type": "markdown", "id": "note", "metadata": {}, "source": "x" * 1_000_000}
    return edited([extra, a3, c3, text, a2, a1, c1, given])


def split_copied_turned_to_text() -> dict:
    found = submission()
    given, a1, c1, a2, c2, a3, c3 = found["cells"]
    a1["source"] = SOLVED["1.1"]
    head = code("# answer: 1.1\nscale = 1", id="new", metadata=a1["metadata"])
    copied = code(a2["source"], id="copied", metadata=a2["metadata"])
    a3["cell_type"] = "markdown"
    return edited([given, head, a1, c1, a2, copied, c2, a3, c3])


def without_metadata_and_ids_merged() -> dict:
    """As other editors leave it: only the marker comments are left, two answers in one cell."""
    found = submission()
    for cell in found["cells"]:
        cell["metadata"], cell["source"] = {}, cell["source"].splitlines(keepends=True)
        del cell["id"]
    given, a1, c1, a2, c2, a3, c3 = found["cells"]
    a1["source"] += ["\n", *a2["source"]]
    return edited([given, a1, c1, c2, a3, c3], nbformat_minor=2)


def one_trace_of_each() -> dict:
    """One answer merged with its check, one found by its id, one by its metadata; odd metadata."""
    found = submission()
    given, a1, c1, a2, c2, a3, c3 = found["cells"]
    merged = code(f"{a1['source']}\n{c1['source']}", id="merged", metadata=c1["metadata"])
    a2["source"], a2["metadata"] = SOLVED["1.2"], {"nbgrader": "none", "tags": 3}
    a3["source"], a3["id"] = SOLVED["1.3"], "another"
    kernel = {"kernelspec": {"name": "a-conda-environment", "display_name": "mine"}}
    return edited([given, merged, a2, c2, a3, c3, 5, {"cell_type": "code"}], metadata=kernel)


def helpers_in_other_cells() -> dict:
    """A helper function with an import in a third cell, a constant below its use, and chatter."""
    found = submission(
        a1="def offset(index, strides):\n    return total(index, strides)",
        a2="strides = FIRST",
        a3=f"import sys, warnings\n{SOLVED['1.3']}\n"
        "_quiet = bytes_used\n"
        "def bytes_used(count, itemsize):\n"
        "    print('debug'); print('more', file=sys.stderr); warnings.warn('old')\n"
        "    return _quiet(count, itemsize)",
    )
    imports = code("import operator as op", id="imports")
    helper = code(
        "def total(index, strides):\n    return sum(op.mul(*pair) for pair in zip(index, strides))",
        id="helper",
    )
    spoiling = code("sum = None", id="spoiling")
    found["cells"] = [imports, helper, *found["cells"], code("FIRST = (1, 3)", id="b"), spoiling]
    return found


def helper_without_end() -> dict:
    """A helper cell that never ends, and a cell magic above the marker of another answer."""
    found = submission(a2="strides = (LIMIT - 2, LIMIT)")
    found["cells"].insert(0, code("LIMIT = 3\nwhile True:\n    pass", id="helper"))
    third = found["cells"][6]
    third["source"], third["metadata"] = f"%%time\n{third['source']}", {}
    del third["id"]
    return found


def stale_outputs() -> dict:
    """Wrong answers below stored outputs of right ones, a true for a 1, a marker to skip."""
    found = submission(
        a1="def offset(index, strides):\n    return 0",
        a2="strides = (True, 3.0)",
        a3="# NBVAL_SKIP\ndef bytes_used(count, itemsize):\n    return 5",
    )
    found["cells"][5]["metadata"]["tags"] = ["nbval-skip", "raises-exception"]
    found["cells"][2]["outputs"] = shown("1.1", [5, 8])
    return found


def an_answer_as_check() -> dict:
    """An answer cell that calls itself a check, and a check that calls itself an answer."""
    found = submission(a1="raise SystemExit", a2="strides = input()", a3="raise KeyboardInterrupt")
    found["cells"].append(code(FORGED % "[5, 8]", id="x", metadata=nbgrader("1.1", answer=False)))
    found["cells"].append(code("pass", id="y", metadata=nbgrader("1.1-check", answer=True)))
    return found


def old_attempts_beside() -> dict:
    """An old attempt in a raw cell, a heading like a marker, another answer's cell pasted."""
    found = submission(a3=f"# answer: 1.1\n{SOLVED['1.1']}\n{SOLVED['1.3']}")
    given, a1, *others = found["cells"]
    old = {"cell_type": "raw", "id": "old", "metadata": a1["metadata"], "source": "offset = 0"}
    text = {"cell_type": "markdown", "id": "text", "metadata": {}, "source": "# Answer: 1.2\nHm."}
    return edited([given, text, a1, old, *others])


def answers_in_cells_of_their_own() -> dict:
    """Below a stub that was left, and in place of the cell that was deleted."""
    found = submission(a1=STORAGE["1.1"][0])
    given, a1, c1, _, c2, a3, c3 = found["cells"]
    below, instead = (code(SOLVED[name], id=f"mine {name}") for name in ("1.1", "1.2"))
    return edited([given, a1, below, c1, instead, c2, a3, c3])


def windows_lines_late_markers() -> dict:
    """Lines that end as on Windows, markers below a comment, nothing else left; two merged."""
    found = submission()
    for cell in found["cells"]:
        cell["metadata"] = {}
        del cell["id"]
    given, a1, c1, a2, c2, a3, c3 = found["cells"]
    a1["source"] = f"# checked twice\n{a1['source']}\n\n{a2['source']}"
    a3["source"] = f"# mine\n\n{a3['source']}"
    for cell in (a1, a3):
        cell["source"] = cell["source"].replace("\n", "\r\n")
    return edited([given, a1, c1, c2, a3, c3], nbformat_minor=2)


def helpers_of_other_kinds() -> dict:
    """A star import, a builtin's name, values that later cells change, a setting."""
    found = submission(
        a1="def offset(index, strides):\n    assert deep(3000) == 0\n"
        "    return sum(map(pow, index, strides))\n"
        "def deep(n):\n    return n and deep(n - 1)",
        a2="strides = FIRST[0], TABLE['second'] + ceil(LAST.extra - 0.5)",
        a3=f"{SOLVED['1.3']}\nassert READY",
    )
    sources = [
        *("from math import *", "def pow(index, stride):\n    return index * stride"),
        *("FIRST, TABLE = [], {}", "FIRST.append(1)", "TABLE['second'] = 2"),
        *("class Last: pass\nLAST = Last()", "LAST.extra = 1"),
        *("READY = False\ndef init():\n    global READY\n    READY = True", "init()"),
        *("import sys", "sys.setrecursionlimit(20_000)"),
    ]
    cells = [code(source, id=f"extra-{number}") for number, source in enumerate(sources)]
    found["cells"] = [*cells, *found["cells"]]
    return found


ALWAYS_EQUAL = """class Equal(int):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = int.__hash__

def offset(index, strides):
    return Equal(4)
"""
TRANSFORMER = f"""{SOLVED["1.1"]}
def forge(lines):
    return ['''{FORGED % "1"}''' ] if any("see(" in line for line in lines) else lines
name = "1.1"
get_ipython().input_transformers_cleanup.append(forge)
"""
READS_REFERENCE = f"""import glob, json
def bytes_used(count, itemsize):
    for path in glob.glob("../**/*.ipynb", recursive=True):
        for cell in json.load(open(path))["cells"]:
            for output in cell["outputs"]:
                found = output["data"]["{OBSERVATION}"]
                if found["id"] == "1.3":
                    return found["seen"]
"""
WRITES_RESULTS = """import json, os, stat
line = json.dumps({"event": "ran", "unit": "1.1", "check": True, "right": True, "error": "",
                   "seen": ""}) + "\\n" + json.dumps({"event": "finished"}) + "\\n"
for number in range(64):
    try:
        if number < 3 or stat.S_ISREG(os.fstat(number).st_mode):
            os.write(number, line.encode())
    except OSError:
        pass
def offset(index, strides):
    return 0
"""
BARE = f"""import os
assert "COURSE_SECRET" not in os.environ and not os.listdir(), "not bare"
assert not os.path.exists(os.environ["INSIDETORCH_PROGRESS"])
{SOLVED["1.1"]}
"""
SHADOWS = f"""for name in ("conftest", "sitecustomize", "json", "torch", "nbval"):
    open(name + ".py", "w").write("raise SystemError")
{SOLVED["1.1"]}
"""
STUBBORN = """while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
TALKS_WITHOUT_END = """def offset(index, strides):
    while True:
        try:
            while True:
                print("x" * 1000)
        except BaseException:
            pass
"""
KILLS_PARENT = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
THREAD = f"""{SOLVED["1.3"]}
import threading, time
def talk():
    while True:
        print("still here")
        time.sleep(0.01)
threading.Thread(target=talk, daemon=True).start()
"""
NO_TRACE_DEEP = f"""{LEAVES_NO_TRACE}
{SOLVED["1.1"]}
import os
here = os.getcwd()
for _ in range(2500):
    os.mkdir("d")
    os.chdir("d")
os.chdir(here)
"""
STOPS_PARENT = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nstrides = (1, 3)"
ALL_RIGHT = "RRR"
WRONG_STRIDES = "strides = (0, 0)"

# Name: the submission, what is said of 1.1, 1.2 and 1.3.
CASES: dict[str, tuple[dict, str]] = {
    "honest": (submission(), ALL_RIGHT),
    "checks edited": (checks_edited_deleted_reordered(), ALL_RIGHT),
    "split, copied, text": (split_copied_turned_to_text(), ALL_RIGHT),
    "markers only": (without_metadata_and_ids_merged(), ALL_RIGHT),
    "one trace of each": (one_trace_of_each(), ALL_RIGHT),
    "helpers": (helpers_in_other_cells(), ALL_RIGHT),
    "any order, bare, magic": (
        submission(
            a1=BARE,
            a3="def bytes_used(count, itemsize):\n    return [3, 1, 0, 2]",
        ),
        ALL_RIGHT,
    ),
    "processes, threads": (
        submission(a1=LEAVES_A_PROCESS, a2=LEAVES_AN_ORPHAN, a3=THREAD),
        ALL_RIGHT,
    ),
    "old attempts": (old_attempts_beside(), ALL_RIGHT),
    "own cells": (answers_in_cells_of_their_own(), ALL_RIGHT),
    "lines, late markers": (windows_lines_late_markers(), ALL_RIGHT),
    "more helpers": (helpers_of_other_kinds(), ALL_RIGHT),
    "no trace, deep, stopped": (submission(a1=NO_TRACE_DEEP, a2=STOPS_PARENT), ALL_RIGHT),
    "shadows, syntax": (submission(a1=SHADOWS, a3="def bytes_used(:"), "RRx"),
    "stale": (stale_outputs(), "xxx"),
    "not its cell": (an_answer_as_check(), "xxx"),
    "equal, candidates": (
        submission(a1=ALWAYS_EQUAL, a2=fake_see("[1, 3]", "[3, 1]") + WRONG_STRIDES),
        "xxR",
    ),
    "forges the others": (
        submission(a1=fake_see("[5, 8]", "[1, 3]"), a2=WRONG_STRIDES, a3=READS_REFERENCE),
        "xxx",
    ),
    "another's observation": (
        submission(
            a1=SOLVED["1.1"] + "\n_see = see\ndef see(name, look):\n    _see('1.1', look)",
        ),
        ALL_RIGHT,
    ),
    "transformer": (submission(a1=TRANSFORMER), "xRR"),
    "writes results": (submission(a1=WRITES_RESULTS, a2=WRONG_STRIDES), "xxR"),
    "stubborn": (submission(a1=STUBBORN), "xRR"),
    "talks without end": (submission(a1=TALKS_WITHOUT_END), "xRR"),
    "ends the kernel, the grader": (
        submission(a1="import os\nos._exit(0)", a3=KILLS_PARENT),
        "xRx",
    ),
    "memory, disk": (
        submission(
            a1="def offset(index, strides):\n    return len(bytearray(12 << 30))",
            a2="import os\nwith open('big', 'wb') as file:\n"
            "    for _ in range(200):\n        file.write(bytes(1 << 20))\nstrides = (1, 3)",
        ),
        "xxR",
    ),
    "spoils the others": (
        submission(a1=SOLVED["1.1"] + "\nlist = None\ndel json, display"),
        ALL_RIGHT,
    ),
    "helper hangs": (helper_without_end(), "RxR"),
    "markup, too long": (
        submission(
            a1="raise ValueError('<script>alert(1)</script>\\x1b[31m')",
            a2=f"# {'x' * 30_000}\nstrides = (1, 3)",
            a3=f"{SOLVED['1.3']}\nhalf = '\ud800'",
        ),
        "xxR",
    ),
    "stubs": (
        submission(a1=f"# mine\n{STORAGE['1.1'][0]}", a2="\nstrides = ...\n", a3=""),
        "ooo",
    ),
}
# What is said where answers run as the grader's user, in its sight: then they can end or stop it.
AS_YOU = {
    "no trace, deep, stopped": "RxR",
    "ends the kernel, the grader": "xRx",
}

UNREADABLE = {
    "=HYPERLINK(1).ipynb": b"no json",
    "a list.ipynb": b"[]",
    "empty.ipynb": b"",
    "format 3.ipynb": b'{"nbformat": 3, "worksheets": []}',
    "latin.ipynb": '{"cells": ["é"]}'.encode("latin-1"),
    "deep.ipynb": b"[" * 200_000,
    "no answers.ipynb": b'{"nbformat": 4, "cells": []}',
}


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def graded(tmp_path_factory, one_starter) -> dict:
    """What the command says, prints, writes and leaves behind."""
    return grade_cases(tmp_path_factory.mktemp("grading Übung"), CASES, UNREADABLE)


@pytest.fixture(scope="module")
def graded_as_you(tmp_path_factory) -> dict:
    """The same of some submissions, in processes of the grader's own user."""
    cases = {name: CASES[name] for name in AS_YOU}
    with pytest.MonkeyPatch.context() as patch:
        # One of them stops the grader's process, and nothing is heard from it.
        patch.setattr("coursekit.grading.runs.run.SILENCE", 2)
        return grade_cases(tmp_path_factory.mktemp("as you"), cases, {}, "--isolation", "process")


@pytest.fixture(scope="module")
def graded_plainly(tmp_path_factory) -> dict:
    """One submission in a new process that loads everything itself."""
    cases = {"honest": CASES["honest"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coursekit.grading.command.choose", lambda wanted: Plain())
        return grade_cases(tmp_path_factory.mktemp("plain"), cases, {})


def grade_cases(folder: Path, cases: dict, unreadable: dict, *options: str) -> dict:
    root = write_course(folder / "course")
    handed_in = folder / "handed in"
    handed_in.mkdir()
    for name, (content, _) in cases.items():
        bom = "\ufeff" if name == "markers only" else ""
        text = bom + json.dumps(content)
        (handed_in / f"{name}.ipynb").write_text(text, encoding="utf-8", newline="\n")
    for name, content in unreadable.items():
        (handed_in / name).write_bytes(content)
    before = digests(folder)
    out = folder / "grades"
    limits = Limits(cell=6, notebook=60)
    temporary = folder / "temporary"
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_SECRET", "1")
        patch.setattr("tempfile.tempdir", str(temporary))
        status = main([str(handed_in), "--out", str(out), *options], root=root, limits=limits)
    after = digests(folder)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    found = {
        one["file"]: {**one, "html": (out / one["page"]).read_text(encoding="utf-8")}
        for one in results["submissions"]
    }
    return {
        "status": status,
        "folders": [one.name for one in temporary.glob("grade-*") if "packages" not in one.name],
        "unchanged": {name: after[name] for name in before} == before,
        "by file": found,
        "csv": (out / "grades.csv").read_text(encoding="utf-8-sig"),
    }


def said_of(graded: dict, name: str) -> str:
    found = graded["by file"][f"{name}.ipynb"]
    return "".join(LETTERS[one["outcome"]] for one in found["verdicts"])


@pytest.mark.parametrize("name", CASES)
def test_honest_work_keeps_its_points_and_tampering_gains_none(graded, starter, name):
    found = graded["by file"][f"{name}.ipynb"]
    said = said_of(graded, name)
    wanted = CASES[name][1]
    assert said == (AS_YOU.get(name, wanted) if starter.isolation == "process" else wanted), found
    weights = {"R": 1, "x": 0, "o": 0}
    points = [weights[letter] * one[4] for letter, one in zip(said, STORAGE.values(), strict=True)]
    assert found["points"] == sum(points)


@pytest.mark.parametrize("name", AS_YOU)
def test_the_same_holds_for_answers_that_run_as_the_grader_s_user(graded_as_you, name):
    assert said_of(graded_as_you, name) == AS_YOU[name]


def test_a_new_process_finds_what_a_copy_of_a_warm_one_finds(graded, graded_plainly):
    one, two = (found["by file"]["honest.ipynb"] for found in (graded, graded_plainly))
    assert one["verdicts"] == two["verdicts"]
    assert said_of(graded_plainly, "honest") == ALL_RIGHT


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named_and_gets_no_points(graded, name):
    found = graded["by file"][name]
    assert found["problem"].startswith("it ")
    assert found["verdicts"] == []


def test_a_submission_is_never_changed(graded):
    assert graded["unchanged"]


def test_every_submission_has_a_result(graded):
    assert set(graded["by file"]) == {f"{name}.ipynb" for name in CASES} | set(UNREADABLE)


def test_a_mistake_anywhere_is_exit_status_1(graded):
    assert graded["status"] == 1


def test_no_folder_is_left(graded):
    assert graded["folders"] == []


def test_no_process_that_an_answer_started_is_left(graded):
    left = [p for p in psutil.process_iter(["cmdline"]) if SLEEPER in (p.info["cmdline"] or [])]
    assert left == []


def reasons(graded: dict, name: str) -> list[str]:
    return [one["why"] for one in graded["by file"][f"{name}.ipynb"]["verdicts"]]


@pytest.mark.parametrize(
    ("name", "index", "why"),
    [
        ("stubborn", 0, "it took longer than 6 s"),
        ("talks without end", 0, "it showed more than 5 MB"),
        ("ends the kernel, the grader", 0, "it ended the kernel"),
        ("memory, disk", 1, "the answer cell raised OSError"),
        ("shadows, syntax", 2, "the answer cell raised SyntaxError"),
        ("not its cell", 1, "the answer cell raised StdinNotImplementedError"),
        ("memory, disk", 0, "it raised MemoryError"),
        ("stale", 0, "the check saw something else"),
        ("stale", 2, "what the check saw cannot be judged"),
    ],
)
def test_a_learner_is_told_why(graded, name, index, why):
    assert reasons(graded, name)[index].startswith(why)


@pytest.mark.parametrize(
    ("name", "index", "why"),
    [
        ("ends the kernel, the grader", 2, "it ended the grader's process"),
        ("no trace, deep, stopped", 1, "it kept the grader's process from going on"),
    ],
)
def test_who_ends_or_stops_the_grader_is_told_so(graded_as_you, name, index, why):
    assert reasons(graded_as_you, name)[index].startswith(why)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("helper hangs", "helper cell 1 (LIMIT = 3) was left out: it took longer than 6 s"),
        ("split, copied, text", "1.1: 2 cells answer it; they ran in their order"),
        ("split, copied, text", "1.3: its cell had been turned into markdown"),
        ("own cells", "1.1: answered in a cell that does not say so"),
        ("more helpers", "helper cell 1 (from math import *) is needed by 1.1, 1.2, 1.3"),
        ("transformer", "1.2: right alone, but not after the answers before it"),
        ("markup, too long", "1.2: longer than 20000 characters, so not run"),
    ],
)
def test_what_was_done_for_the_learner_is_noted(graded, name, note):
    assert note in graded["by file"][f"{name}.ipynb"]["notes"]


def test_a_memory_error_is_seen_and_not_the_end_of_the_machine(graded):
    seen = graded["by file"]["memory, disk.ipynb"]["verdicts"][0]["seen"]
    assert json.loads(seen)["seen"] == {"error": "MemoryError"}


def test_a_file_name_is_no_formula_in_a_spreadsheet(graded):
    rows = list(csv.reader(graded["csv"].splitlines()))
    assert rows[0][:4] == ["learner", "chapter", "exercise", "points"]
    assert ["'=HYPERLINK", "", "", "", "", "not graded"] in [row[:6] for row in rows]
    assert ["honest", "01_storage", "1.3", "3", "3", "right", "", "honest.ipynb"] in rows


def test_a_page_shows_what_a_learner_wrote_as_text(graded):
    page = graded["by file"]["markup, too long.ipynb"]["html"]
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "\x1b" not in page
