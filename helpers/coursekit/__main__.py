"""Which module carries out a command? `python -m coursekit COMMAND` is what course.py calls."""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = {"lab": "coursekit.lab", "test": "coursekit.testing", "build": "coursekit.build"}


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
    # Imported only now: `lab` must not need what an author needs.
    return import_module(MODULES[command]).main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
