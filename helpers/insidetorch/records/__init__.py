"""What crosses a layer: frozen records of what torch said, read by text, picture and test alike.

Sizes, strides, offsets and elements count elements of the tensor's dtype; a count of bytes says
`_bytes`. Tuples keep torch's order.
"""

from .aliases import Family, Member, Relation
from .layout import Cell, Index, Layout, StorageCell, Value, XRay
from .operators import OperatorCount

__all__ = [
    "Cell",
    "Family",
    "Index",
    "Layout",
    "Member",
    "OperatorCount",
    "Relation",
    "StorageCell",
    "Value",
    "XRay",
]
