"""What does a case show in a process of its own, where it disturbs no cell of the notebook?

python -m insidetorch.learn.clinic_apart run|look NUMBER
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import torch

from .clinic import Case, clinic_case

_SECONDS = 120
_PACKAGES = Path(__file__).parents[2]


def shown_apart(what: str, case_id: str) -> str:
    """What "run" or "look" prints of a case, in another process."""
    path = os.pathsep.join(filter(None, [str(_PACKAGES), os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-P", "-m", __name__, what, case_id],
            env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"It ran for more than {_SECONDS} s and was ended."
    last = done.stderr.strip().splitlines()[-1:] or [f"It ended with status {done.returncode}."]
    return done.stdout.rstrip() if not done.returncode else last[0]


def looked(case: Case) -> object:
    """What the case's look shows; the case has run."""
    package = import_module("insidetorch")
    names = {name: getattr(package, name) for name in package.__all__}
    names |= {"torch": torch, "case": case}
    *before, last = ast.parse(case.look).body
    exec(compile(ast.Module(before, []), "look", "exec"), names)
    return eval(compile(ast.Expression(last.value), "look", "eval"), names)


def main(argv: Sequence[str]) -> int:
    """Run a case and print what it shows, or what its look shows."""
    what, case_id = argv
    case = clinic_case(case_id)
    ran = case.run()
    print(ran if what == "run" else looked(case))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
