"""Does a script behave under the doctor as it does without it, and does the report come?"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from insidetorch.doctor.__main__ import main
from insidetorch.doctor.script import NoProgram, Script

REPORT = re.compile(r"^(Gradient doctor: |insidetorch\.doctor: )", re.MULTILINE)
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and fork")
STEP = """
import torch
w = torch.ones(2, requires_grad=True)
(w * 2).sum().backward()
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it wrote; `report` is what the doctor added to stderr."""

    status: int
    out: str
    err: str
    report: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a space and non-Latin letters in its name."""
    made = tmp_path / "мой тренинг 深い"
    made.mkdir()
    return made


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).lstrip(), encoding="utf-8", newline="\n")


def start(folder: Path, *command: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8", start_new_session=os.name == "posix",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": ""},
    )  # fmt: skip


def end(process: subprocess.Popen, given: str = "") -> Ended:
    out, err = process.communicate(given, timeout=60)
    found = REPORT.search(err)
    at = found.start() if found else len(err)
    return Ended(process.returncode, out, err[:at], err[at:])


def both(
    folder: Path, *program: str, options: tuple[str, ...] = (), given: str = ""
) -> tuple[Ended, Ended]:
    """Run a program without the doctor and with it, side by side."""
    plain = start(folder, *program)
    watched = start(folder, "-m", "insidetorch.doctor", *options, *program)
    return end(plain, given), end(watched, given)


def same(plain: Ended, watched: Ended) -> None:
    """The script's own output, errors and status are equal, and a report comes after them."""
    assert watched.out == plain.out
    assert watched.err == plain.err
    assert watched.status == plain.status
    assert watched.report.startswith("Gradient doctor: ")


def test_a_script_finds_the_names_and_arguments_that_python_gives(folder: Path):
    write(folder, "part/beside.py", "here = 'beside'")
    write(
        folder,
        "part/train.py",
        """
        # -*- coding: utf-8 -*-
        import argparse, atexit, sys
        import beside
        parser = argparse.ArgumentParser()
        parser.add_argument("--json")
        parser.add_argument("-m", action="store_true")
        print(parser.parse_args(), sys.argv, sys.path[0], beside.here)
        print(__name__, __file__, __spec__, __package__, __cached__, __doc__, type(__loader__))
        print(sys.modules["__main__"].__dict__ is globals(), type(__builtins__))
        print(input("a line? "), sys.stdin.read())
        atexit.register(print, "at the end")
        import torch
        w = torch.ones(2, requires_grad=True)
        (w * 2).sum().backward()
        sys.exit(7)
        """,
    )
    plain, watched = both(
        folder, "part/train.py", "--json", "of the script", "-m", given="first\nsecond\nthird"
    )
    same(plain, watched)
    assert plain.status == 7
    assert "json='of the script'" in watched.out
    assert watched.out.endswith("at the end\n")


def test_a_module_and_a_folder_run_as_python_runs_them(folder: Path):
    write(folder, "package/__init__.py", "print('imported', __name__)")
    write(folder, "package/part.py", "value = 3")
    shown = (
        "print(__name__, __file__, __package__, __spec__ and __spec__.name, sys.argv, sys.path[0])"
    )
    write(folder, "package/train.py", f"import sys\nfrom .part import value\n{shown}")
    write(folder, "package/__main__.py", f"import sys\n{shown}\nraise SystemExit('a text')")
    same(*both(folder, "-m", "package.train", "one", "--two"))
    plain, watched = both(folder, "package", "one")
    assert (watched.out, watched.status) == (plain.out, plain.status)
    assert watched.err + watched.report.splitlines()[-1] == plain.err.strip() == "a text"
    plain, watched = both(folder, "-m", "package")
    assert (watched.out, watched.status) == (plain.out, 1)


def test_an_uncaught_exception_looks_as_it_does_without_the_doctor(folder: Path):
    write(
        folder,
        "train.py",
        """
        import threading, warnings
        import torch

        def forward(w):
            try:
                return w @ torch.ones(3)
            except RuntimeError as error:
                error.add_note("a note")
                raise ValueError("the sizes differ") from error

        def backward(w):
            loss = (w * w).sum()
            loss.backward()
            loss.backward()

        w = torch.ones(2, requires_grad=True)
        warnings.warn("of the script")
        for _ in range(2):
            (w * 2).grad
        (w * 2).grad
        thread = threading.Thread(target=forward, args=(w,), name="worker")
        thread.start()
        thread.join()
        try:
            backward(w)
        except RuntimeError:
            forward(w)
        """,
    )
    plain, watched = both(folder, "train.py")
    same(plain, watched)
    assert watched.status == 1
    assert watched.err.count("UserWarning: The .grad attribute") == 2
    assert watched.err.count("a note") == 2


def test_a_hook_of_the_script_s_shows_the_exception_and_may_exit(folder: Path):
    hook = "sys.excepthook = lambda kind, *_: (print(kind.__name__), sys.exit(4))\n"
    write(folder, "train.py", f"import sys\n{STEP}{hook}1 / 0\n")
    plain, watched = both(folder, "train.py")
    same(plain, watched)
    assert (plain.status, plain.out) == (4, "ZeroDivisionError\n")


def test_a_program_that_cannot_be_run_is_named_and_python_s_status_stays(folder: Path):
    write(folder, "bad.py", "x = (\n")
    write(folder, "empty/notes.txt", "")
    write(folder, "broken/__init__.py", "import no_such_package")
    write(folder, "broken/train.py", "")
    same(*both(folder, "bad.py"))
    for program, reason in (
        (("nowhere.py",), "cannot be read: No such file or directory"),
        (("empty",), "There is no __main__.py in"),
        (("-m", "no_such_module"), "No module named no_such_module"),
    ):
        plain, watched = both(folder, *program)
        assert watched.status == plain.status != 0
        assert reason in watched.report
        assert "Traceback" not in watched.report
    plain, watched = both(folder, "-m", "broken.train")
    assert watched.status == plain.status == 1
    assert watched.err.splitlines()[-1] == plain.err.splitlines()[-1]
    assert "Gradient doctor: " in watched.report


def test_worker_processes_do_their_work_and_do_not_report(folder: Path):
    write(
        folder,
        "train.py",
        """
        import multiprocessing, os, sys
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        def work(queue, n):
            w = torch.full((2,), float(n), requires_grad=True)
            (w * w).sum().backward()
            queue.put(w.grad.tolist())

        if __name__ == "__main__":
            data = DataLoader(TensorDataset(torch.arange(4.0)), num_workers=2)
            print([batch.item() for (batch,) in data])
            for how in ("spawn", "fork"):
                if how in multiprocessing.get_all_start_methods():
                    context = multiprocessing.get_context(how)
                    queue = context.Queue()
                    process = context.Process(target=work, args=(queue, 3))
                    process.start()
                    print(how, queue.get())
                    process.join()
                    print(process.exitcode)
            sys.stdout.flush()
            if hasattr(os, "fork"):
                child = os.fork()  # and the child runs to the end of the script
                if child:
                    os.waitpid(child, 0)
        """,
    )
    plain, watched = both(folder, "train.py")
    same(plain, watched)
    assert watched.report.count("Gradient doctor: ") == 1


@POSIX
def test_ctrl_c_ends_the_script_by_its_signal_and_the_report_comes(folder: Path):
    last = "print('ready', flush=True)\nsys.stdin.read()\n"
    write(folder, "train.py", STEP + "import atexit, sys\natexit.register(print, 'end')\n" + last)
    ended = []
    for command in (("train.py",), ("-m", "insidetorch.doctor", "train.py")):
        process = start(folder, *command)
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        ended.append(end(process))
    for one in ended:  # which line it was is a matter of chance
        assert (one.status, one.out) == (-signal.SIGINT, "end\n")
        assert one.err.splitlines()[-1] == "KeyboardInterrupt"
        assert "insidetorch" not in one.err
    assert ended[1].report.startswith("Gradient doctor: ")


@POSIX
def test_a_reader_that_has_gone_costs_neither_the_status_nor_the_report(folder: Path):
    write(folder, "train.py", STEP + "input()\nprint('too late')\n")
    ended = []
    for command in (("train.py",), ("-m", "insidetorch.doctor", "train.py")):
        with start(folder, *command) as process:
            process.stdout.close()
            process.stdin.write("\n")
            process.stdin.close()
            err = process.stderr.read()
        ended.append((process.returncode, err))
    assert ended[0][0] == ended[1][0] == 120
    assert "BrokenPipeError" in ended[1][1]
    assert "Gradient doctor: " in ended[1][1]


def test_a_script_that_ends_itself_at_once_is_reported_on_first(folder: Path):
    write(folder, "train.py", STEP + "import os\nprint('lost', end='')\nos._exit(9)\n")
    plain, watched = both(folder, "train.py")
    same(plain, watched)
    assert (plain.status, plain.out) == (9, "")


def test_compiled_functions_run_as_they_are_written_unless_they_are_kept(folder: Path):
    write(
        folder,
        "train.py",
        """
        import torch
        step = torch.compile(lambda x: (x * 2).sum(), backend="eager")
        w = torch.ones(2, requires_grad=True)
        loss = step(w)
        print(type(step), loss.item())
        loss.backward()
        print(w.grad)
        """,
    )
    plain, watched = both(folder, "train.py")
    assert (watched.out.split()[-2:], watched.status) == (plain.out.split()[-2:], 0)
    assert "torch.compile was left out" in watched.report
    kept = end(start(folder, "-m", "insidetorch.doctor", "--keep-compile", "train.py"))
    assert (kept.out, kept.status) == (plain.out, 0)
    assert "torch.compile was left out" not in kept.report


def test_questions_files_and_limits_are_answered_for(folder: Path):
    write(
        folder,
        "train.py",
        """
        import os
        import torch
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        w = torch.ones(2, requires_grad=True)
        for _ in range(100):
            loss = (w.detach() * 2 * w).sum()
            loss.backward()
        """,
    )
    options = ("--max-ops", "50", "--ask", "w.grad", "--ask", "nobody.grad", "--ask", "w +")
    watched = end(
        start(folder, "-m", "insidetorch.doctor", *options, "--json", "found.json", "train.py")
    )
    assert watched.status == 0
    assert "calls are forgotten: see --max-ops" in watched.report
    assert "cannot answer --ask 'nobody.grad': NameError" in watched.report
    assert "cannot answer --ask 'w +': ValueError: 'w +' is no" in watched.report
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert set(found) == {"findings", "answers", "unseen"}
    assert any("--max-ops" in one for one in found["unseen"])
    nowhere = str(folder / "no" / "found.json")
    (folder / "elsewhere").rmdir()
    watched = end(start(folder, "-m", "insidetorch.doctor", "--json", nowhere, "train.py"))
    assert watched.status == 0
    assert "Gradient doctor: " in watched.report
    assert f"cannot write --json {nowhere!r}: No such file or directory" in watched.report


def test_objects_of_the_user_s_that_answer_badly_do_no_harm(folder: Path):
    write(
        folder,
        "train.py",
        """
        import torch
        from torch import nn
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        class Bad:
            def __repr__(self): raise RuntimeError("no repr")
            def __eq__(self, other): raise RuntimeError("no eq")
            def __hash__(self): raise RuntimeError("no hash")
            def __bool__(self): raise RuntimeError("no bool")

        class Tensor(torch.Tensor):
            def __repr__(self, **_): raise RuntimeError("no repr")

        class Module(nn.Linear):
            def __repr__(self): raise RuntimeError("no repr")
            def __eq__(self, other): raise RuntimeError("no eq")
            __hash__ = nn.Module.__hash__

        class Functions(TorchFunctionMode):
            calls = 0
            def __torch_function__(self, f, types, args=(), kwargs=None):
                Functions.calls += 1
                return f(*args, **(kwargs or {}))

        class Operators(TorchDispatchMode):
            calls = 0
            def __torch_dispatch__(self, f, types, args=(), kwargs=None):
                Operators.calls += 1
                return f(*args, **(kwargs or {}))

        bad, model = Bad(), Module(2, 2)
        model.bad = bad
        t = torch.ones(2).as_subclass(Tensor)
        with Functions():
            loss = model(t).sum()
            loss.backward()
        with Operators():
            model(t).sum().backward()
        print(Functions.calls, Operators.calls > 0, model.weight.grad.as_subclass(torch.Tensor))
        torch.set_default_device("meta")
        print(torch.ones(2).device, nn.Linear(2, 2)(torch.ones(2)).sum().backward())
        torch.set_default_device(None)
        print(torch.ones(2).device)
        raise TypeError(torch.ones(2))
        """,
    )
    plain, watched = both(folder, "train.py")
    same(plain, watched)
    assert "failed" not in watched.report
    assert "could not be written down" not in watched.report


def test_gradients_copies_and_saved_models_are_the_same_to_the_bit(folder: Path):
    write(
        folder,
        "train.py",
        """
        import copy, hashlib, io
        import torch
        from torch import nn

        torch.manual_seed(0)
        models = {
            "mlp": (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2)), (4, 8)),
            "conv": (
                nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()),
                (2, 3, 8, 8),
            ),
            "transformer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
        }
        for name, (model, size) in models.items():
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(size)).square().mean().backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            digest = hashlib.sha256()
            for p in model.parameters():
                digest.update(p.grad.numpy().tobytes())
                digest.update(p.detach().numpy().tobytes())
            print(name, digest.hexdigest())
            for what in (model, copy.deepcopy(model), model.state_dict(), optimizer.state_dict()):
                file = io.BytesIO()
                torch.save(what, file)
                print(hashlib.sha256(file.getvalue()).hexdigest())
        print(torch.rand(3))
        """,
    )
    plain, watched = both(folder, "train.py")
    same(plain, watched)
    assert watched.out.count("\n") == 16


def test_a_failure_of_the_doctor_s_own_leaves_the_script_s_status(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    write(folder, "train.py", "import sys\nprint('ran')\nsys.exit(5)")
    monkeypatch.setattr("insidetorch.doctor.run.examine", lambda _patient: 1 / 0)
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit) as left:
        main([str(folder / "train.py")])
    assert left.value.code == 5
    out, err = capsys.readouterr()
    assert out == "ran\n"
    assert err.splitlines() == [
        "insidetorch.doctor: The doctor itself has failed, and the script has not: "
        "ZeroDivisionError('division by zero')"
    ]


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_limit_that_keeps_nothing_is_refused(count: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main([f"--max-ops={count}", "train.py"])
    assert "At least one is needed. Give a whole number above 0" in capsys.readouterr().err


def test_a_command_without_a_program_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main([])
    assert "which script? Give its path, or -m and a module's name" in capsys.readouterr().err


def test_a_script_that_is_not_there_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(NoProgram, match=r"cannot be read: No such file or directory\."):
        Script(str(folder / "nowhere.py"), [], as_module=False).run()
    with pytest.raises(NoProgram, match=r"There is no __main__\.py in"):
        Script(str(folder), [], as_module=False).run()
