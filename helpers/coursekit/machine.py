"""What is on this machine, and which environment does a notebook's kernel get?"""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from pathlib import Path


def has(need: str) -> bool:
    """Is there what a `needs:...` tag asks for? `need` is "compiler" or "gpu"."""
    return {"compiler": _has_compiler, "gpu": _has_gpu}[need]()


def kernel_environment(folder: Path) -> dict[str, str]:
    """The variables that make a kernel start the same on every machine.

    `folder` is a fresh temporary folder. The learner's progress and IPython's start-up files stay
    out of it, and sets of strings have one order.
    """
    return {
        "INSIDETORCH_PROGRESS": str(folder / "progress.json"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONHASHSEED": "0",
    }


def has_browser() -> bool:
    """Is there a browser that Python can open?"""
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def find_chromium() -> str | None:
    """Where is a Chromium for the browser tests? None where there is none.

    INSIDETORCH_CHROMIUM names one; else the usual names are looked up.
    """
    named = os.environ.get("INSIDETORCH_CHROMIUM")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome", "chrome"]
    return next(filter(None, map(shutil.which, names)), None)


def _has_compiler() -> bool:
    # The C++ compiler that torch.compile would look for.
    usual = {"win32": "cl", "darwin": "clang++"}.get(sys.platform, "g++")
    return shutil.which(os.environ.get("CXX", usual)) is not None


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
