"""What was seen of a run, and the questions that one asks of it."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ..records import Diagnosis
from .examine import examine
from .explanation import Explained
from .finding import Finding
from .history import History
from .names import Named, Names
from .patient import Patient
from .questions import tensor_asked
from .recorder import Recorder
from .report import Report, amount
from .ways import diagnose, telling


class Run:
    """A run that was watched: `report()`, `findings` and `explain(...)` when it has ended.

    Args: `recorder`; `namespace`, the variables that questions may name; `model`, whose parameters
    may be named without it, and are all expected to get gradients.
    """

    def __init__(
        self,
        recorder: Recorder,
        namespace: Mapping[str, object],
        model: torch.nn.Module | None = None,
    ) -> None:
        self.recorder = recorder
        self.namespace = namespace
        self.model = model
        self.error: BaseException | None = None
        self.compiled = False
        self._asked: dict[str, torch.Tensor] = {}
        self._patient: Patient | None = None
        self._findings: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, problems first, the heaviest first."""
        if self._patient is None:
            self._patient = Patient(
                self.recorder, self.namespace, self._asked, self.error, model=self.model
            )
            self._findings = examine(self._patient)
        return self._findings

    @property
    def unseen(self) -> tuple[str, ...]:
        """What the doctor could not see in this run."""
        found = []
        if self.compiled:
            found.append("torch.compile was left out: compiled functions ran as they are written.")
        if self.recorder.unfollowed:
            found.append("Compiled functions ran unseen: no part is told to be unused.")
        if self.recorder.forgotten:
            found.append(
                f"The first {self.recorder.forgotten:,} calls are forgotten: see --max-ops."
            )
        if self.recorder.threads:
            found.append(_threads(self.recorder.threads))
        found += [f"A call could not be written down ({one})." for one in self.recorder.failures]
        if self._patient is not None:
            found += self._patient.failures
            found += self._unjudged()
        return tuple(found)

    def _unjudged(self) -> list[str]:
        """Parameters without a gradient of which nothing says that they should have one."""
        told = {name for one in self._findings for name in one.subject}
        without = Named(name for name in self._patient.unjudged() if name not in told)
        unheld = Named(name for name in self._patient.unheld() if name not in told)
        found = []
        if without:
            found.append(
                f"Not judged: {without} got no gradient, and no optimizer says that they should. "
                f"Ask about one: --ask {without[0]}.grad, or run.explain({without[0]!r})."
            )
        if unheld:
            found.append(
                f"Not judged: {unheld} got gradients, and no optimizer that made a step here holds "
                "them. Hand over the optimizer that was made before: watch(optimizer=...)."
            )
        return found

    def report(self) -> Report:
        """All findings to read: text in a terminal, a page in a notebook."""
        seen = amount(self.recorder.passes, self.recorder.steps)
        findings = self.findings
        try:
            ways = self.ways() if findings else None
        except Exception as error:  # a picture that fails must not cost the report
            self._patient.failures.append(f"The picture could not be made ({error!r}).")
            ways = None
        return Report(findings, self.unseen, self.answers, seen=seen, ways=ways)

    @property
    def passes(self) -> int:
        """How many backward passes the user's own code has begun."""
        return len(self._examined().history.losses())

    def ways(self, number: int | None = None, *, of: Finding | None = None) -> Diagnosis | None:
        """The way of the values into one loss, and of its gradient back, line by line.

        Args: `number`, of the backward pass, from 1; if it is left out, one that passes the line of
        the finding `of`, or of the first finding, else the last.
        Returns None for a run without a backward pass. Raises ValueError for a number that is none.
        """
        patient = self._examined()
        passes = patient.history.losses()
        if number is None:
            return telling(patient, passes, self._findings, of)
        if not 1 <= number <= len(passes):
            raise ValueError(
                f"Backward pass {number} was asked for. The run has {len(passes)}. Give a number "
                "from 1 on, in the order in which they began."
            )
        return diagnose(patient, passes[number - 1], self._findings)

    def _examined(self) -> Patient:
        _ = self.findings
        return self._patient

    def explain(self, what: str | torch.Tensor) -> Explained:
        """What became of the gradient of one tensor, and why?

        Args: `what`, the tensor, or the name of a parameter or variable, "encoder.weight".
        Raises ValueError for a name that leads to no tensor.
        """
        if isinstance(what, torch.Tensor):
            self._ask("this tensor.grad", what)
        elif isinstance(what, str):
            self.ask(what)
        else:
            raise ValueError(
                f"A {type(what).__name__} was asked about. Give a tensor, or the name of one."
            )
        return self._explained(list(self._asked.values())[-1])

    def __repr__(self) -> str:
        return f"<a run that was watched. {self.report().headline}>"

    @property
    def answers(self) -> tuple[str, ...]:
        """What became of each tensor that was asked about."""
        return tuple(
            f"You asked about {question}: {self._explained(t).sentence}"
            for question, t in self._asked.items()
        )

    def _explained(self, t: torch.Tensor) -> Explained:
        findings = self.findings
        return Explained.of(self._patient, t, findings)

    def ask(self, question: str, names: Mapping[str, object] | None = None) -> None:
        """Ask about a tensor by an expression, such as "encoder.weight.grad".

        A tensor of a model may be named by the end of its name. Raises ValueError where the
        question leads to no tensor; whatever evaluating it raises.
        """
        names = self.namespace if names is None else names
        known = Names(History(self.recorder), names, self.model).tensors()
        if self.model is not None:
            known |= dict(self.model.named_parameters())
        self._ask(question, tensor_asked(question, names, known))

    def _ask(self, question: str, t: torch.Tensor) -> None:
        self._asked.pop(question, None)
        self._asked[question] = t
        self._patient = None


def _threads(n: int) -> str:
    return "Another thread was followed too." if n == 1 else f"{n} other threads were followed too."
