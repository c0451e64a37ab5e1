"""`python -m insidetorch.doctor script.py`: what cut, spoiled or leaked a gradient, and where."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TextIO

from .kept import kept
from .report import text_of
from .script import NoProgram, Script
from .unnoticed import forget_doctor, unnoticed
from .watching import Run, watch

_DESCRIPTION = """Run a script of yours and tell which line cut, spoiled or leaked a gradient.
The script is not changed: its output, exit status and exceptions stay its own."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command. Raises what the script raised, so that Python ends as it does without."""
    options = _options(arguments)
    name, *args = options.program
    script = Script(name, args, as_module=options.module)
    file = options.json and Path(options.json).absolute()  # the script may go to another folder
    stderr = sys.stderr
    error, run = None, None
    try:
        with unnoticed(), ExitStack() as stack:
            run = stack.enter_context(
                watch(
                    namespace=vars(script.module),
                    keep_compile=options.keep_compile,
                    most=options.max_ops,
                )
            )
            if options.keep_compile:
                stack.enter_context(kept(run.recorder))
            script.run()
    except NoProgram as missing:
        _say(
            f"The program {name!r} was to be run. {missing} "
            "Give the path of a script, or -m and the name of a module.",
            stderr,
        )
        sys.exit(missing.status)
    except BaseException as raised:
        error = raised
        _show(error)
    if not run.recorder.stopped:  # else it is a child that the script has forked
        _flush(sys.stdout)
        _report(run, options.ask, vars(script.module), file, stderr)
    if error is not None:
        sys.excepthook = lambda *_: None  # it has been shown
        raise error


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m insidetorch.doctor", description=_DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument("--json", metavar="FILE", help="write the findings to FILE")
    parser.add_argument(
        "--ask", metavar="EXPR", action="append", default=[],
        help="a tensor to ask about: a Python expression of the script's names, at its end",
    )  # fmt: skip
    parser.add_argument("--keep-compile", action="store_true", help="leave torch.compile on")
    parser.add_argument(
        "--max-ops", type=_count, default=100_000, metavar="N",
        help="calls of torch that are kept; older ones are forgotten (default 100000)",
    )  # fmt: skip
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="script.py [argument …]")
    options = parser.parse_args(arguments)
    if not options.program:
        parser.error("which script? Give its path, or -m and a module's name")
    return options


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} calls were to be kept. At least one is needed. Give a whole number above 0"
        )
    return int(text)


def _report(run: Run, questions: list[str], names: dict, file: Path | None, stderr: TextIO) -> None:
    """Tell what was found; a failure here is the doctor's, and is no matter of the script's."""
    try:
        for question in questions:
            _ask(run, question, names, stderr)
        print(text_of(run), file=stderr)
        if file:
            _write(run, file, stderr)
    except Exception as error:
        _say(f"The doctor itself has failed, and the script has not: {error!r}", stderr)
    _flush(stderr)


def _ask(run: Run, question: str, names: dict, stderr: TextIO) -> None:
    try:
        run.ask(question, names)
    except Exception as error:
        _say(f"cannot answer --ask {question!r}: {error!r}", stderr)


def _write(run: Run, file: Path, stderr: TextIO) -> None:
    content = {
        "findings": [one.as_dict() for one in run.findings], "unseen": list(run.unseen)
    }  # fmt: skip
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        _say(f"cannot write --json {str(file)!r}: {error.strerror}", stderr)


def _show(error: BaseException) -> None:
    """Print an exception as Python would have, without the doctor's own frames."""
    forget_doctor(error)
    if not isinstance(error, SystemExit):
        _flush(sys.stdout)
        sys.excepthook(type(error), error, error.__traceback__)


def _say(text: str, stderr: TextIO) -> None:
    with suppress(OSError, ValueError):
        print(f"insidetorch.doctor: {text}", file=stderr)


def _flush(stream: TextIO | None) -> None:
    """Write out what waits; a stream may be closed, and its reader gone."""
    with suppress(OSError, ValueError, AttributeError):
        stream.flush()


if __name__ == "__main__":
    main()
