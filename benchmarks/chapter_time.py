"""How long do the build of a chapter and the steps of the course's test take?

python benchmarks/chapter_time.py 01
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from machine import load, machine

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str) -> None:
    """Run one command of course.py and print its seconds; its own table of steps stays visible."""
    start = time.perf_counter()
    code = subprocess.call([sys.executable, "course.py", *command], cwd=ROOT)
    seconds = time.perf_counter() - start
    print(f"\ncourse.py {' '.join(command)}: {seconds:.0f} s, exit status {code}", flush=True)


def main() -> None:
    chapter = sys.argv[1] if len(sys.argv) > 1 else "01"
    print(machine())
    print(load(), flush=True)
    run("build", chapter)
    run("test")
    print(load())


if __name__ == "__main__":
    main()
