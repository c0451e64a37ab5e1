"""The rules of the package that no single test would notice: layers, private names, sizes."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import insidetorch

PACKAGE = Path(insidetorch.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Layer: the layers it may import, and the packages beside the standard library.
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "indexing": (set(), set()),
    "footprint": ({"indexing"}, set()),
    "eliding": ({"indexing"}, set()),
    "engine": (set(), set()),
    "locking": (set(), set()),
    "packed": (set(), set()),
    "mini": ({"indexing", "packed"}, set()),
    "records": ({"indexing"}, set()),
    "observe": ({"records", "engine", "footprint", "eliding", "indexing"}, {"torch", "numpy"}),
    "draw": ({"records", "eliding", "indexing"}, {"matplotlib"}),
    "doctor": ({"observe", "draw", "records"}, {"torch", "numpy"}),
    "widgets": (
        {"doctor", "observe", "draw", "records"},
        {"torch", "ipywidgets", "anywidget", "traitlets"},
    ),
    "learn": (
        {"widgets", "observe", "draw", "records", "footprint", "indexing", "locking", "packed"},
        {"ipywidgets", "torch", "numpy"},
    ),
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def layer_of(path: Path) -> str:
    return name_of(path).split("/")[0]


def imports_of(source: str, name: str) -> tuple[set[str], set[str]]:
    """The layers of the package and the outside packages that a module imports, at any depth."""
    inside, outside = set(), set()
    depth = name.count("/") + 1
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            outside |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            outside.add(node.module.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            inside |= {n.split(".")[0] for n in names}
        elif isinstance(node, ast.ImportFrom):
            inside.add(name.split("/")[0])
    return inside, outside - set(sys.stdlib_module_names)


def broken_rules(source: str, name: str) -> list[str]:
    """What a module imports and may not."""
    layer = name.split("/")[0]
    inside, outside = imports_of(source, name)
    allowed_inside, allowed_outside = LAYERS[layer]
    return sorted(inside - allowed_inside - {layer}) + sorted(outside - allowed_outside)


@pytest.mark.parametrize("path", [p for p in MODULES if p != PACKAGE / "__init__.py"], ids=name_of)
def test_imports_only_go_down(path):
    assert broken_rules(path.read_text(encoding="utf-8"), name_of(path)) == []


@pytest.mark.parametrize(
    ("name", "source", "broken"),
    [
        ("draw/text", "from ..observe.layout import layout_of", ["observe"]),
        ("observe/layout", "def f():\n    from ..draw import svg", ["draw"]),
        ("indexing", "import torch", ["torch"]),
        ("widgets/show", "from ..learn import predict", ["learn"]),
        ("learn/predict", "from .. import widgets\nimport coursekit", ["coursekit"]),
    ],
)
def test_the_rule_about_imports_sees_a_breach(name, source, broken):
    assert broken_rules(source, name) == broken


TENSOR_PRIVATE = {"_base", "_is_view", "_version", "_cdata"}


def private_names(source: str) -> list[str]:
    """The private names of torch that a module uses in its code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            dotted = ast.unparse(node)
            private = re.search(r"\._[^_]", dotted)
            if node.attr in TENSOR_PRIVATE or (dotted.startswith("torch.") and private):
                found.append(dotted)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            names = [node.module, *(alias.name for alias in node.names)]
            found += [n for n in names if n.startswith("_") or "._" in n]
    return found


def test_private_names_of_torch_stand_in_one_module():
    found = [name_of(p) for p in MODULES if private_names(p.read_text(encoding="utf-8"))]
    assert found and all(name.startswith("observe/private") for name in found)


@pytest.mark.parametrize(
    "source",
    ["t._version", "torch._C.x()", "from torch.utils import _pytree", "import torch\nt._base"],
)
def test_the_rule_about_private_names_sees_a_breach(source):
    assert private_names(source)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 210


@pytest.mark.parametrize("name", insidetorch.__all__)
def test_every_public_name_has_a_docstring_with_an_example(name):
    assert ">>>" in getattr(insidetorch, name).__doc__


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_examples_in_docstrings_hold(path):
    dotted = name_of(path).replace("/", ".").removesuffix("__init__").rstrip(".")
    module = import_module(f"insidetorch.{dotted}".rstrip("."))
    assert doctest.testmod(module).failed == 0


def test_importing_the_package_loads_neither_torch_nor_widgets():
    code = (
        "import sys, insidetorch.indexing\n"
        "print([name for name in ('torch', 'ipywidgets') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_public_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'layout'"):
        insidetorch.layout  # noqa: B018
    assert set(insidetorch.__all__) <= set(dir(insidetorch))
