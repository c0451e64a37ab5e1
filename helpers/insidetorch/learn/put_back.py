"""What may a script change in this process, and how is it as it was before?"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy
import torch


@contextmanager
def put_back(folder: Path) -> Iterator[None]:
    """Run a block as a fresh process would run the scripts of `folder`, and put everything back.

    Inside, `folder` is the first place that modules are imported from, the default dtype is
    float32, gradients are recorded, and no garbage is collected: what a script leaks stays to be
    looked at. Afterwards these, the generators of Python, NumPy and torch, `sys.argv`, the current
    folder, the number of threads and the deterministic flags are what they were, and the modules of
    the scripts are forgotten.
    """
    own = {path.stem for path in folder.glob("*.py")}
    with _python_state(), _torch_state(), _no_garbage_collected():
        hidden = {name: sys.modules.pop(name) for name in own if name in sys.modules}
        sys.path.insert(0, str(folder))
        try:
            yield
        finally:
            for name in own:
                sys.modules.pop(name, None)
            sys.modules.update(hidden)


@contextmanager
def _python_state() -> Iterator[None]:
    main, bytecode = sys.modules["__main__"], sys.dont_write_bytecode
    path, argv, here = list(sys.path), list(sys.argv), Path.cwd()
    numbers, arrays = random.getstate(), numpy.random.get_state()
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.modules["__main__"], sys.dont_write_bytecode = main, bytecode
        sys.path[:], sys.argv[:] = path, argv
        os.chdir(here)
        random.setstate(numbers)
        numpy.random.set_state(arrays)


@contextmanager
def _torch_state() -> Iterator[None]:
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    always = torch.is_warn_always_enabled()
    deterministic = _deterministic()
    torch.set_default_dtype(torch.float32)
    torch.set_warn_always(True)  # a second run tells what the first one told
    try:
        # Leaving inference mode switches recording on as well, and both are undone at the end.
        with torch.random.fork_rng(devices=[]), torch.inference_mode(False):
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_warn_always(always)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if _deterministic() != deterministic:  # setting them imports a compiler
            torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
