"""A real bug: what does its script show, which line is it, and why?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path

from ..packed import unpack
from .clinic_data import cases_folder, clinic_data, digest
from .progress import keep, remembered
from .script_run import ScriptRun, run_script
from .verdict import OTHER_CAUSE, OTHER_LINE, RIGHT, SHOWN, USEFUL_LINE, Verdict, hinted, told

QUESTION = "Which line is it, and why? Where a line is missing, name the one before it."


class Case:
    """A script with a bug, made from a public report.

    `symptom` is what one sees, `files` maps names to texts, `kinds` maps four kinds of cause to a
    sentence each, `look` is a call that shows what is wrong. After `run()` the variables of the
    script are attributes (`case.loss`) and stand in `names`.
    """

    def __init__(self, case_id: str, *, folder: Path, data: dict) -> None:
        known = data["cases"][case_id]
        self.id, self.folder = case_id, folder
        self.symptom, self.look = known["symptom"], known["look"]
        self.kinds = {kind: data["kinds"][kind] for kind in known["kinds"]}
        self._known, self._salt, self._sentences = known, data["salt"], data["kinds"]
        self._ran, self._tried = ScriptRun(), 0

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The text of each file, main.py first."""
        names = self._known["files"]
        return {name: (self.folder / name).read_text(encoding="utf-8") for name in names}

    @property
    def kind(self) -> str:
        """The right kind: for who shall not guess, such as the next case, which differs from it."""
        return unpack(self._known["sealed"])["kind"]

    @property
    def names(self) -> dict[str, object]:
        """The variables of the script, once it has run."""
        return self._ran.names

    @property
    def error(self) -> BaseException | None:
        """What the script raised, with the script's own lines as its traceback."""
        return self._ran.error

    def __getattr__(self, name: str) -> object:
        ran = self.__dict__.get("_ran")
        if ran is not None and not name.startswith("__") and name in ran.names:
            return ran.names[name]
        raise AttributeError(
            f"The variable {name!r} of case {self.__dict__.get('id')} was asked for. Its script "
            "has not made one. Call run() first, and see in its code what it makes."
        )

    def run(self, *steps: str) -> ScriptRun:
        """Run the script in this process, which is put back as it was; then `steps`, statements.

        Returns what it printed, raised and left behind. Raises RuntimeError while another runs.
        """
        self._ran = ScriptRun()  # what the last run made is let go before the next
        self._ran = run_script(self.folder, steps)
        return self._ran

    def answer(self, file: str, line: int, kind: str) -> Verdict:
        """Is this the line, and is this the cause?

        Args: `file` and `line`, where the defect begins (for a missing line, the line before it);
        `kind`, one of `kinds`. Each answer counts as a try. Raises ValueError for a line that is
        not there or another kind.
        """
        self._refuse(file, line, kind)
        rank = self._known["lines"].get(digest(self._salt, self.id, file, line))
        is_kind = digest(self._salt, self.id, kind) == self._known["kind"]
        self._tried = self.tries + 1
        if rank == "line" and is_kind:
            return self._told(RIGHT, self._keep("right"))
        note = self._keep("not yet")
        outcome = {"line": OTHER_CAUSE, "accepted": USEFUL_LINE}.get(rank, OTHER_LINE)
        return hinted(self.id, outcome, look=self.look, tries=self.tries, note=note)

    def reveal(self) -> Verdict:
        """Show the answer. The case then counts as seen, not as solved."""
        return self._told(SHOWN, self._keep("shown"))

    @property
    def state(self) -> str:
        """How far the learner is: "" for not tried, "not yet", "right" or "shown"."""
        return str(self._remembered().get("is", ""))

    @property
    def tries(self) -> int:
        """How many answers the learner has given."""
        kept = self._remembered().get("tries")
        return max(self._tried, kept if isinstance(kept, int) else 0)

    def _remembered(self) -> dict:
        found = remembered("clinic", self.id)
        return found if isinstance(found, dict) else {}

    def _keep(self, state: str) -> str:
        """Remember; what was solved or seen once stays so. Returns why it could not be kept."""
        if self.state in ("right", "shown"):
            return ""
        try:
            keep("clinic", self.id, {"is": state, "tries": self.tries})
        except OSError as error:  # the verdict is told all the same
            return f"(Not saved: {error})"
        return ""

    def _told(self, outcome: str, note: str) -> Verdict:
        known = unpack(self._known["sealed"])
        return told(self.id, outcome, known, self._sentences[known["kind"]], note)

    def _refuse(self, file: str, line: int, kind: str) -> None:
        lengths = {name: len(text.splitlines()) for name, text in self.files.items()}
        if not 1 <= line <= lengths.get(file, 0):
            there = ", ".join(f"lines 1 to {most} of {name}" for name, most in lengths.items())
            raise ValueError(
                f"Line {line} of {file!r} was named in case {self.id}. The case has {there}. "
                "Name one of these."
            )
        if kind not in self.kinds:
            raise ValueError(
                f"The cause {kind!r} was named in case {self.id}. Its causes to choose from are "
                f"{', '.join(self.kinds)}. Name one of them."
            )

    def __repr__(self) -> str:
        lines = [f"Case {self.id}. {self.symptom}"]
        for name, text in self.files.items():
            lines += ["", name]
            lines += [f"{n:3}  {line}".rstrip() for n, line in enumerate(text.splitlines(), 1)]
        lines += ["", QUESTION]
        width = max(map(len, self.kinds))
        lines += [f"  {kind:{width}}  {sentence}" for kind, sentence in self.kinds.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre-wrap;word-break:normal">{escape(repr(self))}</pre>'


def clinic_case(case_id: str) -> Case:
    """A real bug of the clinic by its number: read it, run it, look into it, name line and cause.

    Raises KeyError for a number that is no case, FileNotFoundError outside a course.

    >>> case = clinic_case("013")
    >>> print(case.symptom)
    enc.weight.grad is None after the backward pass, head.weight.grad is filled; no error.
    >>> case.run()
    It ran to its end and printed nothing.
    >>> case.loss.shape
    torch.Size([])
    """
    data, folder = clinic_data(), cases_folder()
    if case_id not in data["cases"]:
        raise KeyError(
            f"Case {case_id!r} was asked for. The clinic has {', '.join(data['cases'])}. "
            "Use one of these numbers."
        )
    if folder is None or not (folder / case_id / "main.py").is_file():
        raise FileNotFoundError(
            f"Case {case_id} was asked for. Its scripts are not in notebooks/clinic/{case_id}. "
            "Open a notebook of the course, or run `python course.py build`."
        )
    return Case(case_id, folder=folder / case_id, data=data)
