"""How long does `import insidetorch` take in a fresh process, beside `import torch`?"""

from __future__ import annotations

import statistics
import subprocess
import sys

from machine import load, machine

ROUNDS = 10
CASES = {
    "import insidetorch": "import insidetorch",
    "import torch": "import torch",
    "insidetorch.show": "import insidetorch; insidetorch.show",
}
TIMED = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def seconds(statement: str) -> float:
    """The time of one statement, without the start of its process."""
    script = TIMED.format(statement=statement)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main() -> None:
    print(machine())
    print(load())
    found: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(ROUNDS):
        for name, statement in CASES.items():
            found[name].append(seconds(statement))
    base = statistics.median(found["import torch"])
    for name, times in found.items():
        median = statistics.median(times)
        print(
            f"{name:20} median {median:6.3f} s, shortest {min(times):6.3f} s, "
            f"{median / base:6.3f} × import torch"
        )
    print(load())


if __name__ == "__main__":
    main()
