"""What do the commands of course.py take?

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import argparse

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
        default=[],
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
    grade.add_argument("--list", action="store_true", help="only tell who has handed in what")
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
