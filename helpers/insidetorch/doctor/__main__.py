"""`python -m insidetorch.doctor script.py`: what cut, spoiled or leaked a gradient, and where."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO

from .kept import kept
from .run import Run
from .script import NoProgram, Script
from .unnoticed import forget_doctor, unnoticed
from .watching import watch

_DESCRIPTION = """Run a script of yours and tell which line cut, spoiled or leaked a gradient.
The script is not changed: its output, exit status and exceptions stay its own."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command. Raises what the script raised, so that Python ends as it does without."""
    options = _options(arguments)
    name, *args = options.program
    script = Script(name, args, as_module=options.module)
    teller = Teller(script, options.ask, json=options.json, html=options.html)
    error = None
    try:
        with ExitStack() as stack:
            stack.enter_context(unnoticed())
            teller.run = stack.enter_context(
                watch(
                    namespace=vars(script.module),
                    keep_compile=options.keep_compile,
                    most=options.max_ops,
                )
            )
            if options.keep_compile:
                stack.enter_context(kept(teller.run.recorder))
            stack.enter_context(teller.before_exit())
            script.run()
    except NoProgram as missing:
        teller.say(
            f"The program {name!r} was to be run. {missing} "
            "Give the path of a script, or -m and the name of a module."
        )
        sys.exit(missing.status)
    except BaseException as raised:
        error = _show(raised)
    _flush(sys.stdout)
    teller.tell()
    if error is not None:
        sys.excepthook = lambda *_: None  # it has been shown
        raise error


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m insidetorch.doctor", description=_DESCRIPTION, allow_abbrev=False
    )
    parser.add_argument("--json", metavar="FILE", help="write the findings to FILE")
    parser.add_argument("--html", metavar="FILE", help="write the report with a picture to FILE")
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


class Teller:
    """Says what a run was like when it has ended, on the stderr that the script began with.

    A failure in here is the doctor's, and no matter of the script's.
    """

    def __init__(
        self, script: Script, questions: list[str], *, json: str | None, html: str | None
    ) -> None:
        self.names = vars(script.module)
        self.questions = questions
        self.files = {  # by their whole paths: the script may go elsewhere
            option: Path(file).absolute()
            for option, file in (("--json", json), ("--html", html)) if file
        }  # fmt: skip
        self.run: Run | None = None
        self._stderr = sys.stderr
        self._process = os.getpid()

    def tell(self) -> None:
        """Answer the questions, print the report and write the file."""
        if os.getpid() != self._process:  # a child that the script has forked
            return
        try:
            for question in self.questions:
                self._ask(question)
            print(self.run.report(), file=self._stderr)
            for option, file in self.files.items():
                self._write(option, file)
        except Exception as error:
            self.say(f"The doctor itself has failed, and the script has not: {error!r}")
        _flush(self._stderr)

    @contextmanager
    def before_exit(self) -> Iterator[None]:
        """Tell also where the script ends itself by os._exit, after which nothing runs."""
        original = os._exit

        def leave(status):
            self.tell()
            original(status)

        os._exit = leave
        try:
            yield
        finally:
            os._exit = original

    def say(self, text: str) -> None:
        """Print one line of the doctor's own."""
        with suppress(OSError, ValueError):
            print(f"insidetorch.doctor: {text}", file=self._stderr)

    def _ask(self, question: str) -> None:
        try:
            self.run.ask(question, self.names)
        except Exception as error:
            self.say(f"cannot answer --ask {question!r}: {type(error).__name__}: {error}")

    def _write(self, option: str, file: Path) -> None:
        text = self.run.report().page() if option == "--html" else self._json()
        try:
            file.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            self.say(f"cannot write {option} {str(file)!r}: {error.strerror}")

    def _json(self) -> str:
        findings = [one.as_dict() for one in self.run.findings]
        content = {
            "findings": findings,
            "answers": list(self.run.answers),
            "unseen": list(self.run.unseen),
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _show(error: BaseException) -> BaseException:
    """Print an exception as Python would have, without the doctor's own frames.

    Returns what Python ends with then: a hook of the script's may exit by itself.
    """
    forget_doctor(error)
    if isinstance(error, SystemExit):
        return error
    _flush(sys.stdout)
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as leave:
        return leave
    return error


def _flush(stream: TextIO | None) -> None:
    """Write out what waits; a stream may be closed, and its reader gone."""
    with suppress(OSError, ValueError, AttributeError):
        stream.flush()


if __name__ == "__main__":
    main()
