"""Which Python can run the course, and what does it lack?

Standard library only: course.py asks this before anything is installed. Nothing here writes
anything but the stamp of a finished installation.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPARISONS = {
    ">=": lambda found, bound: found >= bound,
    "<": lambda found, bound: found < bound,
    "==": lambda found, bound: found == bound,
}


def settings_of(root: Path) -> dict:
    """What does pyproject.toml say? Returns it as a dictionary."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def tested_torch(settings: dict) -> str:
    """Which version of torch is every release tested with?"""
    return settings["tool"]["insidetorch"]["tested-torch"]


def requirements(settings: dict, *, extra: str) -> list[str]:
    """Which packages does an extra ("lab" or "author") need, the package's own needs included?"""
    found = list(settings["project"]["dependencies"])
    for line in settings["project"]["optional-dependencies"][extra]:
        inner = re.fullmatch(r"insidetorch\[(\w+)\]", line)
        found += requirements(settings, extra=inner[1]) if inner else [line]
    return list(dict.fromkeys(found))


def split_requirement(requirement: str) -> tuple[str, str]:
    """Splits "torch>=2.13,<2.15" into its name and its bounds."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return name, requirement.removeprefix(name).strip()


def satisfies(version: str, bounds: str) -> bool:
    """Is a version such as "2.13.0+cpu" within bounds such as ">=2.13,<2.15"?

    Raises ValueError for an operator that pyproject.toml does not use so far.
    """
    for bound in filter(None, bounds.split(",")):
        operator, number = re.fullmatch(r"\s*([<>=!~]+)\s*(\S+)\s*", bound).groups()
        if operator not in COMPARISONS:
            raise ValueError(
                f"The bound {bound!r} was to be checked. Only {', '.join(COMPARISONS)} are known "
                f"here. Use one of them in pyproject.toml, or teach `satisfies` the new one."
            )
        if not COMPARISONS[operator](_numbers(version), _numbers(number)):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The release as integers without trailing zeros, so that 2.13 equals 2.13.0."""
    release = re.match(r"\d+(\.\d+)*", version)[0]
    return tuple(int(part) for part in re.sub(r"(\.0+)+$", "", release).split("."))


# Packages whose module has another name.
_MODULES = {"pytest-xdist": "xdist"}


def fault_of(requirement: str) -> str | None:
    """What is wrong with one requirement in the running Python? None where nothing is."""
    name, bounds = split_requirement(requirement)
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    if not satisfies(version, bounds):
        return f"{name} {version} is not within {bounds}"
    if _file_of(_MODULES.get(name, name.replace("-", "_"))) is None:
        return f"{name} is damaged: its files are gone"
    return None


def course_fault(root: Path) -> str | None:
    """Why does the running Python not find this course's insidetorch? None where it does."""
    file = _file_of("insidetorch")
    if file is None:
        return "insidetorch is not installed"
    if not Path(file).resolve().is_relative_to(root / "helpers"):
        return f"insidetorch is the one of another folder ({file})"
    return None


def _file_of(module: str) -> str | None:
    # Not util.find_spec: that finds what course.py has loaded, even from outside of sys.path.
    spec = PathFinder.find_spec(module)
    return spec.origin if spec else None


def missing(root: Path, *, extra: str) -> list[str]:
    """What does the running Python lack for the course in `root`? Returns one phrase for each."""
    faults = [fault_of(each) for each in requirements(settings_of(root), extra=extra)]
    return [fault for fault in [*faults, course_fault(root)] if fault]


def venv_of(root: Path) -> Path:
    """Where is the course's own environment?"""
    return root / ".venv"


def venv_python(root: Path) -> Path:
    """Where is the Python of the course's own environment?"""
    return venv_of(root) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def site_packages(venv: Path) -> list[Path]:
    """Where does an environment keep its packages?"""
    return [*venv.glob("lib/*/site-packages"), *venv.glob("Lib/site-packages")]


def is_own(root: Path) -> bool:
    """Is the running Python that of the course's own environment?"""
    return Path(sys.prefix).resolve() == venv_of(root).resolve()


def venv_lacks(root: Path, *, extra: str) -> list[str]:
    """What does the course's own Python lack, as `missing` tells it?"""
    question = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from coursekit import environment; "
        "sys.path.remove(sys.argv[1]); "
        "print(json.dumps(environment.missing(environment.Path(sys.argv[2]), extra=sys.argv[3])))"
    )
    command = [venv_python(root), "-I", "-c", question, ROOT / "helpers", root, extra]
    answer = subprocess.run(command, capture_output=True)
    return json.loads(answer.stdout) if answer.returncode == 0 else ["its Python fails"]


def venv_fault(root: Path) -> str | None:
    """Why can the Python of the course's own environment not install into it? None where it can."""
    question = "import pip, sys; sys.exit(sys.prefix == sys.base_prefix and 'It is no environment')"
    try:
        answer = subprocess.run(
            [venv_python(root), "-I", "-c", question],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        return str(error)
    said = answer.stderr.strip() or f"It has ended with status {answer.returncode}"
    return said if answer.returncode else None


def venv_state(root: Path) -> str:
    """Is the course's own environment "absent", "broken", "foreign" or "usable"?

    Usable means: its Python starts, has pip, and would install into the environment and nowhere
    else. Foreign means: a folder of that name which no `python -m venv` has made.
    """
    venv = venv_of(root)
    if not venv.exists() or not any(path.is_file() for path in venv.rglob("*")):
        return "absent"
    if not (venv / "pyvenv.cfg").is_file():
        return "foreign"
    return "broken" if venv_fault(root) else "usable"


def stamp_of(root: Path, *, extra: str, gpu: bool) -> dict:
    """What does a finished installation write down, to be compared by the next run?"""
    settings = settings_of(root)
    parts = [settings["project"], settings["tool"]["insidetorch"], settings["tool"]["setuptools"]]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return {"extra": extra, "gpu": gpu, "pyproject": digest}


def read_stamp(root: Path) -> dict:
    """What did the last finished installation write down? Empty where none has finished."""
    try:
        stamp = json.loads((venv_of(root) / ".course.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(root: Path, stamp: dict) -> None:
    """Says that the installation is complete. The last thing that it does."""
    text = json.dumps(stamp, indent=1, ensure_ascii=False) + "\n"
    (venv_of(root) / ".course.json").write_text(text, encoding="utf-8", newline="\n")


def forget_stamp(root: Path) -> bool:
    """Drops the stamp where the running Python is the course's own; tells whether it is.

    The next run of course.py then repairs the environment.
    """
    own = is_own(root)
    if own:
        (venv_of(root) / ".course.json").unlink(missing_ok=True)
    return own


def covers(stamp: dict, wanted: dict) -> bool:
    """Has the finished installation all that is wanted? An author has what a learner needs."""
    if stamp.get("extra") == "author":
        wanted = {**wanted, "extra": "author"}
    if not wanted["gpu"]:
        wanted = {**wanted, "gpu": stamp.get("gpu")}
    return stamp == wanted
