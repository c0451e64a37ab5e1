"""How small can a torch be? MiniTorch: the reference that learners rebuild, a piece a chapter.

`storage` is piece 1, `views` piece 2, `tape` piece 3, `backward` piece 4, `dispatch` piece 5, and
`versions` and `inplace` piece 6; `given`, `tracking`, `layers`, `modes`, `ops`, `families` and
`writes` are what learners are handed; `assemble` puts their names into a MiniTorch of its own.
Nothing here needs torch. A storage is a bytearray, so that the real torch can open it:
`torch.frombuffer(t.storage.bytes, dtype=torch.float64).as_strided(t.sizes, t.strides, t.offset)`.
"""

from __future__ import annotations

from .assembly import assemble
from .backward import AccumulateGrad, backward
from .dispatch import call, exclude, keys_of, redispatch, register
from .families import join, rebase
from .given import alias, broadcast, new, pointwise, sum_kernel, sum_to
from .inplace import bump, track_view
from .layers import Dispatcher, Fallthrough, Key
from .modes import log_mode
from .ops import reduce_to
from .storage import Storage, Tensor, contiguous_strides, permute_kernel
from .tape import Edge, Node, detach, edge_of, grad_mode, record
from .tracking import GradMode, Op
from .versions import Saved, VersionCounter, check_write
from .views import contiguous, expand_kernel, narrow_kernel, reshape, view_kernel, view_strides
from .writes import record_write, register_write, write_kernel

__all__ = [
    "AccumulateGrad",
    "Dispatcher",
    "Edge",
    "Fallthrough",
    "GradMode",
    "Key",
    "Node",
    "Op",
    "Saved",
    "Storage",
    "Tensor",
    "VersionCounter",
    "alias",
    "assemble",
    "backward",
    "broadcast",
    "bump",
    "call",
    "check_write",
    "contiguous",
    "contiguous_strides",
    "detach",
    "edge_of",
    "exclude",
    "expand_kernel",
    "grad_mode",
    "join",
    "keys_of",
    "log_mode",
    "narrow_kernel",
    "new",
    "permute_kernel",
    "pointwise",
    "rebase",
    "record",
    "record_write",
    "redispatch",
    "reduce_to",
    "register",
    "register_write",
    "reshape",
    "sum_kernel",
    "sum_to",
    "track_view",
    "view_kernel",
    "view_strides",
    "write_kernel",
]
