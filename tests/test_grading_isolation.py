"""What is kept from an answer: the grader, the machine, the teacher's files, other answers.

Each answer tries something and is right unless that works: where it is held off, it keeps its
points. The same attempts work where answers run as the grader's own user, so they could.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_grading_course import STORAGE, solutions, submission, write_course

from coursekit.errors import CourseError
from coursekit.grading.chapters import read_chapters
from coursekit.grading.grade import grade
from coursekit.grading.runs.choosing import choose
from coursekit.grading.runs.isolation import ALL
from coursekit.grading.runs.limits import MOST_PROCESSES, Limits
from coursekit.grading.runs.run import run_nbval
from coursekit.grading.runs.starters import Plain, Warm
from coursekit.grading.verdicts import NOT_YET, RIGHT, Verdict

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these ways")

RIGHT_ANSWER = solutions(STORAGE)["1.1"]
TRIES = """
import ctypes, os, signal, socket, subprocess, time
from pathlib import Path
folder = Path.cwd().parent
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
try:
    {attempt}
except OSError:
    pass
else:
    raise SystemExit("it got through")
{answer}
"""
APART, USER = {"namespace", "user"}, {"user"}
# What is tried, and where it is held off. {secret} is only the teacher's to read, {open} is
# everybody's; {victim} is a process of the teacher's, {port} one that listens on this machine.
ATTEMPTS = {
    "reads a file of the teacher's": ("Path({secret!r}).read_text()", APART),
    "reads what everybody may read": ("Path({open!r}).read_text()", {"namespace"}),
    "writes beside the teacher's files": ("Path({secret!r}).with_name('x').write_text('')", APART),
    "sees the grader's processes": ("Path('/proc/{victim}/status').read_text()", {"namespace"}),
    "reads the grader's environment": ("Path('/proc/{victim}/environ').read_bytes()", APART),
    "stops a process of the teacher's": ("os.kill({victim}, signal.SIGCONT)", APART),
    "goes into the network": ("socket.create_connection(('127.0.0.1', {port}), 5)", APART),
    "writes among the packages": (
        "import insidetorch\nPath(insidetorch.__file__).with_name('left').write_text('')",
        APART,
    ),
    "writes where the kernel's sockets are": (
        "(folder / 'shared' / 'left').write_text('')",
        APART,
    ),
    "becomes somebody else": ("os.setgroups([])\nos.setuid(os.getuid() + 1)", APART),
}
# These would harm the machine if they were let through.
NOT_AS_YOURSELF = {
    "mounts": ("call('mount', b'none', b'/tmp', b'tmpfs', 0, None)", APART),
    "mounts in a namespace of its own": (
        # MS_REMOUNT | MS_BIND without MS_RDONLY: what is read-only would not be so any more.
        "import insidetorch\nplace = Path(insidetorch.__file__).parent\n"
        "call('unshare', 0x10020000)\ncall('mount', None, bytes(place), None, 4128, None)\n"
        "(place / 'left').write_text('')",
        APART,
    ),
    "starts processes without end": (
        "for _ in range(2000):\n    if not os.fork():\n        time.sleep(900)",
        APART,
    ),
    "fills the disk": (
        "for i in range(40):\n    Path(f'big {i}').write_bytes(bytes(10 << 20))",
        {"namespace"},
    ),
    "ends every process": (
        "os.kill(-1, signal.SIGKILL)\nraise OSError('nobody was there')",
        APART,
    ),
}


# What an honest answer may do, and does where it runs as the grader's user.
HONEST = {
    "a command": "import subprocess\nget_ipython().run_cell('!echo hello').raise_error()",
    "a socket of its own": (
        "server = socket.create_server(('localhost', 0))\n"
        "socket.create_connection(server.getsockname(), 5).close()\nserver.close()"
    ),
    "who it is": (
        "import getpass, pwd\npwd.getpwuid(os.getuid())\nPath.cwd().owner()\ngetpass.getuser()"
    ),
    "files": "import tempfile\ntempfile.TemporaryFile().write(b'x')\nPath('/tmp/x').touch()",
    "threads": "import threading\nthreading.Thread(target=print).start()",
    "processes": (
        "import multiprocessing, sys\nsubprocess.run([sys.executable, '-c', ''], check=True)\n"
        "worker = multiprocessing.get_context('fork').Process(target=print)\n"
        "worker.start()\nworker.join()\nassert worker.exitcode == 0"
    ),
    "torch's loader": (
        "import torch\nloader = torch.utils.data.DataLoader(range(4), num_workers=2)\n"
        "assert len(list(loader)) == 4"
    ),
}
HONEST_START = "import os, socket, subprocess\nfrom pathlib import Path\n"


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    found = Warm()
    yield found
    found.close()


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return write_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def targets(tmp_path) -> Iterator[dict[str, object]]:
    """What an answer could be after."""
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == os.getuid() and place not in (Path("/"), Path.home()):
            place.chmod(place.stat().st_mode | 0o055)
    secret, open_to_all = tmp_path / "secret", tmp_path / "open"
    for path, mode in ((secret, 0o600), (open_to_all, 0o644)):
        path.write_text("x", encoding="utf-8")
        path.chmod(mode)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        subprocess.Popen(["sleep", "60"]) as victim,
    ):
        yield {
            "secret": str(secret),
            "open": str(open_to_all),
            "victim": victim.pid,
            "port": server.getsockname()[1],
        }
        victim.kill()


def verdict_on(answer: str, course: Path, warm: Warm, isolation: str) -> Verdict:
    if warm.allowed[isolation]:
        pytest.skip(warm.allowed[isolation])
    warm.isolation = isolation
    limits = Limits(cell=20, notebook=60)
    graded = grade(
        json.dumps(submission(a1=answer, a2="", a3="")).encode(),
        file="a.ipynb",
        chapters=read_chapters(course),
        problems_of=lambda _: {},
        run_notebook=lambda notebook: run_nbval(notebook, limits=limits, starter=warm),
    )
    return graded.verdicts[0]


@pytest.mark.parametrize("isolation", ALL)
@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_is_held_off_where_it_is_said_to_be(course, warm, targets, name, isolation):
    attempt, held_off = ATTEMPTS[name]
    if isolation == "process" and os.geteuid() != 0 and name == "becomes somebody else":
        pytest.skip("nobody but root can do it")
    answer = TRIES.format(
        attempt="\n    ".join(attempt.format(**targets).splitlines()), answer=RIGHT_ANSWER
    )
    found = verdict_on(answer, course, warm, isolation)
    wanted = RIGHT if isolation in held_off else NOT_YET
    assert found.outcome == wanted, found.why
    assert found.outcome == RIGHT or "it got through" in found.why


@pytest.mark.parametrize("isolation", ["namespace", "user"])
@pytest.mark.parametrize("name", NOT_AS_YOURSELF)
def test_a_machine_outlives_what_it_would_not_if_answers_ran_as_you(course, warm, name, isolation):
    attempt, held_off = NOT_AS_YOURSELF[name]
    if isolation not in held_off:
        pytest.skip("it is not said to be held off")
    answer = TRIES.format(attempt="\n    ".join(attempt.splitlines()), answer=RIGHT_ANSWER)
    found = verdict_on(answer, course, warm, isolation)
    assert found.outcome == RIGHT, found.why


@pytest.mark.parametrize("isolation", ALL)
def test_honest_work_is_held_off_nowhere(course, warm, isolation):
    answer = HONEST_START + "\n".join(HONEST.values()) + f"\n{RIGHT_ANSWER}"
    found = verdict_on(answer, course, warm, isolation)
    assert found.outcome == RIGHT, found.why


def test_each_run_has_a_user_of_its_own_where_root_can_choose_one(course, warm):
    if os.geteuid() != 0:
        pytest.skip("nobody but root can choose")
    seen = set()
    for _ in range(2):
        answer = f"import os\nraise ValueError(os.getuid())\n{RIGHT_ANSWER}"
        seen.add(verdict_on(answer, course, warm, "namespace").why)
    assert len(seen) == 2 and all("ValueError: 19" in why for why in seen)


KEYS = {"x86_64": (248, 250), "aarch64": (217, 219)}


@pytest.mark.skipif(platform.machine() not in KEYS, reason="no numbers of these calls are known")
def test_the_keys_of_the_teacher_s_session_are_not_an_answer_s(course, tmp_path):
    add_key, keyctl = KEYS[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    before = libc.syscall(keyctl, 0, -3, 0)  # KEYCTL_GET_KEYRING_ID of the session
    if libc.syscall(add_key, b"user", b"course-secret", b"hunter2", 7, -3) < 0:
        pytest.skip("this machine keeps no keys")
    searches = "import ctypes\nlibc = ctypes.CDLL(None)\n"
    searches += f"found = libc.syscall({keyctl}, 10, -3, b'user', b'course-secret', 0)\n"
    searches += f"assert found < 0, 'it has found a key'\n{RIGHT_ANSWER}"
    started = Warm()
    try:
        assert before and verdict_on(searches, course, started, "namespace").outcome == RIGHT
        found = verdict_on(searches, course, started, "process")
        assert "it has found a key" in found.why
    finally:
        started.close()
        libc.syscall(keyctl, 9, libc.syscall(keyctl, 10, -3, b"user", b"course-secret", 0), -3)


def test_a_course_within_python_s_own_folder_is_hidden(course, warm, monkeypatch):
    place = Path(os.__file__).with_name("this.py")
    looks = f"from pathlib import Path\nassert not Path({str(place)!r}).read_text()\n"
    assert verdict_on(looks + RIGHT_ANSWER, course, warm, "namespace").outcome == NOT_YET
    monkeypatch.setattr(warm, "hidden", [place])
    assert verdict_on(looks + RIGHT_ANSWER, course, warm, "namespace").outcome == RIGHT


def test_a_long_path_of_temporary_files_is_no_hindrance(course, tmp_path, monkeypatch, warm):
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert verdict_on(RIGHT_ANSWER, course, warm, "process").outcome == RIGHT


def test_memory_that_processes_share_is_counted_and_limited(course, warm, monkeypatch):
    monkeypatch.setattr("coursekit.grading.runs.run.MEMORY", 1 << 30)
    takes = "import mmap\ntaken = [mmap.mmap(-1, 64 << 20) for _ in range(24)]\n"
    takes += "for one in taken:\n    one.write(bytes(64 << 20))\nwhile True: pass\n"
    found = verdict_on(takes + RIGHT_ANSWER, course, warm, "process")
    assert found.why == "it took more than 1 GB of memory"


def test_a_run_with_too_many_processes_is_ended(course, warm):
    starts = f"import subprocess\nfor _ in range({MOST_PROCESSES} + 9):\n"
    answer = f"{starts}    subprocess.Popen(['sleep', '900'])\nwhile True: pass\n{RIGHT_ANSWER}"
    found = verdict_on(answer, course, warm, "process")
    assert found.why == f"it started more than {MOST_PROCESSES} processes"


@pytest.mark.parametrize("isolation", ALL)
def test_nothing_that_an_answer_leaves_is_there_for_the_next_one(course, warm, isolation):
    leaves = "from pathlib import Path\nfor place in ('left', Path.home() / 'left'):\n"
    leaves += "    assert not Path(place).exists()\n    Path(place).write_text('')\n"
    for _ in range(2):
        assert verdict_on(leaves + RIGHT_ANSWER, course, warm, isolation).outcome == RIGHT


@pytest.mark.parametrize("isolation", ALL)
def test_the_teacher_s_environment_is_not_an_answer_s(course, warm, isolation, monkeypatch):
    monkeypatch.setenv("COURSE_SECRET", "1")
    looks = "import os\nfrom pathlib import Path\n"
    looks += "assert 'COURSE_SECRET' not in os.environ\n"
    looks += "try:\n    given = Path('/proc/self/environ').read_bytes()\n"
    looks += "except PermissionError:\n    given = b''\n"
    looks += "assert b'COURSE_SECRET' not in given\n"
    looks += f"assert Path.home() != Path({str(Path.home())!r})\n"
    found = verdict_on(looks + RIGHT_ANSWER, course, warm, isolation)
    assert found.outcome == RIGHT, found.why


@pytest.mark.parametrize("isolation", ALL)
def test_the_warm_process_is_started_again_when_something_has_killed_it(course, warm, isolation):
    assert verdict_on(RIGHT_ANSWER, course, warm, isolation).outcome == RIGHT
    warm.parent.kill()
    warm.parent.wait(10)
    assert verdict_on(RIGHT_ANSWER, course, warm, isolation).outcome == RIGHT


def test_the_best_isolation_that_there_is_is_chosen():
    found = choose()
    try:
        assert isinstance(found, Warm)
        names = list(ALL)
        better = names[: names.index(found.isolation)]
        assert all(found.allowed[name] for name in better) and not found.allowed[found.isolation]
    finally:
        found.close()


def test_an_isolation_that_cannot_be_had_is_refused(monkeypatch):
    with pytest.raises(CourseError, match=r"'chroot'\. There is no such one"):
        choose("chroot")
    monkeypatch.setattr(
        "coursekit.grading.runs.choosing._best",
        lambda: (Plain(), dict.fromkeys(ALL, "not here") | {"process": ""}),
    )
    with pytest.raises(CourseError, match=r"cannot be had here: not here\. Leave"):
        choose("namespace")
    assert isinstance(choose("process"), Plain)


def test_without_a_warm_process_answers_are_graded_in_new_ones(monkeypatch):
    def fails(self):
        raise OSError("no memory")

    monkeypatch.setattr(Warm, "_load", fails)
    assert isinstance(choose(), Plain)
    with pytest.raises(CourseError, match=r"did not start \(no memory\)"):
        choose("namespace")
