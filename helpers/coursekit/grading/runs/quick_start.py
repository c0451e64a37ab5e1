"""What need nbval's process not import? It is started once per run, and mostly imports.

jsonschema, with which nbformat checks notebooks, imports a grammar of web addresses where it is
installed. That takes a second, more than all the rest, and no notebook format uses it. pytest loads
this module before all others.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("rfc3987_syntax", None)
