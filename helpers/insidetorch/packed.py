"""How does an answer lie in a file so that nobody reads it by accident?

That hides it, it does not protect it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any


def pack(told: Mapping[str, object]) -> str:
    """Texts and numbers by their names as one word, the same on every machine.

    >>> unpack(pack({"the repaired script": "x = 1"}))
    {'the repaired script': 'x = 1'}
    """
    return b64encode(json.dumps(dict(told)).encode()).decode()


def unpack(packed: str) -> dict[str, Any]:
    """What `pack` has packed."""
    return json.loads(b64decode(packed))
