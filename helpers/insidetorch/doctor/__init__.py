"""The gradient doctor: which line cut, spoiled or leaked a gradient?"""

from __future__ import annotations

from .report import Report
from .run import Run
from .watching import watch

__all__ = ["Report", "Run", "watch"]
