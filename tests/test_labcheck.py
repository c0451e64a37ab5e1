"""Does `course.py lab --check` tell what is here, and what to do about what is not?"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from coursekit import lab, labcheck, machine
from coursekit.environment import ROOT

NEEDED = labcheck.Finding("torch", None, "install it")
OPTIONAL = labcheck.Finding("browser", None, "take any", needed=False)
FOUND = labcheck.Finding("numpy", "2.0", "")


def test_everything_needed_is_here(capsys):
    assert labcheck.main() == 0
    said = capsys.readouterr().out
    for name in ("Python", "torch", *labcheck.SHOWN, "widget self-test"):
        assert f"ok       {name}: " in said
    for name in labcheck.WIDGET_EXTENSIONS:
        assert f"ok       JupyterLab extension {name}: " in said
    assert "the tested version" in said
    assert "Everything that the course needs is here" in said


def test_lab_check_is_this_module(monkeypatch):
    monkeypatch.setattr(labcheck, "main", lambda: 5)
    assert lab.main(["--check"]) == 5


@pytest.mark.parametrize(
    ("findings", "code"), [([FOUND], 0), ([FOUND, OPTIONAL], 0), ([FOUND, OPTIONAL, NEEDED], 1)]
)
def test_only_what_is_needed_decides(findings, code, monkeypatch, capsys):
    monkeypatch.setattr(labcheck, "look", lambda root: findings)
    assert labcheck.main() == code
    said = capsys.readouterr().out
    assert ("missing  torch: install it" in said) == (code == 1)
    assert ("missing  browser (optional): take any" in said) == (OPTIONAL in findings)


def test_a_package_out_of_bounds_is_missing():
    version = metadata.version("numpy")
    finding = labcheck.package_finding("numpy", ">=99")
    assert finding.found is None
    assert f"numpy {version} is not within >=99; delete the folder .venv" in finding.remedy
    assert labcheck.package_finding("numpy", ">=1").found == version


def test_torch_is_compared_with_the_tested_version():
    assert labcheck.torch_finding(">=99", tested="2").found is None
    other = labcheck.torch_finding(">=2", tested="1.0")
    assert other.found.endswith("within >=2; the tested version is 1.0")


def test_an_extension_that_jupyterlab_does_not_see_is_missing(monkeypatch, tmp_path):
    assert labcheck.extension_finding("anywidget").found is not None
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *_parts: [str(tmp_path)])
    assert labcheck.extension_finding("anywidget").found is None
    (tmp_path / "anywidget").mkdir()
    assert labcheck.extension_finding("anywidget").found is None


def test_widgets_that_fail_are_told(monkeypatch):
    assert labcheck.attempt("widget self-test", labcheck.make_widgets).found is not None
    monkeypatch.setattr("ipywidgets.IntSlider.get_state", lambda self, **_: {"value": 0})
    finding = labcheck.attempt("widget self-test", labcheck.make_widgets)
    assert finding.found is None
    assert finding.remedy.startswith("RuntimeError: a widget does not keep its state; delete")


def test_a_missing_compiler_and_browser_are_optional(monkeypatch):
    monkeypatch.setattr(machine, "has", lambda need: False)
    monkeypatch.setattr(machine, "has_browser", lambda: False)
    missing = [finding for finding in labcheck.look(ROOT) if finding.found is None]
    assert [(each.name, each.needed) for each in missing] == [
        ("C++ compiler", False),
        ("browser", False),
    ]


def program(folder: Path, name: str) -> Path:
    path = folder / (f"{name}.exe" if os.name == "nt" else name)
    path.write_text("", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_chromium_is_looked_up_by_its_usual_names(monkeypatch, tmp_path):
    monkeypatch.delenv("INSIDETORCH_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.find_chromium() is None
    for name in ("chrome", "google-chrome", "chromium-browser", "chromium"):
        path = program(tmp_path, name)
        assert os.path.normcase(machine.find_chromium()) == os.path.normcase(path)


def test_a_named_chromium_comes_first_and_alone(monkeypatch, tmp_path):
    program(tmp_path, "chromium")
    named = program(tmp_path, "my-browser")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("INSIDETORCH_CHROMIUM", str(named))
    assert os.path.normcase(machine.find_chromium()) == os.path.normcase(named)
    named.unlink()
    assert machine.find_chromium() is None


@pytest.mark.parametrize("name", ["lab", "labcheck", "machine", "__main__"])
def test_the_learners_commands_load_nothing_of_the_authors(name):
    allowed = {"coursekit", "jupyterlab", "jupyter_core", "torch", "ipywidgets", "anywidget"}
    tree = ast.parse((ROOT / "helpers" / "coursekit" / f"{name}.py").read_text(encoding="utf-8"))
    named = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    named |= {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert {each.split(".")[0] for each in named} <= allowed | sys.stdlib_module_names


def test_loading_the_learners_commands_needs_the_standard_library_only():
    code = (
        "import sys; import coursekit.lab, coursekit.labcheck; "
        "print(sorted({'torch', 'jupyterlab', 'nbformat', 'pytest'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert run.stdout.strip() == "[]"
