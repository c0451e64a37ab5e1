"""How small can a torch be? MiniTorch: the reference that learners rebuild, a piece a chapter.

`storage` is piece 1, `given` what learners are handed, `assemble` puts their names into a MiniTorch
of its own. Nothing here needs torch. A storage is a bytearray, so that the real torch can open it:
`torch.frombuffer(t.storage.bytes, dtype=torch.float64).as_strided(t.sizes, t.strides, t.offset)`.
"""

from __future__ import annotations

from .assembly import assemble
from .given import alias, broadcast, new, pointwise, sum_kernel, sum_to
from .storage import Storage, Tensor, contiguous_strides, permute_kernel

__all__ = [
    "Storage",
    "Tensor",
    "alias",
    "assemble",
    "broadcast",
    "contiguous_strides",
    "new",
    "permute_kernel",
    "pointwise",
    "sum_kernel",
    "sum_to",
]
