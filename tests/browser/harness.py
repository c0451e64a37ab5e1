"""A real JupyterLab on the loopback interface, driven in headless Chromium.

    with LabServer(folder) as lab, Browser(chromium) as browser:
        notebook = browser.open(lab, "chapter.ipynb", theme="JupyterLab Dark")
        notebook.run_all()

Every wait is for a state, never for a time.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
THEMES = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"checkForUpdates": False, "fetchNews": "false"},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
# The metadata of a notebook; without a kernel's name JupyterLab asks for one.
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
STARTS_WITHIN_S = 120


class LabServer:
    """JupyterLab serving `root`, with settings and a trust database of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @property
    def progress(self) -> Path:
        """Where its kernels keep the learner's progress."""
        return self.home / "progress.json"

    def __enter__(self) -> LabServer:
        self.home = Path(tempfile.mkdtemp(prefix="lab-"))
        for key, value in SETTINGS.items():
            self.set(key, value)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = (self.home / "lab.log").open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
            + [f"--ServerApp.{option}" for option in self._options(port)]
            + ["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"]
            + ["--LabApp.news_url=", "--IdentityProvider.token="],
            cwd=self.root,
            env=self._environment(),
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._wait_for_answer()
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.end_kernels()
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def set(self, key: str, value: dict) -> None:
        """Write one user setting; pages that open later see it."""
        extension, plugin = key.rsplit("/", 1)
        folder = self.home / "user-settings" / extension
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{plugin}.jupyterlab-settings"
        file.write_text(json.dumps(value), encoding="utf-8")

    def end_kernels(self) -> None:
        """End every session and its kernel: a closed page leaves both behind."""
        for kind in ("sessions", "kernels"):
            for item in json.loads(self._ask(f"/api/{kind}")):
                self._ask(f"/api/{kind}/{item['id']}", method="DELETE")

    def _ask(self, path: str, *, method: str = "GET") -> bytes:
        request = urllib.request.Request(self.url + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code == 404:  # ended with its session already
                return b"[]"
            raise

    def _wait_for_answer(self) -> None:
        end = time.monotonic() + STARTS_WITHIN_S
        while True:
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.flush()
                tail = Path(self.log.name).read_text(encoding="utf-8")[-3000:]
                self.__exit__()
                raise RuntimeError(f"JupyterLab did not start:\n{tail}")
            try:
                self._ask("/api/status")
                return
            except OSError:
                time.sleep(0.05)

    def _options(self, port: int) -> list[str]:
        return [
            "ip=127.0.0.1",
            f"port={port}",
            "port_retries=0",
            "password=",
            "disable_check_xsrf=True",
            f"root_dir={self.root}",
        ]

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "user-settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
            "INSIDETORCH_PROGRESS": self.progress.name,
        }
        places = {name: str(self.home / place) for name, place in own.items()}
        return {**os.environ, "JUPYTER_PLATFORM_DIRS": "1", **places}


class Browser:
    """Headless Chromium."""

    def __init__(self, chromium: str) -> None:
        self.chromium = chromium

    def __enter__(self) -> Browser:
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(
            executable_path=self.chromium, headless=True, args=CHROMIUM_ARGS
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self.browser.close()
        self.playwright.stop()

    def open(
        self,
        lab: LabServer,
        path: str,
        *,
        theme: str = THEMES[0],
        size: tuple[int, int] = (1280, 1000),
    ) -> Notebook:
        """A notebook in single-document mode, its kernel idle."""
        # By setting: a theme command while Lab starts raises errors in the page.
        lab.set("@jupyterlab/apputils-extension/themes", {"theme": theme, "adaptive-theme": False})
        context = self.browser.new_context(viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        page.set_default_timeout(60_000)
        notebook = Notebook(page)
        page.goto(f"{lab.url}/doc/tree/{path}?reset")
        page.wait_for_function("() => window.jupyterapp && document.body.dataset.jpThemeName")
        page.evaluate("() => window.jupyterapp.restored")
        page.wait_for_function("t => document.body.dataset.jpThemeName === t", arg=theme)
        page.wait_for_function(_IS_OPEN, arg=path)
        notebook.wait_idle()
        return notebook

    def pages(self) -> list[Page]:
        return [page for context in self.browser.contexts for page in context.pages]

    def close_pages(self) -> None:
        for context in self.browser.contexts:
            context.close()


_IS_OPEN = """path => {
  const panel = window.jupyterapp.shell.currentWidget;
  if (panel?.context?.path !== path || !panel.context.isReady) return false;
  return panel.content.widgets.length === panel.content.model.cells.length;
}"""
_IS_IDLE = """() => {
  const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
# A kernel is idle between two cells, too: every cell must have its number and be done.
_IS_DONE = """() => window.jupyterapp.shell.currentWidget.content.widgets.every(cell => {
  const model = cell.model;
  if (model.type !== 'code' || !model.sharedModel.getSource().trim()) return true;
  const waiting = (cell.inputArea.promptNode.textContent ?? '').includes('*');
  return model.executionCount != null && model.executionState !== 'running' && !waiting;
})"""
_CLEAR_COUNTS = """() => {
  for (const cell of window.jupyterapp.shell.currentWidget.content.widgets)
    if (cell.model.type === 'code') cell.model.executionCount = null;
}"""
_IDS = """() =>
  window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.id)"""
_ERRORS = """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap((cell, i) => {
  const found = [];
  for (let k = 0; cell.model.type === 'code' && k < cell.model.outputs.length; k++) {
    const output = cell.model.outputs.get(k).toJSON();
    if (output.output_type === 'error') found.push(`cell ${i}: ${output.ename}: ${output.evalue}`);
  }
  return found;
})"""


class Notebook:
    """An opened notebook: run it, find its cells and widgets, read what went wrong."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._page_errors: list[str] = []
        page.on("pageerror", lambda error: self._page_errors.append(f"{error} {error.stack}"))
        page.on(
            "console",
            lambda m: self._page_errors.append(m.text) if m.type == "error" else None,
        )

    def command(self, name: str) -> None:
        """Run a JupyterLab command and wait until it is done."""
        self.page.evaluate("id => window.jupyterapp.commands.execute(id).then(() => null)", name)

    def wait_idle(self) -> None:
        self.page.wait_for_function(_IS_IDLE)

    def wait_done(self) -> None:
        self.page.wait_for_function(_IS_DONE)
        self.wait_idle()

    def run_all(self) -> None:
        self.page.evaluate(_CLEAR_COUNTS)
        self.command("notebook:run-all-cells")
        self.wait_done()

    def restart_run_all(self) -> None:
        self.page.evaluate(_CLEAR_COUNTS)
        self.page.evaluate(
            "() => { window.jupyterapp.commands.execute('notebook:restart-run-all') }"
        )
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.wait_done()

    def cell(self, number: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def place(self, cell_id: str) -> int:
        """The number of the cell that has this id in the notebook's file."""
        return self.page.evaluate(_IDS).index(cell_id)

    def cells(self) -> int:
        return self.page.locator(".jp-Notebook .jp-Cell").count()

    def output_errors(self) -> list[str]:
        return self.page.evaluate(_ERRORS)

    def widget_errors(self) -> list[str]:
        """Errors of our own module, which runs from a blob; JupyterLab has some of its own."""
        ours = ("blob:", "anywidget", "widget")
        return [e for e in self._page_errors if any(word in e.lower() for word in ours)]
