"""How do compiled functions run under the doctor as they are compiled (`--keep-compile`)?"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from .following import Following


@contextmanager
def kept(following: Following) -> Iterator[None]:
    """Let torch.compile do its work; what it makes runs unseen."""
    original = torch.compile

    @functools.wraps(original)
    def compile(model=None, **options):
        if model is None:
            return lambda function: compile(function, **options)
        made = original(model, **options)
        if isinstance(made, nn.Module):
            vars(made)["forward"] = _unseen(following, made.forward)
            return made
        return _unseen(following, made)

    torch.compile = compile
    try:
        yield
    finally:
        torch.compile = original


def _unseen(following: Following, function: Callable) -> Callable:
    @functools.wraps(function)
    def run(*args, **kwargs):
        with following.aside():
            return function(*args, **kwargs)

    return run
