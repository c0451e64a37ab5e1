"""Which operators do two expressions for the same values run, and what do they cost?"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F

from ..records import FusedWay, Fusion, Trace, Way
from .compilation import compilation_of
from .cost import times
from .dispatch import operands
from .trace import trace

# What is written, and another way to the same values.
PRESETS: dict[str, tuple[str, str]] = {
    "multiply and add": ("a * b + c", "torch.addcmul(c, a, b)"),
    "a chain in place": ("(a + 1).relu() * 2", "a.add(1).relu_().mul_(2)"),
    "GELU": (
        "0.5 * a * (1 + torch.tanh(0.79788456 * (a + 0.044715 * a**3)))",
        "F.gelu(a, approximate='tanh')",
    ),
    "softmax": ("torch.exp(a) / torch.exp(a).sum(-1, keepdim=True)", "torch.softmax(a, -1)"),
    "layer norm": (
        "(a - a.mean(-1, keepdim=True)) / (a.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()",
        "F.layer_norm(a, (64,))",
    ),
    "product and bias": ("a @ w + c", "torch.addmm(c, a, w)"),
}
COLUMNS = 64
_NAMES = {"torch": torch, "F": F, "math": math}


def fusion_of(
    written: str,
    instead: str = "",
    *,
    rows: int = 1024,
    fused: bool = False,
    measured: bool = False,
) -> Fusion:
    """What do two expressions of the same values run and move, and what does the compiler make?

    Args: `written` and `instead`, expressions of Python with the tensors a, b, c, w, and torch, F
    (torch.nn.functional) and math; `instead` may be "". a, b and c are float32 of sizes (`rows`,
    64), w of (64, 64), with seeded normal values, new ones for each expression, so that it may
    write to them.
    `fused` hands the first expression to torch.compile as well. `measured` measures all of them in
    turn, on one thread; that runs each 20 times more.
    Returns a `Fusion`. Raises ValueError for an expression that cannot be computed.

    >>> found = fusion_of("a * b + c", "torch.addcmul(c, a, b)")
    >>> [(way.operators, way.trace.moved // found.elements) for way in found.ways]
    [(('aten.mul', 'aten.add'), 24), (('aten.addcmul',), 16)]
    >>> found.difference
    'the same values within rounding'
    """
    if rows < 1:
        raise ValueError(
            f"Tensors of {rows} rows were asked. They hold nothing to compute. Give 1 row or more."
        )
    codes = {"as written": written} | ({"instead": instead} if instead.strip() else {})
    fns = {name: function_of(code) for name, code in codes.items()}
    ran = {name: _run(code, fns[name], rows) for name, code in codes.items()}
    fused_way, ready = None, dict(fns)
    if fused:
        fused_way = _fused(written, fns["as written"], rows, ran["as written"][1])
        if not fused_way.skipped:
            ready["compiled"] = torch.compile(fns["as written"], dynamic=False)
    ratios = _ratios(codes | {"compiled": written}, ready, rows) if measured else {}
    results = [result for _, result in ran.values()]
    return Fusion(
        sizes=(rows, COLUMNS),
        ways=tuple(Way(name, code, ran[name][0], ratios.get(name)) for name, code in codes.items()),
        difference=_difference(*results) if len(results) > 1 else "",
        fused=fused_way and replace(fused_way, ratio=ratios.get("compiled")),
    )


def function_of(code: str) -> Callable[..., object]:
    """The function of a, b, c and w that an expression describes.

    Raises ValueError for text that is no expression.
    """
    try:
        ast.parse(code.strip(), mode="eval")
        return eval(f"lambda a, b, c, w: (\n{code.strip()}\n)", dict(_NAMES))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = getattr(error, "msg", None) or type(error).__name__
        raise ValueError(
            f"The expression {code!r} was asked. Python cannot read it: {why}. Write one "
            "expression of a, b, c and w, such as a * b + c."
        ) from None


def tensors(rows: int) -> tuple[torch.Tensor, ...]:
    """The tensors a, b, c and w, the same each time."""
    generator = torch.Generator().manual_seed(0)
    sizes = (rows, rows, rows, COLUMNS)
    return tuple(torch.randn(size, COLUMNS, generator=generator) for size in sizes)


def _run(code: str, fn: Callable[..., object], rows: int) -> tuple[Trace, object]:
    """The operators that ran, and the result."""
    given, kept = tensors(rows), []
    try:
        with torch.no_grad():
            found = trace(lambda: kept.append(fn(*given)))
    except Exception as error:
        help = "Use a, b, c, w, torch, F and math"
        if any(name in str(error) for name in ("CUDA", "NVIDIA")):
            help = "The tensors are on the CPU, and torch sees no GPU here; leave them there"
        raise _refused(code, rows, f"It raised {_first_line(error)}. {help}.") from None
    return found, kept[0]


def _refused(code: str, rows: int, why: str) -> ValueError:
    asked = f"The expression {code!r} was asked on tensors of sizes ({rows}, {COLUMNS})."
    return ValueError(f"{asked} {why}")


def _first_line(error: Exception) -> str:
    first = str(error).partition("\n")[0].removesuffix(".")
    return f"{type(error).__name__}: {first}"


def _fused(code: str, fn: Callable[..., object], rows: int, result: object) -> FusedWay:
    try:
        with torch.no_grad():
            found = compilation_of(fn, tensors(rows))
    except Exception as error:
        raise _refused(
            code,
            rows,
            f"It runs as it is, but compiled it raised {_first_line(error)}. Look at it without "
            "the compiler, or write it in another way.",
        ) from None
    named = {node.id for node in ast.walk(ast.parse(code.strip())) if isinstance(node, ast.Name)}
    given = [t for name, t in zip("abcw", tensors(rows), strict=True) if name in named]
    moved = sum(t.nbytes for t in (*given, *operands(result)))
    return FusedWay(
        kernels=found.kernels,
        moved=moved if found.kernels == 1 else None,
        code="\n\n".join(found.code),
        skipped=found.skipped,
    )


def _ratios(
    codes: dict[str, str], fns: dict[str, Callable[..., object]], rows: int
) -> dict[str, float]:
    """The shortest time of each other way, as a part of that of the first."""
    calls = {name: _repeated(codes[name], fn, rows) for name, fn in fns.items()}
    found = times(calls, rounds=20)
    first = found.pop("as written")
    return {name: value / first for name, value in found.items()}


def _repeated(code: str, fn: Callable[..., object], rows: int) -> Callable[[], object]:
    """A call that can be made again and again, always on the same tensors."""
    given = tensors(rows)

    def call() -> object:
        try:
            return fn(*given)
        except Exception as error:
            raise _refused(
                code,
                rows,
                f"It ran once, but measured again and again on the same tensors it raised "
                f"{_first_line(error)}. Write one that leaves their sizes as they are, or do not "
                "measure it.",
            ) from None

    return call


def _difference(first: object, second: object) -> str:
    if not (isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)):
        return "results that are no tensors and are not compared"
    if first.shape != second.shape:
        return f"results of sizes {tuple(first.shape)} and {tuple(second.shape)}"
    if first.dtype != second.dtype:
        return f"results of dtype {first.dtype} and {second.dtype}"
    try:
        same = torch.allclose(first, second, rtol=1e-4, atol=1e-5, equal_nan=True)
    except (RuntimeError, NotImplementedError):  # without values, or of layouts of their own
        return "results that torch cannot compare"
    return "the same values within rounding" if same else "other values"
