"""What crosses a layer: frozen records of what torch said, read by text, picture and test alike.

Sizes, strides, offsets and elements count elements of the tensor's dtype; a count of bytes says
`_bytes`. Tuples keep torch's order.
"""

from .aliases import Family, Member, Relation
from .backward import Backward, BackwardStep, Gradient
from .comparison import Comparison, Values
from .graph import Edge, Graph, Node, Saved
from .layout import Cell, Index, Layout, StorageCell, Value, XRay
from .operators import OperatorCount
from .steps import Place, Step, Steps
from .viewing import ViewRule
from .writing import Reader, Write

__all__ = [
    "Backward",
    "BackwardStep",
    "Cell",
    "Comparison",
    "Edge",
    "Family",
    "Gradient",
    "Graph",
    "Index",
    "Layout",
    "Member",
    "Node",
    "OperatorCount",
    "Place",
    "Reader",
    "Relation",
    "Saved",
    "Step",
    "Steps",
    "StorageCell",
    "Value",
    "Values",
    "ViewRule",
    "Write",
    "XRay",
]
