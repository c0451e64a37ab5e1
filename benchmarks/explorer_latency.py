"""How soon after a key press does the picture change, and does memory stay flat?

StrideExplorer and `interact` with pyplot stand in one notebook of a real JupyterLab and draw the
same values, element numbers and bytes; key presses alternate between them. A press is answered
when the picture's part of the page changes for the last time before it has been still for
`QUIET_MS`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import nbformat
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from harness import KERNEL, Browser, LabServer, Notebook
from machine import load, machine
from playwright.sync_api import Locator

from coursekit.machine import find_chromium

PRESSES = 40
MOVES = 200
QUIET_MS = 500
CELLS = [
    "from insidetorch import StrideExplorer\nStrideExplorer()",
    """import torch
from ipywidgets import IntSlider, interact
from matplotlib import pyplot as plt

def draw(offset):
    a = torch.arange(48).as_strided((4, 6), (6, 1), offset)
    fig, (grid, storage) = plt.subplots(2, figsize=(8.2, 3.6), height_ratios=(4, 1))
    grid.imshow(a, cmap="Blues", aspect="auto")
    for i in range(4):
        for j in range(6):
            label = f"{int(a[i, j])}\\n{offset + 6 * i + j}"
            grid.text(j, i, label, ha="center", va="center")
    used = [[offset <= k < offset + 24 for k in range(24)]]
    storage.imshow(used, cmap="Blues", aspect="auto")
    for k in range(24):
        storage.text(k, 0, f"{k}\\n{k}\\n{8 * k}", ha="center", va="center")
    plt.show()

interact(draw, offset=IntSlider(min=0, max=24));""",
    "import os\nprint(os.getpid())",
]

# Times of the browser only: from the key press that the page sees to its last change.
_ARM = """([cell, quiet]) => {
  const output = cell.querySelector(".jp-OutputArea");
  window.answer = new Promise(resolve => {
    let pressed = null, changed = null, timer = null;
    const isPicture = ({ target }) => {
      const node = target.nodeType === 1 ? target : target.parentElement;
      return node?.closest(".it-view, .widget-output");
    };
    const done = () => { watcher.disconnect(); resolve(changed - pressed); };
    const note = () => {
      if (pressed === null) return;
      changed = performance.now();
      clearTimeout(timer);
      timer = setTimeout(done, quiet);
    };
    const watcher = new MutationObserver(list => { if (list.some(isPicture)) note(); });
    watcher.observe(output, { subtree: true, childList: true, attributes: true });
    output.addEventListener("load", note, { capture: true });
    cell.addEventListener("keydown", () => { pressed = performance.now(); },
      { capture: true, once: true });
  });
}"""


def press(cell: Locator, key: str) -> float:
    """Milliseconds from one key press on the slider "offset" to the last change of its picture."""
    slider(cell).focus()
    page = cell.page
    cell.evaluate(f"(cell, quiet) => ({_ARM})([cell, quiet])", QUIET_MS)
    page.keyboard.press(key)
    return page.evaluate("() => window.answer")


def slider(cell: Locator) -> Locator:
    """The handle of the slider "offset"; interact gives its own no name."""
    row = cell.locator(".widget-slider").filter(
        has=cell.page.locator(".widget-label", has_text="offset")
    )
    return row.locator(".noUi-handle")


def heap_mb(notebook: Notebook) -> float:
    """The page's JavaScript heap after a forced collection."""
    session = notebook.page.context.new_cdp_session(notebook.page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize") / 1e6


def kernel_mb(notebook: Notebook) -> float:
    """The resident memory of the kernel, whose process id the last cell has printed."""
    pid = int(notebook.cell(2).locator(".jp-OutputArea-output").inner_text())
    return psutil.Process(pid).memory_info().rss / 1e6


def moves(cell: Locator, count: int) -> None:
    """Press the arrow keys `count` times, each after the picture of the one before."""
    view = cell.locator(".it-view")
    slider(cell).focus()
    for number in range(count):
        before = int(view.get_attribute("data-rev"))
        cell.page.keyboard.press("ArrowRight" if number % 2 == 0 else "ArrowLeft")
        cell.page.wait_for_function(
            "([view, rev]) => Number(view.dataset.rev) > rev", arg=[view.element_handle(), before]
        )


def describe(times: list[float]) -> str:
    """Median, 95th percentile and the shortest."""
    p95 = statistics.quantiles(times, n=20)[-1]
    return (
        f"median {statistics.median(times):6.1f} ms, p95 {p95:6.1f} ms, best {min(times):6.1f} ms"
    )


def main() -> None:
    print(machine())
    print(load())
    with tempfile.TemporaryDirectory() as folder, Browser(find_chromium()) as browser:
        cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
        nbformat.write(
            nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), Path(folder, "latency.ipynb")
        )
        with LabServer(Path(folder)) as lab:
            notebook = browser.open(lab, "latency.ipynb", size=(1280, 1600))
            notebook.run_all()
            measure(notebook)
    print(load())


def measure(notebook: Notebook) -> None:
    """All numbers of one opened notebook."""
    ours, pyplot = notebook.cell(0), notebook.cell(1)
    for cell in (ours, pyplot):  # the first answer of each pays for what is loaded late
        press(cell, "ArrowRight")
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(PRESSES):
        key = "ArrowLeft" if number % 2 == 0 else "ArrowRight"
        for cell, times in zip((ours, pyplot), found, strict=True):
            times.append(press(cell, key))
    print(f"StrideExplorer     {describe(found[0])}, n={PRESSES}")
    print(f"interact + pyplot  {describe(found[1])}, n={PRESSES}")
    ratio = statistics.median(found[1]) / statistics.median(found[0])
    print(f"StrideExplorer is {ratio:.1f} times as fast by the medians")
    moves(ours, 10)
    before = heap_mb(notebook), kernel_mb(notebook)
    moves(ours, MOVES)
    after = heap_mb(notebook), kernel_mb(notebook)
    for name, first, last in zip(("page heap", "kernel"), before, after, strict=True):
        print(f"{name:9} {first:7.2f} MB, after {MOVES} moves {last - first:+.2f} MB")


if __name__ == "__main__":
    main()
