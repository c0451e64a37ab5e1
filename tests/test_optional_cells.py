"""The cells of a lesson that a learner has to switch on run where their tools are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit.machine import has
from coursekit.sources import find_lessons

ROOT = Path(__file__).parents[1]
NEEDED = """
from pathlib import Path
import torch
from torch.autograd import gradcheck
from insidetorch import path_of
points = torch.tensor([-2.0, 1.0], dtype=torch.float64, requires_grad=True)
"""


@pytest.mark.skipif(not has("compiler"), reason="needs a C++ compiler")
@pytest.mark.skipif(shutil.which("ninja") is None, reason="needs ninja")
def test_the_extension_in_cpp_is_built_and_has_a_gradient(tmp_path):
    done = switched_on(tmp_path)
    assert done.stdout.splitlines() == [
        "chapter5_cpp.cube.default: AutogradCPU: composite kernel",
        "gradcheck: True",
    ], done.stderr


def test_an_extension_without_a_compiler_is_not_built_and_says_so(tmp_path):
    done = switched_on(tmp_path, PATH=str(tmp_path), CXX="no-such-compiler")
    assert done.stdout.startswith("This machine lacks no-such-compiler"), done.stderr
    assert done.stdout.endswith("\nNot built.\n")


def switched_on(folder: Path, **variables: str) -> subprocess.CompletedProcess:
    """The cells of chapter 5 that build an extension, run as if the learner had said so."""
    [lesson] = find_lessons(ROOT, ["05"])
    source = lesson.text.read_text(encoding="utf-8")
    cells = [cell for cell in source.split("# %%") if "BUILD" in cell and "[markdown]" not in cell]
    assert "BUILD = False" in cells[0]
    cells[0] = cells[0].replace("BUILD = False", "BUILD = True")
    script = folder / "extension.py"
    script.write_text(NEEDED + "\n".join(cells), encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"TORCH_EXTENSIONS_DIR": str(folder / "built")} | variables,
        capture_output=True,
        text=True,
        timeout=600,
    )
