"""Each row of the symptom table names a call that runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy
import pytest
import torch

import insidetorch

ROWS = tomllib.loads(
    (Path(__file__).parents[1] / "source" / "symptoms.toml").read_text(encoding="utf-8")
)["row"]


@pytest.mark.parametrize("row", ROWS, ids=[row["symptom"] for row in ROWS])
def test_the_call_of_a_row_runs(row):
    t = torch.arange(12.0).view(3, 4)
    scope = {"t": t, "other": t[1:], "array": numpy.arange(4)[::-1], "torch": torch}
    model = torch.nn.Linear(4, 1)
    scope |= {"model": model, "weight": model.weight, "loss": model(t).sum()}
    scope |= {name: getattr(insidetorch, name) for name in insidetorch.__all__}
    for call in row["tool"].split("; "):
        assert eval(call, scope) is not None
