"""Is everything here that the course needs? `course.py lab --check` prints the answer."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from . import environment, machine
from .environment import ROOT

SHOWN = ("jupyterlab", "ipykernel", "ipywidgets", "anywidget", "matplotlib", "numpy")
WIDGET_EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget")


@dataclass(frozen=True)
class Finding:
    """One line of the answer: what was looked for, whether it is here, what to do if not."""

    name: str
    found: str | None
    remedy: str
    needed: bool = True

    def __str__(self) -> str:
        if self.found is not None:
            return f"ok       {self.name}: {self.found}"
        return f"{'missing ' if self.needed else 'optional'} {self.name}: {self.remedy}"


def main() -> int:
    """Prints one line for each thing, and returns 0 where all that is needed is here, else 1.

    Installs nothing. In the course's own environment a fault makes the next run repair it.
    """
    findings = look(ROOT)
    for finding in findings:
        print(finding)
    lacking = [each for each in findings if each.needed and each.found is None]
    if lacking:
        begin = "Repair" if environment.forget_stamp(ROOT) else "Install"
        print("The course cannot run as it should.")
        print(f"{begin} what is missing with: python course.py lab")
        return 1
    print("Everything that the course needs is here. Open it with: python course.py lab")
    return 0


def look(root: Path) -> list[Finding]:
    """What is here, in the order in which it is needed?"""
    settings = environment.settings_of(root)
    bounds = dict(
        environment.split_requirement(each)
        for each in environment.requirements(settings, extra="lab")
    )
    tested = environment.tested_torch(settings)
    fault = environment.course_fault(root)
    return [
        Finding("Python", f"{platform.python_version()} ({sys.executable})", ""),
        torch_finding(bounds["torch"], tested=tested),
        *(package_finding(name, bounds[name]) for name in SHOWN),
        Finding("insidetorch", None if fault else str(root / "helpers"), str(fault)),
        attempt("widget self-test", make_widgets),
        *(extension_finding(name) for name in WIDGET_EXTENSIONS),
        Finding(
            "C++ compiler",
            "found" if machine.has("compiler") else None,
            "not found; only chapter 5 shows more with g++, clang++ or Visual Studio's cl",
            needed=False,
        ),
        Finding(
            "browser",
            "found" if machine.has_browser() else None,
            "not found; open the address that `python course.py lab` prints in any",
            needed=False,
        ),
    ]


def torch_finding(bounds: str, *, tested: str) -> Finding:
    """Is torch here, within its bounds, and is it the version that the course was tested with?"""
    fault = environment.fault_of(f"torch{bounds}")
    if fault:
        return Finding("torch", None, fault)

    def version() -> str:
        import torch

        same = environment.satisfies(torch.__version__, f"=={tested}")
        return f"{torch.__version__}, " + (
            "the tested version" if same else f"within {bounds}; the tested version is {tested}"
        )

    return attempt("torch", version)


def package_finding(name: str, bounds: str) -> Finding:
    """Is a package here, within its bounds, and can it be imported?"""
    fault = environment.fault_of(name + bounds)
    if fault:
        return Finding(name, None, fault)

    def version() -> str:
        import_module(name)
        return metadata.version(name)

    return attempt(name, version)


def attempt(name: str, action: Callable[[], str]) -> Finding:
    """Does `action` work? It returns what there is to say; what it raises becomes the remedy."""
    try:
        return Finding(name, action(), "")
    except Exception as error:
        return Finding(name, None, f"{type(error).__name__}: {error}")


def make_widgets() -> str:
    """Makes one widget of each kind that the course uses, without a browser."""
    import anywidget
    import ipywidgets

    slider = ipywidgets.IntSlider(value=3, max=7)
    view = anywidget.AnyWidget(_esm="export default { render() {} }")
    slider.value = 5
    if slider.get_state()["value"] != 5 or "_esm" not in view.get_state():
        raise RuntimeError("a widget does not keep its state")
    return "a slider and an anywidget view keep their state"


def extension_finding(name: str) -> Finding:
    """Does JupyterLab see the browser's half of the widgets?"""

    def folder() -> str:
        from jupyter_core.paths import jupyter_path

        seen = [Path(folder, name) for folder in jupyter_path("labextensions")]
        found = next((path for path in seen if (path / "package.json").is_file()), None)
        if found is None:
            raise FileNotFoundError("JupyterLab does not see it")
        return str(found)

    return attempt(f"JupyterLab extension {name}", folder)
