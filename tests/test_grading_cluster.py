"""A Dask cluster grades what one machine grades, also when a worker dies in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from test_grading_course import submission, write, write_course

from coursekit.errors import CourseError
from coursekit.grading.cluster import Cluster
from coursekit.grading.grader import fingerprint
from coursekit.grading.handed_in.collect import Submission, collect
from coursekit.grading.runs.limits import Limits

WRONG = "def offset(index, strides):\n    return 0"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return write_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory) -> Iterator[LocalCluster]:
    """Two workers, each a process of its own, which is started anew when it is killed."""
    folder = str(tmp_path_factory.mktemp("dask"))
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=folder,
        silence_logs=False,
    ) as found:
        yield found


def cluster_at(workers: LocalCluster, course: Path, *, how: str = "") -> Cluster:
    address = f"dask://{workers.scheduler_address.removeprefix('tcp://')}"
    how = how or fingerprint(course)
    return Cluster(address, root=course, limits=Limits(cell=20), isolation="", how=how)


def a_class(folder: Path) -> list[Submission]:
    for number in range(8):
        answers = {"a1": WRONG} if number % 2 else {}
        write(folder / f"learner {number}" / "01_storage.ipynb", submission(**answers))
    (folder / "broken.ipynb").write_text("{", encoding="utf-8")
    (folder / "link.ipynb").symlink_to(folder / "nowhere")
    return collect([folder], chapters=["01_storage"])


def test_nothing_is_lost_when_a_worker_dies_in_the_middle(workers, course, tmp_path):
    handed_in = a_class(tmp_path)
    found = {}
    with Client(workers) as client:
        for one, graded in cluster_at(workers, course).grade(handed_in):
            found[one.learner] = graded
            if len(found) == 3:
                # The worker that is at work now, with a submission half graded.
                [busy, *_] = [w for w, tasks in client.processing().items() if tasks]
                pid = client.run(lambda: __import__("os").getpid(), workers=[busy])[busy]
                __import__("os").kill(pid, 9)
    assert set(found) == {one.learner for one in handed_in}
    points = [found[f"learner {number}"].points for number in range(8)]
    assert points == [6, 4] * 4
    assert found["broken"].problem and found["link"].problem


def test_a_worker_with_another_course_is_not_asked_to_grade(workers, course, tmp_path):
    cluster = cluster_at(workers, course, how="another")
    with pytest.raises(CourseError, match="another version of the course"):
        list(cluster.grade(a_class(tmp_path)))


def test_a_scheduler_that_does_not_answer_is_told(course):
    with pytest.raises(CourseError, match="No scheduler answers there"):
        Cluster("dask://127.0.0.1:9", root=course, limits=Limits(), isolation="", how="")
