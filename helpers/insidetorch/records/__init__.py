"""What crosses a layer: frozen records of what torch said, read by text, picture and test alike.

Sizes, strides, offsets and elements count elements of the tensor's dtype; a count of bytes says
`_bytes`. Tuples keep torch's order.
"""

from .accumulation import Accumulation, Part
from .aliases import Family, Member, Relation
from .backward import Backward, BackwardStep, Gradient
from .branching import Branch, CodeLine
from .comparison import Comparison, Values
from .compilation import Compilation, CompiledGraph, Recompile
from .derivative import Derivative
from .diagnosis import Diagnosis, Found, PathLine, Trained
from .dispatch import DispatchPath, KeyStep
from .explanation import Argument, Change, Explanation, Failure
from .fusion import FusedWay, Fusion, Way
from .graph import Edge, Graph, Node, Saved
from .graph_memory import AfterStep, GraphHold, GraphsOverSteps, StepGraph
from .layout import Cell, Index, Layout, StorageCell, Value, XRay
from .ledger import Kept, Ledger, LedgerLine
from .memory import GraphCost, Holder, Holders
from .operators import OperatorCount
from .passes import Leaf, OptimizerStep, Pass, Passes
from .steps import Place, Step, Steps
from .trace import Operand, Trace, Traced
from .tracking import Tracked
from .viewing import ViewRule
from .writing import Reader, Write

__all__ = [
    "Accumulation",
    "AfterStep",
    "Argument",
    "Backward",
    "BackwardStep",
    "Branch",
    "Cell",
    "Change",
    "CodeLine",
    "Comparison",
    "Compilation",
    "CompiledGraph",
    "Derivative",
    "Diagnosis",
    "DispatchPath",
    "Edge",
    "Explanation",
    "Failure",
    "Family",
    "Found",
    "FusedWay",
    "Fusion",
    "Gradient",
    "Graph",
    "GraphCost",
    "GraphHold",
    "GraphsOverSteps",
    "Holder",
    "Holders",
    "Index",
    "Kept",
    "KeyStep",
    "Layout",
    "Leaf",
    "Ledger",
    "LedgerLine",
    "Member",
    "Node",
    "Operand",
    "OperatorCount",
    "OptimizerStep",
    "Part",
    "Pass",
    "Passes",
    "PathLine",
    "Place",
    "Reader",
    "Recompile",
    "Relation",
    "Saved",
    "Step",
    "StepGraph",
    "Steps",
    "StorageCell",
    "Trace",
    "Traced",
    "Tracked",
    "Trained",
    "Value",
    "Values",
    "ViewRule",
    "Way",
    "Write",
    "XRay",
]
