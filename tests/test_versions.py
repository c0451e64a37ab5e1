"""A probe tells a broken script from healthy ones; a cell of files is a small project."""

from __future__ import annotations

import inspect
import sys
import traceback
from types import FunctionType

import pytest
import torch

from insidetorch.learn import project as projects
from insidetorch.learn.file_cells import files_of
from insidetorch.learn.judges import BROKEN, REPAIRED, probe_then_repair, wanted_of_probe
from insidetorch.learn.observation import plain
from insidetorch.learn.project import imported, keep_files, project
from insidetorch.learn.versions import Versions, probed, probed_files
from insidetorch.packed import pack, unpack

LOOK = "a healthy script that looks like it"
SCRIPTS = {
    BROKEN: "def double(x):\n    return x.detach() * 2",
    REPAIRED: "def double(x):\n    return x * 2",
    LOOK: "def double(x):\n    return x * x.detach().mul(0).add(2)",
}
VERSIONS = Versions(pack(SCRIPTS))
PROJECTS = {
    name: f"# file: maths.py\nimport torch\n{text}\n# file: train.py\nfrom maths import double\n"
    for name, text in SCRIPTS.items()
}


def leaf():
    return torch.ones(1, requires_grad=True)


def good(double):
    assert double(leaf()).requires_grad


def always(double):
    return None


def never(double):
    raise AssertionError("no")


def by_the_word(double):
    assert "detach" not in double.__code__.co_names, "it detaches"


def leaves_the_program(double):
    sys.exit(1)


def named(probe):
    """The same under the name that every probe has."""
    code = probe.__code__.replace(co_name="probe")
    return FunctionType(code, probe.__globals__)


def turned(double):
    assert not double(leaf()).requires_grad


def returns(double):
    return double(leaf()).requires_grad


def test_a_version_may_be_broken_in_another_way():
    cured = "a broken script that silences the error"
    versions = Versions(pack({**SCRIPTS, cured: SCRIPTS[BROKEN].replace("x.detach()", "-x")}))
    seen = probed(good, versions, "double")
    assert seen.value[cured] == "holds"
    assert seen.tell.startswith(f"Your probe holds on {cured}. It must fail there")


def test_a_good_probe_has_nothing_told():
    seen = probed(good, VERSIONS, "double")
    assert seen.value == wanted_of_probe(SCRIPTS) and seen.tell == ""


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        (always, f"Your probe holds on {BROKEN}. It must fail there"),
        (never, f"Your probe fails on {REPAIRED} (AssertionError: no). Nothing is wrong there."),
        (by_the_word, f"fails on {LOOK} (AssertionError: it detaches). Nothing is wrong there."),
        (leaves_the_program, f"fails on {REPAIRED} (SystemExit: 1). Nothing is wrong there."),
        (named(by_the_word), '(AssertionError: it detaches, at `assert "detach" not in'),
        (turned, f"Your probe holds on {BROKEN}."),
        (returns, f"On {BROKEN} your probe returns a value."),
    ],
)
def test_a_probe_that_is_no_good_one_is_told_why(probe, told):
    seen = probed(probe, VERSIONS, "double")
    assert seen.value != wanted_of_probe(SCRIPTS) and told in seen.tell


def test_a_probe_that_says_something_else_each_time_is_told_so():
    runs = []

    def counting(double):
        runs.append(1)
        assert len(runs) > 1

    seen = probed(counting, VERSIONS, "double")
    assert "It must say the same each time." in seen.tell


def test_who_counts_the_calls_is_found_out():
    calls = []

    def counting(double):
        calls.append(1)
        assert len(calls) % len(SCRIPTS) != 1  # the broken script is the first

    assert "It must say the same each time." in probed(counting, VERSIONS, "double").tell


def test_a_probe_sees_neither_the_source_of_a_version_nor_its_probe():
    versions = Versions(pack({BROKEN: "def double(x):\n    return x\ndef probe():\n    pass"}))
    script = versions.load(BROKEN)
    assert "probe" not in vars(script)
    with pytest.raises(OSError, match="source code"):
        inspect.getsource(script.double)


def test_a_probe_that_is_still_to_be_written_raises():
    def probe(double):
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        probed(probe, VERSIONS, "double")


def test_what_a_probe_leaves_switched_off_does_not_reach_the_next_version():
    def switching(double):
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        assert torch.ones(1).dtype == torch.float64

    probed(switching, VERSIONS, "double")
    assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32


def test_each_run_of_a_probe_gets_a_script_that_is_run_anew():
    first, second = VERSIONS.load(BROKEN), VERSIONS.load(BROKEN)
    assert first.double is not second.double


def test_the_judge_looks_at_the_repair_only_behind_a_good_probe():
    good_probe = wanted_of_probe(SCRIPTS)
    assert probe_then_repair([good_probe, "repair"]) == ["a good probe", "repair"]
    bad = {**good_probe, LOOK: "fails"}
    assert probe_then_repair([bad, "repair"]) == probe_then_repair([bad, "another"]) == [bad]
    unwritten = [{"error": "NotImplementedError", "in": "probe"}, "repair"]
    assert probe_then_repair(unwritten) == unwritten


def test_what_was_seen_is_the_value_and_not_the_words():
    seen = probed(always, VERSIONS, "double")
    assert plain(seen) == seen.value


def test_packed_texts_are_the_same_on_every_machine():
    assert unpack(pack(SCRIPTS)) == SCRIPTS
    assert pack({"a": "x = 1"}) == "eyJhIjogInggPSAxIn0="


def test_the_files_of_a_cell_begin_at_their_lines_and_the_last_of_a_name_counts():
    text = "# answer: 9.9\n# file: a.py\nx = 1\n# file: b.py\ny = 2\n# file: a.py\nx = 3\n"
    assert files_of(text) == {"a.py": "x = 3\n", "b.py": "y = 2\n"}
    assert files_of("x = 1\n# file a.py\n") == {}


def test_the_files_import_each_other_now_and_later_and_nobody_else_sees_them():
    before = set(sys.modules)
    modules = imported(
        {
            "maths.py": "import torch as _torch\n\ndef two():\n    return 2\n",
            "train.py": "from maths import two\n\ndef later():\n  import maths\n  return maths\n",
        }
    )
    assert modules.train.two() == 2
    assert modules.train.later() is modules.maths
    assert not {"maths", "train"} & set(sys.modules) and set(sys.modules) == before


def test_an_error_in_a_file_names_the_file_and_shows_the_line():
    modules = imported({"maths.py": "def bad():\n    return 1 / 0\n"})
    with pytest.raises(ZeroDivisionError) as raised:
        modules.maths.bad()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == ("maths.py", 2, "return 1 / 0")


def test_a_cell_of_files_is_kept_under_its_id(monkeypatch):
    monkeypatch.setattr(projects, "_texts", {})
    keep_files("9.9", PROJECTS[REPAIRED] + "# file: probe.py\n")
    assert project("9.9").train.double(leaf()).item() == 2.0
    assert project("9.9").train is not project("9.9").train
    with pytest.raises(LookupError, match=r"begins with %%files 9.8 has not run"):
        project("9.8")


def test_a_cell_that_can_no_longer_be_read_keeps_nothing_of_before(monkeypatch):
    monkeypatch.setattr(projects, "_texts", {})
    keep_files("9.9", "# file: a.py\nx = 1\n")
    with pytest.raises(SyntaxError):
        keep_files("9.9", "# file: a.py\nx = = 1\n")
    with pytest.raises(LookupError, match="or it could not be read"):
        project("9.9")


@pytest.mark.parametrize("line", ["# File: b.py", "#file: b.py", "# file: b.py (mended)"])
def test_a_line_that_looks_like_that_of_a_file_is_no_comment(line):
    with pytest.raises(ValueError, match="It has the line `#"):
        keep_files("9.9", f"# file: a.py\nx = 1\n{line}\ny = 2\n")


def test_files_of_two_exercises_with_one_name_keep_their_lines(monkeypatch):
    monkeypatch.setattr(projects, "_texts", {})
    keep_files("9.8", "# file: a.py\ndef bad():\n    return 1 / 0  # of 9.8\n")
    first = project("9.8").a
    keep_files("9.9", "# file: a.py\ndef bad():\n    return 2 / 0  # of 9.9\n")
    with pytest.raises(ZeroDivisionError) as raised:
        first.bad()
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.line) == ("9.8/a.py", "return 1 / 0  # of 9.8")


def test_a_dataclass_in_a_file_is_made_and_the_files_end_with_any_line_end():
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    text += "@dataclass\nclass Point:\n    x: int = 1\n"
    files = files_of(f"# file: points.py\n{text}".replace("\n", "\r\n"))
    assert imported(files).points.Point().x == 1 and "points" not in sys.modules


def test_a_cell_without_a_file_and_one_that_python_cannot_read_are_refused(monkeypatch):
    monkeypatch.setattr(projects, "_texts", {})
    with pytest.raises(ValueError, match=r"with a line like `# file: model\.py`"):
        keep_files("9.9", "x = 1\n")
    with pytest.raises(SyntaxError) as raised:
        keep_files("9.9", "# file: a.py\nx = 1\ny = = 2\n")
    assert (raised.value.filename, raised.value.lineno) == ("9.9/a.py", 2)
    assert projects._texts == {}


def test_a_probe_of_a_project_stands_in_a_file_of_its_own(monkeypatch):
    monkeypatch.setattr(projects, "_texts", {})
    versions = Versions(pack(PROJECTS))
    probe = (
        "# file: probe.py\nimport torch\nfrom train import double\n\ndef probe():\n"
        "    assert double(torch.ones(1, requires_grad=True)).requires_grad"
    )
    keep_files("9.9", PROJECTS[BROKEN] + probe)
    assert probed_files("9.9", versions).value == wanted_of_probe(SCRIPTS)
    helper = probe.replace("import torch\n", "import torch\nfrom leaves import ones\n")
    helper = helper.replace("torch.ones(1, requires_grad=True)", "ones()")
    leaves = (
        "\n# file: leaves.py\nimport torch\ndef ones():\n    return torch.ones(1).requires_grad_()"
    )
    keep_files("9.9", PROJECTS[BROKEN] + helper + leaves)
    assert probed_files("9.9", versions).value == wanted_of_probe(SCRIPTS)
    keep_files("9.9", PROJECTS[BROKEN])
    with pytest.raises(LookupError, match=r"holds maths\.py, train\.py and no file probe"):
        probed_files("9.9", versions)
