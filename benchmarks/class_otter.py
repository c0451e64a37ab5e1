"""How does otter-grader grade the notebooks? It wants a test file for each exercise.

That runs the code of the exercise's check cell among the learner's names, and asserts that the
outcome is "right". Nothing else is changed: the checks also run where they stand in the notebook,
as otter's own would. otter takes one notebook a call, and sets no limit to how long a cell may run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from class_peers import Peer
from class_submissions import Submission
from process_tree import run

from coursekit.exercises.exercise import Exercise, ExerciseSet

# How long we wait for it.
LONGEST = 60.0
TEST = """
from otter.test_files import test_case

OK_FORMAT = False
name = {name!r}
points = {points}


@test_case()
def check_is_right(env):
    exec({source!r}, env)
"""


class Otter:
    """A folder of notebooks, and the tests that otter has for them."""

    def __init__(self, peer: Peer, found: ExerciseSet) -> None:
        self.peer, self.found = peer, found
        tests = peer.folder / "tests"
        tests.mkdir()
        for exercise in found.exercises:
            file = tests / f"q{exercise.id.replace('.', '_')}.py"
            file.write_text(test_file(exercise), encoding="utf-8", newline="\n")
        alone = ("--no-config", "--no-requirements", "--no-environment")
        peer.command("otter", "generate", "-t", "tests", "-o", "autograder.zip", *alone)

    def run(self, submissions: Sequence[Submission], *, at_once: int, out: str) -> list[str]:
        """Run otter once for each submission; those that we had to end."""

        def one_run(one: Submission) -> str:
            path = one.write(self.found, self.peer.folder / "submitted")
            results = self.peer.folder / out / one.name
            results.mkdir(parents=True, exist_ok=True)
            arguments = ["run", "-a", "autograder.zip", "-o", str(results), "--no-logo", str(path)]
            otter = str(self.peer.python.with_name("otter"))
            status, _ = run(
                [otter, *arguments], folder=self.peer.folder, env=self.peer.env, limit=LONGEST
            )
            return "" if status is not None else one.name

        with ThreadPoolExecutor(at_once) as pool:
            return [name for name in pool.map(one_run, submissions) if name]

    def points(self, out: str) -> dict[str, dict[str, float]]:
        """By submission and exercise; nothing of one that has no results."""
        wanted = {exercise.id for exercise in self.found.exercises}
        found = {}
        for folder in (self.peer.folder / out).iterdir():
            file = folder / "results.json"
            tests = json.loads(file.read_text(encoding="utf-8"))["tests"] if file.exists() else []
            found[folder.name] = {t["name"]: t["score"] for t in tests if t["name"] in wanted}
        return found


def test_file(exercise: Exercise) -> str:
    """otter's test of an exercise: its check cell's code, whose last statement calls `check`."""
    last = ast.parse(exercise.check_cell).body[-1]
    before = "\n".join(exercise.check_cell.splitlines()[: last.lineno - 1])
    source = f"{before}\nassert {ast.unparse(last)}.outcome == 'right'\n"
    return TEST.format(name=exercise.id, points=exercise.about["points"], source=source)
