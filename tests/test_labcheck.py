"""Does `course.py lab --check` tell what is here, and what to do about what is not?"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from coursekit import environment, lab, labcheck, machine
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
    monkeypatch.setattr(environment, "forget_stamp", lambda root: False)
    assert labcheck.main() == code
    said = capsys.readouterr().out
    assert ("missing  torch: install it" in said) == (code == 1)
    assert ("optional browser: take any" in said) == (OPTIONAL in findings)
    assert ("Install what is missing with: python course.py lab" in said) == (code == 1)


def test_a_fault_in_the_courses_own_environment_is_repaired_by_the_next_run(
    monkeypatch, tmp_path, capsys
):
    stamp = tmp_path / ".venv" / ".course.json"
    stamp.parent.mkdir()
    stamp.touch()
    monkeypatch.setattr(labcheck, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(stamp.parent))
    monkeypatch.setattr(labcheck, "look", lambda root: [FOUND, OPTIONAL])
    assert labcheck.main() == 0 and stamp.exists()
    monkeypatch.setattr(labcheck, "look", lambda root: [NEEDED])
    assert labcheck.main() == 1 and not stamp.exists()
    assert "Repair what is missing with: python course.py lab" in capsys.readouterr().out


def test_a_package_that_cannot_be_imported_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    finding = labcheck.package_finding("numpy", ">=1")
    assert finding.found is None
    assert "ModuleNotFoundError" in finding.remedy


def test_a_package_out_of_bounds_is_missing():
    version = metadata.version("numpy")
    finding = labcheck.package_finding("numpy", ">=99")
    assert finding.found is None
    assert finding.remedy == f"numpy {version} is not within >=99"
    assert labcheck.package_finding("numpy", ">=1").found == version


def test_torch_is_compared_with_the_tested_version():
    assert labcheck.torch_finding(">=99", tested="2").found is None
    other = labcheck.torch_finding(">=2", tested="1.0")
    assert other.found.endswith("within >=2; the tested version is 1.0")


def test_an_extension_that_jupyterlab_does_not_see_is_missing(monkeypatch, tmp_path):
    assert labcheck.extension_finding("anywidget").found is not None
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *_parts: [str(tmp_path)])
    assert "JupyterLab does not see it" in labcheck.extension_finding("anywidget").remedy
    (tmp_path / "anywidget").mkdir()
    assert labcheck.extension_finding("anywidget").found is None


def test_widgets_that_fail_are_told(monkeypatch):
    assert labcheck.attempt("widget self-test", labcheck.make_widgets).found is not None
    monkeypatch.setattr("ipywidgets.IntSlider.get_state", lambda self, **_: {"value": 0})
    finding = labcheck.attempt("widget self-test", labcheck.make_widgets)
    assert finding.found is None
    assert finding.remedy == "RuntimeError: a widget does not keep its state"


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
    jupyter = {"jupyterlab", "jupyter_core", "jupyter_server"}
    allowed = {"coursekit", *jupyter, "torch", "ipywidgets", "anywidget"}
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
