"""Runs scripts under the doctor's command, each in a process of its own that shares the imports.

A fork is a tenth of the price of an interpreter that imports torch. Where there is none, the
command itself is run.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import score_cases
import torch
import torch.nn.parallel
import torch.nn.utils.parametrizations
import torch.utils.checkpoint

from insidetorch.doctor import __main__ as command

_SECONDS = 180


def answer(home: str, case: dict, _command: list[str], _timeout: float) -> dict:
    """What the doctor says of `home/main.py`, in the form of `score_cases.answer`."""
    asked = score_cases.expression(case.get("ask") or "")
    found = findings_of(Path(home) / "main.py", ask=asked)
    findings, broken = found if isinstance(found, tuple) else (found, None)
    return {"findings": [score_cases.clean(one) for one in findings], "broken": broken, "rest": {}}


def findings_of(script: Path, *, ask: str | None = None):
    """The findings of a script; with what went wrong where there are none to read."""
    report = Path(os.environ.get("TMPDIR", "/tmp")) / f"doctor-{os.getpid()}-{script.stem}.json"
    page = report.with_suffix(".html")
    asked = ["--ask", ask] if ask else []
    arguments = ["--json", str(report), "--html", str(page), *asked, str(script)]
    log = report.with_suffix(".log")
    report.unlink(missing_ok=True)
    if hasattr(os, "fork"):
        _in_fork(arguments, script.parent, log)
    else:
        _in_process(arguments, script.parent, log)
    try:
        content = json.loads(report.read_text(encoding="utf-8"))
        drawn = page.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        return [], f"{error}: {log.read_text(encoding='utf-8', errors='replace')[-400:]}"
    finally:
        for file in (report, page, log):
            file.unlink(missing_ok=True)
    failures = [text for text in content["unseen"] if "could not" in text or "failed" in text]
    assert drawn.startswith("<!doctype html>")
    return (content["findings"], "; ".join(failures)) if failures else content["findings"]


def _in_fork(arguments: list[str], folder: Path, log: Path) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout = sys.stderr = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False))
        os.chdir(folder)
        warnings.resetwarnings()  # the tests' own filter makes errors of them
        warnings.simplefilter("default")
        torch.set_num_threads(1)
        command.main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _in_process(arguments: list[str], folder: Path, log: Path) -> None:
    line = [sys.executable, "-m", "insidetorch.doctor", *arguments]
    with log.open("wb") as out:
        subprocess.run(line, cwd=folder, stdout=out, stderr=out, timeout=_SECONDS, check=False)
