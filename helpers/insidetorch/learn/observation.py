"""What did the learner's code do? Raw data for a judge outside the kernel.

An observation holds no verdict: nbval compares it, in another process, with the one that the
solution gave. So a printed tick is worth nothing. It is taken inside the learner's process: in
grading what the check leans on is put back first, but code written to deceive it can.
"""

from __future__ import annotations

import io
import json
import math
import random
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import torch

MIME = "application/vnd.insidetorch.observation+json"
MOST_BYTES = 64 * 1024
_MOST_OUTPUT = 20_000


@dataclass(frozen=True)
class Seen:
    """What was seen of an answer, and what there is to tell of it where it is not right."""

    value: object
    tell: str = ""


def observe(exercise_id: str, fn: Callable[[], object]) -> tuple[dict, BaseException | None, str]:
    """Run `fn` under the settings that torch starts with, and write down what it gives.

    Returns the observation, the exception that `fn` raised or None, and what it printed (the
    first 20,000 characters). Grad mode, default dtype and device, seed and print options are set
    back before and after, so that neither an answer nor a check spoils what comes next.
    """
    settle()
    printed, error = _Capped(), None
    with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            seen = plain(fn())
        except Exception as raised:
            seen, error = {"error": type(raised).__name__}, raised
        finally:
            settle()
    observation = {"v": 1, "id": exercise_id, "seen": seen}
    if len(json.dumps(observation)) > MOST_BYTES:
        observation["seen"] = {"odd": f"more than {MOST_BYTES:,} bytes"}
    return observation, error, printed.getvalue()


def plain(value: object) -> object:
    """A value as JSON data that two machines agree on.

    Numbers of floating point keep four significant digits; a tensor says values, dtype, sizes and
    strides. Only the builtin types themselves count: an object that claims to equal everything
    is written down by the name of its class.

    >>> plain([1, 0.123456, (True, None)])
    [1, 0.1235, [True, None]]
    """
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return _digits(value)
    if kind in (list, tuple, torch.Size):
        return [plain(item) for item in value]
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    if kind in (torch.Tensor, torch.nn.Parameter):
        return {
            "values": plain(value.tolist()),
            "dtype": str(value.dtype).removeprefix("torch."),
            "sizes": list(value.shape),
            "strides": list(value.stride()),
        }
    if kind is torch.dtype:
        return str(value).removeprefix("torch.")
    if kind is Seen:
        return plain(value.value)
    return {"odd": kind.__name__}


def _digits(value: float) -> float | str:
    """Four significant digits, without a negative zero; what JSON has no number for as text."""
    return float(f"{value:.4g}") + 0.0 if math.isfinite(value) else str(value)


def settle() -> None:
    """Set what torch starts with: grad mode, default dtype and device, print options, seed."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_printoptions(profile="default")
    torch.autograd.set_detect_anomaly(False)
    torch.manual_seed(0)
    random.seed(0)


class _Capped(io.StringIO):
    """Keeps the beginning of what is printed, so that an endless print costs no memory."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, _MOST_OUTPUT - self.tell())])
        return len(text)
