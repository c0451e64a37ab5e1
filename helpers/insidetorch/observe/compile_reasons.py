"""Why did torch.compile end a graph, or compile again, in a few words?"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Sequence
from traceback import FrameSummary

from ..records import Place
from .places import is_users, place_of

_BUILTIN = re.compile(r"builtin operator `(\w+)`")
_FRAME = re.compile(r'^  File "(.*)", line (\d+), in ', re.MULTILINE)
# Torch's notation of a guard, and the same in Python; numbers of objects differ each time.
_PLAIN = (
    (r"\b[LG]\['(\w+)'\]", r"\1"),
    (r"not ___dict_contains\((.+?), (.+)\)", r"\1 not in \2"),
    (r"___dict_contains\((.+?), (.+)\)", r"\1 in \2"),
    (r"___check_type_id\((.+?), \d+\), type=<class '(.+?)'>", r"type(\1) is \2"),
    (r"___check_obj_id\((.+?), \d+\).*", r"\1 is the same object"),
    (r"\b0x[0-9a-f]+|\b\d{9,}\b", "…"),
)
# The standard library and installed packages.
_INSTALLED = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_SHORT = {
    "generic_jump": "a branch on a tensor's value",
    "Data-dependent branching": "a branch on a tensor's value",
    "Unsupported Tensor.item() call": ".item(), which needs a tensor's value",
    "Call to `torch._dynamo.graph_break()`": "torch._dynamo.graph_break()",
    "Dynamic shape operator": "a result whose size depends on a tensor's values",
}


def break_text(reason: str) -> str:
    """Torch's reason for a graph break, its first sentence where there is no shorter one.

    >>> break_text("generic_jump TensorVariable()")
    "a branch on a tensor's value"
    """
    if builtin := _BUILTIN.search(reason):
        return f"{builtin[1]}(...)"
    first = reason.partition("\n")[0].strip().removesuffix(".")
    return next((short for start, short in _SHORT.items() if first.startswith(start)), first)


def guard_text(reason: str) -> str:
    """The guard that failed, without numbers of objects, paths and hints.

    >>> guard_text("0/1: G['scale'] == 2   # x * scale  # a.py:3 in f (HINT: ...)")
    'scale == 2'
    """
    guard = re.sub(r"^\d+/\d+: ", "", reason.partition("\n")[0])
    guard = re.split(r"\s+# |\s+\(HINT", guard)[0].strip()
    for pattern, words in _PLAIN:
        guard = re.sub(pattern, words, guard)
    return guard


def place_of_break(stack: Sequence[FrameSummary]) -> Place | None:
    """The innermost line of the user's own code, or else of the libraries that it calls."""
    users = [frame for frame in stack if is_users(frame.filename)]
    users = [frame for frame in users if not frame.filename.startswith(_INSTALLED)] or users
    return place_of(users[-1].filename, users[-1].lineno) if users else None


def place_of_guard(reason: str) -> Place | None:
    """The line that needed the guard, where torch tells it."""
    frames = _FRAME.findall(reason)
    return place_of(frames[-1][0], int(frames[-1][1])) if frames else None


def skipped_text(error: Exception) -> str:
    """Why there are no kernels, and the way out; `error` is what the code generator raised."""
    error = getattr(error, "inner_exception", error)  # torch wraps what it catches
    kind, words = type(error).__name__, str(error)
    why = f"the code generator raised {kind}"
    out = "Call torch.compile(fn) by hand for the whole message, or choose the backend aot_eager."
    if "InvalidCxxCompiler" in kind + words or isinstance(error, FileNotFoundError):
        why = "no C++ compiler was found that works"
        out = (
            "Install one: g++ on Linux, Xcode's command line tools on macOS, Visual Studio's C++ "
            "tools on Windows."
        )
    elif "CppCompileError" in kind + words:
        why = "the C++ compiler failed"
        out = "Try it on a small program by itself, and mend or reinstall it."
    return (
        f"No kernels were generated: {why}. The operators of each graph ran one by one instead. "
        f"{out}"
    )
