"""Who handed in what: the folders, zip files and names that teachers get, and what is in them."""

from __future__ import annotations

import io
import os
import random
import stat
import struct
import unicodedata
import warnings
import zlib
from collections.abc import Iterable
from datetime import datetime
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, BadZipFile, ZipFile, ZipInfo
from zoneinfo import available_timezones

import pytest

from coursekit.errors import CourseError
from coursekit.grading.handed_in import archives, items, learners, walk
from coursekit.grading.handed_in.attempts import natural, newest, submitted_at
from coursekit.grading.handed_in.collect import Submission, collect
from coursekit.grading.handed_in.learner_names import chapter_pattern, name_of_notebook
from coursekit.grading.submissions import Unreadable

CHAPTERS = ("01_storage_and_stride", "02_views", "03_dynamic_graph")
NOTEBOOK = b'{"cells": []}'
C1 = "01_storage_and_stride.ipynb"
C2 = "02_views.ipynb"
JUNE = (2026, 6, 1, 12, 0, 0)


def build(root: Path, names: Iterable[str]) -> Path:
    """Files of these names below a folder; what lies "below" a name with .zip lies in that zip."""
    zips: dict[str, list[str]] = {}
    for name in names:
        parts = PurePosixPath(name).parts
        cut = next((i for i, part in enumerate(parts) if part.endswith(".zip")), None)
        if cut is not None:
            member = "/".join(parts[cut + 1 :]) + "/" * name.endswith("/")
            zips.setdefault("/".join(parts[: cut + 1]), []).append(member)
            continue
        path = root / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(NOTEBOOK)
    for name, members in zips.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(zipped(members))
    return root


def zipped(names: Iterable[str]) -> bytes:
    """A zip file with notebooks of these names, and with the zip files among them."""
    stream, inner = io.BytesIO(), {}
    with ZipFile(stream, "w") as archive:
        for name in names:
            head, end, rest = name.partition(".zip/")
            if end:
                inner.setdefault(f"{head}.zip", []).append(rest)
            elif name:
                archive.writestr(ZipInfo(name, JUNE), b"" if name.endswith("/") else NOTEBOOK)
        for name, members in inner.items():
            archive.writestr(ZipInfo(name, JUNE), zipped(members))
    return stream.getvalue()


def zip_of(path: Path, *members: tuple[ZipInfo | str, bytes], how: int = ZIP_DEFLATED) -> Path:
    with ZipFile(path, "w", how) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            archive.writestr(name, content)
    return path


def learners_of(*paths: Path) -> dict[str, str]:
    """The learner of each submission, by its name."""
    return {one.name: one.learner for one in collect(paths, chapters=CHAPTERS)}


def only(path: Path) -> Submission:
    (one,) = collect([path], chapters=CHAPTERS)
    return one


# Whose is it? -------------------------------------------------------------------------------------

LAYOUTS = {
    "a folder each": (
        ["class"],
        {f"class/anna/{C1}": "anna", f"class/anna/deep/er/{C2}": "anna", f"class/bob/{C1}": "bob"},
    ),
    "a zip file each": (
        ["class"],
        {f"class/anna.zip/{C1}": "anna", f"class/anna.zip/exercises/{C2}": "anna"}
        | {f"class/bob.zip/{C1}": "bob"},
    ),
    "nbgrader": (
        ["submitted"],
        {f"submitted/anna/ps1/{C1}": "anna", f"submitted/bob/ps1/{C1}": "bob"},
    ),
    "Teams": (
        ["hw"],
        {
            f"hw/Submitted files/Anna Li/hw 1/Version 1/{C1}": "Anna Li",
            f"hw/Submitted files/Bo/hw 1/Version 2/{C1}": "Bo",
        },
    ),
    "the folder above nbgrader's": (
        ["course"],
        {f"course/submitted/anna/ps1/{C1}": "anna", f"course/submitted/bob/ps1/{C1}": "bob"},
    ),
    "Moodle": (
        ["hw"],
        {
            f"hw/Anna Müller_12345_assignsubmission_file_/{C1}": "Anna Müller",
            f"hw/Bo_12346_assignsubmission_file/{C1}": "Bo",
        },
    ),
    "Moodle, two of one name": (
        ["hw"],
        {
            f"hw/Anna Li_1_assignsubmission_file_/{C1}": "Anna Li_1",
            f"hw/Anna Li_2_assignsubmission_file_/{C1}": "Anna Li_2",
            f"hw/Anna Li_2_assignsubmission_onlinetext_/{C2}": "Anna Li_2",
            f"hw/Anna Li/{C1}": "Anna Li",
        },
    ),
    "Moodle's zip file": (
        ["moodle.zip"],
        {
            f"moodle.zip/Anna Li_1_assignsubmission_file_/{C1}": "Anna Li",
            f"moodle.zip/Bo_2_assignsubmission_file_/work/{C1}": "Bo",
        },
    ),
    "Moodle's zip file of one": (
        ["moodle.zip"],
        {f"moodle.zip/Anna Li_1_assignsubmission_file_/{C1}": "Anna Li"},
    ),
    "Moodle's zip files in a folder": (
        ["downloads"],
        {
            f"downloads/hw1.zip/Anna Li_1_assignsubmission_file_/{C1}": "Anna Li",
            f"downloads/hw1.zip/Bo_2_assignsubmission_file_/{C1}": "Bo",
        },
    ),
    "Moodle without folders": (
        ["hw"],
        {f"hw/Anna Li_1_assignsubmission_file_{C1}": "Anna Li"},
    ),
    "one of Moodle's folders": (
        ["Anna Li_1_assignsubmission_file_"],
        {
            f"Anna Li_1_assignsubmission_file_/{C1}": "Anna Li",
            "Anna Li_1_assignsubmission_file_/my work/x.ipynb": "Anna Li",
        },
    ),
    "Canvas": (
        ["submissions.zip"],
        {
            f"submissions.zip/mulleranna_12345_67890_{C1}": "mulleranna",
            "submissions.zip/mulleranna_12345_67899_02_views-2.ipynb": "mulleranna",
            f"submissions.zip/liwei_LATE_12346_67891_{C1}": "liwei",
        },
    ),
    "Canvas, one submission": (
        ["submissions.zip"],
        {f"submissions.zip/mulleranna_12345_67890_{C1}": "mulleranna"},
    ),
    "Canvas, two of one name": (
        ["c"],
        {f"c/li_111_501_{C1}": "li_111", f"c/li_222_502_{C1}": "li_222"},
    ),
    "Canvas, zip files": (
        ["c"],
        {f"c/li_111_501_work.zip/{C1}": "li", f"c/mo_222_502_work.zip/exercises/{C1}": "mo"},
    ),
    "loose in a folder": (
        ["class"],
        {
            "class/anna_01_storage_and_stride-Copy1.ipynb": "anna",
            "class/anna_02_views.ipynb": "anna",
            "class/02_views_bob (2).ipynb": "bob",
            "class/carl.ipynb": "carl",
            f"class/{C1}": "class",
        },
    ),
    "loose in a zip file": (
        ["class.zip"],
        {
            f"class.zip/anna_{C1}": "anna",
            f"class.zip/bob_{C1}": "bob",
            f"class.zip/{C1}": "class",
        },
    ),
    "loose in a zip file, one name": (
        ["anna.zip"],
        {f"anna.zip/final_{C1}": "anna", f"anna.zip/{C2}": "anna"},
    ),
    "a learner's zip file": (["anna.zip"], {f"anna.zip/{C1}": "anna", f"anna.zip/{C2}": "anna"}),
    "a zip file with a folder": (
        ["anna.zip"],
        {f"anna.zip/exercises/{C1}": "anna", f"anna.zip/exercises/week 2/{C2}": "anna"},
    ),
    "a zip file with data": (
        ["anna.zip"],
        {"anna.zip/work/draft.ipynb": "anna"},
        ["anna.zip/data/x.csv", "anna.zip/pictures/y.png"],
    ),
    "a zip file with its own folder": (["anna.zip"], {f"anna.zip/anna/{C1}": "anna"}),
    "a zip file with folders in one": (["anna.zip"], {f"anna.zip/a/b/c/{C1}": "anna"}),
    "a class's folder, zipped": (
        ["hw1.zip"],
        {f"hw1.zip/hw1/anna/{C1}": "anna", f"hw1.zip/hw1/bob/{C1}": "bob"},
    ),
    "a class's folder with a template, zipped": (
        ["hw1.zip"],
        {
            f"hw1.zip/hw1/{C1}": "hw1",
            f"hw1.zip/hw1/submissions/anna/{C1}": "anna",
            f"hw1.zip/hw1/submissions/bob/{C1}": "bob",
        },
    ),
    "zip files in a zip file": (
        ["hw1.zip"],
        {f"hw1.zip/anna.zip/{C1}": "anna", f"hw1.zip/bob.zip/{C1}": "bob"},
    ),
    "one zip file in a zip file": (["hw1.zip"], {f"hw1.zip/anna.zip/{C1}": "anna"}),
    "two zip files": (["anna.zip", "bob.zip"], {f"anna.zip/{C1}": "anna", f"bob.zip/{C1}": "bob"}),
    "two groups": (
        ["group1", "group2"],
        {
            f"group1/anna/{C1}": "group1/anna",
            f"group2/anna/{C1}": "group2/anna",
            f"group2/bob/{C1}": "bob",
        },
    ),
    "two groups of one name": (
        ["a/group", "b/group.zip"],
        {
            f"a/group/anna/{C1}": "a/group/anna",
            f"b/group.zip/anna/{C1}": "b/group/anna",
            f"b/group.zip/bob/{C1}": "bob",
        },
    ),
    "every folder named": (
        ["class/anna", "class/bob"],
        {f"class/anna/{C1}": "anna", f"class/bob/exercises/{C1}": "bob"},
    ),
    "every file named": (
        [f"class/anna/{C1}", f"class/anna/{C2}", f"class/bob/exercises/{C1}"],
        {
            f"class/anna/{C1}": "anna",
            f"class/anna/{C2}": "anna",
            f"class/bob/exercises/{C1}": "bob",
        },
    ),
    "zip files named by their chapter": (
        ["class/anna/02_views.zip", "class/bob/02_views.zip"],
        {f"class/anna/02_views.zip/{C2}": "anna", f"class/bob/02_views.zip/{C2}": "bob"},
    ),
    "zip files with name and chapter": (
        ["class"],
        {f"class/anna_02_views.zip/{C2}": "anna", "class/anna_01_storage.zip/x.ipynb": "anna"},
    ),
    "zip files of one name are two people's": (
        ["class"],
        {f"class/work.zip/{C1}": "work", f"class/work (1).zip/{C1}": "work (1)"},
    ),
    "the course's own exercises": (
        ["inside pytorch/exercises"],
        {
            f"inside pytorch/exercises/{C1}": "inside pytorch",
            f"inside pytorch/exercises/{C2}": "inside pytorch",
            "inside pytorch/exercises/Untitled1.ipynb": "inside pytorch",
            "inside pytorch/exercises/02_views_final.ipynb": "inside pytorch",
        },
    ),
    "a copy of the course": (
        ["anna"],
        {f"anna/exercises/{C1}": "anna"},
        [f"anna/notebooks/{C1}", f"anna/solutions/{C1}", "anna/helpers/x.py"],
    ),
    "copies of the course": (
        ["class"],
        {f"class/hw-anna/exercises/{C1}": "hw-anna", f"class/solutions/{C1}": "solutions"},
        [f"class/hw-anna/notebooks/{C1}", f"class/hw-anna/solutions/{C1}"],
    ),
    "a copy of the course in a zip file": (
        ["anna.zip"],
        {f"anna.zip/inside-pytorch-main/exercises/{C1}": "anna"},
        [f"anna.zip/inside-pytorch-main/{one}/{C1}" for one in ("notebooks", "solutions")],
    ),
    "hidden and left behind": (
        ["class"],
        {f"class/anna/{C1}": "anna", f"class/bob.zip/{C1}": "bob"},
        [
            *(f"class/anna/.ipynb_checkpoints/{C1}", f"class/.git/{C1}", f"class/anna/._{C1}"),
            *(
                f"class/bob.zip/__MACOSX/._{C1}",
                f"class/bob.zip/.x/{C1}",
                "class/__pycache__/x.pyc",
            ),
        ],
    ),
    "names in all scripts": (
        ["класс"],
        {f"класс/Иван Петров/{C1}": "Иван Петров", f"класс/王伟.zip/{C1}": "王伟"}
        | {f"класс/مريم_{C1}": "مريم", "класс/O'Brien, Séan/x y.ipynb": "O'Brien, Séan"},
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_tells_who_is_who(layout, tmp_path):
    paths, wanted, *others = LAYOUTS[layout]
    build(tmp_path, [*wanted, *(others[0] if others else [])])
    found = collect([tmp_path / path for path in paths], chapters=iter(CHAPTERS))
    common = Path(os.path.commonpath([one.path.parent for one in found])).relative_to(tmp_path)
    prefix = "" if common == Path() else f"{common.as_posix()}/"
    assert {prefix + one.name: one.learner for one in found} == wanted
    assert [one.read() for one in found] == [NOTEBOOK] * len(found)


def test_every_notebook_is_found_once_whatever_lies_where(tmp_path):
    chance = random.Random(11)
    folders = ["a", "b.zip", "exercises", "Bo_7_assignsubmission_file_", "01_storage", "x (1).zip"]
    for turn in range(60):
        root = tmp_path / f"{turn}"
        places = {
            "/".join(
                [*chance.sample(folders, chance.randint(0, 3)), chance.choice([C1, "q.ipynb"])]
            )
            for _ in range(8)
        }
        names = {name for name in places if name.count(".zip/") < 2}
        build(root, [*names, "a/essay.txt"])
        found = [one for one in collect([root], chapters=CHAPTERS) if not one.problem]
        assert len(found) == len(names) == len({(one.path, one.member) for one in found})
        assert all(one.learner.strip() and one.read() == NOTEBOOK for one in found)
        again = collect([root, root / "a", *root.glob("*.zip")], chapters=CHAPTERS)
        assert [one for one in again if not one.problem] == found


def test_learners_come_in_natural_order_and_so_do_their_notebooks(tmp_path):
    names = ["Bo/x10.ipynb", "Bo/x9.ipynb", "anna/1.ipynb", "team 10/1.ipynb", "Team 9/1.ipynb"]
    build(tmp_path, names)
    wanted = ["anna/1.ipynb", "Bo/x9.ipynb", "Bo/x10.ipynb", "Team 9/1.ipynb", "team 10/1.ipynb"]
    assert [one.name for one in collect([tmp_path], chapters=CHAPTERS)] == wanted


def test_the_same_file_counts_once(tmp_path):
    build(tmp_path, [f"class/anna/{C1}", f"class/bob.zip/{C1}"])
    folder = tmp_path / "class"
    paths = [folder / "anna" / C1, folder, folder / "anna" / ".." / "bob.zip", folder / "anna"]
    assert learners_of(*paths) == {f"anna/{C1}": "anna", f"bob.zip/{C1}": "bob"}


def test_a_path_is_called_as_its_folder_is(tmp_path, monkeypatch):
    build(tmp_path, [f"anna/{C1}", "anna/data/x.csv"])
    wanted = [("anna", C1)]
    monkeypatch.chdir(tmp_path / "anna")
    for path in [Path(), Path(C1), Path("data/.."), Path("../anna"), tmp_path / "anna/data/.."]:
        assert [(one.learner, one.name) for one in collect([path], chapters=CHAPTERS)] == wanted


def test_files_on_two_drives_are_called_by_all_of_their_paths(tmp_path, monkeypatch):
    def fail(_: object) -> str:
        raise ValueError("Paths don't have the same drive")

    build(tmp_path, [f"anna/{C1}"])
    monkeypatch.setattr(os.path, "commonpath", fail)
    assert only(tmp_path).name == (tmp_path / "anna" / C1).as_posix()


def test_the_forms_of_a_name_in_unicode_are_one_learner(tmp_path):
    nfd = unicodedata.normalize("NFD", "Müller")
    assert nfd != "Müller"
    build(tmp_path, [f"Müller/{C1}", f"{nfd}.zip/{C2}"])
    assert {one.learner for one in collect([tmp_path], chapters=CHAPTERS)} == {"Müller"}
    build(tmp_path, [f"{nfd}_{C1}"])
    assert only(tmp_path / f"{nfd}_{C1}").learner == "Müller"


def test_signs_that_cannot_be_seen_are_shown_as_spaces(tmp_path):
    members = [(f"an\tna\x1b[1m\u202eb/{C1}", NOTEBOOK), (f"bo/{C1}", NOTEBOOK)]
    zip_of(tmp_path / "class.zip", *members)
    assert learners_of(tmp_path / "class.zip") == {
        f"class.zip/an na [1m b/{C1}": "an na [1m b",
        f"class.zip/bo/{C1}": "bo",
    }


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are Unicode")
def test_a_name_in_another_encoding_is_shown_by_its_bytes(tmp_path):
    folder = tmp_path / os.fsdecode("Müller".encode("latin-1"))
    folder.mkdir()
    (folder / C1).write_bytes(NOTEBOOK)
    build(tmp_path, [f"bo/{C1}"])
    assert learners_of(tmp_path) == {f"bo/{C1}": "bo", f"M\\udcfcller/{C1}": "M\\udcfcller"}


def test_very_long_names_are_names(tmp_path):
    long = "a" * 60_000
    zip_of(tmp_path / "class.zip", (f"{long}/{C1}", NOTEBOOK), (f"{'9' * 60_000}/{C1}", NOTEBOOK))
    assert set(learners_of(tmp_path / "class.zip").values()) == {long, "9" * 60_000}


def test_a_name_of_nothing_but_spaces_is_somebody_s(tmp_path):
    zip_of(tmp_path / "class.zip", (f" \t/{C1}", NOTEBOOK), (f"bo/{C1}", NOTEBOOK))
    assert sorted(learners_of(tmp_path / "class.zip").values()) == ["bo", "unnamed"]
    assert learners.handed_in(
        Path("/"), [items.Item((C1,), Path("/") / C1)], chapters=CHAPTERS
    ) == [(learners.Learner((), "unnamed"), items.Item((C1,), Path("/") / C1))]


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("anna_01_storage_and_stride-Copy1", "anna"),
        ("01_storage_and_stride", None),
        ("01_storage_and_stride-Copy12", None),
        ("01_storage_and_stride - Copy (2)", None),
        ("01_storage_and_stride copy 3", None),
        ("Copy of 01_storage_and_stride", None),
        ("01_storage_and_stride (1) (2)", None),
        ("01_storage_and_stride-2", None),
        ("01_storage-anna", "anna"),
        ("ANNA - 01 Storage and Stride", "ANNA"),
        ("anna.02_views_v2", "anna"),
        ("anna-attempt3", "anna"),
        ("anna_version 2", "anna"),
        ("anna_02_views_bo", "anna bo"),
        ("01_storage_and_stride - Anna Müller", "Anna Müller"),
        ("anna_01", "anna_01"),
        ("anna_12_34_x", "anna_12_34_x"),
        ("hw102_views", "hw102_views"),
        ("group-1", "group-1"),
        ("02_viewsanna", "02_viewsanna"),
        ("carbon_copying", "carbon_copying"),
        ("photocopy", "photocopy"),
        ("Eve2", "Eve2"),
        ("Untitled", None),
        ("untitled3", None),
        ("-", None),
    ],
)
def test_a_notebook_s_name_tells_its_learner(name, left):
    told = name_of_notebook(f"{name}.ipynb", chapter=chapter_pattern(CHAPTERS))
    assert told == (None if left is None else (left, ""))


def test_no_two_people_are_called_the_same():
    """Whatever folders lie in whatever others: people in two places have two names."""
    chance = random.Random(7)
    for _ in range(300):
        places = {
            (*chance.choices("ab", k=chance.randint(0, 3)), chance.choice("xy")) for _ in range(6)
        }
        people = [learners.Learner(place[:-1], place[-1]) for place in places]
        called = learners.labels(people)
        assert len(set(called.values())) == len(people), people
        assert all(name.endswith(one.name) for one, name in called.items())


# Who handed in nothing, and paths that lead nowhere -----------------------------------------------


def test_a_learner_without_a_notebook_is_named(tmp_path):
    build(tmp_path, [f"anna/{C1}", "bob/answer.py", "carl.zip/essay.pdf", "dora/", "eve/a/b.txt"])
    build(tmp_path, ["fred/data.zip/x.csv"])
    submissions = collect([tmp_path], chapters=CHAPTERS)
    found = {one.learner: one for one in submissions}
    assert [one.learner for one in submissions] == ["anna", "bob", "carl", "dora", "eve", "fred"]
    for name in ["bob", "carl", "dora", "eve", "fred"]:
        assert found[name].problem == "it holds no notebook"
        with pytest.raises(Unreadable, match="it holds no notebook"):
            found[name].read()
    assert [found[name].name for name in ["bob", "carl"]] == ["bob", "carl.zip"]


def test_what_a_learner_handed_in_beside_a_notebook_is_not_named(tmp_path):
    build(
        tmp_path,
        [
            f"hw/Bo_2_assignsubmission_file_/{C1}",
            "hw/Bo_2_assignsubmission_onlinetext_/onlinetext.html",
            "hw/Cy_3_assignsubmission_file_/answer.py",
            f"exercises/{C1}",
            *("exercises/data/x.csv", "exercises/data.zip/x.csv"),
        ],
    )
    found = collect([tmp_path / "hw", tmp_path / "exercises"], chapters=CHAPTERS)
    assert [(one.learner, one.problem) for one in found] == [
        ("Bo", ""),
        ("Cy", "it holds no notebook"),
        (tmp_path.name, ""),
    ]


def test_those_without_a_notebook_are_named_in_a_zip_file_of_moodle_in_a_folder(tmp_path):
    there = f"hw1.zip/Bo_2_assignsubmission_file_/{C1}"
    build(tmp_path, [there, "hw1.zip/Cy_3_assignsubmission_file_/answer.py"])
    found = collect([tmp_path], chapters=CHAPTERS)
    assert [(one.learner, one.problem) for one in found] == [
        ("Bo", ""),
        ("Cy", "it holds no notebook"),
    ]


def test_an_empty_folder_in_a_zip_file_is_named(tmp_path):
    build(tmp_path, [f"hw.zip/anna/{C1}", f"hw.zip/bob/{C1}", "hw.zip/cy/"])
    found = collect([tmp_path / "hw.zip"], chapters=CHAPTERS)
    assert [(one.name, one.problem) for one in found][2:] == [("hw.zip/cy", "it holds no notebook")]


def test_a_path_without_a_notebook_is_named_beside_others(tmp_path):
    build(tmp_path, [f"anna/{C1}", "bob/answer.py", "carl.zip/essay.pdf"])
    paths = [tmp_path / name for name in ("anna", "bob", "carl.zip")]
    found = collect(paths, chapters=CHAPTERS)
    assert [(one.learner, bool(one.problem)) for one in found] == [
        *(("anna", False), ("bob", True), ("carl", True))
    ]
    with pytest.raises(CourseError, match=r"Asked to grade .*bob.*\. There is no notebook in it"):
        collect(paths[1:], chapters=CHAPTERS)


def test_a_path_that_leads_nowhere_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(CourseError, match="There is no such file or folder"):
        collect([tmp_path / "missing.ipynb"], chapters=CHAPTERS)
    with pytest.raises(CourseError, match="There is no such file or folder"):
        collect([tmp_path / ("a" * 5000)], chapters=CHAPTERS)
    with pytest.raises(CourseError, match="There is no notebook in it"):
        collect([tmp_path], chapters=CHAPTERS)
    with pytest.raises(CourseError, match="There is no notebook in it"):
        collect([], chapters=CHAPTERS)


# Zip files from anybody ---------------------------------------------------------------------------


def info(name: str, **values: object) -> ZipInfo:
    """A member of a zip file, with some of its values as they are to be."""
    made = ZipInfo(name, JUNE)
    for key, value in values.items():
        setattr(made, key, value)
    return made


def patched(data: bytes, *, local: int, central: int, value: bytes) -> bytes:
    """A zip file of one member with other bytes at these places of its two headers."""
    for start, offset in ((data.index(b"PK\3\4"), local), (data.index(b"PK\1\2"), central)):
        data = data[: start + offset] + value + data[start + offset + len(value) :]
    return data


@pytest.mark.parametrize(
    "name",
    [
        *("../x.ipynb", "a/../../x.ipynb", "/etc/x.ipynb", "//server/share/x.ipynb"),
        *("C:/x.ipynb", "c:x.ipynb", "..\\x.ipynb", "a\\x.ipynb", "\\\\server\\x.ipynb"),
    ],
)
def test_a_name_that_leads_out_of_the_folder_is_refused(name, tmp_path):
    zip_of(tmp_path / "anna.zip", (name, NOTEBOOK), (C1, NOTEBOOK))
    before = sorted(tmp_path.parent.rglob("*"))
    found = {one.member: one for one in collect([tmp_path / "anna.zip"], chapters=CHAPTERS)}
    assert found[name].problem == "it has a name that can lead out of its folder"
    assert found[name].learner == "anna"
    with pytest.raises(Unreadable, match="can lead out"):
        found[name].read()
    assert found[C1].read() == NOTEBOOK
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_a_zip_file_that_is_refused_is_not_looked_into(tmp_path):
    inner = zipped([C1])
    link = info("bob.zip", create_system=3, external_attr=(stat.S_IFLNK | 0o777) << 16)
    members = [("../anna.zip", inner), (link, inner), ("cy.zip", inner), ("cy.zip", zipped([C2]))]
    found = collect([zip_of(tmp_path / "hw.zip", *members)], chapters=CHAPTERS)
    assert [(one.name, one.problem[:20]) for one in found] == [
        ("hw.zip/../anna.zip", "it has a name that c"),
        ("hw.zip/bob.zip", "it is a link, which "),
        ("hw.zip/cy.zip", "it is followed by an"),
        (f"hw.zip/cy.zip/{C2}", ""),
    ]


def test_a_file_without_a_name_is_nobody_s(tmp_path):
    path = zip_of(tmp_path / "anna.zip", ("Xx.txt", b""), (C1, NOTEBOOK))
    path.write_bytes(path.read_bytes().replace(b"Xx.txt", b"\0x.txt"))
    assert only(path).read() == NOTEBOOK


def test_a_link_in_a_zip_file_is_refused(tmp_path):
    link = info(C1, create_system=3, external_attr=(stat.S_IFLNK | 0o777) << 16)
    zip_of(tmp_path / "anna.zip", (link, b"/etc/passwd"), (C2, NOTEBOOK))
    first, second = collect([tmp_path / "anna.zip"], chapters=CHAPTERS)
    assert (first.problem, second.read()) == ("it is a link, which is not followed", NOTEBOOK)


def test_a_file_with_a_password_is_named(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (C1, NOTEBOOK))
    path.write_bytes(patched(path.read_bytes(), local=6, central=8, value=b"\1\0"))
    assert only(path).problem == "it is locked with a password"


def test_what_is_too_large_is_named_and_not_read(tmp_path, monkeypatch):
    zip_of(tmp_path / "anna.zip", (C1, b" " * 2_000_001), (C2, NOTEBOOK))
    monkeypatch.setattr(archives, "LARGEST_FILE", 2_000_000)
    first, second = collect([tmp_path / "anna.zip"], chapters=CHAPTERS)
    assert first.problem == "it is larger than 2 MB; clear its outputs"
    assert second.read() == NOTEBOOK


def test_a_size_that_lies_does_not_fill_the_memory(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (C1, b" " * 60_000_000))
    path.write_bytes(patched(path.read_bytes(), local=22, central=24, value=b"\x09\0\0\0"))
    one = only(path)
    with pytest.raises(Unreadable, match="it is damaged"):
        one.read()


def test_a_size_is_looked_at_again_when_it_is_read(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (C1, NOTEBOOK))
    one = only(path)
    zip_of(path, (C1, b" " * 60_000_000))
    with pytest.raises(Unreadable, match="it is larger than 50 MB"):
        one.read()


def test_the_last_file_of_a_name_counts(tmp_path):
    zip_of(tmp_path / "anna.zip", (C1, b"first"), (C1, b"second"), (C1, NOTEBOOK))
    found = collect([tmp_path / "anna.zip"], chapters=CHAPTERS)
    twice = "it is followed by another file of the same name, which counts"
    assert sorted(one.problem for one in found) == ["", twice]
    assert [one.read() for one in found if not one.problem] == [NOTEBOOK]


def test_a_zip_file_in_a_zip_file_is_read_and_a_third_one_is_named(tmp_path):
    third = f"hw.zip/anna.zip/more.zip/{C1}"
    build(tmp_path, [third, f"hw.zip/anna.zip/{C1}", f"hw.zip/bob.zip/{C2}"])
    found = {one.name: one for one in collect([tmp_path / "hw.zip"], chapters=CHAPTERS)}
    assert list(found) == [
        f"hw.zip/anna.zip/{C1}",
        "hw.zip/anna.zip/more.zip",
        f"hw.zip/bob.zip/{C2}",
    ]
    assert [one.learner for one in found.values()] == ["anna", "anna", "bob"]
    deeper = found.pop("hw.zip/anna.zip/more.zip")
    assert deeper.problem == "it is a zip file in a zip file in a zip file; unpack it first"
    assert [(one.inside, one.read()) for one in found.values()] == [
        *(("anna.zip", NOTEBOOK), ("bob.zip", NOTEBOOK))
    ]


def test_a_zip_file_in_a_zip_file_that_is_too_large_is_named(tmp_path, monkeypatch):
    inner = io.BytesIO()
    with ZipFile(inner, "w") as archive:
        archive.writestr(C1, os.urandom(1_000_001))
    zip_of(tmp_path / "hw.zip", ("anna.zip", inner.getvalue()), (f"bob/{C1}", NOTEBOOK))
    monkeypatch.setattr(archives, "LARGEST_FILE", 1_000_000)
    anna, bob = collect([tmp_path / "hw.zip"], chapters=CHAPTERS)
    assert (anna.learner, anna.problem) == ("anna", "it is larger than 1 MB; unpack it first")
    assert bob.read() == NOTEBOOK


def test_more_files_than_anybody_hands_in_are_named(tmp_path, monkeypatch):
    build(tmp_path, [f"anna.zip/{C1}", *(f"bob.zip/{n}.txt" for n in range(9))])
    monkeypatch.setattr(archives, "MOST_ENTRIES", 8)
    anna, bob = collect([tmp_path], chapters=CHAPTERS)
    assert anna.read() == NOTEBOOK
    assert bob.problem == "it holds more than 8 files; unpack it first"


def test_a_damaged_zip_file_is_named_and_the_others_are_read(tmp_path):
    build(tmp_path, [f"anna.zip/{C1}", f"bob.zip/{C1}"])
    whole = (tmp_path / "bob.zip").read_bytes()
    (tmp_path / "bob.zip").write_bytes(whole[:-40])
    (tmp_path / "carl.zip").write_bytes(b"")
    zip_of(tmp_path / "more.zip", ("dora.zip", whole[:-40]), (f"eve/{C1}", NOTEBOOK))
    found = collect([tmp_path, tmp_path / "more.zip"], chapters=CHAPTERS)
    assert [(one.learner, one.problem) for one in found] == [
        *(("anna", ""), ("bob", "it is damaged"), ("carl", "it is damaged")),
        *(("more", "it is damaged"), ("more", "")),
    ]
    assert only(zip_of(tmp_path / "bob.zip", (C1, NOTEBOOK))).read() == NOTEBOOK


def test_a_zip_file_is_read_no_sooner_than_it_has_to_be(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (C1, NOTEBOOK), how=ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(NOTEBOOK, b"#" * len(NOTEBOOK)))
    one = only(path)
    assert one.problem == ""
    with pytest.raises(Unreadable, match="it is damaged"):
        one.read()


def test_a_file_that_is_packed_in_an_unknown_way_is_told_when_it_is_read(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (C1, NOTEBOOK))
    path.write_bytes(patched(path.read_bytes(), local=8, central=10, value=b"\x09\0"))
    with pytest.raises(Unreadable, match="it is packed in a way that Python does not read"):
        only(path).read()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        *((error("x"), "it is damaged") for error in (BadZipFile, EOFError, LZMAError)),
        *((error("x"), "it is damaged") for error in (MemoryError, ValueError)),
        *((error("x"), "it is damaged") for error in (struct.error, zlib.error)),
        (OSError(5, "Input/output error"), r"it cannot be read \(Input/output error\)"),
        (OSError("Invalid data stream"), r"it cannot be read \(Invalid data stream\)"),
        (RuntimeError("x"), "it is packed in a way that Python does not read"),
        (NotImplementedError("x"), "it is packed in a way that Python does not read"),
        (KeyError("x"), "it is no longer there"),
    ],
)
def test_whatever_goes_wrong_in_a_zip_file_is_told(error, told, tmp_path, monkeypatch):
    one = only(zip_of(tmp_path / "anna.zip", (C1, NOTEBOOK)))

    def fail(*_: object) -> bytes:
        raise error

    monkeypatch.setattr(ZipFile, "read", fail)
    with pytest.raises(Unreadable, match=told):
        one.read()


@pytest.mark.parametrize("how", [ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
def test_no_damage_makes_more_than_one_submission_fail(how, tmp_path):
    """Bytes are changed, cut out and doubled; whatever happens is told as Unreadable."""
    chance = random.Random(how)
    inner = zip_of(tmp_path / "inner.zip", (C1, NOTEBOOK * 9), how=how).read_bytes()
    path = zip_of(tmp_path / "x.zip", (C1, NOTEBOOK * 9), ("b.zip", inner), (C2, b"{}"), how=how)
    whole = path.read_bytes()
    told = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data))
            data[place] = chance.choice([0, 1, 9, 0xFF, chance.randrange(256)])
        if chance.random() < 0.2:
            start = chance.randrange(len(data))
            data[start : start + chance.randint(1, 30)] = b""
        path.write_bytes(data)
        try:
            found = collect([path], chapters=CHAPTERS)
        except CourseError:
            continue  # no name in it ends with .ipynb any more
        for one in found:
            try:
                one.read()
            except Unreadable as problem:
                told.add(str(problem))
    assert "it is damaged" in told
    assert all(problem.startswith("it ") for problem in told)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        # macOS writes UTF-8 and does not say so; old programs write cp437, and others something.
        *(("Müller".encode(), "Müller"), ("Müller".encode("cp437"), "Müller")),
        *((b"M\xffller", "M ller"), (b"\xce\xb1\xce", "╬▒╬")),
    ],
)
def test_names_in_other_encodings_are_read(raw, name, tmp_path):
    stand_in = "X" * len(raw)
    members = [(f"{stand_in}/{C1}", NOTEBOOK), (f"bo/{C1}", NOTEBOOK)]
    path = zip_of(tmp_path / "class.zip", *members)
    path.write_bytes(path.read_bytes().replace(stand_in.encode(), raw))
    found = collect([path], chapters=CHAPTERS)
    assert {one.learner for one in found} == {"bo", name}
    assert [one.read() for one in found] == [NOTEBOOK] * 2


def test_names_that_are_not_the_utf_8_they_say_they_are_are_named(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (f"ü{C1}", NOTEBOOK))
    path.write_bytes(path.read_bytes().replace("ü".encode(), b"\xff\xff"))
    assert only(path).problem == "it is damaged"


@pytest.mark.parametrize("ending", items.OTHER_ARCHIVES)
def test_other_archives_are_to_be_unpacked_first(ending, tmp_path):
    build(tmp_path, [f"class/anna{ending}", f"class/bob/{C1}", f"class/carl.zip/work{ending}"])
    found = collect([tmp_path / "class"], chapters=CHAPTERS)
    problem = "it is an archive that is no zip file; unpack it first"
    assert [(one.learner, one.problem) for one in found] == [
        *(("anna", problem), ("bob", ""), ("carl", problem))
    ]
    assert only(tmp_path / "class" / f"anna{ending}").problem == problem


# Folders from anybody -----------------------------------------------------------------------------


@pytest.fixture
def link():
    def make(path: Path, target: Path | str) -> None:
        try:
            path.symlink_to(target)
        except OSError:
            pytest.skip("no links can be made here")

    return make


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path, link):
    build(tmp_path, [f"class/anna/{C1}", "class/bob/", f"secret/{C1}", f"secret/a.zip/{C1}"])
    secret, folder = tmp_path / "secret", tmp_path / "class"
    link(folder / "bob" / C1, secret / C1)
    link(folder / "bob" / "a.zip", "../../secret/a.zip")
    link(folder / "carl", secret)
    link(folder / "bob" / "notes.txt", secret / C1)
    problem = "it is a link that leads out of the folder, which is not followed"
    found = {one.name: one.problem for one in collect([folder], chapters=CHAPTERS)}
    wanted = {f"bob/{C1}": problem, "bob/a.zip": problem, "carl": problem}
    assert found == {f"anna/{C1}": "", **wanted}


def test_a_link_within_the_folder_is_the_same_file(tmp_path, link):
    build(tmp_path, [f"zoe/{C1}", f"zoe/work.zip/{C2}", "anna/", "bob/"])
    link(tmp_path / "anna" / C1, f"../zoe/{C1}")
    link(tmp_path / "anna" / "work.zip", "../zoe/work.zip")
    link(tmp_path / "bob" / "all", "../zoe")
    link(tmp_path / "bob" / "round", "..")
    found = [(one.name, one.problem) for one in collect([tmp_path], chapters=CHAPTERS)]
    none = "it holds no notebook"
    names = [f"zoe/{C1}", f"zoe/work.zip/{C2}"]
    assert found == [("anna", none), ("bob", none), *((name, "") for name in names)]


def test_a_link_to_a_file_that_is_hidden_otherwise_is_followed_within_the_folder(tmp_path, link):
    build(tmp_path, [f"anna/.store/{C1}"])
    link(tmp_path / "anna" / C1, f".store/{C1}")
    assert only(tmp_path).read() == NOTEBOOK


def test_links_that_lead_nowhere_are_named(tmp_path, link):
    build(tmp_path, [f"anna/{C2}"])
    link(tmp_path / "anna" / C1, "missing")
    link(tmp_path / "bob.ipynb", "bob.ipynb")
    link(tmp_path / "carl.zip", "missing")
    found = collect([tmp_path], chapters=CHAPTERS)
    nowhere = "it is a link that leads nowhere"
    assert [(one.learner, one.name, one.problem) for one in found] == [
        ("anna", f"anna/{C1}", nowhere),
        ("anna", f"anna/{C2}", ""),
        ("bob", "bob.ipynb", nowhere),
        ("carl", "carl.zip", nowhere),
    ]


def test_a_path_that_is_a_link_is_followed(tmp_path, link):
    build(tmp_path, [f"store/x1/anna/{C1}"])
    link(tmp_path / "week1", tmp_path / "store" / "x1")
    assert learners_of(tmp_path / "week1") == {C1: "anna"}
    assert len(collect([tmp_path / "week1", tmp_path / "store" / "x1"], chapters=CHAPTERS)) == 1
    link(tmp_path / f"bob_{C1}", tmp_path / "store" / "x1" / "anna" / C1)
    assert learners_of(tmp_path / f"bob_{C1}") == {f"bob_{C1}": "bob"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_nobody_waits_for_a_pipe(tmp_path):
    build(tmp_path, [f"anna/{C2}"])
    for name in [C1, "a.zip", "timestamp.txt"]:
        os.mkfifo(tmp_path / "anna" / name)
    found = {one.name: one for one in collect([tmp_path], chapters=CHAPTERS)}
    for name in [C1, "a.zip"]:
        assert found[name].problem == "it is no file that can be read"
    assert only(tmp_path / "anna" / C1).problem == "it is no file that can be read"
    (tmp_path / "anna" / C2).unlink()
    os.mkfifo(tmp_path / "anna" / C2)
    with pytest.raises(Unreadable, match="it is no file that can be read"):
        found[C2].read()


def test_a_large_notebook_is_named_and_not_read(tmp_path):
    with (tmp_path / C1).open("wb") as file:
        file.truncate(100_000_000)
    assert only(tmp_path / C1).problem == "it is larger than 50 MB; clear its outputs"


def test_a_notebook_that_has_grown_since_is_read_no_further(tmp_path):
    (tmp_path / C1).write_bytes(NOTEBOOK)
    one = only(tmp_path / C1)
    with (tmp_path / C1).open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(Unreadable, match="it is larger than 50 MB"):
        one.read()


def test_files_that_vanish_are_named(tmp_path):
    build(tmp_path, [f"anna/{C1}", f"anna/work.zip/{C1}", f"bob.zip/anna.zip/{C1}"])
    found = collect([tmp_path], chapters=CHAPTERS)
    zip_of(tmp_path / "bob.zip", ("other.txt", b""))
    (tmp_path / "anna" / "work.zip").unlink()
    (tmp_path / "anna" / C1).unlink()
    for one in found:
        with pytest.raises(Unreadable, match="it is no longer there"):
            one.read()
    # Between the look at the folder and the look at the file.
    assert [one.problem for one in walk.items_of_file(tmp_path / C1, (C1,))] == [
        "it is no longer there"
    ]


def test_files_and_folders_without_permission_are_named(tmp_path, monkeypatch):
    build(tmp_path, [f"anna/{C1}", f"bob/{C1}", f"carl.zip/{C1}", f"dora/{C1}"])
    found = {one.learner: one for one in collect([tmp_path], chapters=CHAPTERS)}
    # An administrator may read everything, so the system's answer is put in its place.
    refuse(monkeypatch, "iterdir", tmp_path / "bob")
    refuse(monkeypatch, "is_dir", tmp_path / "dora")
    refuse(monkeypatch, "is_symlink", tmp_path / "dora")
    now = {one.learner: one.problem for one in collect([tmp_path], chapters=CHAPTERS)}
    assert now == {
        "anna": "",
        "bob": "it cannot be opened (Permission denied)",
        "carl": "",
        "dora": "it cannot be read (Permission denied)",
    }
    refuse(monkeypatch, "open", tmp_path / "anna" / C1)
    refuse(monkeypatch, "is_file", tmp_path / "carl.zip")
    for name in ["anna", "carl"]:
        with pytest.raises(Unreadable, match=r"it cannot be read \(Permission denied\)"):
            found[name].read()


def refuse(monkeypatch: pytest.MonkeyPatch, method: str, refused: Path) -> None:
    """Let one method of Path raise for one path, as the system does without permission."""
    real = getattr(Path, method)

    def method_of(path: Path, *args: object, **options: object) -> object:
        if path == refused:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(Path, method, method_of)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may read everything")
def test_a_folder_that_nobody_may_open_or_enter_is_named(tmp_path):
    build(tmp_path, [f"anna/{C1}", f"bob/{C1}", f"carl/{C1}", f"dora/{C1}"])
    modes = {tmp_path / "bob": 0, tmp_path / "carl": 0o400, tmp_path / "dora" / C1: 0}
    try:
        for path, mode in modes.items():
            path.chmod(mode)
        *found, last = collect([tmp_path], chapters=CHAPTERS)
        with pytest.raises(Unreadable, match="it cannot be read"):
            last.read()
    finally:
        for path in modes:
            path.chmod(0o700)
    assert [one.problem[:17] for one in found] == ["", "it cannot be open", "it cannot be read"]


def test_a_deep_folder_is_walked(tmp_path):
    deep = "anna/" + "d/" * 60
    build(tmp_path, [deep + C1])
    assert only(tmp_path).learner == "anna"


def test_a_folder_with_a_notebook_s_name_is_a_folder(tmp_path):
    build(tmp_path, [f"{C1}/", f"{C2}/{C1}"])
    found = collect([tmp_path], chapters=CHAPTERS)
    assert [(one.learner, one.name, one.problem) for one in found] == [
        (C1, C1, "it holds no notebook"),
        (C2, f"{C2}/{C1}", ""),
    ]


# When, and which counts? --------------------------------------------------------------------------


def submission(name: str, modified: float = 0) -> Submission:
    return Submission("anna", name, modified, Path(name))


@pytest.mark.parametrize(
    "names",
    [
        *(["01.ipynb", "01-Copy1.ipynb", "01-Copy2.ipynb", "01-Copy10.ipynb"],),
        *(["01.ipynb", "01 - Copy.ipynb", "01 - Copy (2).ipynb", "01 - Copy (3).ipynb"],),
        *(["01.ipynb", "01 copy.ipynb", "01 copy 2.ipynb"],),
        *(["01.ipynb", "01 (1).ipynb", "01 (3).ipynb", "01 (20).ipynb"],),
        *(["01 attempt 9.ipynb", "01 attempt 10.ipynb"],),
        *(["01.ipynb", "01_v2.ipynb", "01_v11.ipynb"],),
        *(["01_views.ipynb", "01_views-1.ipynb", "01_views-2.ipynb", "01_views-10.ipynb"],),
        *(["01.ipynb", "Copy of 01.ipynb"],),
        *(["z.ipynb", "c - Copy.ipynb", "b - Copy (2).ipynb", "a_v3.ipynb"],),
        *(["attempt 9/01.ipynb", "attempt 10/01.ipynb"],),
        *(["anna.zip/a9.ipynb", "anna.zip/A10.ipynb"],),
        *(["01-Copy" + "9" * 5000 + ".ipynb", "01-Copy1.ipynb"],),
        *(["01 (" + "9" * 5000 + ").ipynb", "01 (1).ipynb"],),
        *(["01_v" + "9" * 5000 + ".ipynb", "01_v1.ipynb"],),
    ],
)
def test_the_last_copy_counts_where_times_do_not_tell(names):
    for times in ([0] * len(names), [1e9 + i % 2 for i in range(len(names))]):
        submissions = [submission(*one) for one in zip(names, times, strict=True)]
        for last in range(1, len(names) + 1):
            for order in (submissions[:last], submissions[:last][::-1]):
                chosen, others = newest(order)
                assert chosen is submissions[last - 1]
                assert others == [one for one in order if one is not chosen]


def test_the_newest_counts_whatever_its_name():
    old, new = submission("01-Copy9.ipynb", 1e9), submission("01.ipynb", 1e9 + 3)
    assert newest([old, new]) == (new, [old])
    undated = submission("02.ipynb")
    assert newest([undated, old, new]) == (new, [undated, old])
    assert newest([submission("01-Copy1.ipynb"), old, new])[0].name == "01-Copy1.ipynb"


def test_which_one_counts_does_not_depend_on_the_order():
    chance = random.Random(3)
    names = [
        "01.ipynb",
        "01-Copy1.ipynb",
        "01 (2).ipynb",
        "a/01.ipynb",
        "A/01.ipynb",
        "01_v2.ipynb",
    ]
    for _ in range(500):
        some = [
            submission(name, chance.choice([0, 1e9, 1e9 + 1, 1e9 + 9]))
            for name in chance.sample(names, chance.randint(1, 6))
        ]
        chosen, others = newest(some)
        chance.shuffle(some)
        assert newest(some)[0] is chosen
        assert {one.name for one in (chosen, *others)} == {one.name for one in some}


def test_natural_order_knows_numbers_of_any_length():
    names = ["b2", "B10", "a", "a" + "9" * 5000, "a1", "a01"]
    assert sorted(names, key=natural) == ["a", "a01", "a1", "a" + "9" * 5000, "b2", "B10"]


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("1970-01-02 00:00:00 UTC", 86400),
        ("1970-01-02 00:00:00.500000 UTC\n", 86400.5),
        ("1970-01-02 00:00:00", 86400),
        ("1970-01-02 01:00:00+01:00", 86400),
        ("1970-01-02 00:00:00 Nowhere/Town", 0),
        ("1970-01-02 00:00:00 ../../x", 0),
        ("tomorrow", 0),
        ("", 0),
    ],
)
def test_nbgrader_s_time_stamp_is_understood(stamp, seconds):
    assert submitted_at(stamp) == seconds


def test_a_time_stamp_in_a_named_zone_is_understood():
    if "Europe/Berlin" not in available_timezones():
        pytest.skip("no time zones here")
    assert submitted_at("1970-01-02 01:00:00 Europe/Berlin") == 86400


def test_a_time_stamp_beside_a_notebook_tells_when_it_was_handed_in(tmp_path):
    good = b"1970-01-02 00:00:00 UTC"
    for name, stamp in {"anna": good, "bob": b"\xff", "carl": good + b" " * 999}.items():
        build(tmp_path, [f"class/{name}/{C1}"])
        (tmp_path / "class" / name / "timestamp.txt").write_bytes(stamp)
        os.utime(tmp_path / "class" / name / C1, (5e8, 5e8))
    found = collect([tmp_path / "class"], chapters=CHAPTERS)
    assert [one.modified for one in found] == [86400, 5e8, 5e8]
    path, members = tmp_path / "anna.zip", [(f"a/{C1}", NOTEBOOK), ("a/timestamp.txt", good)]
    assert only(zip_of(path, *members)).modified == 86400
    for name, stamp in [("timestamp.txt", good), ("a/timestamp.txt", good + b" " * 999)]:
        zip_of(path, (info(f"a/{C1}"), NOTEBOOK), (name, stamp))
        assert only(path).modified == datetime(*JUNE).timestamp()


def test_a_time_in_a_zip_file_is_local_and_its_first_day_is_none(tmp_path):
    path = zip_of(tmp_path / "anna.zip", (info(C1), NOTEBOOK))
    assert only(path).modified == datetime(*JUNE).timestamp()
    zip_of(path, (info(C1, date_time=(1980, 1, 1, 0, 0, 0)), NOTEBOOK))
    assert only(path).modified == 0
    path.write_bytes(patched(path.read_bytes(), local=10, central=12, value=b"\0\0\0\0"))
    assert only(path).modified == 0


def test_the_rules_can_be_printed():
    assert learners.RULES.startswith("Whose notebook is it?")
    assert all(len(line) <= 100 for line in learners.RULES.splitlines())
