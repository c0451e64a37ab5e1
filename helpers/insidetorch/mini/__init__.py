"""How small can a torch be? MiniTorch: the reference that learners rebuild, a piece a chapter.

`storage` is piece 1, `views` piece 2, `given` what learners are handed; `assemble` puts their names
into a MiniTorch of its own. Nothing here needs torch. A storage is a bytearray, so that the real
torch can open it:
`torch.frombuffer(t.storage.bytes, dtype=torch.float64).as_strided(t.sizes, t.strides, t.offset)`.
"""

from __future__ import annotations

from .assembly import assemble
from .given import alias, broadcast, new, pointwise, sum_kernel, sum_to
from .storage import Storage, Tensor, contiguous_strides, permute_kernel
from .views import contiguous, expand_kernel, narrow_kernel, reshape, view_kernel, view_strides

__all__ = [
    "Storage",
    "Tensor",
    "alias",
    "assemble",
    "broadcast",
    "contiguous",
    "contiguous_strides",
    "expand_kernel",
    "narrow_kernel",
    "new",
    "permute_kernel",
    "pointwise",
    "reshape",
    "sum_kernel",
    "sum_to",
    "view_kernel",
    "view_strides",
]
