"""Which files does a cell `%%files ID` hold?"""

from __future__ import annotations

import re

MAGIC = "files"
_FILE = re.compile(r"^# file: (\w+)\.py[ \t\r]*$", re.MULTILINE)
_LIKE_ONE = re.compile(r"^[ \t]*#+[ \t]*file\b[ \t]*:.*$", re.MULTILINE | re.IGNORECASE)


def files_of(text: str) -> dict[str, str]:
    """The files of a text by their names; of two with one name the second counts.

    >>> files_of("# file: a.py\\nx = 1\\n# file: b.py\\nfrom a import x")
    {'a.py': 'x = 1\\n', 'b.py': 'from a import x\\n'}
    """
    _, *parts = _FILE.split(text)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {f"{name}.py": f"{source.strip()}\n" for name, source in pairs}


def odd_line_of(text: str) -> str:
    """The first line that looks as if it named a file, and names none; "" where there is none.

    >>> odd_line_of("# file: a.py\\n# File: b.py (mended)")
    '# File: b.py (mended)'
    """
    lines = (found[0].strip() for found in _LIKE_ONE.finditer(text))
    return next((line for line in lines if not _FILE.fullmatch(line)), "")
