"""`watch`: around any training step, and then ask what happened to its gradients."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch

from .examine import examine
from .finding import Finding
from .log import MOST_CALLS
from .patches import Patches
from .patient import Patient
from .recorder import Recorder


class Run:
    """What was seen of a run. `findings` are there when it has ended."""

    def __init__(self, recorder: Recorder, namespace: Mapping[str, object]) -> None:
        self.recorder = recorder
        self.namespace = namespace
        self.error: BaseException | None = None
        self.compiled = False
        self._asked: dict[str, torch.Tensor] = {}
        self._failures: tuple[str, ...] = ()
        self._findings: tuple[Finding, ...] | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, problems first, the heaviest first."""
        if self._findings is None:
            patient = Patient(self.recorder, self.namespace, self._asked, self.error)
            self._findings = examine(patient)
            self._failures = tuple(patient.failures)
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
            found.append(f"{self.recorder.threads} other threads were followed too.")
        failed = [f"A call could not be written down ({one})." for one in self.recorder.failures]
        return (*found, *failed, *self._failures)

    def ask(self, question: str, names: Mapping[str, object] | None = None) -> None:
        """Ask about a tensor by an expression, such as "encoder.weight.grad"."""
        tree = ast.parse(question.strip(), mode="eval").body
        while isinstance(tree, (ast.Subscript, ast.Attribute, ast.Call)):
            if isinstance(tree, ast.Attribute) and tree.attr in _PARTS:
                tree = tree.value
                break
            tree = tree.func if isinstance(tree, ast.Call) else tree.value
        else:
            tree = ast.parse(question.strip(), mode="eval").body
        names = self.namespace if names is None else names
        code = compile(ast.Expression(tree), "<question>", "eval")
        found = eval(code, dict(names))
        if isinstance(found, torch.Tensor):
            self._asked[question] = found
            self._findings = None


_PARTS = {"grad", "grad_fn", "requires_grad", "is_leaf", "shape", "dtype", "data_ptr"}


@contextmanager
def uncompiled(run: Run) -> Iterator[None]:
    """Let compiled functions run operator by operator: what a compiler makes is not seen.

    The compiler is loaded only by a script that asks for it, since that takes seconds.
    """
    original = torch.compile

    def compile(model=None, **options):
        run.compiled = True
        if model is None:
            return lambda function: compile(function, **options)
        return model

    torch.compile = compile
    try:
        if "torch._dynamo" in sys.modules:
            with torch.compiler.set_stance("force_eager"):
                yield
        else:
            yield
    finally:
        torch.compile = original


@contextmanager
def watch(
    model: torch.nn.Module | None = None,
    loss: torch.Tensor | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    namespace: Mapping[str, object] | None = None,
    keep_compile: bool = False,
    most: int = MOST_CALLS,
) -> Iterator[Run]:
    """Watch what happens to gradients in the block, and change nothing."""
    recorder = Recorder(most=most)
    frame = sys._getframe(2)
    names = dict(frame.f_globals) | dict(frame.f_locals) if namespace is None else namespace
    run = Run(recorder, names)
    with ExitStack() as stack:
        stack.enter_context(Patches(recorder))
        if not keep_compile:
            stack.enter_context(uncompiled(run))
        stack.enter_context(recorder)
        try:
            yield run
        except BaseException as error:
            run.error = error
            raise
