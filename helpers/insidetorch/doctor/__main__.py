"""`python -m insidetorch.doctor script.py`: what cut, spoiled or leaked a gradient, and where."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from .report import text_of
from .script import Script
from .watching import Run, watch

_DESCRIPTION = """Run a script of yours and tell which line cut, spoiled or leaked a gradient.
The script is not changed: its output, exit status and exceptions stay its own."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the script's exit status."""
    options = _parser().parse_args(arguments)
    name, *args = options.program
    try:
        script = Script(name, args, as_module=options.module)
    except (FileNotFoundError, ImportError) as error:
        print(f"insidetorch.doctor: cannot run {name!r}: {error}", file=sys.stderr)
        return 2
    status, interrupted = 0, False
    run = None
    try:
        with watch(
            namespace=vars(script.module), keep_compile=options.keep_compile, most=options.max_ops
        ) as run:
            script.run()
    except SystemExit as leave:
        status = _status(leave)
    except KeyboardInterrupt as error:
        interrupted = True
        _show(error)
    except BaseException as error:
        status = 1
        _show(error)
    sys.stdout.flush()
    for question in options.ask:
        _ask(run, question, vars(script.module))
    _report(run, options.json)
    if interrupted:
        return _interrupt()
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m insidetorch.doctor", description=_DESCRIPTION)
    parser.add_argument("--json", metavar="FILE", help="write the findings to FILE")
    parser.add_argument(
        "--ask", metavar="EXPR", action="append", default=[],
        help="a tensor to ask about: a Python expression of the script's names, at its end",
    )  # fmt: skip
    parser.add_argument("--keep-compile", action="store_true", help="leave torch.compile on")
    parser.add_argument(
        "--max-ops", type=int, default=100_000, metavar="N",
        help="calls of torch that are kept; older ones are forgotten (default 100000)",
    )  # fmt: skip
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="script.py [argument …]")
    return _Parser(parser)


class _Parser:
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser

    def parse_args(self, arguments: list[str] | None) -> argparse.Namespace:
        options = self._parser.parse_args(arguments)
        if not options.program:
            self._parser.error("which script? Give its path, or -m and a module's name")
        return options


def _ask(run: Run, question: str, names: dict) -> None:
    try:
        run.ask(question, names)
    except Exception as error:
        print(f"insidetorch.doctor: cannot answer --ask {question!r}: {error!r}", file=sys.stderr)


def _report(run: Run, file: str | None) -> None:
    findings = run.findings
    print(text_of(run), file=sys.stderr)
    if file:
        content = {"findings": [one.as_dict() for one in findings], "unseen": list(run.unseen)}
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        Path(file).write_text(text, encoding="utf-8", newline="\n")


def _show(error: BaseException) -> None:
    """Print an exception as Python would have, without the doctor's own lines."""
    here = os.path.dirname(os.path.abspath(__file__))
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(here):
        trace = trace.tb_next
    sys.stdout.flush()
    sys.excepthook(type(error), error, trace)


def _status(leave: SystemExit) -> int:
    if leave.code is None or isinstance(leave.code, int):
        return leave.code or 0
    print(leave.code, file=sys.stderr)
    return 1


def _interrupt() -> int:
    """End as a program does that Ctrl-C has ended."""
    if os.name == "posix":
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 130


if __name__ == "__main__":
    sys.exit(main())
