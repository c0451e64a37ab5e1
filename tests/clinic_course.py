"""A small course with a clinic, for one test."""

from __future__ import annotations

import json
from pathlib import Path

SCRIPT = """\
import torch
from mod_901_cut import cut
w = torch.ones(2, requires_grad=True)
loss = cut(w * 2).sum()
print("loss", loss.item())
"""
MODULE = "def cut(t):\n    return t.detach()\n"
LEAK = "import torch\nkept = [torch.ones(1, requires_grad=True) * 2]\n"
CUT = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = w.detach().sum()\n"
TOML = """\
[[kind]]
name = "detach"
sentence = "It is detached."

[[kind]]
name = "graph_leak"
sentence = "It keeps graphs."

[[kind]]
name = "frozen"
sentence = "It is frozen."

[[kind]]
name = "broadcast"
sentence = "It is expanded."

[[case]]
id = "901"
symptom = "w.grad is None."
look = "show(graph_of(case.loss))"
others = ["graph_leak", "frozen", "broadcast"]

[[case]]
id = "902"
symptom = "Memory grows."
look = "graph_holders(case.names)"
others = ["detach", "frozen", "broadcast"]

[[case]]
id = "904"
symptom = "w.grad is None."
look = "show(graph_of(case.loss))"
others = ["graph_leak", "frozen", "broadcast"]
"""
RECORD = {
    "cause": "It cuts the graph.",
    "fix": "Do not detach.",
    "source": "GitHub example issue #1",
}
RECORDS = [
    {
        **RECORD,
        "id": "901",
        "cause_kind": "detach",
        "culprit": {"file": "mod_901_cut.py", "line": 2, "text": "return t.detach()"},
        "also_accepted": [{"file": "main.py", "line": 4, "text": "loss = cut(w * 2).sum()"}],
    },
    {
        **RECORD,
        "id": "902",
        "cause_kind": "graph_leak",
        "culprit": {"file": "main.py", "line": 2, "text": LEAK.splitlines()[1]},
        "also_accepted": [],
    },
    {
        **RECORD,
        "id": "904",
        "cause_kind": "detach",
        "culprit": {"file": "main.py", "line": 3, "text": CUT.splitlines()[2]},
        "also_accepted": [],
    },
    {**RECORD, "id": "903", "cause_kind": "healthy", "culprit": None, "also_accepted": []},
]
FILES = {
    "901/main.py": SCRIPT,
    "901/mod_901_cut.py": MODULE,
    "901/fixed/main.py": SCRIPT,
    "901/fixed/mod_901_cut.py": "def cut(t):\n    return t\n",
    "902/main.py": LEAK,
    "904/main.py": CUT,
    "904/fixed/main.py": CUT.replace(".detach()", ""),
    "902/fixed/main.py": LEAK.replace(" * 2]", ".detach()]"),
}


def make_course(root: Path, *, toml: str = TOML) -> Path:
    """The sources of a course whose clinic is not built yet."""
    (root / "helpers" / "insidetorch").mkdir(parents=True)
    write(root / "course.py", "")
    write(root / "source" / "06_debugging" / "clinic.toml", toml)
    write(root / "tests" / "cases" / "cases.json", json.dumps(RECORDS))
    for name, text in FILES.items():
        write(root / "tests" / "cases" / name, text)
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
