"""What a check knows of an exercise: the digests of what right and wrong answers do."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from nbformat import NotebookNode

from insidetorch.learn.course_data import digest, judged
from insidetorch.learn.judges import wanted_of_probe

from ..errors import CourseError
from ..execute import CellFailed, execute
from .derive import trial_of
from .exercise import Exercise, ExerciseSet

MIME = "application/vnd.insidetorch.observation+json"


def run(found: ExerciseSet, notebook: NotebookNode, *, data: Path) -> NotebookNode:
    """Execute a notebook of the set; its checks read what they know from the folder `data`."""
    folder = found.root / "solutions"
    try:
        return execute(notebook, folder=folder, env={"INSIDETORCH_COURSE": str(data)})
    except CellFailed as failed:
        first = notebook.cells[failed.index].source.strip().splitlines()[0]
        raise CourseError(
            f"{found.name}: the cell {first!r} {failed}. The solutions, the stubs and the wrong "
            "answers all run without an error outside their checks. Correct the cell."
        ) from None


def observed(notebook: NotebookNode) -> list[dict]:
    """What the checks of an executed notebook have seen, and said, in their order."""
    return [
        {**output.data[MIME], "said": output.data["text/plain"]}
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if MIME in output.get("data", {})
    ]


def chapter_data(found: ExerciseSet, *, data: Path) -> dict:
    """Try stubs, wrong answers and solutions, and say what each of them looks like to a check.

    Raises CourseError where a check cannot tell a wrong answer or a stub from a right one.
    """
    salt = sha256(found.name.encode()).hexdigest()[:16]
    seen = iter(observed(run(found, trial_of(found), data=data)))
    entries = {}
    for exercise in found.exercises:
        known: dict[str, dict] = {}
        found_here = [(what, tell, next(seen)) for what, tell, _ in exercise.trials()]
        *_, (_, _, right) = found_here
        if exercise.look_alikes and right["seen"][0] != wanted_of_probe(exercise.versions):
            raise CourseError(
                f"The probe in the solution of {exercise.id} is no good one: {right['seen'][0]}. "
                "It fails on the given script and holds on all others, each of which runs by "
                "itself, with its own imports. Correct the probe or that script."
            )
        for what, tell, observation in found_here:
            observation.pop("said")
            if what == "wrong" and only_raises(observation["seen"], right["seen"]):
                raise CourseError(
                    f"The wrong answer {tell!r} of {exercise.id} differs from the solution only "
                    "where it raises an error. Any other answer that raises there would be told "
                    "the same. Add a case in which it gives a wrong result."
                )
            key = digest(salt, judged(exercise.about.get("judge"), observation))
            _add(known, key, what, tell, exercise.id)
        entries[exercise.id] = _entry(exercise, known)
    return {
        "v": 1,
        "chapter": found.chapter,
        "salt": salt,
        "source": source_digest(found),
        "exercises": entries,
    }


def only_raises(seen: object, right: object) -> bool:
    """Does what was seen of an answer differ from the right one in nothing but errors?"""
    if isinstance(seen, dict) and "results" in seen:
        return seen["uses"] == right["uses"] and only_raises(seen["results"], right["results"])
    pairs = zip(seen, right, strict=True) if isinstance(seen, list) else [(seen, right)]
    differing = [got for got, wanted in pairs if got != wanted]
    return bool(differing) and all(isinstance(got, dict) and "error" in got for got in differing)


def source_digest(found: ExerciseSet) -> str:
    """A digest of exercises.py, to notice that the notebooks are older."""
    file = found.root / "source" / found.name / "exercises.py"
    return sha256(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest()[:32]


def _add(known: dict[str, dict], key: str, what: str, tell: str, exercise_id: str) -> None:
    if key in known:
        raise CourseError(
            f"The check of {exercise_id} cannot tell {_named(what, tell)} from "
            f"{_named(**known[key])}: both do the same in all that it looks at. A check that "
            "cannot fail proves nothing. Add a case that separates them."
        )
    known[key] = {"what": what, "tell": tell}


def _named(what: str, tell: str) -> str:
    return f"the wrong answer {tell!r}" if what == "wrong" else f"the {what} answer"


def _entry(exercise: Exercise, verdicts: dict[str, dict]) -> dict:
    return {
        "judge": None,
        **exercise.about,
        "hints": exercise.hints,
        "afterword": exercise.afterword,
        "stub": exercise.stub,
        "verdicts": {key: {"is": v["what"], "tell": v["tell"]} for key, v in verdicts.items()},
    }
