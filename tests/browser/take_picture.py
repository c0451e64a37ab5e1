"""Take the README's picture anew: `python tests/browser/take_picture.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from harness import Browser, LabServer

from coursekit.machine import find_chromium

PICTURE = Path(__file__).parents[2] / ".github" / "stride_explorer.png"
CELL = "from insidetorch import StrideExplorer\nStrideExplorer('a.t()')"


def main() -> None:
    """Open the explorer in JupyterLab, put the pointer on a cell, keep what is seen."""
    with tempfile.TemporaryDirectory() as folder:
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
        notebook.cells = [nbformat.v4.new_code_cell(CELL)]
        nbformat.write(notebook, Path(folder) / "picture.ipynb")
        with LabServer(Path(folder)) as lab, Browser(find_chromium()) as browser:
            opened = browser.open(lab, "picture.ipynb", size=(1040, 760))
            opened.run_all()
            box = opened.cell(0).locator(".it-box")
            box.locator("[data-r='1'][data-c='2']").hover()
            box.screenshot(path=str(PICTURE))


if __name__ == "__main__":
    main()
