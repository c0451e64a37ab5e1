"""Is the course's own environment made, completed and mended, and nothing else touched?"""

from __future__ import annotations

import errno
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import venv
from collections import namedtuple
from pathlib import Path

import pytest

from coursekit import environment, explain, install
from coursekit.environment import ROOT
from coursekit.errors import CourseError
from coursekit.explain import WAITING
from insidetorch import locking

TORCH = environment.tested_torch(environment.settings_of(ROOT))

# Stands in for pip: writes down what it was asked, and fails once with what it is told to say.
FAKE_PIP = """
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls.jsonl").open("a", encoding="utf-8") as file:
    asked = {"argv": sys.argv[1:], "prefix": sys.prefix, "user": os.environ["PIP_USER"]}
    file.write(json.dumps(asked) + "\\n")
fault = here / "fault.txt"
if fault.exists():
    sys.stderr.write(fault.read_text(encoding="utf-8"))
    fault.unlink()
    sys.exit(1)
"""


def make_venv(folder: Path, *, clear: bool = False) -> None:
    """A real virtual environment with the stand-in for pip."""
    venv.create(folder, clear=clear, with_pip=False)
    pip = fake_pip(folder)
    pip.mkdir()
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(FAKE_PIP, encoding="utf-8")


def fake_pip(folder: Path) -> Path:
    site = "Lib/site-packages" if os.name == "nt" else "lib/python{}.{}/site-packages"
    return folder / site.format(*sys.version_info) / "pip"


def pip_calls(root: Path) -> list[dict]:
    text = (fake_pip(root / ".venv") / "calls.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course folder without an environment, on a machine without a network."""
    root = tmp_path / "курс 深い"
    root.mkdir()
    shutil.copy(ROOT / "pyproject.toml", root)
    monkeypatch.setattr(install, "_make_venv", make_venv)
    monkeypatch.setattr(install, "answers", lambda url: False)
    # The stand-in for pip installs nothing.
    monkeypatch.setattr(environment, "venv_lacks", lambda root, *, extra: [])
    return root


def ensure(root: Path, *, extra: str = "lab", gpu: bool = False) -> Path:
    return install.ensure(root, extra=extra, gpu=gpu, lacks=["torch is not installed"])


def test_a_bare_folder_gets_the_tested_torch_and_then_the_rest(course, capsys):
    python = ensure(course)
    assert python == environment.venv_python(course)
    first, second = pip_calls(course)
    assert first["argv"] == ["install", f"torch=={TORCH}"]
    settings = environment.settings_of(course)
    assert second["argv"] == ["install", *environment.requirements(settings, extra="lab")]
    assert Path(first["prefix"]) == course / ".venv"
    assert first["user"] == "0"
    assert environment.read_stamp(course)["extra"] == "lab"
    said = capsys.readouterr().out
    assert said.startswith(f"The course makes its own Python environment in {course / '.venv'}\n")
    assert f"{sys.executable} stays as it is; it lacks what is needed (torch is" in said
    assert "About 200 MB to download, 1.5 GB on disk." in said
    assert ("pip may take a CUDA build: several GB" in said) == (sys.platform == "linux")


def test_python_finds_the_course_in_every_locale(course):
    (course / "helpers" / "insidetorch").mkdir(parents=True)
    (course / "helpers" / "insidetorch" / "__init__.py").touch()
    python = ensure(course)
    for settings in ({"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "1"}, {}):
        code = "import insidetorch; print(ascii(insidetorch.__file__))"
        run = subprocess.run(
            [python, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True
        )
        assert run.stdout.strip() == ascii(str(course / "helpers" / "insidetorch" / "__init__.py"))
    moved = course.rename(course.parent / "moved")
    python = environment.venv_python(moved)
    run = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True)
    assert "moved" in run.stdout


def test_an_environment_tells_what_it_lacks(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    make_venv(tmp_path / ".venv")
    lacks = environment.venv_lacks(tmp_path, extra="lab")
    assert lacks[0] == "torch is not installed"
    assert lacks[-1] == "insidetorch is not installed"
    environment.venv_python(tmp_path).unlink()
    shutil.copy(shutil.which("false") or sys.executable, environment.venv_python(tmp_path))
    assert environment.venv_lacks(tmp_path, extra="lab") == ["its Python fails"]


def test_a_damaged_environment_is_completed(course, monkeypatch, capsys):
    ensure(course)
    lacks = ["torch is damaged: its files are gone"]
    monkeypatch.setattr(environment, "venv_lacks", lambda root, *, extra: lacks)
    capsys.readouterr()
    ensure(course)
    assert len(pip_calls(course)) == 4
    said = capsys.readouterr().out
    assert f"completes its own Python environment in {course / '.venv'} (torch is damaged" in said
    assert "About 200 MB" in said


def test_a_small_completion_announces_no_download_of_200_mb(course, monkeypatch, capsys):
    ensure(course)
    lacks = ["jupytext is not installed"]
    monkeypatch.setattr(environment, "venv_lacks", lambda root, *, extra: lacks)
    capsys.readouterr()
    ensure(course, extra="author")
    said = capsys.readouterr().out
    assert "(jupytext is not installed)" in said
    assert "200 MB" not in said and "CUDA" not in said


def test_a_complete_environment_is_left_alone(course):
    ensure(course, extra="author")
    before = pip_calls(course)
    ensure(course, extra="lab")
    ensure(course, extra="author")
    assert pip_calls(course) == before


def test_an_author_completes_a_learners_environment(course):
    ensure(course, extra="lab")
    ensure(course, extra="author")
    assert "nbval==0.11.0" in pip_calls(course)[-1]["argv"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pip's default is the CPU build")
def test_the_cpu_index_is_used_where_it_answers_and_not_for_a_gpu(course, monkeypatch):
    monkeypatch.setattr(install, "answers", lambda url: True)
    ensure(course)
    for call in pip_calls(course):
        assert call["argv"][:3] == ["install", "--extra-index-url", install.CPU_INDEX]
    ensure(course, gpu=True)
    torch, rest = pip_calls(course)[2:]
    assert torch["argv"] == ["install", "--force-reinstall", f"torch=={TORCH}"]
    assert "--extra-index-url" not in rest["argv"]
    assert environment.read_stamp(course)["gpu"] is True


def test_a_run_that_failed_is_completed_by_the_next(course):
    make_venv(course / ".venv")
    (fake_pip(course / ".venv") / "fault.txt").write_text("ERROR: odd\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"could not be completed\. The lines above .*repeat"):
        ensure(course)
    assert environment.read_stamp(course) == {}
    ensure(course)
    assert environment.read_stamp(course)["extra"] == "lab"


def test_an_upgrade_that_failed_leaves_no_stamp_of_the_time_before(course):
    ensure(course, extra="lab")
    (fake_pip(course / ".venv") / "fault.txt").write_text("ERROR: odd\n", encoding="utf-8")
    with pytest.raises(CourseError, match="could not be completed"):
        ensure(course, extra="author")
    assert environment.read_stamp(course) == {}


def test_a_broken_environment_is_made_anew(course, capsys):
    ensure(course)
    python = environment.venv_python(course)
    python.unlink()
    python.write_text("not a program", encoding="utf-8")
    assert environment.venv_state(course) == "broken"
    ensure(course)
    assert environment.venv_state(course) == "usable"
    said = capsys.readouterr().out
    assert "The one that is there cannot be used, and is made anew. It said: " in said


def test_an_environment_without_pip_is_broken_and_says_so(course, capsys):
    venv.create(course / ".venv", with_pip=False)
    assert environment.venv_state(course) == "broken"
    ensure(course)
    assert "No module named 'pip'" in capsys.readouterr().out


def test_the_size_of_a_cuda_build_is_told_where_pip_may_take_it():
    small, large = 5 * explain.GIB, 50 * explain.GIB
    assert explain.size(gpu=False, unsure=False, free=small).endswith("1.5 GB on disk.")
    told = explain.size(gpu=False, unsure=True, free=small)
    assert "pip may take a CUDA build" in told and "; 5.0 GiB are free." in told
    assert "are free" not in explain.size(gpu=False, unsure=True, free=large)
    assert "Several GB to download" in explain.size(gpu=True, unsure=True, free=large)


def test_a_python_that_would_install_elsewhere_is_not_usable(course):
    ensure(course)
    (course / ".venv" / "pyvenv.cfg").unlink()
    assert environment.venv_state(course) == "foreign"


def test_empty_folders_of_an_interrupted_start_count_as_nothing(course):
    (course / ".venv" / "bin").mkdir(parents=True)
    assert environment.venv_state(course) == "absent"
    ensure(course)
    assert environment.venv_state(course) == "usable"


def test_a_folder_of_that_name_with_other_things_is_refused(course):
    (course / ".venv").mkdir()
    (course / ".venv" / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(CourseError, match=r"belongs into .*there already.* Give it another name"):
        ensure(course)
    assert (course / ".venv" / "thesis.txt").read_text(encoding="utf-8") == "mine"


def unfinished(folder: Path, name: str, *, record: str) -> Path:
    site = fake_pip(folder).parent
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{name}.py").write_text("x = 1\n", encoding="utf-8", newline="\n")
    (info / "METADATA").write_text("Name: x\n", encoding="utf-8")
    (info / "RECORD").write_text(record, encoding="utf-8")
    return info


def test_only_unfinished_packages_are_forgotten(tmp_path):
    whole = unfinished(tmp_path, "whole", record="whole.py,sha256=0,6\n\nwhole.pyc,,\n")
    cut = unfinished(tmp_path, "cut", record="cut.py,sha256=0,7000\n")
    part = unfinished(tmp_path, "part", record="part.py,,6\n../../../share/gone.js,,9\n")
    odd = unfinished(tmp_path, "odd", record="x\n")
    bare = unfinished(tmp_path, "bare", record="")
    (bare / "RECORD").unlink()
    assert install.forget_unfinished(tmp_path) == ["bare-1.0", "cut-1.0", "odd-1.0", "part-1.0"]
    assert whole.exists()
    assert not any(info.exists() for info in (cut, part, odd, bare))


def test_an_environment_without_a_stamp_is_searched_for_unfinished_packages(course):
    make_venv(course / ".venv")
    info = unfinished(course / ".venv", "cut", record="cut.py,sha256=0,7000\n")
    ensure(course)
    assert not info.exists()


def test_a_full_disk_is_told_before_anything_is_made(course, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(install.shutil, "disk_usage", lambda path: usage(9, 8, explain.GIB // 2))
    with pytest.raises(CourseError, match=r"needs about 2 GiB .*but 0\.5 GiB are free .*Make room"):
        ensure(course)
    assert not (course / ".venv").exists()


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_is_told_what_to_install(course, monkeypatch, module):
    find_spec = install.util.find_spec
    monkeypatch.setattr(
        install.util, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    with pytest.raises(CourseError, match=r"has no venv module.*apt install python3-venv.*again"):
        ensure(course)


def test_a_failed_venv_shows_what_it_said(tmp_path, capfd):
    (tmp_path / ".venv").write_text("a file", encoding="utf-8")
    with pytest.raises(CourseError, match="could not be completed"):
        install._make_venv(tmp_path / ".venv", clear=False)
    assert "Error" in capfd.readouterr().err


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_read_only_folder_is_told(course, monkeypatch, number):
    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CourseError, match=r"writes .* below .*not possible.*Copy the course"):
        ensure(course)


def test_a_disk_that_fills_up_is_told(course):
    error = OSError(errno.ENOSPC, "No space left on device")
    assert "Make room, and repeat" in explain.os_error(error, course)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("ERROR: [Errno 28] No space left on device", "Make room, and repeat the same command"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: No matching distribution found for torch==2.13.0",
            "Repeat the same command when you are online",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement torch==2.13.0 "
            "(from versions: none)\nERROR: No matching distribution found for torch==2.13.0",
            "offers no torch at all for Python",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement torch==2.13.0 "
            "(from versions: 2.2.0)\nERROR: No matching distribution found for torch==2.13.0",
            "has other versions only for Python",
        ),
        ("ERROR: Read-only file system: 'x'", "Copy the course into a folder"),
        ("ERROR: No matching distribution found for torchvision-x", "repeat the same command"),
    ],
)
def test_pips_last_lines_are_explained(said, sentence):
    assert sentence in explain.pip(said, torch="torch==2.13.0", venv=Path("course/.venv"))


def test_pips_stderr_is_shown_while_it_is_read(course, capsys):
    make_venv(course / ".venv")
    fault = fake_pip(course / ".venv") / "fault.txt"
    fault.write_text("WARNING: one\nERROR: No space left on device\n", encoding="utf-8")
    with pytest.raises(CourseError, match="Make room"):
        ensure(course)
    assert "WARNING: one\nERROR: No space left" in capsys.readouterr().err


def test_an_index_counts_only_when_it_answers():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/yes" else 404)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert install.answers(f"{address}/yes", seconds=30)
        assert not install.answers(f"{address}/no", seconds=30)
        server.shutdown()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert not install.answers(f"http://127.0.0.1:{silent.getsockname()[1]}/", seconds=0.2)


def test_an_index_whose_name_is_never_found_is_not_waited_for(monkeypatch):
    release, ended = threading.Event(), []

    def hang(*_args: object, **_options: object) -> None:
        release.wait(30)
        ended.append(True)
        raise OSError

    monkeypatch.setattr(install.urllib.request, "urlopen", hang)
    assert not install.answers("http://nowhere.invalid/", seconds=0.1)
    assert ended == []
    release.set()


HOLD = """
import sys
from pathlib import Path
from insidetorch import locking
with locking.only_one(Path(sys.argv[1]), waiting=sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(lock: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, lock, WAITING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


def test_a_second_run_waits_for_the_first(tmp_path):
    lock = tmp_path / "курс 深い" / "install.lock"
    with hold(lock) as first:
        assert first.stdout.readline() == "held\n"
        with hold(lock) as second:
            assert f"Another course.py (process {first.pid}) is" in second.stdout.readline()
            first.stdin.close()
            assert second.stdout.readline() == "held\n"
            second.stdin.close()
        assert (first.wait(), second.wait()) == (0, 0)


def test_a_lock_that_was_left_behind_is_taken_over(tmp_path, capsys):
    lock = tmp_path / "install.lock"
    with hold(lock) as first:
        assert first.stdout.readline() == "held\n"
        first.kill()
        first.wait()
        first.stdin.close()
    assert lock.read_text(encoding="utf-8") == f"{first.pid}\n"
    with locking.only_one(lock):
        assert lock.read_text(encoding="utf-8") == f"{os.getpid()}\n"
    assert capsys.readouterr().out == ""


def test_what_another_run_has_installed_meanwhile_is_not_installed_again(course, monkeypatch):
    only_one = locking.only_one

    def other_run_first(path: Path, *, waiting: str):
        make_venv(course / ".venv")
        stamp = environment.stamp_of(course, extra="lab", gpu=False)
        environment.write_stamp(course, stamp)
        return only_one(path, waiting=waiting)

    monkeypatch.setattr(locking, "only_one", other_run_first)
    ensure(course)
    assert not (fake_pip(course / ".venv") / "calls.jsonl").exists()
