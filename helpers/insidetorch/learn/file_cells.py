"""Which files does a cell `%%files ID` hold?"""

from __future__ import annotations

import re

MAGIC = "files"
_FILE = re.compile(r"^# file: (\w+)\.py[ \t]*$", re.MULTILINE)


def files_of(text: str) -> dict[str, str]:
    """The files of a text by their names; of two with one name the second counts.

    >>> files_of("# file: a.py\\nx = 1\\n# file: b.py\\nfrom a import x")
    {'a.py': 'x = 1\\n', 'b.py': 'from a import x\\n'}
    """
    _, *parts = _FILE.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {f"{name}.py": f"{source.strip()}\n" for name, source in pairs}
