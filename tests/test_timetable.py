"""The teacher's guide: its times are those of the sources, and its plans fit into their hours."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from random import Random

import pytest
import yaml
from test_handout import blocks_of, lines_of

from coursekit import timetable
from coursekit.build import main
from coursekit.errors import CourseError
from coursekit.exercises.parse import find_sets, read_set
from coursekit.handout import write_handout
from coursekit.timetable import (
    BREAK,
    LUNCH,
    NAME,
    PLANS,
    STRETCH,
    Chapter,
    Exercise,
    build_timetable,
    chapters_of,
    check_timetable,
    minutes_of,
    plan_of,
    tables,
)

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / NAME).read_text(encoding="utf-8")
STORED = GUIDE.partition(timetable.BEGIN)[2].partition(timetable.END)[0]
GUIDE_WITH_MARKS = f"# Guide\n\n{timetable.BEGIN}\nold\n{timetable.END}\n\nMine.\n"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The sources and the guide of this course, in a folder with other letters."""
    root = tmp_path / "курс о тензорах"
    for name in ("source", "teach"):
        shutil.copytree(ROOT / name, root / name)
    return root


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course of one lesson without exercises."""
    root = tmp_path / "small course"
    for name in ("source/02_views", "teach"):
        (root / name).mkdir(parents=True)
    text = "# %% [markdown]\n# # 2 · Views\n#\n# **Time** 10 minutes.\n"
    (root / "source" / "02_views" / "lesson.py").write_text(text, encoding="utf-8")
    for name in ("claims.toml", "symptoms.toml"):
        (root / "source" / name).write_text("", encoding="utf-8")
    (root / NAME).write_text(GUIDE_WITH_MARKS, encoding="utf-8")
    return root


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")


def test_the_stored_timetable_is_current():
    assert check_timetable(ROOT) == []


def test_its_minutes_are_those_of_the_notebooks_and_their_sums_are_right():
    rows = re.findall(r"^\| (\[\d .*?|all) \| (.*) \|$", STORED, re.MULTILINE)
    numbers = [[int(n) for n in re.findall(r"\d+", rest.replace("–", "0 0"))] for _, rest in rows]
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    for (_, _), row, notebook in zip(
        rows, numbers, sorted((ROOT / "notebooks").glob("0*.ipynb")), strict=False
    ):
        first = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
        lesson = int(re.search(r"\*\*Time\*\* (\d+)", first)[1])
        built = ROOT / "exercises" / ".course" / f"{notebook.name[:2]}.json"
        about = (
            json.loads(built.read_text(encoding="utf-8"))["exercises"] if built.is_file() else {}
        )
        core = [one["minutes"] for one in about.values() if one["core"]]
        extra = [one["minutes"] for one in about.values() if not one["core"]]
        together = lesson + sum(core) + sum(extra)
        assert row == [lesson, sum(core), len(core), sum(extra), len(extra), together]
    assert len(rows) == 8


def test_the_readme_of_the_course_states_the_same_minutes():
    rows = re.findall(
        r"^\| (\d) \|.*\| (\d+) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    lessons = {str(chapter.number): str(chapter.lesson) for chapter in chapters_of(ROOT)}
    assert dict(rows) == lessons


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("source/01_storage_and_stride/lesson.py", "**Time** 50 minutes", "**Time** 51 minutes"),
        ("source/06_debugging/exercises.py", "minutes = 9", "minutes = 8"),
        ("source/02_views/exercises.py", "core = True", "core = False"),
        ("source/03_dynamic_graph/lesson.py", "The dynamic graph", "The graph"),
    ],
)
def test_what_changes_in_the_sources_changes_the_timetable(course, file, old, new):
    assert check_timetable(course) == []
    change(course / file, old, new)
    assert check_timetable(course) == ["teach/README.md: its timetable is out of date."]
    assert build_timetable(course).startswith("teach/README.md: timetable built; the old page is")
    assert check_timetable(course) == [] and build_timetable(course) == ""
    text = (course / NAME).read_text(encoding="utf-8")
    assert text != GUIDE and text.endswith(GUIDE.partition(timetable.END)[2])


def test_what_somebody_wrote_between_the_marks_is_kept(small):
    told = build_timetable(small)
    kept = small / ".insidetorch" / "backup" / "timetable-1.md"
    assert "the old page is .insidetorch/backup/timetable-1.md" in told
    assert kept.read_text(encoding="utf-8") == GUIDE_WITH_MARKS
    text = (small / NAME).read_bytes()
    assert text.startswith(b"# Guide\n") and text.endswith(b"\n\nMine.\n") and b"\r" not in text
    assert "| [2 · Views](../notebooks/02_views.ipynb) | 10 | – | – | 10 |" in text.decode()


def random_chapters(random: Random) -> list[Chapter]:
    found = []
    for number in range(1, random.randint(2, 9)):
        exercises = [
            Exercise(f"{number}.{k}", random.randint(5, 40), random.random() < 0.6, k == 4)
            for k in range(1, random.randint(1, 6))
        ]
        found.append(Chapter(number, "x", "x.md", random.randint(20, 100), tuple(exercises)))
    return found


COURSES = [chapters_of(ROOT), *[random_chapters(Random(seed)) for seed in range(200)]]


@pytest.mark.parametrize("limits", PLANS.values(), ids=PLANS)
def test_no_day_of_a_plan_is_longer_than_its_hours(limits):
    lengths = set()
    for chapters in COURSES:
        days, _ = plan_of(limits, chapters)
        assert len(days) <= len(limits)
        for day, limit in zip(days, limits, strict=False):
            assert minutes_of(day) <= limit
            lengths.add(minutes_of(day))
    assert max(lengths) > min(limits) * 0.9


@pytest.mark.parametrize("limits", PLANS.values(), ids=PLANS)
def test_a_plan_is_the_first_chapters_in_order_each_lesson_before_its_exercises(limits):
    for chapters in COURSES:
        days, _ = plan_of(limits, chapters)
        names = [part.name for day in days for part in day]
        lessons = [int(name.split()[1][:-1]) for name in names if name.startswith("Lesson")]
        assert lessons == list(range(1, len(lessons) + 1))
        chapter = 0
        for name in names:
            ids = re.findall(r"\d+\.\d+", name)
            chapter += name.startswith("Lesson")
            assert {one.partition(".")[0] for one in ids} <= {str(chapter)}


@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_leaves_out_is_named_as_home_work(name):
    text = STORED.partition(f"### {name}\n")[2].partition("\n### ")[0]
    plan, _, home = text.partition("Home work: ")
    for chapter in chapters_of(ROOT):
        lesson = f"Lesson {chapter.number}: " in plan
        assert lesson != bool(re.search(rf"chapters? [\d, ]*\b{chapter.number}\b[,;]", home))
        for one in chapter.exercises:
            planned = bool(re.search(rf" {re.escape(one.id)}[ ,]", plan))
            assert not planned or one.core
            if one.core and lesson:
                named = re.search(rf"MiniTorch [\d., ]*\b{re.escape(one.id)}\b", home)
                assert planned != bool(named)
    assert home.strip().endswith("the extra exercises.")


def test_two_days_reach_every_chapter():
    days, home = plan_of(PLANS["Two days"], chapters_of(ROOT))
    names = [part.name for day in days for part in day]
    assert sum(name.startswith("Lesson") for name in names) == 7 and "chapter" not in home


def test_the_clock_of_a_day_runs_from_part_to_part_with_breaks_between():
    days = STORED.split("| from | part | minutes |\n|---|---|---|\n")[1:]
    assert len(days) == 4
    for day in days:
        rows = re.findall(r"^\| (\d+):(\d\d) \| (.*?) \| (\d*) ?\|$", day, re.MULTILINE)
        clock = [60 * int(hour) + int(minute) for hour, minute, _, _ in rows]
        minutes = [int(number or 0) for *_, number in rows]
        assert [a + m for a, m in zip(clock, minutes, strict=True)][:-1] == clock[1:]
        stretches, parts = [[]], [name for *_, name, _ in rows[:-1]]
        for name, number in zip(parts, minutes, strict=False):
            if name in ("*break*", "*lunch*"):
                assert number == (BREAK if name == "*break*" else LUNCH)
                stretches.append([])
            else:
                stretches[-1].append(number)
        assert all(some and (sum(some) <= STRETCH or len(some) == 1) for some in stretches)
        assert parts.count("*lunch*") == (sum(map(sum, stretches)) > timetable.LONG_DAY)


def test_a_plan_that_nothing_fits_into_is_all_home_work():
    chapter = Chapter(1, "x", "x.md", 500, (Exercise("1.1", 5, True, True),))
    assert plan_of((195,), [chapter]) == ([], "chapter 1; the extra exercises")
    assert "Home work: chapter 1;" in tables([chapter])


def test_a_lesson_without_minutes_is_refused(small):
    change(small / "source" / "02_views" / "lesson.py", "**Time** 10 minutes", "**Time** short")
    with pytest.raises(
        CourseError, match=r"minutes of source/02_views/lesson\.py\. Its first cell"
    ):
        check_timetable(small)


@pytest.mark.parametrize("mark", [timetable.BEGIN, timetable.END])
def test_a_guide_without_its_marks_is_refused_and_left_alone(small, mark):
    change(small / NAME, mark, "")
    before = (small / NAME).read_bytes()
    for step in (check_timetable, build_timetable):
        with pytest.raises(CourseError, match="It does not have the marks <!-- times -->"):
            step(small)
    assert (small / NAME).read_bytes() == before


def test_the_build_writes_the_timetable_and_its_check_compares_it(small, capsys):
    assert main([], root=small) == 0
    assert "teach/README.md: timetable built" in capsys.readouterr().out
    assert main(["--check"], root=small) == 0
    change(small / NAME, "| 10 |", "| 11 |")
    assert main(["--check"], root=small) == 1
    assert "teach/README.md: its timetable is out of date." in capsys.readouterr().out


def test_a_course_without_a_guide_has_no_timetable(tmp_path):
    assert build_timetable(tmp_path) == "" and check_timetable(tmp_path) == []


# The pages of the chapters.

PAGES = {name: ROOT / "teach" / f"{name}.md" for name in find_sets(ROOT)}
# What every lesson ends with, and what a class does not go through together.
ENDS = ("What the common account says", "Key points", "Symptoms of this chapter", "Monday card")


def page_of(name: str) -> str:
    return PAGES[name].read_text(encoding="utf-8")


def cells_of(name: str) -> list[dict]:
    stored = ROOT / "notebooks" / f"{name}.ipynb"
    return json.loads(stored.read_text(encoding="utf-8"))["cells"]


def test_each_chapter_with_exercises_has_a_page_and_no_other_page_is_there():
    there = {path.stem for path in (ROOT / "teach").glob("0*.md")}
    assert there == set(PAGES) and len(there) == 6


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_each_exercise_of_its_chapter_with_its_minutes_and_no_other(name):
    wanted = [
        f"{one.id} {one.about['title']} · {'core' if one.about['core'] else 'extra'} · "
        f"{one.about['minutes']} minutes"
        for one in read_set(ROOT, name).exercises
    ]
    text = page_of(name)
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == wanted
    # What is left once code, versions and the numbers of predictions are gone.
    rest = re.sub(r"`[^`]*`|^- \*\*\d\.\d+\*\*|[Pp]rediction \d\.\d+", "", text, flags=re.MULTILINE)
    named = set(re.findall(r"(?<![\d.])[1-9]\.\d+\b", rest))
    assert named == {one.partition(" ")[0] for one in wanted}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_each_section_of_its_lesson_and_their_minutes_are_the_lessons(name):
    prose = "\n".join("".join(c["source"]) for c in cells_of(name) if c["cell_type"] == "markdown")
    sections = [
        one for one in re.findall(r"^## (.*)$", prose, re.MULTILINE) if not one.startswith(ENDS)
    ]
    rows = re.findall(r"^\| (.*?) \| (\d+) \| .*\. \|$", page_of(name), re.MULTILINE)
    assert [title for title, _ in rows] == sections
    stated = int(re.search(r"\*\*Time\*\* (\d+)", prose)[1])
    assert sum(int(minutes) for _, minutes in rows) == stated
    assert f"## The lesson: {stated} minutes, as it states" in page_of(name)


@pytest.mark.parametrize("name", PAGES)
def test_the_right_answer_to_a_prediction_is_the_one_that_torch_gave(name):
    answers = {}
    for cell in cells_of(name):
        for output in cell.get("outputs", ()):
            text = "".join(output.get("data", {}).get("text/plain", ""))
            if found := re.match(r"Predict (\d\.\d+)\.[\s\S]*?^ → (.*)$", text, re.MULTILINE):
                answers[found[1]] = found[2]
    told = re.findall(r"^- \*\*(\d\.\d+)\*\* [\s\S]*?Right:\s+`(.*?)`", page_of(name), re.MULTILINE)
    assert len(told) >= 5 and len(told) == len(
        re.findall(r"^- \*\*\d", page_of(name), re.MULTILINE)
    )
    assert dict(told) == {one: answers[one] for one, _ in told}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_all_its_parts(name):
    headings = re.findall(r"^## (.*)$", page_of(name), re.MULTILINE)
    assert headings[:1] == ["On the board"] and headings[2:] == [
        "Predictions that split a room",
        "The exercises",
        "Discussion at the end",
        "Late?",
    ]
    discussion = page_of(name).partition("## Discussion at the end")[2].partition("## ")[0]
    assert re.findall(r"^(\d)\. \*", discussion, re.MULTILINE) == ["1", "2", "3"]
    assert discussion.count("Expected:") == 3
    asked = page_of(name).partition("## The exercises")[2].partition("## Discussion")[0]
    for exercise in asked.split("\n### ")[1:]:
        assert "What goes wrong:" in exercise and re.search(r"Ask:\s+\"", exercise), exercise


def test_no_answer_stands_in_the_teachers_pages():
    pages = {path.name: lines_of(path) for path in (ROOT / "teach").iterdir()}
    exercises = [one for name in PAGES for one in read_set(ROOT, name).exercises]
    blocks = [(one.id, block) for one in exercises for block in blocks_of(one)]
    assert len(blocks) > 60 and len(pages) >= 8
    pieces = {(one, piece) for one, block in blocks for piece in pieces_of(block)}
    assert len(pieces) > len(blocks)
    found = [(one, name) for one, piece in pieces for name, text in pages.items() if piece in text]
    assert found == []


def pieces_of(block: str) -> list[str]:
    """Each three consecutive lines of an answer, empty ones left out."""
    lines = [line for line in block.splitlines() if line]
    return ["\n".join(lines[k : k + 3]) for k in range(len(lines) - 2)]


def test_a_handout_has_none_of_the_teachers_pages(tmp_path):
    write_handout(tmp_path / "handout")
    names = {path.name for path in tmp_path.rglob("*")}
    assert names & {path.name for path in (ROOT / "teach").iterdir()} == {"README.md"}
    assert (tmp_path / "handout" / "README.md").read_text("utf-8") != GUIDE
    assert not (tmp_path / "handout" / "teach").exists()


@pytest.mark.parametrize("page", sorted((ROOT / "teach").glob("*.md")), ids=lambda path: path.name)
def test_links_of_the_teachers_pages_lead_somewhere(page):
    if page.name == "handout_readme.md":
        pytest.skip("its links are seen from the handout, where tests/test_handout.py follows them")
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)(.*?)\)", text)
    assert len(links) >= 3
    for file, _, anchor in (link.partition("#") for link in links):
        there = page.parent / file if file else page
        assert there.exists(), file
        if anchor:
            titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [
                re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in titles
            ]


# The workflow for GitHub Classroom.

WORKFLOW = (ROOT / "teach" / "github_classroom.yml").read_text(encoding="utf-8")


def steps_of_workflow() -> list[dict]:
    [job] = yaml.safe_load(WORKFLOW)["jobs"].values()
    return job["steps"]


def test_the_workflow_may_only_read_and_ends_in_time():
    workflow = yaml.safe_load(WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    [job] = workflow["jobs"].values()
    assert 0 < job["timeout-minutes"] <= 60 and "permissions" not in job
    [grading] = [step for step in job["steps"] if "course.py grade" in step.get("run", "")]
    assert 0 < grading["timeout-minutes"] < job["timeout-minutes"]


def test_the_grader_of_the_workflow_comes_from_the_course_and_never_from_the_learner():
    course, learner = [step["with"] for step in steps_of_workflow() if "checkout" in str(step)]
    assert (course["path"], learner["path"]) == ("course", "learner")
    env = yaml.safe_load(WORKFLOW)["env"]
    assert course["repository"] == "${{ env.COURSE }}" and "github.repository" not in WORKFLOW
    assert course["ref"] == "refs/tags/${{ env.COURSE_TAG }}" and re.match(
        r"v\d", env["COURSE_TAG"]
    )
    assert "repository" not in learner and learner["sparse-checkout"] == "exercises"
    runs = [step["run"] for step in steps_of_workflow() if "run" in step]
    used = [path for run in runs for path in re.findall(r"\blearner/\S*", run)]
    assert used == ["learner/exercises"]
    assert sum("python course/course.py grade" in run for run in runs) == 1
    assert any('-e "./course[author]"' in run for run in runs)


def test_the_workflow_leaves_no_secret_where_an_answer_could_read_it():
    assert "secrets." not in WORKFLOW and "github.token" not in WORKFLOW
    for step in steps_of_workflow():
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
    [grading] = [step["run"] for step in steps_of_workflow() if "course.py" in step.get("run", "")]
    assert grading.startswith("env -i ") and "GITHUB_" not in grading


def test_the_workflow_pins_its_actions_and_torch_and_keeps_the_results():
    uses = [step["uses"] for step in steps_of_workflow() if "uses" in step]
    assert len(uses) == 4 and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in uses)
    tested = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    torch = tested["tool"]["insidetorch"]["tested-torch"]
    assert f'"torch=={torch}"' in WORKFLOW and GUIDE.count(f'"torch=={torch}"') == 3
    [kept] = [step for step in steps_of_workflow() if "upload-artifact" in step.get("uses", "")]
    assert kept["with"]["path"] == "grades" and kept["if"] == "${{ !cancelled() }}"
    assert any('>> "$GITHUB_STEP_SUMMARY"' in step.get("run", "") for step in steps_of_workflow())


def test_what_was_not_run_is_labelled_so():
    assert WORKFLOW.startswith("# Not run")
    for title in ("A hub", "A container for grading", "GitHub Classroom"):
        section = GUIDE.partition(f"\n## {title}\n")[2]
        assert section.startswith("\n**Not run.**"), title
