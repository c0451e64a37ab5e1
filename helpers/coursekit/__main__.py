"""Which module carries out a command? `python -m coursekit COMMAND` is what course.py calls."""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = {
    "lab": "coursekit.lab",
    "reset": "coursekit.reset",
    "grade": "coursekit.grading",
    "test": "coursekit.testing",
    "build": "coursekit.build",
    "handout": "coursekit.handout",
}


def main(argv: list[str]) -> int:
    """Hands `argv` to the module of its first word, and returns the exit status."""
    if not argv or argv[0] not in MODULES:
        given = repr(argv[0]) if argv else "nothing"
        print(
            f"python -m coursekit was asked for {given}. Its commands are {', '.join(MODULES)}. "
            f"Start with `python course.py`, which explains them.",
            file=sys.stderr,
        )
        return 2
    command, *rest = argv
    try:
        # Imported only now: `lab` must not need what an author needs.
        return import_module(MODULES[command]).main(rest)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    except ImportError as problem:
        if (problem.name or "").split(".")[0] in ("coursekit", "insidetorch"):
            raise
        print(damaged(command, problem), file=sys.stderr)
        return 1


def damaged(command: str, problem: ImportError) -> str:
    """Says what to do about a package that cannot be imported.

    Where it is one of the course's own environment, its stamp is dropped: the next run repairs it.
    """
    # Imported only now, so that Ctrl+C finds `main` soon after the start.
    from . import environment

    if environment.forget_stamp(environment.ROOT):
        remedy = f"Repeat `python course.py {command}`: it repairs the environment first."
    else:
        remedy = "Install it there, or run course.py with another Python."
    return (
        f"`course.py {command}` was to be run by {sys.executable}. A package there is damaged or "
        f"missing ({problem}). {remedy}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
