"""The contract of the exercises: what is derived from their one source, and what checks accept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from coursekit.errors import CourseError
from coursekit.exercises.build import build_exercises, check_exercises
from coursekit.exercises.derive import trial_of
from coursekit.exercises.exercise import BEGIN, END, Exercise, without_solution
from coursekit.exercises.parse import find_sets, read_set
from coursekit.exercises.verdicts import observed, run
from insidetorch.learn.course_data import verdict
from insidetorch.learn.file_cells import MAGIC
from insidetorch.learn.observation import plain
from insidetorch.learn.project import keep_files

ROOT = Path(__file__).parents[1]
SETS = find_sets(ROOT)


def known(name: str) -> dict:
    file = ROOT / "exercises" / ".course" / f"{name[:2]}.json"
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=SETS)
def chapter(request):
    return read_set(ROOT, request.param)


def test_every_stub_wrong_answer_and_solution_is_told_what_it_is(chapter):
    trial = run(chapter, trial_of(chapter), data=ROOT / "exercises" / ".course")
    said = iter(observed(trial))
    for exercise in chapter.exercises:
        for what, tell, _ in exercise.trials():
            seen = next(said)
            outcome = {"stub": "not attempted", "wrong": "not yet", "right": "right"}[what]
            assert seen["id"] == exercise.id and f" {outcome}\n" in seen["said"]
            assert tell in seen["said"]
    assert next(said, None) is None


def run_cell(source: str, names: dict[str, object]) -> None:
    """Run a cell as IPython would, which knows the magic of a cell that holds files."""
    line, _, rest = source.partition("\n")
    if line.startswith(f"%%{MAGIC} "):
        keep_files(line.removeprefix(f"%%{MAGIC} "), rest)
    else:
        exec(source, names)


# Where the globals of a compiled function are freed, torch's compiler trips over itself.
KEPT: list[dict[str, object]] = []


# The compiler clears away what it had made of functions of earlier tests, and may find it gone.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exercise_needs_no_other_and_torch_says_what_its_solution_does(chapter):
    given = [i.source for i in chapter.items if not isinstance(i, Exercise) and i.kind == "code"]
    for exercise in chapter.exercises:
        compared = []

        def compare(_id, answer, cases=None, *, torch_says=None, seen=compared, **_how):
            for case in cases or [()]:
                if torch_says is not None:
                    assert plain(torch_says(*case)) == plain(answer(*case)), case
                seen.append(case)

        names: dict[str, object] = {}
        KEPT.append(names)
        for source in (*given, exercise.setup, exercise.solution):
            run_cell(source, names)
        names["check"] = compare
        exec(exercise.check_cell, names)
        assert compared, exercise.id


def test_every_stored_solution_is_right(chapter):
    data = known(chapter.name)
    file = ROOT / "solutions" / f"{chapter.name}.ipynb"
    seen = observed(nbformat.read(file, as_version=4))
    assert [s["id"] for s in seen] == [e.id for e in chapter.exercises]
    for found in seen:
        assert f" {found['id']} right\n" in found.pop("said")
        entry = {**data["exercises"][found["id"]], "salt": data["salt"]}
        assert verdict(entry, found)["is"] == "right"


def test_no_solution_stands_where_learners_look(chapter):
    exercises = (ROOT / "exercises" / f"{chapter.name}.ipynb").read_text(encoding="utf-8")
    data = (ROOT / "exercises" / ".course" / f"{chapter.name[:2]}.json").read_text("utf-8")
    for exercise in chapter.exercises:
        inside = re.findall(f"{BEGIN}\n(.*?){END}", exercise.answer, re.DOTALL)
        inside += [exercise.solved] if exercise.look_alikes else []
        # What a repair starts from is given away on purpose.
        given = {"", *map(str.strip, exercise.given.splitlines())}
        for block in inside:
            lines = [line.strip() for line in block.splitlines() if line.strip() not in given]
            for three in zip(lines, lines[1:], lines[2:], strict=False):
                for text in (exercises, data):
                    assert not all(json.dumps(line)[1:-1] in text for line in three), three


def test_exercises_have_no_outputs_and_the_metadata_of_nbgrader(chapter):
    notebook = json.loads((ROOT / "exercises" / f"{chapter.name}.ipynb").read_text("utf-8"))
    graded = [c["metadata"]["nbgrader"] for c in notebook["cells"] if "nbgrader" in c["metadata"]]
    names = [e.id.replace(".", "-") for e in chapter.exercises]
    assert [g["grade_id"] for g in graded if g["solution"]] == names
    assert sum(g.get("points", 0) for g in graded) == sum(
        e.about["points"] for e in chapter.exercises
    )
    assert all(not cell.get("outputs") for cell in notebook["cells"])


@pytest.mark.parametrize("folder", ["exercises", "solutions"])
def test_a_check_is_folded_away_and_an_answer_stands_open(chapter, folder):
    notebook = json.loads((ROOT / folder / f"{chapter.name}.ipynb").read_text("utf-8"))
    folded = [c["id"] for c in notebook["cells"] if c["metadata"].get("jupyter")]
    assert folded == [f"check-{e.id.replace('.', '-')}" for e in chapter.exercises]


def test_core_exercises_fit_into_an_hour(chapter):
    assert sum(e.about["minutes"] for e in chapter.exercises if e.about["core"]) <= 60


# --- refusals, on a small set of its own

SMALL = """\
# %% [markdown]
# # Exercises

# %%
from insidetorch import check

# %% tags=["1.1", "about"]
title = "Double"
kind = "complete"
core = True
difficulty = 1
minutes = 5
points = 1

# %% [markdown] tags=["1.1", "statement"]
# Double a number.

# %% tags=["1.1", "answer"]
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% tags=["1.1", "check"]
check("1.1", lambda: [double(x) for x in (1, 2, 3)])

# %% tags=["1.1", "wrong"]
# That is the square.
def double(x):
    return x * x

# %% tags=["1.1", "wrong"]
# That adds two.
def double(x):
    return x + 2

# %% tags=["1.1", "wrong"]
# That is the number itself.
def double(x):
    return x

# %% [markdown] tags=["1.1", "hint"]
# One.

# %% [markdown] tags=["1.1", "hint"]
# Two.

# %% [markdown] tags=["1.1", "hint"]
# Three.

# %% [markdown] tags=["1.1", "afterword"]
# Done.
"""


@pytest.fixture
def small(tmp_path):
    """A course with this source; returns a function that writes another text and reads the set."""
    file = tmp_path / "source" / "01_small" / "exercises.py"
    file.parent.mkdir(parents=True)

    def write(old: str = "", new: str = ""):
        assert old in SMALL
        file.write_text(SMALL.replace(old, new) if old else SMALL, encoding="utf-8")
        return read_set(tmp_path, "01_small")

    write.root = tmp_path
    return write


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    ### END SOLUTION\n", "", "a solution without its end"),
        ("    return 2 * x\n", "    ### BEGIN SOLUTION\n    return 2 * x\n", "out of turn"),
        ('# %% [markdown] tags=["1.1", "hint"]\n# Three.\n', "", "2 hints and 3 wrong answers"),
        ("# That adds two.\n", "", "begins with what the learner is told"),
        ('["1.1", "check"]', '["1.1", "chek"]', "not one id and one role"),
        ('kind = "complete"', 'kind = "easy"', "kind to one of complete"),
        ("points = 1", 'points = "1"', r"points \(int\)"),
        ('["1.1", "afterword"]', '["2.1", "afterword"]', "exercise 1.1 has no afterword"),
    ],
)
def test_a_broken_source_is_refused(small, old, new, words):
    with pytest.raises(CourseError, match=words):
        small(old, new)


def test_a_stub_with_another_signature_is_refused(small):
    given = '# %% tags=["1.1", "given"]\ndef double(x, y):\n    ...\n\n# %% tags=["1.1", "check"]'
    with pytest.raises(CourseError, match="define different names or arguments"):
        small('# %% tags=["1.1", "check"]', given)


def test_two_wrong_answers_are_too_few(small):
    last = (
        '# %% tags=["1.1", "wrong"]\n# That is the number itself.\ndef double(x):\n    return x\n'
    )
    with pytest.raises(CourseError, match="3 hints and 2 wrong answers"):
        small(last, "")


def test_a_check_that_cannot_tell_a_wrong_answer_is_refused(small):
    small("for x in (1, 2, 3)", "for x in (2,)")
    with pytest.raises(CourseError, match=r"of 1\.1 cannot tell the wrong answer"):
        build_exercises(small.root, "01_small")
    assert not (small.root / "exercises").exists()


def test_a_wrong_answer_that_only_raises_is_refused(small):
    small("    return x * x\n", "    return [x][x - 1] + x\n")
    source = small.root / "source" / "01_small" / "exercises.py"
    cases = "double, [(1,), (2,), (3,)]"
    text = source.read_text("utf-8").replace("lambda: [double(x) for x in (1, 2, 3)]", cases)
    source.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=r"differs from the solution only where it raises"):
        build_exercises(small.root, "01_small")


def test_a_judge_is_applied_before_answers_are_told_apart(small):
    small("points = 1", 'points = 1\njudge = "builtins.sorted"')
    build_exercises(small.root, "01_small")
    data = json.loads((small.root / "exercises" / ".course" / "01.json").read_text("utf-8"))
    entry = {**data["exercises"]["1.1"], "salt": data["salt"]}
    for seen, verdict_is in (([2, 4, 6], "right"), ([6, 2, 4], "right"), ([1, 4, 9], "wrong")):
        assert verdict(entry, {"v": 1, "id": "1.1", "seen": seen})["is"] == verdict_is


def test_a_build_is_the_same_each_time_and_keeps_the_learners_answers(small):
    small()
    build_exercises(small.root, "01_small")
    files = [p for p in small.root.rglob("*") if p.suffix in (".ipynb", ".json")]
    first = {file: file.read_bytes() for file in files}
    build_exercises(small.root, "01_small")
    assert {file: file.read_bytes() for file in files} == first and len(files) == 3
    assert check_exercises(small.root, "01_small") == []
    exercises = small.root / "exercises" / "01_small.ipynb"
    solved = exercises.read_text("utf-8").replace("raise NotImplementedError", "return x + x")
    exercises.write_text(solved, encoding="utf-8")
    assert check_exercises(small.root, "01_small") == []
    with pytest.raises(CourseError, match=r"answers to 1\.1 are not the stubs.*--force"):
        build_exercises(small.root, "01_small")
    assert exercises.read_text("utf-8") == solved
    build_exercises(small.root, "01_small", force=True)
    backups = list((small.root / ".insidetorch" / "backup").iterdir())
    assert [b.read_text("utf-8") for b in backups] == [solved]


def test_a_stale_notebook_is_noticed(small):
    small()
    build_exercises(small.root, "01_small")
    small("# Double a number.", "# Double any number.")
    found = check_exercises(small.root, "01_small")
    assert len(found) == 3 and "has changed since" in found[0]
    (small.root / "solutions" / "01_small.ipynb").unlink()
    assert check_exercises(small.root, "01_small") == ["solutions/01_small.ipynb is missing."]


def test_nested_indentation_keeps_the_stub_valid():
    stub = without_solution(
        f"class A:\n    def f(self):\n        {BEGIN}\n        x\n        {END}", where=""
    )
    assert stub == "class A:\n    def f(self):\n        raise NotImplementedError"
