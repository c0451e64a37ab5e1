"""What an answer by hand may name, as it is read outside the kernel."""

from __future__ import annotations

import pytest

from coursekit.grading.plain_python import borrowed

GIVEN = [
    "from itertools import product\nimport torch\nfrom insidetorch import check",
    "from insidetorch.mini import alias",
]


def used(source: str, *elsewhere: str) -> list[str]:
    return borrowed([source], elsewhere=elsewhere, given=GIVEN, wanted=["f"])


@pytest.mark.parametrize(
    "source",
    [
        "def f(s):\n    return sum(s) + s.count(0)",
        "f = lambda s: [a for a in product(s)]",
        "def f(s: torch.Size) -> torch.Size:\n    t: torch.Tensor = 3\n    return t",
        "import torch\nt = torch.ones(1)\nassert f(2) == t.stride()\nf(t.shape)\ndef f(s): pass",
        "x = torch.ones(2)\nprint(f(x.shape), torch.e)\ndef f(s):\n    print(s)\n    return s",
        "import numpy as np\nx = np.zeros(3)\ndef f(s):\n    x = 3\n    return x",
        "def tries(fn):\n    assert fn(2) == torch.ones(2)\ntries(f)\ndef f(s): return 1",
        "for s in product((2, 3)):\n    assert f(s) == torch.empty(s).stride()\ndef f(s): return s",
        "import sys\nsys.setrecursionlimit(5000)\ndef f(s): return alias(s)",
        "def f(torch): return torch + 1",
        "from functools import lru_cache\n@lru_cache\ndef f(s): return 1",
        "class Rule:\n    def __call__(self, s): return s\nf = Rule()",
        "def f(s): return s\n%timeit f(torch.ones(1))\nf?",
        "def broken(:",
    ],
)
def test_a_rule_in_plain_python_may_be_tried_out_beside_torch(source):
    assert used(source) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(s): return torch.empty(s)", "torch"),
        ("import sys\ndef f(s): return getattr(sys, 'modules')['torch']", "modules"),
        ("import pickle\ndef f(s): return pickle.loads(b'ctorch\\nempty\\n.')(s)", "pickle"),
        ("import pydoc\ndef f(s): return pydoc.locate('torch')", "pydoc"),
        ("from operator import attrgetter\ndef f(s): return attrgetter('x')(s)", "attrgetter"),
        ("def f(s, t=torch): return t", "torch"),
        ("import torch as t\ndef f(s): return t.empty(s)", "torch"),
        ("from torch import empty\ndef f(s): return empty(s)", "torch"),
        ("from torch import *\ndef f(s): return empty(s)", "torch"),
        ("def f(s):\n    import numpy as n\n    return n", "numpy"),
        ("from insidetorch.mini import f", "insidetorch"),
        ("import insidetorch.mini as m\nf = m.f", "insidetorch"),
        ("class my:\n    t = torch\ndef f(s): return my.t", "torch"),
        ("t = torch\ndef f(s): return t.empty(s)", "torch"),
        ("table = {s: torch.empty(s) for s in (1, 2)}\ndef f(s): return table[s]", "torch"),
        ("table = {}\nfor s in (1, 2):\n    table[s] = torch.ones(s)\nf = table.get", "torch"),
        ("table = {}\ntable.update(a=torch.ones(1))\ndef f(s): return table", "torch"),
        ("table = {}\ndef fill(t): t[1] = torch\nfill(table)\ndef f(s): return table", "torch"),
        ("def start():\n    global t\n    t = torch\nstart()\ndef f(s): return t", "torch"),
        ("def g(s): return torch.ones(s)\ndef f(s): return 1\nf.__code__ = g.__code__", "torch"),
        ("if True:\n    def f(s): return torch.empty(s)", "torch"),
        ("def f(s): return eval('torch')", "eval"),
        ("exec('def f(s): return torch')", "exec"),
        ("def f(s): return globals()['torch']", "globals"),
        ("import sys\ndef f(s): return sys.modules['torch']", "modules"),
        ("from importlib import import_module as i\ndef f(s): return i('torch')", "importlib"),
        ("import __main__ as me\nme.f = 3", "__main__"),
        ("!ls\ndef f(s): return torch.empty(s)", "torch"),
    ],
)
def test_what_a_rule_borrows_is_named(source, name):
    assert used(source) == [name]


def test_what_another_cell_defines_or_imports_is_followed():
    assert used("def f(s): return g(s)", "def g(s): return torch.empty(s)") == ["torch"]
    assert used("def f(s): return t.empty(s)", "import torch as t") == ["torch"]
    assert used("def f(s): return s", "def g(s): return torch.empty(s)") == []
