"""What do the commands of course.py take, and which Python carries them out?

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
from .environment import ROOT
from .errors import CourseError

NEEDS = {"lab": "lab", "reset": "lab"} | dict.fromkeys(
    ("test", "build", "grade", "handout"), "author"
)

OVERVIEW = """\
Inside PyTorch: see the real PyTorch runtime in executable notebooks.

  python course.py lab             open the course in JupyterLab, at the chapter you were in
  python course.py lab 1.3         open the exercises at the chapter of exercise 1.3
  python course.py lab --check     tell whether everything that the course needs is here
  python course.py reset 1.3       put the stub of an exercise back, the old answer kept
  python course.py grade PATH      grade notebooks with exercises, or folders of them
  python course.py handout DIR     write the course without answers, for a class
  python course.py test            run every check of the course (for authors)
  python course.py build           build the notebooks from their sources (for authors)

The first run makes an environment in the folder .venv, and installs nothing outside this folder.
Where the Python that runs course.py has all packages already, that one is used.
"""


def parser() -> argparse.ArgumentParser:
    """The commands and their options, for course.py and for the modules that carry them out."""
    course = argparse.ArgumentParser(
        prog="course.py", description=OVERVIEW, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = course.add_subparsers(dest="command", metavar="COMMAND")
    lab = commands.add_parser("lab", help="open the course in JupyterLab")
    lab.add_argument(
        "notebook",
        nargs="?",
        metavar="NOTEBOOK",
        help="a notebook's name, a part of one, or an exercise such as 1.3",
    )
    lab.add_argument("--port", type=int, metavar="N", help="use this port, or refuse")
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    lab.add_argument("--check", action="store_true", help="tell what is here and what is missing")

    reset = commands.add_parser("reset", help="put the stub of an exercise back")
    reset.add_argument("what", metavar="ID|NOTEBOOK", help="an exercise such as 1.3, or a notebook")
    reset.add_argument("--yes", action="store_true", help="do not ask")

    grade = commands.add_parser("grade", help="grade notebooks with exercises")
    grade.add_argument(
        "paths",
        nargs="*",
        default=["exercises"],
        metavar="PATH",
        help="notebooks, folders or zip files of them; without any, your own exercises",
    )
    grade.add_argument("--out", default="grades", metavar="DIR", help="where the results go")
    grade.add_argument("--jobs", type=int, default=0, metavar="N", help="how many at once")
    grade.add_argument(
        "--attempts",
        choices=("newest", "best"),
        default="newest",
        help="which of a learner's notebooks for a chapter counts",
    )
    grade.add_argument("--again", action="store_true", help="grade anew what was graded before")
    grade.add_argument("--watch", action="store_true", help="grade whenever a notebook is saved")
    grade.add_argument(
        "--isolation",
        choices=("namespace", "user", "process"),
        default="",
        help="how answers are kept apart from this machine; without, as well as it allows",
    )
    grade.add_argument(
        "--engine",
        default="local",
        metavar="local|dask://HOST:PORT",
        help="where submissions are graded",
    )

    handout = commands.add_parser("handout", help="write the course without answers")
    handout.add_argument("folder", metavar="DIR", help="a new folder")
    handout.add_argument("--zip", action="store_true", help="write it as a zip file as well")
    handout.add_argument(
        "--through", type=int, metavar="N", help="without the chapters after this one"
    )

    test = commands.add_parser("test", help="run every check of the course")
    test.add_argument("--slow", action="store_true", help="run the exhaustive tests as well")
    test.add_argument(
        "-k", dest="expression", metavar="EXPR", help="only tests that pytest selects"
    )

    build = commands.add_parser("build", help="build the notebooks from their sources")
    build.add_argument("names", nargs="*", metavar="NAMES", help="chapters; all without any")
    how = build.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="compare, build nothing")
    how.add_argument(
        "--from",
        dest="edited",
        metavar="FILE",
        help="bring an edited notebook back into its text",
    )
    how.add_argument("--force", action="store_true", help="back up an edited notebook, and build")

    for command in (lab, reset, grade, handout, test, build):
        command.add_argument(
            "--gpu", action="store_true", help="install the CUDA build of PyTorch (several GB)"
        )
    return course


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
        # Without a path, it is the course's own folder, whichever folder this is called from.
        named = args.paths != ["exercises"] or "exercises" in argv
        paths = [str(Path(path).resolve()) for path in args.paths] if named else []
        out = str(Path(args.out).resolve()) if args.out else ""
        words = ["grade", *paths, "--out", out, "--jobs", str(args.jobs)]
        words += ["--attempts", args.attempts, "--engine", args.engine]
        words += ["--isolation", args.isolation] if args.isolation else []
        flags = {"--again": args.again, "--watch": args.watch}
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
