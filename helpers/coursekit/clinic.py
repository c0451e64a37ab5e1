"""How do the bug cases become the clinic, and is the stored one up to date?

    python -m coursekit.clinic [--check]

does what `course.py build` does with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from random import Random

from insidetorch.learn.clinic_data import NAME, digest
from insidetorch.packed import pack

from .clinic_source import CHAPTER, ClinicCase, clinic_source, read_clinic
from .errors import CourseError
from .files import back_up, write_atomically

COURSE = Path(__file__).resolve().parents[2]


def main(argv: Sequence[str], *, root: Path = COURSE) -> int:
    """Build the clinic of the course at `root`, or only look (--check); 0 if all is well."""
    try:
        if "--check" not in argv:
            print(build_clinic(root))
            return 0
        found = check_clinic(root)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    print(*(found or ["The clinic is as its source gives it."]), sep="\n")
    return int(bool(found))


def has_clinic(root: Path) -> bool:
    """Does this course have a clinic?"""
    return clinic_source(root).is_file()


def build_clinic(root: Path) -> str:
    """Copy the scripts, write what is known of them; returns what to tell.

    A copy in which somebody has worked is backed up first. Raises CourseError, and writes nothing,
    where the source breaks a rule.
    """
    wanted = _wanted(root)
    told = [f"notebooks/clinic: built; {len(read_clinic(root)[1])} cases"]
    for path, text in wanted.items():
        if path.exists() and path.read_bytes() == text.encode():
            continue
        if path.suffix == ".py" and path.exists():
            copy = back_up(root, path, name=f"clinic-{path.parent.name}-{path.stem}")
            told.append(f"  {_name(root, path)} had changed: kept as {_name(root, copy)}")
        write_atomically(path, text)
    return "\n".join(told)


def check_clinic(root: Path) -> list[str]:
    """Where does the stored clinic differ from its source?"""
    wanted = _wanted(root)
    found = []
    for path, text in wanted.items():
        if not path.exists():
            found.append(f"{_name(root, path)} is missing.")
        elif path.read_bytes() != text.encode():
            source = "source/06_debugging/clinic.toml and tests/cases/ give"
            found.append(f"{_name(root, path)} is not what {source}.")
    for path in sorted(_folder(root).rglob("*.py")):
        if path not in wanted:
            found.append(f"{_name(root, path)} belongs to no case. Remove it.")
    return found


def _wanted(root: Path) -> dict[Path, str]:
    """The text of every file of the clinic."""
    kinds, cases, records = read_clinic(root)
    salt = sha256(CHAPTER.encode()).hexdigest()[:16]
    files: dict[Path, str] = {}
    known = {}
    for case in cases:
        scripts = _scripts(root, case.id)
        files |= {_folder(root) / case.id / name: text for name, text in scripts.items()}
        known[case.id] = _known(case, records[case.id], scripts, _repair(root, case.id), salt)
    sentences = {kind.name: kind.sentence for kind in kinds}
    data = {"v": 1, "salt": salt, "kinds": sentences, "cases": known}
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    return {**files, root / "exercises" / ".course" / NAME: text}


def _known(
    case: ClinicCase, record: dict, scripts: Mapping[str, str], repair: str, salt: str
) -> dict:
    """What the learner's side gets to know of a case."""
    kinds = [record["cause_kind"], *case.others]
    Random(case.id).shuffle(kinds)  # the same order each time
    lines = {
        digest(salt, case.id, place["file"], place["line"]): rank
        for rank, places in (("accepted", record["also_accepted"]), ("line", [record["culprit"]]))
        for place in places
    }
    told = {
        "file": record["culprit"]["file"],
        "line": record["culprit"]["line"],
        "kind": record["cause_kind"],
        "cause": record["cause"],
        "fix": record["fix"],
        "repair": repair,
        "source": record["source"],
    }
    return {
        "symptom": case.symptom,
        "files": list(scripts),
        "look": case.look.strip(),
        "kinds": kinds,
        "lines": dict(sorted(lines.items())),
        "kind": digest(salt, case.id, record["cause_kind"]),
        "sealed": pack(told),
    }


def _scripts(root: Path, case_id: str) -> dict[str, str]:
    """The files of a case, main.py first."""
    paths = sorted(
        _case(root, case_id).glob("*.py"), key=lambda path: (path.name != "main.py", path.name)
    )
    return {path.name: path.read_bytes().decode() for path in paths}


def _repair(root: Path, case_id: str) -> str:
    """How the healthy twin differs, as a unified diff."""
    out = []
    for name, text in _scripts(root, case_id).items():
        twin = (_case(root, case_id) / "fixed" / name).read_text(encoding="utf-8")
        out += unified_diff(text.splitlines(), twin.splitlines(), name, name, n=1, lineterm="")
    return "\n".join(line for line in out if not line.startswith("+++"))


def _folder(root: Path) -> Path:
    return root / "notebooks" / "clinic"


def _case(root: Path, case_id: str) -> Path:
    return root / "tests" / "cases" / case_id


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
