"""Does course.py pick the right Python, and answer in sentences where it cannot go on?"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coursekit import __main__ as dispatch
from coursekit import environment, install, labcheck, launcher
from coursekit.environment import ROOT
from coursekit.errors import CourseError

BEFORE_INSTALLATION = ("arguments", "launcher", "environment", "install", "explain", "errors")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course folder with a space and non-Latin letters in its path, without an environment."""
    root = tmp_path / "курс 深い"
    root.mkdir()
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (root / "pyproject.toml").write_text(text, encoding="utf-8", newline="\n")
    return root


@pytest.fixture(scope="module")
def script():
    """The module course.py."""
    spec = importlib.util.spec_from_file_location("course", ROOT / "course.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that course.py would go on as."""
    commands: list[list[str]] = []

    def remember(command: list[str]) -> int:
        commands.append(command)
        return 7

    monkeypatch.setattr(launcher, "hand_over", remember)
    return commands


def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = "coursekit" if node.level else ""
            module = ".".join(filter(None, [package, node.module]))
            nested = {f"coursekit.{alias.name}" for alias in node.names}
            found |= nested if module == "coursekit" else {module}
    return found


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 9), (3, 10, 13)])
def test_an_old_python_is_told_what_to_install(script, version):
    problem = script.version_problem(version)
    assert f"This is Python {version[0]}.{version[1]}" in problem
    assert "needs Python 3.11 or newer" in problem
    assert "Install one from" in problem


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 13, 1), (4, 0, 0)])
def test_a_new_python_is_accepted(script, version):
    assert script.version_problem(version) is None


def test_the_oldest_python_is_the_one_of_pyproject(script):
    wanted = environment.settings_of(ROOT)["project"]["requires-python"]
    assert wanted == ">=" + ".".join(map(str, script.OLDEST))


def test_course_py_has_no_syntax_that_an_old_python_cannot_read():
    newer = (ast.JoinedStr, ast.NamedExpr, ast.Match, ast.AnnAssign, ast.AsyncFunctionDef)
    tree = ast.parse((ROOT / "course.py").read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.arg) and node.annotation]
    assert "__future__" not in imports_of(ROOT / "course.py")


@pytest.mark.parametrize("name", ["course.py", *BEFORE_INSTALLATION])
def test_what_runs_before_the_installation_needs_the_standard_library_only(name):
    file = ROOT / name if name == "course.py" else ROOT / "helpers" / "coursekit" / f"{name}.py"
    # labcheck loads what it looks for only while it looks: tests/test_labcheck.py.
    own = {f"coursekit.{each}" for each in (*BEFORE_INSTALLATION, "labcheck")} | {"insidetorch"}
    foreign = {each for each in imports_of(file) - own}
    assert {each.split(".")[0] for each in foreign} <= sys.stdlib_module_names


def test_course_py_alone_prints_an_overview_from_any_folder(tmp_path):
    run = subprocess.run(
        [sys.executable, ROOT / "course.py"], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert run.returncode == 0
    for command in ("lab", "lab --check", "reset", "grade", "test", "build"):
        assert f"python course.py {command}" in run.stdout


def test_course_py_without_its_helpers_says_so(tmp_path):
    shutil.copy(ROOT / "course.py", tmp_path)
    run = subprocess.run(
        [sys.executable, tmp_path / "course.py"], capture_output=True, encoding="utf-8"
    )
    assert run.returncode == 1
    assert re.fullmatch(
        r"course\.py was started in .*The folder helpers, .* is not there\. Get the whole .*\n",
        run.stderr,
    )


def test_ctrl_c_before_anything_is_loaded_ends_with_one_word(tmp_path):
    shutil.copy(ROOT / "course.py", tmp_path)
    launcher_file = tmp_path / "helpers" / "coursekit" / "launcher.py"
    launcher_file.parent.mkdir(parents=True)
    (launcher_file.parent / "__init__.py").touch()
    launcher_file.write_text("raise KeyboardInterrupt", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, tmp_path / "course.py"], capture_output=True, encoding="utf-8"
    )
    assert (run.returncode, run.stderr) == (130, "\nStopped.\n")


@pytest.mark.parametrize("command", ["lab", "reset", "grade", "test", "build"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        launcher.main([command, "--help"])
    assert ended.value.code == 0
    assert f"course.py {command}" in capsys.readouterr().out


def test_the_exit_status_of_the_command_is_passed_on(handed_over, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda root, *, extra: [])
    assert launcher.main(["lab", "01", "--port", "8890"]) == 7
    assert handed_over == [
        [sys.executable, "-P", "-m", "coursekit", "lab", "01", "--port", "8890"],
    ]


def test_handing_over_keeps_exit_status_folder_and_utf8(tmp_path):
    child = "import os, sys; print(os.getcwd(), sys.flags.utf8_mode); sys.exit(7)"
    code = (
        "import sys; from coursekit import launcher; "
        f"sys.exit(launcher.hand_over([sys.executable, '-c', {child!r}]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert (run.returncode, run.stdout.strip()) == (7, f"{ROOT} 1")


def test_build_gets_its_file_with_the_folder_that_the_author_is_in(
    handed_over, monkeypatch, tmp_path
):
    monkeypatch.setattr(environment, "missing", lambda root, *, extra: [])
    monkeypatch.chdir(tmp_path)
    launcher.main(["build", "--from", "01.ipynb"])
    assert handed_over[0][-2:] == ["--from", str(tmp_path / "01.ipynb")]


def test_the_running_python_is_used_where_it_has_everything(monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda root, *, extra: [])
    monkeypatch.setattr(install, "ensure", lambda root, **options: Path("the course's own"))
    assert launcher.choose_python(ROOT, extra="lab", gpu=False) == Path(sys.executable)


@pytest.mark.parametrize(
    ("command", "extra"), [("lab", "lab"), ("test", "author"), ("build", "author")]
)
def test_a_command_installs_no_more_than_it_needs(command, extra, handed_over, monkeypatch):
    asked = []

    def ensure(root: Path, **options: object) -> Path:
        asked.append(options)
        return Path("python")

    monkeypatch.setattr(environment, "missing", lambda root, *, extra: ["torch is not installed"])
    monkeypatch.setattr(install, "ensure", ensure)
    launcher.main([command, "--gpu"])
    assert asked == [{"extra": extra, "gpu": True, "lacks": ["torch is not installed"]}]
    assert handed_over == [["python", "-P", "-m", "coursekit", command]]


def test_ctrl_c_during_the_installation_ends_with_one_sentence(handed_over, monkeypatch, capsys):
    def interrupted(*_args: object, **_options: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(launcher, "choose_python", interrupted)
    assert launcher.main(["lab"]) == 130
    assert "it goes on where it stopped" in capsys.readouterr().err
    assert handed_over == []


def test_a_problem_is_told_without_a_traceback(handed_over, monkeypatch, capsys):
    def refused(*_args: object, **_options: object) -> Path:
        raise CourseError("No room. Make some. Run again.")

    monkeypatch.setattr(launcher, "choose_python", refused)
    assert launcher.main(["lab"]) == 1
    assert capsys.readouterr().err == "No room. Make some. Run again.\n"


@pytest.mark.parametrize(("argv", "given"), [([], "nothing"), (["mark"], "'mark'")])
def test_the_package_names_its_commands(argv, given, capsys):
    assert dispatch.main(argv) == 2
    said = capsys.readouterr().err
    assert f"asked for {given}. Its commands are lab, reset, grade, test, build, handout." in said


def test_the_package_hands_the_rest_to_the_command(monkeypatch):
    from coursekit import lab

    monkeypatch.setattr(lab, "main", lambda argv: len(argv))
    assert dispatch.main(["lab", "--port", "1"]) == 2


def test_ctrl_c_in_a_command_ends_with_one_word(monkeypatch, capsys):
    from coursekit import lab

    def interrupted(_argv: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(lab, "main", interrupted)
    assert dispatch.main(["lab"]) == 130
    assert capsys.readouterr().err == "\nStopped.\n"


@pytest.mark.parametrize(
    ("own", "remedy"),
    [(True, "Repeat `python course.py lab`: it repairs"), (False, "Install it there, or run")],
)
def test_a_damaged_package_is_told_and_repaired_by_the_next_run(
    own, remedy, course, monkeypatch, capsys
):
    from coursekit import lab

    def damaged(_argv: list[str]) -> int:
        raise ModuleNotFoundError("No module named 'jupyter_server'", name="jupyter_server")

    stamp = course / ".venv" / ".course.json"
    stamp.parent.mkdir()
    stamp.touch()
    monkeypatch.setattr(lab, "main", damaged)
    monkeypatch.setattr(environment, "ROOT", course)
    monkeypatch.setattr(sys, "prefix", str(stamp.parent) if own else "elsewhere")
    assert dispatch.main(["lab"]) == 1
    said = capsys.readouterr().err
    assert "`course.py lab` was to be run by" in said
    assert "damaged or missing (No module named 'jupyter_server'). " + remedy in said
    assert stamp.exists() == (not own)


def test_an_import_error_of_our_own_is_not_called_damage(monkeypatch):
    from coursekit import lab

    def wrong(_argv: list[str]) -> int:
        raise ImportError("cannot import name 'x'", name="coursekit.plan")

    monkeypatch.setattr(lab, "main", wrong)
    with pytest.raises(ImportError, match="cannot import name 'x'"):
        dispatch.main(["lab"])


def test_check_on_a_bare_machine_installs_nothing(course, handed_over, monkeypatch, capsys):
    monkeypatch.setattr(launcher, "ROOT", course)
    monkeypatch.setattr(environment, "missing", lambda root, *, extra: ["torch is not installed"])
    monkeypatch.setattr(install, "ensure", lambda root, **options: pytest.fail("it installs"))
    monkeypatch.setattr(labcheck, "ROOT", course)
    assert launcher.main(["lab", "--check"]) == 1
    assert "missing  insidetorch: insidetorch is the one of another" in capsys.readouterr().out
    assert handed_over == []
    assert sorted(path.name for path in course.iterdir()) == ["pyproject.toml"]


def test_check_is_answered_by_the_courses_own_python_where_it_can(course, handed_over, monkeypatch):
    monkeypatch.setattr(launcher, "ROOT", course)
    monkeypatch.setattr(environment, "missing", lambda root, *, extra: ["torch is not installed"])
    monkeypatch.setattr(environment, "venv_state", lambda root: "usable")
    assert launcher.main(["lab", "--check"]) == 7
    own = str(environment.venv_python(course))
    assert handed_over == [[own, "-P", str(course / "course.py"), "lab", "--check"]]


def test_what_course_py_has_loaded_does_not_count_as_installed(monkeypatch):
    assert environment.course_fault(ROOT) is None
    helpers = str(ROOT / "helpers")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != helpers])
    assert environment.course_fault(ROOT) == "insidetorch is not installed"


def test_a_package_without_its_files_is_damaged(course, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(course)])
    info = course / "jupyterlab-4.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: jupyterlab\nVersion: 4.5\n", encoding="utf-8")
    assert environment.fault_of("jupyterlab>=4.4") == "jupyterlab is damaged: its files are gone"
    (course / "jupyterlab").mkdir()
    assert environment.fault_of("jupyterlab>=4.4") == "jupyterlab is damaged: its files are gone"
    (course / "jupyterlab" / "__init__.py").touch()
    assert environment.fault_of("jupyterlab>=4.4") is None


def test_this_python_lacks_nothing_for_the_tests():
    assert environment.missing(ROOT, extra="author") == []


def test_a_package_of_another_checkout_does_not_count(course):
    assert [each for each in environment.missing(course, extra="lab")] == [
        f"insidetorch is the one of another folder "
        f"({importlib.util.find_spec('insidetorch').origin})"
    ]


def test_a_missing_and_an_old_package_are_named(course):
    text = (course / "pyproject.toml").read_text(encoding="utf-8")
    text = re.sub(r'"torch>=[^"]+"', '"torch>=99", "no-such-package"', text)
    (course / "pyproject.toml").write_text(text, encoding="utf-8")
    faults = environment.missing(course, extra="lab")
    assert faults[1] == "no-such-package is not installed"
    assert re.fullmatch(r"torch \S+ is not within >=99", faults[0])


def test_author_needs_include_the_learners():
    settings = environment.settings_of(ROOT)
    lab = environment.requirements(settings, extra="lab")
    author = environment.requirements(settings, extra="author")
    assert set(lab) < set(author)
    assert not [each for each in author if each.startswith("insidetorch")]
    for each in author:
        name, bounds = environment.split_requirement(each)
        assert isinstance(environment.satisfies("1.0", bounds), bool), name


@pytest.mark.parametrize(
    ("version", "bounds", "within"),
    [
        ("2.13.0+cpu", ">=2.13,<2.15", True),
        ("2.13.0+cpu", "==2.13.0", True),
        ("2.13", "==2.13.0", True),
        ("2.15.0a0+git1", ">=2.13,<2.15", False),
        ("2.9.1", ">=2.13", False),
        ("10.0", "<9", False),
        ("1.0", "", True),
    ],
)
def test_versions_compare_as_numbers(version, bounds, within):
    assert environment.satisfies(version, bounds) is within


def test_an_unknown_operator_is_refused():
    with pytest.raises(ValueError, match=r"The bound '~=2.1' .* Only >=, <, == .* Use one of them"):
        environment.satisfies("2.1", "~=2.1")


def test_a_stamp_covers_what_it_was_written_for(course):
    lab = environment.stamp_of(course, extra="lab", gpu=False)
    author = environment.stamp_of(course, extra="author", gpu=False)
    cuda = environment.stamp_of(course, extra="lab", gpu=True)
    assert environment.covers(lab, lab)
    assert environment.covers(author, lab) and not environment.covers(lab, author)
    assert environment.covers(cuda, lab) and not environment.covers(lab, cuda)
    assert not environment.covers({}, lab)


def test_a_stamp_ends_when_the_needs_change(course):
    before = environment.stamp_of(course, extra="lab", gpu=False)
    text = (course / "pyproject.toml").read_text(encoding="utf-8")
    (course / "pyproject.toml").write_text(
        text.replace("line-length = 100", "line-length = 99"), encoding="utf-8"
    )
    assert environment.stamp_of(course, extra="lab", gpu=False) == before
    (course / "pyproject.toml").write_text(
        text.replace("matplotlib>=3.9", "matplotlib>=3.10"), encoding="utf-8"
    )
    assert not environment.covers(before, environment.stamp_of(course, extra="lab", gpu=False))


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_a_broken_stamp_is_no_stamp(course, text):
    environment.venv_of(course).mkdir()
    (environment.venv_of(course) / ".course.json").write_text(text, encoding="utf-8")
    assert environment.read_stamp(course) == {}


def test_a_written_stamp_is_read_back(course):
    environment.venv_of(course).mkdir()
    stamp = environment.stamp_of(course, extra="lab", gpu=False)
    environment.write_stamp(course, stamp)
    assert environment.read_stamp(course) == stamp
    assert json.loads((course / ".venv" / ".course.json").read_bytes())["extra"] == "lab"


def test_conda_gets_the_bounds_of_pyproject():
    settings = environment.settings_of(ROOT)
    lines = (ROOT / "environment.yml").read_text(encoding="utf-8").splitlines()
    listed = {line.strip()[2:] for line in lines if line.strip().startswith("- ")}
    wanted = {
        each
        for each in environment.requirements(settings, extra="author")
        if environment.split_requirement(each)[0] != "torch"
    }
    assert wanted <= listed
    assert f"pytorch={environment.tested_torch(settings)}=cpu_*" in listed
    assert f"python{settings['project']['requires-python']}" in listed
    assert {"conda-forge", "-e ."} <= listed


def test_workflows_say_that_they_were_not_run_and_call_the_one_command():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# Not run"), path.name
        assert "- run: python course.py test" in text, path.name


def test_the_weekly_workflow_has_both_ends_of_the_torch_range():
    dependencies = environment.settings_of(ROOT)["project"]["dependencies"]
    bounds = dict(map(environment.split_requirement, dependencies))["torch"]
    oldest, newest = re.fullmatch(r">=(\S+),<(\S+)", bounds).groups()
    text = (ROOT / ".github" / "workflows" / "weekly.yml").read_text(encoding="utf-8")
    assert f'torch: ["=={oldest}.*", "<{newest}"]' in text


@pytest.mark.skipif(os.name == "nt", reason="the script is for Linux")
def test_ci_can_be_started_and_requires_the_browser():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[-2:] == ["export INSIDETORCH_BROWSER=required", "python3 course.py test"]


def test_the_text_of_the_course_has_the_whole_licence():
    text = (ROOT / "LICENSE-text").read_text(encoding="utf-8")
    assert text.startswith("Attribution 4.0 International")
    for section in range(1, 9):
        assert re.search(rf"^Section {section} --", text, re.MULTILINE), section
