"""Building: the same bytes each time, nothing lost, every difference told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from coursekit import build, execute, files, notebook
from coursekit.build import main
from coursekit.cells import Cell, cell_ids, parse, text_of
from coursekit.errors import CourseError
from coursekit.plan import make_plan
from coursekit.sources import Lesson, find_lessons
from coursekit.tables import load_symptoms

NAME = "01_storage_and_stride"
HEAD = "# %% [markdown]\n# # Storage and stride\n#\n# What a tensor is made of.\n"
TEXT = (
    HEAD
    + """
# %%
batch = [[1, 2], [3, 4]]
print(len(batch))
print(batch[0])
batch

# %% tags=["measured"]
import time

time.perf_counter()

# %%

# %% [markdown] tags=["symptoms"]
# *(symptom table)*
"""
)
SYMPTOMS = """
[[row]]
chapter = 1
symptom = "One row is slow | to sum"
question = "Which stride does it have?"
tool = "layout_of(t)"
causes = ["a transpose", "a slice"]
"""


def course(root: Path, text: str = TEXT, *, symptoms: str = SYMPTOMS) -> Lesson:
    lesson = Lesson(root, NAME)
    lesson.text.parent.mkdir(parents=True)
    lesson.text.write_text(text, encoding="utf-8", newline="\n")
    (root / "source" / "claims.toml").write_text("", encoding="utf-8")
    (root / "source" / "symptoms.toml").write_text(symptoms, encoding="utf-8")
    return lesson


@pytest.fixture
def fast(monkeypatch):
    """Number the cells as if they had run, without a kernel."""

    def number_cells(planned, *, folder):
        ran = nbformat.from_dict(planned)
        execute.tidy(ran)
        return ran

    monkeypatch.setattr(build, "execute", number_cells)


def edit(lesson: Lesson, change) -> None:
    """Do what JupyterLab does: change the notebook's JSON and save it."""
    content = json.loads(lesson.notebook.read_text(encoding="utf-8"))
    change(content)
    lesson.notebook.write_text(json.dumps(content), encoding="utf-8")


def rewrite_first_code(content) -> None:
    content["cells"][1]["source"] = ["print(5)"]
    content["cells"][1]["metadata"] = {"trusted": True, "collapsed": False, "execution": {}}


def source_of(number, text):
    """An edit that gives a cell this text."""
    return lambda content: content["cells"][number].update(source=text)


def paste_a_picture(content) -> None:
    content["cells"][0]["attachments"] = {"a.png": {"image/png": "aaaa"}}


def test_building_twice_gives_the_same_bytes_also_in_a_folder_with_spaces(tmp_path, capsys):
    lesson = course(tmp_path / "курс о тензорах")
    assert main([], root=lesson.root) == 0
    first = lesson.notebook.read_bytes()
    assert main(["storage"], root=lesson.root) == 0
    assert lesson.notebook.read_bytes() == first
    out = capsys.readouterr().out
    assert "built; 3 code cells, 0 claims covered, relaxed: measured 1" in out
    assert "measured: line 13, cell 'import time'" in out

    built = json.loads(first)
    assert [c.get("execution_count") for c in built["cells"]] == [None, 1, 2, None, None]
    outputs = built["cells"][1]["outputs"]
    assert [output["output_type"] for output in outputs] == ["stream", "execute_result"]
    assert outputs[0]["text"] == ["2\n", "[1, 2]\n"]
    assert "version" not in built["metadata"]["language_info"]
    assert "| One row is slow \\| to sum |" in built["cells"][4]["source"][2]
    assert main(["--check"], root=lesson.root) == 0
    assert "1 notebooks as their lessons give them; 3 code cells" in capsys.readouterr().out


def test_a_failing_cell_is_named_and_the_old_notebook_stays(tmp_path, capsys, fast, monkeypatch):
    lesson = course(tmp_path, HEAD + "\n# %%\nrows = 3\n")
    assert main([], root=tmp_path) == 0
    before = lesson.notebook.read_bytes()
    lesson.text.write_text(HEAD + "\n# %%\nrows = 3\n\n# %%\nrows / 0\n", encoding="utf-8")
    monkeypatch.setattr(build, "execute", execute.execute)
    assert main([], root=tmp_path) == 1
    assert lesson.notebook.read_bytes() == before
    told = capsys.readouterr().err
    assert told.startswith(f"{NAME}: the cell 'rows / 0' (source/{NAME}/lesson.py, line 10) raised")
    assert "ZeroDivisionError: division by zero" in told


def test_a_cell_that_ends_the_kernel_or_takes_too_long_is_named(tmp_path, monkeypatch):
    cells = [
        nbformat.v4.new_code_cell("1"),
        nbformat.v4.new_code_cell("import os\nos._exit(1)"),
    ]
    with pytest.raises(execute.CellFailed, match="ended the kernel") as failed:
        execute.execute(nbformat.v4.new_notebook(cells=cells), folder=tmp_path)
    assert failed.value.index == 1
    monkeypatch.setattr(execute, "CELL_SECONDS", 1)
    cells = [nbformat.v4.new_code_cell("while True: pass")]
    with pytest.raises(execute.CellFailed, match="ran for more than 1 s"):
        execute.execute(nbformat.v4.new_notebook(cells=cells), folder=tmp_path)


def test_a_widget_leaves_its_text_and_no_model(tmp_path):
    source = (
        'from IPython.display import display\ndisplay({"text/plain": "rows 3", '
        '"application/vnd.jupyter.widget-view+json": {"model_id": "a"}}, raw=True)'
    )
    planned = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    ran = execute.execute(planned, folder=tmp_path)
    assert ran.cells[0].outputs[0].data == {"text/plain": "rows 3"}
    assert "widgets" not in ran.metadata


def test_neighbouring_pieces_of_a_stream_are_joined():
    pieces = [("stdout", "1"), ("stdout", "2\n"), ("stderr", "no"), ("stdout", "3")]
    outputs = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in pieces]
    joined = execute.merged_streams(outputs)
    assert [output.text for output in joined] == ["12\n", "no", "3"]


def test_a_measured_cell_keeps_its_output_only_while_its_source_is_the_same():
    def measured(source: str, shown: str, tags: list[str]):
        output = nbformat.v4.new_output("stream", text=shown)
        cell = nbformat.v4.new_code_cell(
            source, id="a", outputs=[output], metadata={"tags": tags}, execution_count=1
        )
        return nbformat.v4.new_notebook(cells=[cell])

    old = measured("plot()", "old", ["measured"])
    for source, tags, kept in [
        ("plot()", ["measured"], "old"),
        ("plot(9)", ["measured"], "new"),
        ("plot()", [], "new"),
    ]:
        new = measured(source, "new", tags)
        execute.keep_measured(new, old)
        assert new.cells[0].outputs[0].text == kept


def test_a_new_cell_does_not_rename_the_others():
    cells = [Cell("code", "a"), Cell("code", "b"), Cell("code", "b"), Cell("markdown", "b")]
    ids = cell_ids(cells)
    assert len(set(ids)) == 4
    assert cell_ids([Cell("code", "new"), *cells])[1:] == ids
    assert ids[2] == f"{ids[1]}-2"


def test_build_refuses_a_notebook_that_was_edited_and_force_keeps_it(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, rewrite_first_code)
    before = lesson.notebook.read_bytes()
    assert main([], root=tmp_path) == 1
    assert f"--from notebooks/{NAME}.ipynb`, or build with --force" in capsys.readouterr().err
    assert lesson.notebook.read_bytes() == before
    assert main(["--force"], root=tmp_path) == 0
    copy = tmp_path / ".insidetorch" / "backup" / f"{NAME}-1.ipynb"
    assert f"kept as .insidetorch/backup/{NAME}-1.ipynb" in capsys.readouterr().out
    assert copy.read_bytes() == before
    assert "print(5)" not in lesson.notebook.read_text(encoding="utf-8")


def test_build_refuses_a_notebook_with_a_pasted_picture(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, paste_a_picture)
    before = lesson.notebook.read_bytes()
    assert main([], root=tmp_path) == 1
    assert lesson.notebook.read_bytes() == before
    assert main(["--check"], root=tmp_path) == 1
    told = capsys.readouterr()
    assert "It was edited after it was built" in told.err
    assert "cell '# Storage and stride': a picture was pasted into it." in told.out
    assert main(["--force"], root=tmp_path) == 0
    copy = tmp_path / ".insidetorch" / "backup" / f"{NAME}-1.ipynb"
    assert copy.read_bytes() == before


TABLE_EDIT = "| One row is slow | to sum |"


def test_an_edit_in_a_table_is_told_with_the_file_that_it_comes_from(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, source_of(4, TABLE_EDIT))
    before = lesson.text.read_bytes(), lesson.notebook.read_bytes()
    said = (
        f"Its cell '{TABLE_EDIT}' is not as source/symptoms.toml gives it, and the build writes "
        "that cell from there. Make the change in that file, then build with --force, which keeps "
        "the notebook as a backup.\n"
    )
    assert main([], root=tmp_path) == 1
    assert capsys.readouterr().err == f"Asked to build notebooks/{NAME}.ipynb. {said}"
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 1
    assert capsys.readouterr().err == f"Asked to bring {lesson.notebook} back. {said}"
    assert (lesson.text.read_bytes(), lesson.notebook.read_bytes()) == before
    assert main(["--force"], root=tmp_path) == 0
    assert main([], root=tmp_path) == 0


def test_a_table_that_its_file_gives_by_now_is_no_edit(tmp_path, fast):
    lesson = course(tmp_path)
    symptoms = tmp_path / "source" / "symptoms.toml"
    main([], root=tmp_path)
    edit(
        lesson,
        lambda content: content["cells"][4].update(
            source="".join(content["cells"][4]["source"]).replace("One row", "A row")
        ),
    )
    symptoms.write_text(SYMPTOMS.replace("One row", "A row"), encoding="utf-8")
    assert main([], root=tmp_path) == 0
    assert not (tmp_path / ".insidetorch").exists()


def test_a_table_that_is_out_of_date_is_no_edit_to_bring_back(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    (tmp_path / "source" / "symptoms.toml").write_text("", encoding="utf-8")
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 0
    assert "nothing to bring back" in capsys.readouterr().out
    assert main([], root=tmp_path) == 0


def test_from_brings_the_rest_back_and_tells_that_a_table_stays(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, source_of(4, TABLE_EDIT))
    edit(lesson, source_of(1, "print(5)"))
    assert main([], root=tmp_path) == 1
    assert "Bring it back with" in capsys.readouterr().err
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 0
    assert f"  Not brought back: Its cell '{TABLE_EDIT}' is not" in capsys.readouterr().out
    assert "print(5)" in lesson.text.read_text(encoding="utf-8")
    assert main([], root=tmp_path) == 1
    assert "is not as source/symptoms.toml gives it" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["a folder", "a folder, forced"])
def test_a_folder_in_the_place_of_the_notebook_is_told(tmp_path, capsys, fast, place):
    lesson = course(tmp_path)
    lesson.notebook.mkdir(parents=True)
    assert main(["--force"] if "forced" in place else [], root=tmp_path) == 1
    assert "A folder has that name. Move it away" in capsys.readouterr().err
    assert lesson.notebook.is_dir()


INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
from coursekit.build import main

def press():
    while not (root / "notebooks" / "started").exists():
        time.sleep(0.01)
    signal.raise_signal(signal.SIGINT) if os.name == "nt" else os.kill(os.getpid(), signal.SIGINT)

root = Path(sys.argv[1])
threading.Thread(target=press, daemon=True).start()
sys.exit(main([], root=root))
"""
WAITING = """
# %%
from pathlib import Path

Path("started").touch()
while True:
    pass
"""


def test_ctrl_c_during_a_build_leaves_the_old_notebook_and_says_one_sentence(tmp_path, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    before = lesson.notebook.read_bytes()
    lesson.text.write_text(HEAD + WAITING, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.stderr == "\nStopped: what is not told above as done is as it was.\n"
    assert done.returncode == 130
    assert lesson.notebook.read_bytes() == before
    assert sorted(path.name for path in lesson.notebook.parent.iterdir()) == [
        lesson.notebook.name,
        "started",
        "symptom_table.html",
    ]


def test_build_refuses_an_edited_notebook_before_it_runs_anything(tmp_path, fast, monkeypatch):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, rewrite_first_code)
    monkeypatch.setattr(build, "execute", None)
    assert main([], root=tmp_path) == 1


def test_an_edit_saved_while_the_lesson_runs_is_not_lost(tmp_path, capsys, fast, monkeypatch):
    lesson = course(tmp_path)
    main([], root=tmp_path)

    def save_meanwhile(planned, *, folder):
        edit(lesson, rewrite_first_code)
        return planned

    monkeypatch.setattr(build, "execute", save_meanwhile)
    assert main([], root=tmp_path) == 1
    assert "It was edited after it was built" in capsys.readouterr().err
    assert "print(5)" in lesson.notebook.read_text(encoding="utf-8")


def test_build_refuses_to_replace_what_it_cannot_read(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    lesson.notebook.parent.mkdir()
    lesson.notebook.write_text("my notes", encoding="utf-8")
    assert main([], root=tmp_path) == 1
    assert lesson.notebook.read_text(encoding="utf-8") == "my notes"
    assert main(["--force"], root=tmp_path) == 0
    copy = tmp_path / ".insidetorch" / "backup" / f"{NAME}-1.ipynb"
    assert copy.read_text(encoding="utf-8") == "my notes"


def test_running_a_notebook_and_an_empty_last_cell_are_no_edits(tmp_path, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)

    def run_in_lab(content) -> None:
        content["cells"][1]["execution_count"] = 40
        content["metadata"]["language_info"]["version"] = "3.12.1"
        content["cells"].append({**content["cells"][3], "id": "last"})

    edit(lesson, run_in_lab)
    assert main([], root=tmp_path) == 0
    assert not (tmp_path / ".insidetorch").exists()


def test_build_then_from_gives_the_same_lesson(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    before = lesson.text.read_bytes()
    main([], root=tmp_path)
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 0
    assert lesson.text.read_bytes() == before
    assert "nothing to bring back" in capsys.readouterr().out
    # The cells alone give the text too, not only the shortcut above.
    cells = parse(TEXT, where="here")
    assert text_of(cells) == TEXT


def test_the_text_is_as_the_formatter_leaves_it():
    define = "def row(t):\n    return t[0]"
    cells = [
        *(Cell("code", source) for source in ["import torch", define, define, "row(t)"]),
        Cell("markdown", "Text"),
        Cell("code", f"# Why.\n{define}", ("claim:8",)),
        Cell("markdown", "Text"),
        Cell("code", "%matplotlib inline"),
    ]
    text = text_of(cells)
    formatted = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "-"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert formatted.stdout == text


def test_from_brings_an_edit_back_and_keeps_the_old_text(tmp_path, fast):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    for number, line in enumerate(["print(5)", "print(6)"], 1):
        before = lesson.text.read_bytes()
        edit(lesson, rewrite_first_code)
        edit(lesson, lambda content, line=line: content["cells"][1].update(source=line))
        assert main(["--from", str(lesson.notebook)], root=tmp_path) == 0
        text = lesson.text.read_text(encoding="utf-8")
        assert f"\n# %%\n{line}\n\n# %% tags" in text
        assert "trusted" not in text and "*(symptom table)*" in text
        copy = tmp_path / ".insidetorch" / "backup" / f"{NAME}-lesson-{number}.py"
        assert copy.read_bytes() == before
    # What is in the text is safe, so the build goes on.
    assert main([], root=tmp_path) == 0
    assert main(["--check"], root=tmp_path) == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c["metadata"].pop("insidetorch"), "does not say which lesson"),
        (lambda c: c["cells"][1].update(cell_type="raw"), "has a raw cell"),
        (paste_a_picture, "A picture was pasted into its cell '# Storage and stride'"),
        (source_of(1, "a = '''\n# %% b\n'''"), "Its line '# %% b' would begin"),
        (source_of(1, "# %%\na = 1"), "Its line '# %%' would begin a cell there"),
        (source_of(0, "# A\n\n%% b"), "Asked to write the cell '# A' .* Its line '%% b' would"),
        (source_of(0, "# A\n\n# %%time"), "cell '# A.* Read back, the text gives another cell"),
        (source_of(1, "a = '\u2028'"), r"The cell .* holds the character U\+2028"),
        (source_of(1, "a = 1\n\x0c\nb = 2"), r"The cell 'a = 1' holds the character U\+000C"),
        (source_of(1, "a = '\ud800'"), r"holds the character U\+D800"),
        (lambda c: c["cells"][1]["metadata"].update(tags=["mine"]), "has the tag 'mine'"),
        (lambda c: c.pop("cells"), "does not hold a notebook"),
    ],
)
def test_from_refuses_what_a_lesson_cannot_hold(tmp_path, fast, change, told):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    before = lesson.text.read_bytes()
    edit(lesson, change)
    with pytest.raises(CourseError, match=told):
        build.bring_back(lesson.notebook, root=tmp_path)
    assert lesson.text.read_bytes() == before


@pytest.mark.parametrize("source", ["rows = 3\n", "rows = 3\n\n  \n", "rows = 3\r\n", "rows = 3  "])
def test_white_space_at_the_end_of_a_cell_and_its_kind_of_line_end_say_nothing(
    tmp_path, capsys, fast, source
):
    lesson = course(tmp_path, HEAD + "\n# %%\nrows = 3\n")
    main([], root=tmp_path)
    edit(lesson, source_of(1, source))
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 0
    assert "nothing to bring back" in capsys.readouterr().out
    assert main([], root=tmp_path) == 0
    edit(lesson, source_of(1, f"wide = 1\r\n{source}"))
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 0
    assert lesson.text.read_bytes().endswith(b"# %%\nwide = 1\nrows = 3\n")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda c: c["cells"][1]["metadata"].update(tags=[3]), "cells/1/metadata/tags/0"),
        (lambda c: c["cells"][1]["metadata"].update(tags=3), "cells/1/metadata/tags"),
        (lambda c: c["cells"][1].update(source=3), "cells/1/source"),
        (lambda c: c["cells"][1].update(outputs=[{}]), "cells/1/outputs/0"),
        (lambda c: c["cells"][1].update(metadata=None), "cells/1/metadata"),
    ],
)
def test_a_notebook_that_breaks_the_format_is_told_with_the_place(
    tmp_path, capsys, fast, change, place
):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, change)
    before = lesson.notebook.read_bytes()
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 1
    assert f"At {place} it is not as a notebook must be" in capsys.readouterr().err
    assert main([], root=tmp_path) == 1
    assert main(["--check"], root=tmp_path) == 1
    assert lesson.notebook.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(cells=3),
        lambda c: c.update(nbformat=3),
        lambda c: c.pop("nbformat"),
        lambda c: c.update(metadata=None),
        lambda c: c["cells"].append(None),
        lambda c: c["cells"][1].update(outputs=None),
    ],
)
def test_what_is_no_notebook_is_told(tmp_path, capsys, fast, change):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, change)
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 1
    assert "of the current format" in (told := capsys.readouterr().err) or "At metadata it" in told


@pytest.mark.parametrize("ours", [None, [1], "x", {"source": 3}, {"source": None, "has": 3}])
def test_metadata_that_the_build_did_not_write_are_told(tmp_path, capsys, fast, ours):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    edit(lesson, lambda content: content["metadata"].update(insidetorch=ours))
    assert main(["--check"], root=tmp_path) == 1
    assert "its metadata differ from what the build writes" in capsys.readouterr().out
    assert main(["--from", str(lesson.notebook)], root=tmp_path) == 1
    assert "does not say which lesson" in capsys.readouterr().err


def test_from_names_a_file_that_is_not_there(tmp_path, capsys):
    course(tmp_path)
    assert main(["--from", str(tmp_path / "no.ipynb")], root=tmp_path) == 1
    assert "That cannot be done" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda c: c["cells"][1].update(source="print(5)"),
            "cell 'print(5)': it stands in the notebook only (cell 2).",
        ),
        (
            lambda c: c["cells"].pop(1),
            "cell 'batch = [[1, 2], [3, 4]]': it stands in the text only (line 7).",
        ),
        (lambda c: c["cells"].reverse(), "its cells stand in another order"),
        (lambda c: c["cells"][1].update(id="other"), "its id is not"),
        (lambda c: c["cells"][1]["metadata"].update(tags=["measured"]), "gives it the tags []"),
        (lambda c: c["cells"][1]["metadata"].update(trusted=True), "metadata differ in trusted"),
        (lambda c: c["cells"][1].update(execution_count=None), "its number is None, not 1"),
        (lambda c: c["cells"][2].update(execution_count=7), "its number is 7, not 2"),
        (lambda c: c["metadata"].update(title="x"), "its metadata differ"),
        (lambda c: c["metadata"]["insidetorch"].update(digest="0"), "its metadata differ"),
        (lambda c: c.update(nbformat_minor=4), "its nbformat_minor is not 5"),
        (
            lambda c: c["cells"][1]["outputs"].append(
                {"output_type": "stream", "name": "stderr", "text": ["UserWarning"]}
            ),
            "wrote 'UserWarning' to stderr",
        ),
    ],
)
def test_check_tells_each_difference(tmp_path, capsys, fast, change, told):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    assert main(["--check"], root=tmp_path) == 0
    edit(lesson, change)
    capsys.readouterr()
    assert main(["--check"], root=tmp_path) == 1
    out = capsys.readouterr().out
    assert told in out and out.startswith(f"notebooks/{NAME}.ipynb")
    assert "You only read, ran and saved a notebook? `git checkout notebooks` puts" in out


def test_check_tells_that_a_folded_cell_stands_open(tmp_path, capsys, fast):
    lesson = course(tmp_path, HEAD + '\n# %%\npredict = print\n\n# %%\npredict("5.1")\n')
    main([], root=tmp_path)
    edit(lesson, lambda c: c["cells"][2]["metadata"]["jupyter"].update(source_hidden=False))
    capsys.readouterr()
    assert main(["--check"], root=tmp_path) == 1
    assert "its metadata differ in jupyter." in capsys.readouterr().out


def test_check_tells_a_missing_notebook_and_one_without_a_lesson(tmp_path, capsys, fast):
    lesson = course(tmp_path)
    assert main(["--check"], root=tmp_path) == 1
    assert f"notebooks/{NAME}.ipynb is missing" in capsys.readouterr().out
    main([], root=tmp_path)
    gone = lesson.notebook.with_name("09_gone.ipynb")
    gone.write_bytes(lesson.notebook.read_bytes().replace(b"01_storage", b"09_storage"))
    lesson.notebook.with_name("Untitled.ipynb").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert main(["--check"], root=tmp_path) == 1
    assert capsys.readouterr().out.startswith("notebooks/09_gone.ipynb has no lesson")


def test_has_holds_what_the_building_machine_had(tmp_path, fast, monkeypatch):
    lesson = course(tmp_path, HEAD + '\n# %% tags=["needs:compiler", "needs:gpu"]\nrows = 3\n')
    monkeypatch.setattr(build.machine, "has", lambda need: need == "gpu")
    main([], root=tmp_path)
    stored = notebook.read_notebook(lesson.notebook, name="it")
    assert stored.metadata.insidetorch.has == ["gpu"]
    monkeypatch.setattr(build.machine, "has", lambda need: False)
    assert main(["--check"], root=tmp_path) == 0


def test_a_name_that_fits_no_lesson_or_two_is_refused(tmp_path, capsys):
    course(tmp_path)
    other = tmp_path / "source" / "02_storage_views"
    other.mkdir()
    (other / "lesson.py").write_text(TEXT, encoding="utf-8")
    assert [lesson.name for lesson in find_lessons(tmp_path, ["02"])] == ["02_storage_views"]
    with pytest.raises(CourseError, match="fits none of the lessons"):
        find_lessons(tmp_path, ["graph"])
    with pytest.raises(CourseError, match=f"That fits {NAME}, 02_storage_views of"):
        find_lessons(tmp_path, ["storage"])
    assert main(["graph"], root=tmp_path) == 1
    assert "Name one of: 01_storage_and_stride, 02_storage_views" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ('# %% tags=["hide"]\na = 1', "has the tag 'hide'. The build does not know it"),
        ('# %% [markdown] tags=["measured"]\n# a', "That tag is for code cells"),
        ('# %% tags=["claims"]\na = 1', "That tag is for markdown cells"),
        ('# %% [markdown] tags=["claims"]\n# My own words.', "a text of its own"),
        ("# %%\n# NBVAL_IGNORE_OUTPUT\na = 1", "holds the comment NBVAL_IGNORE_OUTPUT"),
        ("# %% A title\na = 1", "Take title out of it"),
        ("# %% tags=[3]\na = 1", r"line 6, is the marker '# %% tags=.3.'. Tags are a list of"),
        ('# %% tags="measured"\na = 1', "Tags are a list of texts"),
        ('# %% tags=["measured", 3]\na = 1', "Tags are a list of texts"),
        ("# %%\na = '\u2028'", r"line 7, holds the character U\+2028"),
        ("# %%\na = 1\n\x0c", r"line 8, holds the character U\+000C"),
        ("# %% [raw]\n# a", "Take raw out of it"),
        ('# %%\na = """\n# %% b\n"""', "look for a stray `# %%`"),
        ('# %% tags=["needs:gpu"]\na = 1\n' * 5, "has 5 needs:... tags. More than 4"),
    ],
)
def test_a_lesson_that_breaks_the_format_is_refused(tmp_path, cell, told):
    lesson = course(tmp_path, f"{HEAD}\n{cell}\n")
    with pytest.raises(CourseError, match=told):
        make_plan(lesson)


HEADER = """# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

"""


@pytest.mark.parametrize("start", ["import torch\n\n", HEADER, "# ---\n# jupyter: {}\n", "\n"])
def test_a_lesson_begins_with_a_marker(start):
    with pytest.raises(CourseError, match="from the first line on"):
        parse(f"{start}# %%\na = 1\n", where="lesson.py")
    with pytest.raises(CourseError, match="has 0 cell markers"):
        parse(f"{start}a = 1\n", where="lesson.py")


def test_a_lesson_that_is_not_utf_8_is_refused(tmp_path, capsys):
    lesson = course(tmp_path)
    lesson.text.write_bytes("# %% [markdown]\n# # Größe\n".encode("latin-1"))
    assert main([], root=tmp_path) == 1
    told = capsys.readouterr().err
    assert f"Asked to read source/{NAME}/lesson.py. It is not UTF-8: line 2 holds the" in told


def test_a_lesson_may_begin_with_a_byte_order_mark(tmp_path, fast):
    lesson = course(tmp_path)
    lesson.text.write_text(TEXT, encoding="utf-8-sig")
    assert main([], root=tmp_path) == 0
    assert [cell.content for cell in make_plan(lesson).cells] == [
        cell.content for cell in parse(TEXT, where="here")
    ]


@pytest.mark.parametrize(
    ("symptoms", "told"),
    [
        ("[[row]\n", "Asked to read source/symptoms.toml. It is not valid TOML"),
        (SYMPTOMS.replace('["a transpose", "a slice"]', "3"), "has causes = 3. That field takes a"),
        (SYMPTOMS.replace('"a slice"', "3"), "That field takes a list of texts in quotes"),
    ],
)
def test_a_symptom_table_that_cannot_be_read_is_refused(tmp_path, capsys, symptoms, told):
    course(tmp_path, symptoms=symptoms)
    assert main([], root=tmp_path) == 1
    assert main(["--check"], root=tmp_path) == 1
    assert told in (given := capsys.readouterr()).err and told in given.out


def test_a_row_of_the_symptom_table_with_other_fields_is_refused(tmp_path):
    lesson = course(tmp_path, symptoms='[[row]]\nchapter = 1\nsign = "slow"\n')
    with pytest.raises(CourseError, match=r"has the fields chapter, sign. A row has .*may be left"):
        make_plan(lesson)


def test_a_row_of_the_symptom_table_may_name_the_confusions_that_it_helps_with(tmp_path):
    lesson = course(tmp_path / "a", symptoms=f"{SYMPTOMS}confusion = [1, 3]\n")
    assert load_symptoms(tmp_path / "a" / "source" / "symptoms.toml")[0].confusion == [1, 3]
    make_plan(lesson)
    lesson = course(tmp_path / "b", symptoms=f'{SYMPTOMS}confusion = ["one"]\n')
    with pytest.raises(CourseError, match="That field takes a list of whole numbers"):
        make_plan(lesson)


def test_a_text_that_breaks_a_rule_is_refused_before_it_runs(tmp_path, capsys, monkeypatch):
    course(tmp_path, TEXT.replace("# # Storage", "# ## Storage"))
    monkeypatch.setattr(build, "execute", None)
    assert main([], root=tmp_path) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"source/{NAME}/lesson.py: it has 0 first-level headings")


def test_an_output_that_breaks_a_rule_keeps_the_old_notebook(tmp_path, capsys, fast, monkeypatch):
    lesson = course(tmp_path)
    main([], root=tmp_path)
    before = lesson.notebook.read_bytes()

    def warn(planned, *, folder):
        stderr = nbformat.v4.new_output("stream", name="stderr", text="UserWarning")
        planned.cells[1].outputs = [stderr]
        return planned

    monkeypatch.setattr(build, "execute", warn)
    assert main([], root=tmp_path) == 1
    assert "cell 'batch = [[1, 2], [3, 4]]': it wrote 'UserWarning'" in capsys.readouterr().err
    assert lesson.notebook.read_bytes() == before


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.ipynb"
    files.write_atomically(path, "old\n")
    with pytest.raises(UnicodeEncodeError):
        files.write_atomically(path, "\ud800")
    assert [found.name for found in tmp_path.iterdir()] == ["a.ipynb"]
    assert path.read_bytes() == b"old\n"
