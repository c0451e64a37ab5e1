"""What can I do with this course? Start here: `python course.py`.

It needs nothing but Python. The work is in helpers/coursekit/launcher.py; this file stays so plain
that every Python, however old, can read it and say what it lacks.
"""

import sys

OLDEST = (3, 11)


def version_problem(version):
    """Says why a Python of this version cannot run the course; None where it can."""
    if tuple(version[:2]) >= OLDEST:
        return None
    return (
        "This is Python %d.%d at %s. The course needs Python 3.11 or newer. "  # noqa: UP031
        "Install one from https://www.python.org/downloads/ and run course.py with it "
        "(python3.13 course.py, or py -3.13 course.py on Windows)."
        % (version[0], version[1], sys.executable)
    )


def folder_problem(folder):
    """Says what a course without its folder helpers/ needs; None where it is there."""
    if (folder / "helpers" / "coursekit").is_dir():
        return None
    return (
        "course.py was started in %s. The folder helpers, which does the work, is not there. "  # noqa: UP031
        "Get the whole course, and run course.py in its folder." % folder
    )


def run():
    """Runs one command of the course and returns its exit status."""
    problem = version_problem(sys.version_info)
    if problem:
        sys.stderr.write(problem + "\n")
        return 1
    # A path with Cyrillic letters must not fail in a console that cannot show them.
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    from pathlib import Path

    folder = Path(__file__).resolve().parent
    problem = folder_problem(folder)
    if problem:
        sys.stderr.write(problem + "\n")
        return 1
    helpers = str(folder / "helpers")
    sys.path.insert(0, helpers)
    from coursekit import launcher

    # Taken out again: the launcher asks whether *this interpreter* has the course's package.
    sys.path.remove(helpers)
    return launcher.main(sys.argv[1:])


if __name__ == "__main__":
    try:
        status = run()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        status = 130
    sys.exit(status)
