"""Does `course.py lab` open the right notebook, and answer in sentences where it cannot?"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from coursekit import lab, machine
from coursekit.errors import CourseError

FIRST = "notebooks/01_storage_and_stride.ipynb"
SECOND = "notebooks/02_views.ipynb"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course folder with two notebooks, and a space and non-Latin letters in its path."""
    root = tmp_path / "курс 深い"
    (root / "notebooks" / ".ipynb_checkpoints").mkdir(parents=True)
    for name in (FIRST, SECOND, "notebooks/.ipynb_checkpoints/00_old.ipynb"):
        (root / name).write_text('{"cells": [], "metadata": {}, "nbformat": 4}', encoding="utf-8")
    return root


def remember(root: Path, text: str) -> Path:
    path = root / ".insidetorch" / "progress.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def test_the_first_visit_opens_the_first_chapter(course):
    assert lab.choose_notebook(course, name=None) == FIRST


def test_a_later_visit_opens_the_chapter_that_was_left(course):
    remember(course, '{"last": "02_views"}')
    assert lab.choose_notebook(course, name=None) == SECOND


@pytest.mark.parametrize("text", ['{"last": "09_gone"}', '{"last": 2}'])
def test_an_unknown_last_chapter_opens_the_first(course, text):
    remember(course, text)
    assert lab.choose_notebook(course, name=None) == FIRST


@pytest.mark.parametrize("text", ["{bro", "[]", "{}", "\x00"])
def test_broken_progress_is_told_and_left_as_it_is(course, text, capsys):
    path = remember(course, text)
    assert lab.choose_notebook(course, name=None) == FIRST
    said = capsys.readouterr().err
    assert f"read from {path}. It cannot be (" in said
    assert "It is left as it is" in said
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", ["02_views", "02", "views", SECOND, "02_views.ipynb"])
def test_a_notebook_is_found_by_its_name_or_a_part_of_it(course, name):
    assert lab.choose_notebook(course, name=name) == SECOND


def test_an_unknown_notebook_is_met_with_those_there_are(course):
    sentence = (
        r"^The notebook 'foo' was asked for\. No notebook has that name\. "
        r"Name one of these: 01_storage_and_stride, 02_views; later chapters are coming\.$"
    )
    with pytest.raises(CourseError, match=sentence):
        lab.choose_notebook(course, name="foo")


def test_an_exercise_that_is_not_there_is_refused(course):
    data = course / "exercises" / ".course" / "01.json"
    data.parent.mkdir(parents=True)
    data.write_text('{"exercises": {"1.1": {}, "1.2": {}}}', encoding="utf-8")
    with pytest.raises(CourseError, match=r"exercise 1\.9 was asked for.*one of these: 1\.1, 1\.2"):
        lab.choose_notebook(course, name="1.9")


@pytest.mark.parametrize("name", ["1.3", "exercises/01_storage_and_stride.ipynb", "exercises/01_"])
def test_exercises_are_opened_by_their_folder_or_an_exercise(course, name):
    exercises = course / "exercises" / "01_storage_and_stride.ipynb"
    exercises.parent.mkdir()
    exercises.write_text("{}", encoding="utf-8")
    assert lab.choose_notebook(course, name=name) == "exercises/01_storage_and_stride.ipynb"


def test_a_part_of_two_names_is_not_guessed(course):
    with pytest.raises(CourseError, match=r"'0' .*More than one notebook has .*01_stor.*02_views"):
        lab.choose_notebook(course, name="0")


def test_a_course_without_notebooks_says_how_to_get_them(tmp_path):
    with pytest.raises(CourseError, match=r"opened from .*There is none\. .*course\.py build"):
        lab.choose_notebook(tmp_path, name=None)


def test_a_taken_port_is_refused_with_a_free_one():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with pytest.raises(CourseError, match=rf"port {port} .*uses it.*Take --port \d+") as told:
            lab.refuse_taken_port(port)
    named = int(re.search(r"Take --port (\d+)", str(told.value))[1])
    lab.refuse_taken_port(named)
    assert named != port


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_number_that_is_no_port_is_refused(port):
    with pytest.raises(CourseError, match=rf"port {port} was .* from 1 to 65535\. Try --port"):
        lab.refuse_taken_port(port)


def test_jupyterlab_may_choose_a_port_unless_one_is_named(course):
    free = lab.options(course, FIRST, port=None, browser=False)
    fixed = lab.options(course, FIRST, port=8890, browser=True)
    assert not [each for each in free if "port" in each]
    assert {"--ServerApp.port=8890", "--ServerApp.port_retries=0"} <= set(fixed)
    assert f"--ServerApp.root_dir={course}" in free
    assert f"--LabApp.default_url=/lab/tree/{FIRST}" in free
    assert "--ServerApp.open_browser=False" in free
    assert "--LabApp.news_url=None" in free
    assert "--ServerApp.open_browser=True" in fixed


def test_a_machine_without_a_browser_is_recognised(monkeypatch):
    def none(*_args: object) -> None:
        raise machine.webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(machine.webbrowser, "get", none)
    assert not machine.has_browser()
    monkeypatch.setattr(machine.webbrowser, "get", lambda: object())
    assert machine.has_browser()


def test_a_refusal_ends_the_command_with_status_1(monkeypatch, capsys, course):
    monkeypatch.setattr(lab, "ROOT", course)
    assert lab.main(["foo"]) == 1
    assert "'foo'" in capsys.readouterr().err


def test_the_command_serves_what_was_asked(monkeypatch, course):
    asked = {}
    monkeypatch.setattr(lab, "ROOT", course)
    monkeypatch.setattr(lab, "refuse_taken_port", lambda port: asked.update(checked=port))
    monkeypatch.setattr(
        lab, "serve", lambda root, notebook, **options: asked.update(notebook=notebook, **options)
    )
    assert lab.main(["02", "--port", "8890", "--no-browser"]) == 0
    assert asked == {"checked": 8890, "notebook": SECOND, "port": 8890, "browser": False}


SERVE = """
import sys
from pathlib import Path
from coursekit import lab, machine
from coursekit.errors import CourseError
try:
    port = int(sys.argv[2]) if len(sys.argv) > 2 else None
    lab.serve(Path(sys.argv[1]), lab.choose_notebook(Path(sys.argv[1]), name=None), port=port,
              browser=False)
except CourseError as problem:
    sys.exit(str(problem))
"""


LOUD_KERNEL = """
import os, pathlib, sys
if "ipykernel_launcher" in sys.orig_argv:
    os.write(2, b"the kernel says\\n")
    pathlib.Path(os.environ["SPOKEN"]).touch()
"""


@contextmanager
def serving(root: Path, *more: str, **settings: str) -> Iterator[subprocess.Popen]:
    """A JupyterLab whose own folders are kept out of the home of whoever runs the tests."""
    own = {
        f"JUPYTER_{name}_DIR": str(root / "jupyter" / name.lower())
        for name in ("CONFIG", "DATA", "RUNTIME")
    }
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, root, *more],
        env={**os.environ, **own, **settings, "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        try:
            yield server
        finally:
            server.kill()


def address_of(server: subprocess.Popen) -> str:
    assert server.stdout.readline() == "Starting JupyterLab ...\n"
    return re.fullmatch(r"JupyterLab is at (http://\S+)\n", server.stdout.readline())[1]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that stands for Ctrl+C alone")
def test_jupyterlab_opens_the_notebook_and_one_ctrl_c_ends_it(course):
    with serving(course) as server:
        address = address_of(server)
        assert f"/lab/tree/{FIRST}?token=" in address
        with urllib.request.urlopen(address, timeout=120) as page:
            assert page.status == 200 and "JupyterLab" in page.read().decode()
        server.send_signal(signal.SIGINT)
        said, chatter = server.communicate(timeout=300)
    assert server.returncode == 0
    assert "Come back with: python course.py lab" in said
    assert chatter == ""
    log = (course / ".insidetorch" / "jupyterlab.log").read_text(encoding="utf-8")
    assert "Serving notebooks from local directory" in log


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that stands for Ctrl+C alone")
def test_a_kernels_messages_stay_out_of_the_terminal(course):
    (course / "notebooks" / "sitecustomize.py").write_text(LOUD_KERNEL, encoding="utf-8")
    spoken = course / "spoken"
    settings = {"PYTHONPATH": str(course / "notebooks"), "SPOKEN": str(spoken)}
    with serving(course, **settings) as server:
        address = urlsplit(address_of(server))
        api = f"http://{address.netloc}/api/kernels"
        made = urllib.request.Request(f"{api}?{address.query}", method="POST")
        urllib.request.urlopen(made, timeout=120).close()
        while not spoken.exists():
            pass
        server.send_signal(signal.SIGINT)
        chatter = server.communicate(timeout=300)[1]
    assert chatter == ""
    log = (course / ".insidetorch" / "jupyterlab.log").read_text(encoding="utf-8")
    assert "the kernel says" in log


def test_a_second_jupyterlab_names_the_first_and_keeps_its_log(course):
    log = course / ".insidetorch" / "jupyterlab.log"
    with serving(course) as first:
        address = address_of(first)
        with urllib.request.urlopen(address, timeout=120):
            before = log.read_text(encoding="utf-8")
        with serving(course) as second:
            assert second.stdout.readline() == "Starting JupyterLab ...\n"
            told = re.fullmatch(
                r"JupyterLab of this course is already open at (\S+)\n", second.stdout.readline()
            )[1]
            assert urlsplit(told).netloc.split(":")[1] == urlsplit(address).netloc.split(":")[1]
            assert urlsplit(told).query == urlsplit(address).query
            assert second.stdout.readline() == "This is a second one.\n"
            assert second.stdout.readline().startswith("JupyterLab is at ")
    assert log.read_text(encoding="utf-8").startswith(before)


def test_a_jupyterlab_that_does_not_start_names_its_log(course):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with serving(course, str(other.getsockname()[1])) as server:
            said = server.communicate(timeout=300)[1]
    assert server.returncode == 1
    log = course / ".insidetorch" / "jupyterlab.log"
    assert f"It has stopped at once. The reason is in {log}." in said
    assert "already in use" in log.read_text(encoding="utf-8")
