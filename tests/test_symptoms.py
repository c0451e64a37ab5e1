"""Each row of the symptom table names a call that runs, and no common confusion lacks a row."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy
import pytest
import torch

import insidetorch

FILE = Path(__file__).parents[1] / "source" / "symptoms.toml"
TABLE = tomllib.loads(FILE.read_text(encoding="utf-8"))
ROWS = TABLE["row"]


def scope_of(**names: object) -> dict[str, object]:
    """The names that the calls of the table use: small things, or those given."""
    t = torch.arange(12.0).view(3, 4)
    model = torch.nn.Linear(4, 1)
    public = {name: getattr(insidetorch, name) for name in insidetorch.__all__}
    small = {"t": t, "other": t[1:], "array": numpy.arange(4)[::-1], "model": model}
    small["optimizer"] = torch.optim.SGD(model.parameters(), lr=0.1)
    small |= {"x": t.clone().requires_grad_(), "weight": model.weight, "loss": model(t).sum()}
    small["term"] = small["loss"]
    return {**public, "torch": torch, **small, **names}


pytestmark = pytest.mark.usefixtures("small_heap")


@pytest.mark.parametrize("row", ROWS, ids=[row["symptom"] for row in ROWS])
def test_the_call_of_a_row_runs(row):
    scope = scope_of()
    for call in row["tool"].split("; "):
        assert eval(call, scope) is not None


def test_every_common_confusion_has_a_row_that_helps():
    known = {int(number) for number in TABLE["confusions"]}
    named = {number for row in ROWS for number in row.get("confusion", [])}
    assert known == set(range(1, 11))
    assert named == known
