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
import torch
from torch.autograd import gradcheck
from insidetorch import path_of
points = torch.tensor([-2.0, 1.0], dtype=torch.float64, requires_grad=True)
"""


@pytest.mark.skipif(not has("compiler"), reason="needs a C++ compiler")
@pytest.mark.skipif(shutil.which("ninja") is None, reason="needs ninja")
def test_the_extension_in_cpp_is_built_and_has_a_gradient(tmp_path):
    [lesson] = find_lessons(ROOT, ["05"])
    source = lesson.text.read_text(encoding="utf-8")
    cells = [cell for cell in source.split("# %%") if "BUILD" in cell and "[markdown]" not in cell]
    assert len(cells) == 2 and "BUILD = False" in cells[0]
    script = tmp_path / "extension.py"
    code = NEEDED + "\n".join(cells).replace("BUILD = False", "BUILD = True")
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"TORCH_EXTENSIONS_DIR": str(tmp_path / "built")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.splitlines() == [
        "chapter5_cpp.cube.default: AutogradCPU: composite kernel",
        "gradcheck: True",
    ], done.stderr
