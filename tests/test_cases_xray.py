"""One call of the package on the names of a buggy script says what is wrong; on its twin, not."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy
import pytest
import torch
from cases_looks import Look, check, check_control, check_twin, name_of
from cases_runner import CASES, RECORDS, running

from coursekit.hygiene import ADDRESS, PATH
from insidetorch import families, show

LOOKS = [
    Look(
        "051",
        "compare(path[0], path[-1])",
        ("reading the same 12 bytes", "equal at every index"),
        ("on different storages",),
        inside="simulate",
    ),
    Look(
        "053",
        "compare(out, store[name])",
        ("reading the same 160 bytes",),
        ("on different storages",),
        inside="hook",
    ),
    Look(
        "054",
        "compare(images, to_batch(images))",
        (
            "have 128 bytes in common",
            "one of them keeps no version, so autograd does not notice a write through it",
        ),
        ("on different storages",),
    ),
    Look(
        "067",
        "show(families({'cache': cache}))",
        ("all 256,000 bytes are kept alive, and 4,000 of them are read here",),
        ("No two tensors found here share memory.",),
    ),
    Look(
        "068",
        "compare(best['weight'], net.weight)",
        ("reading the same 12 bytes", "equal at every index"),
        ("on different storages",),
    ),
    Look(
        "069",
        "explain_view(hits, (-1,))",
        (
            "Dimension 0 stops it: one step along it moves 1 element, and the 32 elements to its "
            "right span 160.",
            "no view: reshape would copy",
        ),
        ("aten.clone: copy of 160 bytes\n  main.py, line 10",),
        inside="hit_rates",
        twin_call="copies(lambda: hit_rates(scores, truth))",
    ),
    Look(
        "070",
        "explain_view(h, (h.size(0), -1))",
        (
            "Dimension 1 stops it: one step along it moves 1 element, and the 100 elements to its "
            "right span 400.",
            "no view: reshape would copy",
        ),
        ("aten.clone: copy of 3,200 bytes\n  mod_070_encoder.py, line 12",),
        inside="forward",
        twin_call="copies(lambda: self.forward(obs))",
    ),
    Look(
        "071",
        "show(w)",
        ("Its 24 values share 6 elements.", "so torch refuses most writes to it in place"),
        ("24 elements of 4 bytes, 24 read",),
        inside="damped",
    ),
    Look(
        "073",
        "compare(signal, params)",
        ("and torch does not notice a write in place", "second is a view of first"),
        ("on different storages",),
    ),
    Look(
        "074",
        "compare(x, params)",
        ("the same in another order", "second[0, 0, 2] is first[0, 1, 0]"),
        ("equal at every index",),
    ),
    Look(
        "074",
        "compare(split_heads(x, heads=4), params)",
        ("second is first cut to other sizes, as if no dimension was moved",),
        ("second is first.permute(0, 2, 1, 3) read row by row",),
    ),
    Look(
        "076",
        "compare(fmap, tokens)",
        ("second is first cut to other sizes, as if no dimension was moved",),
        ("second is first.permute(0, 2, 3, 1) read row by row",),
    ),
    Look(
        "077",
        "show(images[1])",
        ("strides of (32, -8) bytes, which torch does not take", "is negative"),
        ("ndarray of float64", "strides  (4, 1)"),
        inside="collate",
    ),
    Look(
        "079",
        "memory_steps(lambda: histogram(bins, 4))",
        (
            "aten.index: copy of 24 bytes\n  main.py, line 5: count[bins] += 1",
            "aten.index_put_: write of 16 bytes",
        ),
        ("aten.index_add_: write of 16 bytes",),
    ),
    Look(
        "080",
        "compare(pred, y)",
        ("(64, 1) and (64,) broadcast to (64, 64), 4,096 pairs of values",),
        ("first: float32 on cpu, sizes (64,)", "second: float32 on cpu, sizes (64,)"),
        inside="rmse",
        twin_call="compare(pred.squeeze(1), y)",
    ),
    Look(
        "082",
        "compare(lm.emb.weight, lm.head.weight)",
        ("on different storages",),
        ("one and the same tensor", "equal at every index"),
    ),
]
# Controls look like the cases above and are right.
CONTROLS = [
    Look("210", "compare(tensor, array)", ("offset 0, version 0", "on different storages")),
    Look(
        "211",
        "memory_steps(lambda: fill(a, rows))",
        (
            "aten.slice: view of 48 bytes\n  main.py, line 4: a[:3][rows] = 7.0",
            "aten.index_put_: write of 48 bytes",
        ),
        inside="fill",
    ),
]
ALARMS = (
    "refuses",
    "does not notice",
    "kept alive",
    "stops it",
    "does not take",
    "broadcast",
    "copy of",
)


def compiles(case: str) -> bool:
    """Does the script need a process of its own?"""
    return "torch.compile" in (CASES / case / "main.py").read_text(encoding="utf-8")


def test_every_case_whose_tool_is_the_x_ray_is_looked_at():
    cases = {i for i, record in RECORDS.items() if record["tool"] == "storage_xray"}
    assert {look.case for look in LOOKS + CONTROLS} == cases | {"079"}
    assert all(RECORDS[look.case]["cause_kind"] == "healthy" for look in CONTROLS)


# torch 2.14 counts the gradients of a custom operator's backward in another way.
OTHER_SINCE_2_14 = ("086", "222")


@pytest.mark.parametrize("case", [i for i in RECORDS if not compiles(i)])
def test_the_script_shows_its_symptom_and_the_twin_is_healthy(case):
    if case in OTHER_SINCE_2_14 and not torch.__version__.startswith("2.13."):
        pytest.skip("torch says something else since 2.14")
    with running(CASES / case) as run:
        assert run.shows_symptom(RECORDS[case])
    if RECORDS[case]["cause_kind"] != "healthy":
        with running(CASES / case / "fixed") as run:
            assert run.is_healthy(RECORDS[case])


@pytest.mark.parametrize("look", LOOKS + CONTROLS, ids=name_of)
def test_one_call_on_the_script_says_what_is_there(look):
    check(look)


@pytest.mark.parametrize("look", LOOKS, ids=name_of)
def test_the_call_on_the_twin_says_the_opposite(look):
    check_twin(look)


@pytest.mark.parametrize("look", CONTROLS, ids=name_of)
def test_a_control_raises_no_alarm(look):
    check_control(look, ALARMS)


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_is_raised_by_some_case(alarm):
    assert any(alarm in words for look in LOOKS for words in look.says)


def test_a_map_says_how_much_of_a_kept_block_is_read():
    row, batches = torch.zeros(1000), torch.zeros(2, 100_000)
    few = families({"few": row[:10], "steps": batches[0, :1000:2]})
    first, second = (show((family,)).text.splitlines()[-1] for family in few)
    assert first == "  all 4,000 bytes are kept alive, and 40 of them are read here"
    assert second == "  all 800,000 bytes are kept alive, and at most 3,996 of them are read here"
    assert show(few).alt.endswith("2 blocks are kept alive for less than half of each.")
    many = families({"many": row[:500]}, alone=True)
    assert "kept alive" not in show(many).text + show(many).alt


def test_the_lines_that_the_records_name_stand_in_the_files():
    folders = {path.name for path in CASES.iterdir() if path.is_dir()}
    assert folders == set(RECORDS) and len(folders) == 79
    for i, record in RECORDS.items():
        for place in filter(None, [record["culprit"], *record["also_accepted"]]):
            lines = (CASES / i / place["file"]).read_text(encoding="utf-8").splitlines()
            assert lines[place["line"] - 1].strip() == place["text"]
        assert (CASES / i / "fixed" / "main.py").exists() == (record["cause_kind"] != "healthy")


def test_no_case_names_a_machine():
    for path in (CASES / "cases.json", *CASES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not ADDRESS.search(text) and not PATH.search(text), path


LEAKY = """\
import random, sys
import numpy, torch, mod_999_helper

sys.path.append("nowhere")
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)

def seeded():
    kept = mod_999_helper.VALUE
    for generator in (random.seed, numpy.random.seed, torch.manual_seed):
        generator(kept)
    raise ValueError(why := f"{__name__} was stopped")

seeded()
"""


def state() -> tuple[object, ...]:
    """What a script could leave behind."""
    return (
        (random.getstate(), str(numpy.random.get_state()), torch.get_rng_state().tolist()),
        (torch.get_default_dtype(), torch.is_grad_enabled()),
        (list(sys.path), sys.modules["__main__"], "mod_999_helper" in sys.modules),
        (sys.dont_write_bytecode, sys.gettrace()),
    )


def test_a_script_that_fails_is_looked_into_and_leaves_nothing(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "Übung 1"
    folder.mkdir()
    (folder / "main.py").write_text(LEAKY, encoding="utf-8", newline="\n")
    (folder / "mod_999_helper.py").write_text("VALUE = 3\n", encoding="utf-8", newline="\n")
    before = state()
    with running(folder, watch="seeded") as run:
        assert run.inside["why"] == str(run.error) == "__main__ was stopped"
        assert "seeded" in run.names and run.value("kept + more", more=1) == 4
        changed = [a != b for a, b in zip(before, state(), strict=True)]
        assert changed[:3] == [True, True, True] and sys.gettrace() is before[3][1]
    assert state() == before
    assert sorted(p.name for p in folder.iterdir()) == ["main.py", "mod_999_helper.py"]


@pytest.mark.parametrize(
    ("exc", "match", "warn", "shown"),
    [
        ("ValueError", "too late", "careful", True),
        ("ValueError", "too late", None, True),
        ("RuntimeError", "too late", None, False),
        ("ValueError", "too early", None, False),
        ("ValueError", "too late", "carefully", False),
    ],
)
def test_a_symptom_is_the_error_and_the_warning_of_the_record(tmp_path, exc, match, warn, shown):
    script = "import warnings\nwarnings.warn('be careful')\nraise ValueError('it is too late')\n"
    (tmp_path / "main.py").write_text(script, encoding="utf-8", newline="\n")
    expect = {"type": "exception", "exc": exc, "match": match}
    with running(tmp_path) as run:
        assert run.shows_symptom({"expect": expect, "warn": warn}) == shown


def test_an_error_where_none_is_expected_is_raised(tmp_path: Path):
    (tmp_path / "main.py").write_text("1 / 0\n", encoding="utf-8", newline="\n")
    with running(tmp_path) as run:
        with pytest.raises(ZeroDivisionError):
            run.shows_symptom(RECORDS["051"])
        with pytest.raises(ZeroDivisionError):
            run.is_healthy(RECORDS["051"])
