"""Which environment does a run get? A bare one: nothing of the user's is named in it."""

from __future__ import annotations

import os
import site
from pathlib import Path

from ...machine import kernel_environment
from .folders import packages
from .processes import TOKEN

KEPT = [
    *("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS"),
]


def environment(folder: Path, token: str) -> dict[str, str]:
    """The variables of a run in `folder`, with every home below it; `token` marks its processes."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    homes = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP")
    home = folder / "home"
    return {
        **kept,
        **dict.fromkeys(homes, str(home)),
        **dict.fromkeys(("USER", "LOGNAME", "USERNAME"), "learner"),
        **kernel_environment(home),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(packages()),
        "PYTHONUSERBASE": site.getuserbase(),
        "PYTHONUTF8": "1",
        TOKEN: token,
    }
