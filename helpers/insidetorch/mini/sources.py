"""Where does the reference's code stand? In its modules, or packed, for learners who build it.

A handout has the pieces in `PACKED`, beside the modules, and in each piece's place a module that
runs it from there.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ..packed import unpack

PACKED = "packed.json"
INSTEAD = '''\
"""Packed: a piece of MiniTorch, which you build."""

from insidetorch.mini.sources import source_of

exec(compile(source_of("{name}"), __file__, "exec"))
'''


def source_of(name: str) -> str:
    """The source of a module of the reference, such as "tape.py".

    >>> source_of("tape.py").startswith('\"\"\"What does autograd write down')
    True
    """
    packed = _packed()
    if name in packed:
        return unpack(packed[name])["source"]
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def _packed() -> dict[str, str]:
    """The packed modules by their names; none in a whole copy of the course."""
    file = Path(__file__).with_name(PACKED)
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
