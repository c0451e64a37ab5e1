"""Which Python carries out a command of course.py, and with what?

Standard library only: this runs before anything is installed. The commands themselves are modules
of coursekit, run as `python -m coursekit COMMAND` by a Python that has what they need.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import environment, install, labcheck
from .arguments import OVERVIEW, parser
from .environment import ROOT
from .errors import CourseError

NEEDS = {"lab": "lab", "reset": "lab"} | dict.fromkeys(
    ("test", "build", "grade", "handout"), "author"
)


def main(argv: Sequence[str]) -> int:
    """Carries out one command of course.py and returns its exit status."""
    args = parser().parse_args(argv)
    if args.command is None:
        print(OVERVIEW)
        return 0
    try:
        if args.command == "lab" and args.check:
            return check(ROOT)
        if NEEDS[args.command] == "author" and not (ROOT / "source").is_dir():
            raise CourseError(
                f"`course.py {args.command}` was asked for. This copy of the course is one for "
                "learners, without solutions and sources. Use a whole copy of the course for it."
            )
        python = choose_python(ROOT, extra=NEEDS[args.command], gpu=args.gpu)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Repeat the same command: it goes on where it stopped.", file=sys.stderr)
        return 130
    return hand_over([str(python), "-P", "-m", "coursekit", *handed_on(args, argv)])


def choose_python(root: Path, *, extra: str, gpu: bool) -> Path:
    """Returns the running Python where it has all that is needed, else the course's own.

    Raises CourseError where there is none and none can be made.
    """
    lacks = environment.missing(root, extra=extra)
    if not lacks and not gpu:
        return Path(sys.executable)
    return install.ensure(root, extra=extra, gpu=gpu, lacks=lacks)


def check(root: Path) -> int:
    """Carries out `lab --check`, which installs nothing, and returns its exit status.

    The course's own Python answers where the running one cannot run the course.
    """
    lacks = environment.missing(root, extra="lab")
    if lacks and not environment.is_own(root) and environment.venv_state(root) == "usable":
        # By way of course.py, as a damaged environment may not find coursekit.
        command = [str(environment.venv_python(root)), "-P", str(root / "course.py")]
        return hand_over([*command, "lab", "--check"])
    return labcheck.main()


def handed_on(args: argparse.Namespace, argv: Sequence[str]) -> list[str]:
    """The arguments for the command's own module, which runs in the course's folder."""
    kept = [each for each in argv if each != "--gpu"]
    if args.command == "build" and args.edited is not None:
        # The last one counts: the file is named from the folder where the author is.
        kept += ["--from", str(Path(args.edited).resolve())]
    if args.command == "grade":
        paths = [str(Path(path).resolve()) for path in args.paths]
        out = str(Path(args.out).resolve()) if args.out else ""
        words = ["grade", *paths, "--out", out, "--jobs", str(args.jobs)]
        words += ["--attempts", args.attempts, "--engine", args.engine]
        words += ["--isolation", args.isolation] if args.isolation else []
        flags = {"--list": args.list, "--again": args.again, "--watch": args.watch}
        return [*words, *(flag for flag, given in flags.items() if given)]
    if args.command == "handout":
        words = ["handout", str(Path(args.folder).resolve())]
        words += ["--zip"] if args.zip else []
        return words + (["--through", str(args.through)] if args.through is not None else [])
    return kept


def hand_over(command: list[str]) -> int:
    """Goes on as `command` in the course's folder; its exit status becomes ours."""
    os.environ["PYTHONUTF8"] = "1"
    os.chdir(ROOT)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        # The process becomes the command, so that every signal reaches it.
        os.execv(command[0], command)
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The console has sent Ctrl+C to the command too; it ends by itself.
                continue
