"""The clinic's cases: each shows its symptom, judges answers, and leaves the kernel as it was."""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import warnings
from pathlib import Path

import numpy
import pytest
import torch
from cases_runner import CASES, RECORDS
from clinic_course import make_course, write

from coursekit.clinic import build_clinic
from coursekit.clinic_source import read_clinic
from insidetorch import clinic_case, progress
from insidetorch.learn import script_run
from insidetorch.learn.clinic import Case
from insidetorch.learn.clinic_apart import looked, shown_apart
from insidetorch.learn.clinic_data import clinic_data
from insidetorch.learn.progress import read_progress, remembered

ROOT = Path(__file__).parents[1]
_, ROWS, _ = read_clinic(ROOT)
IDS = [row.id for row in ROWS]
WRONG = {row.id: row.others for row in ROWS}


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch):
    """The real course, with an empty memory of a learner."""
    file = tmp_path / "memory" / "progress.json"
    monkeypatch.setenv("INSIDETORCH_PROGRESS", str(file))
    monkeypatch.delenv("INSIDETORCH_COURSE", raising=False)
    monkeypatch.chdir(ROOT / "notebooks")
    return file


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A small course whose clinic is built."""
    root = make_course(tmp_path / "курс о тензорах")
    build_clinic(root)
    monkeypatch.chdir(root / "notebooks")
    return root


def state() -> tuple[object, ...]:
    """What a script could leave behind."""
    return (
        (random.getstate(), str(numpy.random.get_state()), torch.get_rng_state().tolist()),
        (torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads()),
        (list(sys.path), list(sys.argv), sys.modules["__main__"], sys.dont_write_bytecode),
        [name for name in sys.modules if name.startswith("mod_")],
        (list(warnings.filters), Path.cwd(), gc.isenabled()),
        torch.are_deterministic_algorithms_enabled(),
    )


def holds(case: Case, record: dict) -> bool:
    """Has the script done what its record expects?"""
    expect = record["expect"]
    if expect["type"] == "exception":
        return type(case.error).__name__ == expect["exc"] and expect["match"] in str(case.error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some checks make a number of a tensor with a graph
        return case.error is None and bool(eval(expect["check"], case.names))


def plain(names: dict[str, object]) -> dict[str, object]:
    """The numbers of a script, to be compared."""
    tensors = {n: v.detach().tolist() for n, v in names.items() if isinstance(v, torch.Tensor)}
    return tensors | {n: v for n, v in names.items() if isinstance(v, (int, float))}


def test_there_are_enough_cases_of_all_sorts():
    kinds = {RECORDS[case_id]["cause_kind"] for case_id in IDS}
    raising = [c for c in IDS if RECORDS[c]["expect"]["type"] == "exception"]
    two_files = [c for c in IDS if len(list((CASES / c).glob("*.py"))) == 2]
    assert len(IDS) >= 26 and len(kinds) >= 20
    assert len(raising) >= 8 and len(IDS) - len(raising) >= 15 and len(two_files) >= 4


@pytest.mark.parametrize("case_id", IDS)
def test_a_case_shows_its_symptom_each_time_and_leaves_the_kernel_as_it_was(case_id):
    case, record, before = clinic_case(case_id), RECORDS[case_id], state()
    ran = case.run(record["post"])
    assert state() == before
    assert holds(case, record)
    assert {name for name in case.names if not name.startswith("__")}.isdisjoint(dir(case))
    assert str(ROOT) not in repr(ran) and "Triggered" not in repr(ran)
    # NaN is not equal to itself, and its text is.
    first = repr(plain(case.names)), repr(ran)
    again = case.run(record["post"])
    assert (repr(plain(case.names)), repr(again)) == first


@pytest.mark.parametrize("case_id", IDS)
def test_the_look_at_a_case_says_something_else_on_its_repaired_twin(case_id):
    case = clinic_case(case_id)
    assert "watch" not in case.look and "doctor" not in case.look
    case.run()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = repr(looked(case))
        twin = Case(case_id, folder=CASES / case_id / "fixed", data=clinic_data())
        assert twin.run().error is None
        assert said != repr(looked(twin))


@pytest.mark.parametrize("case_id", IDS)
def test_an_answer_is_judged(case_id):
    record, case = RECORDS[case_id], clinic_case(case_id)
    right, kind = record["culprit"], record["cause_kind"]
    known = [(place["file"], place["line"]) for place in [right, *record["also_accepted"]]]
    for file, text in case.files.items():
        for line in range(1, len(text.splitlines()) + 1):
            found = case.answer(file, line, WRONG[case_id][0])
            rank = known.index((file, line)) if (file, line) in known else -1
            expected = {0: "right line, other cause", -1: "not this line"}
            assert found.outcome == expected.get(rank, "useful line, not where it begins")
            assert record["cause"] not in repr(found) and kind not in case.look
    for file, line in known[1:]:
        assert case.answer(file, line, kind).outcome == "useful line, not where it begins"
    for other in WRONG[case_id]:
        found = case.answer(*known[0], other)
        assert found.outcome == "right line, other cause" and not found.cause
    solved = case.answer(*known[0], kind)
    assert (solved.outcome, solved.cause, solved.source) == (
        "right",
        record["cause"],
        record["source"],
    )
    assert set(case.kinds) == {kind, *WRONG[case_id]}
    assert any(line.startswith("+") for line in solved.repair.splitlines())


def test_a_case_is_told_without_its_title_and_its_kind():
    case = clinic_case("013")
    text = repr(case)
    assert text.startswith("Case 013. enc.weight.grad is None") and "mod_013_filters.py" in text
    assert "  7      rows = t.detach().cpu().numpy()" in text
    assert RECORDS["013"]["title"] not in text and RECORDS["013"]["cause"] not in text
    assert "&lt;" not in text and "<pre" in case._repr_html_()


def test_the_variables_of_a_script_are_attributes_once_it_has_run():
    case = clinic_case("013")
    with pytest.raises(AttributeError, match=r"'loss' of case 013 .* Call run\(\) first"):
        case.loss  # noqa: B018
    case.run("extra = loss.item()")
    assert case.loss is case.names["loss"] and case.extra == case.loss.item()
    assert case.enc.weight.grad is None and "enc" not in vars(sys.modules["__main__"])


def test_an_error_shows_the_lines_of_the_script_and_no_other():
    case = clinic_case("056")
    ran = case.run()
    assert repr(ran).splitlines()[:2] == [
        "main.py, line 19: loss = fit(3)",
        "main.py, line 15: loss.backward()",
    ]
    assert "RuntimeError: Trying to backward through the graph a second time" in repr(ran)
    trace, names = case.error.__traceback__, []
    while trace is not None:
        names.append(Path(trace.tb_frame.f_code.co_filename).name)
        trace = trace.tb_next
    assert names == ["main.py", "main.py"]


CYCLES = """\
import weakref
class Kept: pass
alive = weakref.WeakSet()
for _ in range(20):
    one = Kept()
    one.own = one
    alive.add(one)
kept = len(alive)
"""


def test_what_leaks_is_still_there_after_the_run(course):
    write(course / "notebooks" / "clinic" / "902" / "main.py", CYCLES)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        assert clinic_case("902").run("kept = len(alive)").names["kept"] == 20
    finally:
        gc.set_threshold(*before)
    assert gc.isenabled()


LEAKY = """\
import os, random, sys, warnings
import numpy, torch, mod_901_cut

print("printed", __name__, sys.argv[1:])
sys.path.append("nowhere")
sys.argv.append("more")
os.chdir("..")
warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_num_threads(torch.get_num_threads() + 1)
torch.use_deterministic_algorithms(True)
for generator in (random.seed, numpy.random.seed, torch.manual_seed):
    generator(901)
raise ValueError("stopped")
"""


def test_a_script_that_fails_leaves_nothing(course, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write(course / "notebooks" / "clinic" / "901" / "main.py", LEAKY)
    sys.modules["mod_901_cut"] = mine = type(sys)("mod_901_cut")
    try:
        before, case = state(), clinic_case("901")
        ran = case.run()
        assert state() == before and sys.modules["mod_901_cut"] is mine
    finally:
        del sys.modules["mod_901_cut"]
    assert repr(ran) == (
        'printed __main__ []\nmain.py, line 15: raise ValueError("stopped")\nValueError: stopped'
    )
    folder = course / "notebooks" / "clinic" / "901"
    assert sorted(path.name for path in folder.iterdir()) == ["main.py", "mod_901_cut.py"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("raise SystemExit(3)\n", "main.py, line 1: raise SystemExit(3)\nSystemExit: 3"),
        ("import warnings\nwarnings.warn('careful')\n", "warning: careful"),
        ("x = 1\n", "It ran to its end and printed nothing."),
    ],
)
def test_what_a_script_does_is_told(course, script, told):
    write(course / "notebooks" / "clinic" / "902" / "main.py", script)
    assert repr(clinic_case("902").run()) == told


def test_a_script_that_is_no_python_is_told_as_an_error(course):
    write(course / "notebooks" / "clinic" / "902" / "main.py", "x = (\n")
    assert "SyntaxError" in repr(clinic_case("902").run())


def test_a_repair_of_the_copy_is_what_runs(course):
    case = clinic_case("901")
    assert "does not require grad" in repr(case.run("loss.backward()"))
    write(case.folder / "mod_901_cut.py", "def cut(t):\n    return t\n")
    assert case.run("loss.backward()").error is None and case.w.grad.tolist() == [2, 2]


def test_a_script_runs_as_in_a_fresh_process(course):
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            case = clinic_case("901")
            case.run("recorded = (w * 2).requires_grad")
            assert not torch.is_grad_enabled()
        assert case.w.dtype is torch.float32 and torch.get_default_dtype() is torch.float64
        assert case.recorded
    finally:
        torch.set_default_dtype(torch.float32)


def test_two_scripts_do_not_run_at_once(course, monkeypatch):
    case, inside, go_on = clinic_case("901"), threading.Event(), threading.Event()
    real = script_run._run

    def slow(*args):
        inside.set()
        assert go_on.wait(60)
        return real(*args)

    monkeypatch.setattr(script_run, "_run", slow)
    thread = threading.Thread(target=case.run)
    thread.start()
    assert inside.wait(60)
    with pytest.raises(RuntimeError, match=r"script of 902 .* Wait until it has ended"):
        clinic_case("902").run()
    go_on.set()
    thread.join()
    assert case.w.tolist() == [1, 1]


def test_a_case_shows_the_same_in_a_process_of_its_own(course):
    assert "It does not require a gradient" in shown_apart("look", "901")
    assert "KeyError" in shown_apart("run", "none")


def test_tries_are_counted_and_what_is_solved_stays_solved(memory):
    case = clinic_case("001")
    assert (case.state, case.tries) == ("", 0)
    case.answer("main.py", 1, "flat_op")
    assert (case.state, case.tries) == ("not yet", 1)
    case.answer("main.py", 10, "flat_op")
    case.answer("main.py", 10, "detach")
    case.answer("main.py", 1, "detach")
    case.reveal()
    kept = json.loads(memory.read_text(encoding="utf-8"))
    assert kept["clinic"] == {"001": {"is": "right", "tries": 3}}
    assert kept["last"] is None  # 001 is no exercise of chapter 1


def test_the_answer_is_offered_after_two_tries():
    case = clinic_case("001")
    assert "reveal" not in repr(case.answer("main.py", 1, "flat_op"))
    assert 'clinic_case("001").reveal()' in repr(case.answer("main.py", 2, "flat_op"))


def test_a_case_that_was_shown_is_not_solved():
    shown = clinic_case("001").reveal()
    assert repr(shown).startswith("→ 001 shown\nmain.py, line 10. ") and shown.cause
    assert clinic_case("001").answer("main.py", 10, "detach").outcome == "right"
    assert remembered("clinic", "001") == {"is": "shown", "tries": 0}


def test_a_verdict_that_cannot_be_saved_is_told_all_the_same(monkeypatch):
    def full(*_where, **_how):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    case = clinic_case("001")
    assert "(Not saved: No space left on device)" in repr(case.answer("main.py", 1, "detach"))
    solved = case.answer("main.py", 10, "detach")
    assert solved.outcome == "right" and "(Not saved: No space" in repr(solved)
    assert case.tries == 2


@pytest.mark.parametrize("odd", ['{"001": 4}', '{"001": {"is": 3, "tries": "x"}}', "{}"])
def test_an_odd_memory_is_no_answer(memory, odd):
    write(memory, f'{{"clinic": {odd}}}')
    assert clinic_case("001").tries == 0
    clinic_case("001").answer("main.py", 10, "detach")
    assert read_progress()["clinic"]["001"]["is"] == "right"


def test_a_broken_memory_is_kept_aside(memory):
    write(memory, '{"clinic": 3}')
    clinic_case("001").answer("main.py", 10, "detach")
    assert remembered("clinic", "001") == {"is": "right", "tries": 1}
    assert [p.read_text(encoding="utf-8") for p in memory.parent.glob("*.broken-*")] == [
        '{"clinic": 3}'
    ]


def test_progress_tells_how_many_cases_are_solved():
    assert progress().clinic == (0, len(IDS))
    clinic_case("001").answer("main.py", 10, "detach")
    clinic_case("013").reveal()
    assert progress().clinic == (1, len(IDS))
    assert f"1 of {len(IDS)} cases" in repr(progress())


@pytest.mark.parametrize(("file", "line"), [("main.py", 0), ("main.py", 99), ("other.py", 1)])
def test_a_line_that_is_not_there_is_refused(file, line):
    case = clinic_case("013")
    with pytest.raises(ValueError, match=r"has lines 1 to 8 of main\.py, lines 1 to 9 of mod_013"):
        case.answer(file, line, "frozen")
    assert case.tries == 0


def test_a_cause_that_is_no_choice_is_refused():
    with pytest.raises(ValueError, match=r"cause 'magic' was named in case 013.*Name one of them"):
        clinic_case("013").answer("main.py", 1, "magic")


def test_a_number_that_is_no_case_is_refused():
    with pytest.raises(KeyError, match=r"Case '13' was asked for\. The clinic has 013, "):
        clinic_case("13")


def test_outside_a_course_there_is_no_clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="no course around this notebook"):
        clinic_case("013")
    assert progress().clinic == (0, 0) and list(tmp_path.iterdir()) == []


def test_a_course_whose_clinic_is_not_built_says_so(course):
    (course / "exercises" / ".course" / "clinic.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"clinic\.json is missing\. Run `python course"):
        clinic_case("901")
    assert progress().clinic == (0, 0)


@pytest.mark.parametrize("broken", ["{", "[]", "{}", '{"salt": 1, "kinds": {}}'])
def test_a_clinic_that_cannot_be_read_says_so(course, broken):
    write(course / "exercises" / ".course" / "clinic.json", broken)
    with pytest.raises(ValueError, match=r"clinic\.json does not hold what the build writes"):
        clinic_case("901")
    assert "clinic" not in repr(progress())


def test_a_case_without_its_scripts_says_so(course):
    (course / "notebooks" / "clinic" / "901" / "main.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"are not in notebooks/clinic/901\. Open a"):
        clinic_case("901")
