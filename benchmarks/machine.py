"""On what were these numbers measured?"""

from __future__ import annotations

import os
import platform
from importlib import metadata


def machine() -> str:
    """Processors, system, Python and torch, in one line."""
    return (
        f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, torch {metadata.version('torch')}"
    )


def load() -> str:
    """How busy the machine is: the mean number of waiting processes over one and five minutes."""
    if not hasattr(os, "getloadavg"):
        return "load unknown on this system"
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (1 min), {five:.1f} (5 min)"
