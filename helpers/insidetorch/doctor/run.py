"""What was seen of a run, and the questions that one asks of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import torch

from ..records import Diagnosis
from .examine import examine
from .explanation import Explained
from .finding import Finding
from .names import Named
from .patient import Patient
from .recorder import Recorder
from .report import Report, amount
from .ways import diagnose, telling

_PARTS = {"grad", "grad_fn", "requires_grad", "is_leaf", "shape", "dtype", "data_ptr"}


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
        return Report(self.findings, self.unseen, self.answers, seen=seen, ways=lambda: self.ways())

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
        else:
            self.ask(what)
        return self._explained(list(self._asked.values())[-1])

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

        Raises ValueError where it leads to no tensor; whatever evaluating it raises.
        """
        names = self.namespace if names is None else names
        found = self._parameters(names).get(question.strip().removesuffix(".grad"))
        if found is None:
            try:
                tree = _tensor_part(ast.parse(question.strip(), mode="eval").body)
            except SyntaxError:
                raise ValueError(
                    f"{question!r} is no Python expression. Ask about a tensor of the program, "
                    "such as model[0].weight.grad."
                ) from None
            found = eval(compile(ast.Expression(tree), "<question>", "eval"), dict(names))
        if not isinstance(found, torch.Tensor):
            raise ValueError(
                f"{question!r} is a {type(found).__name__}, no tensor. Ask about a tensor, such as "
                "a parameter of it."
            )
        self._ask(question, found)

    def _parameters(self, names: Mapping[str, object]) -> dict[str, torch.Tensor]:
        """The parameters that can be asked about, by the names that a report calls them."""
        modules = {n: one for n, one in names.items() if isinstance(one, torch.nn.Module)}
        found = {
            f"{name}.{path}": p
            for name, module in modules.items() for path, p in module.named_parameters()
        }  # fmt: skip
        return found | (dict(self.model.named_parameters()) if self.model is not None else {})

    def _ask(self, question: str, t: torch.Tensor) -> None:
        self._asked.pop(question, None)
        self._asked[question] = t
        self._patient = None


def _threads(n: int) -> str:
    return "Another thread was followed too." if n == 1 else f"{n} other threads were followed too."


def _tensor_part(tree: ast.expr) -> ast.expr:
    """The part of a question that is the tensor: `w` of `w.grad[0]`."""
    inner = tree
    while isinstance(inner, (ast.Subscript, ast.Attribute, ast.Call)):
        if isinstance(inner, ast.Attribute) and inner.attr in _PARTS:
            return inner.value
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    return tree
