"""What kind of cut is it, and which line made it?"""

from __future__ import annotations

from ..escapes import LEAVING
from ..history import Cut
from ..stacks import Spot
from ..values import LEAF, Value

_COPIES = {"tensor", "as_tensor", "asarray", "from_numpy", "new_tensor", "scalar_tensor"}

FIXES = {
    "detach": "Remove .detach() here, or detach only what is meant to be a constant.",
    "data": "Compute with the tensor itself: values that move through .data, copy_ under no_grad "
    "or load_state_dict carry no gradient.",
    "no_grad": "Let this run with gradients on, and close what switches them off before it.",
    "item_roundtrip": "Stay in torch: stack, cat and torch's own functions keep the graph; a "
    "number, an array or torch.tensor(...) starts outside of it.",
    "rewrap": "Use the computed tensor itself: Parameter(x), deepcopy and requires_grad_() make a "
    "new leaf, where the gradient ends.",
    "non_diff_op": "Use something that has a derivative, or keep this result out of what is to be "
    "trained.",
    "create_graph_missing": "Call torch.autograd.grad(..., create_graph=True), so that the "
    "gradient has a history of its own.",
    "custom_function": "Return the result as forward made it, and do not mark it "
    "non-differentiable.",
    "checkpoint_input": "Call checkpoint(..., use_reentrant=False), which looks at the parameters "
    "and not only at the inputs.",
}  # fmt: skip
_SOFT = (  # what has a derivative in place of functions that have none
    ({"argmax", "argmin", "multinomial", "one_hot", "topk", "sort", "argsort", "mode", "max",
      "min"},
     "Weight with softmax(x / temperature) in place of the index, or draw with gumbel_softmax."),
    ({"gt", "lt", "ge", "le", "eq", "ne", "greater", "less", "greater_equal", "less_equal",
      "__gt__", "__lt__", "__ge__", "__le__", "__eq__", "__ne__", "isclose", "logical_and",
      "logical_or", "logical_not", "__and__", "__or__", "__invert__"},
     "Use a soft step in place of the comparison: sigmoid((x - threshold) / width)."),
    ({"long", "int", "to", "short", "byte", "char", "bool", "type", "bucketize", "searchsorted",
      "histc", "bincount"},
     "Keep floating-point numbers: interpolate between neighbours where an index is needed, or "
     "pass the gradient straight through, x + (rounded - x).detach()."),
)  # fmt: skip


def fix_of(cut: Cut, kind: str) -> str:
    """What to do about a cut of a kind."""
    if kind == "non_diff_op":
        for names, fix in _SOFT:
            if cut.call.name in names:
                return fix
    return FIXES[kind]


def kind_of(cut: Cut) -> str:
    """Which cause is it that a call gave a result outside of the graph?"""
    call = cut.call
    if call.note.get("via") in ("state_dict", "load_state_dict"):
        return "data"
    if call.name in ("detach", "detach_"):
        return "rewrap" if cut.standing == LEAF else "detach"
    if call.name == "data":
        return "rewrap" if cut.standing == LEAF else "data"
    if call.name in ("Parameter", "__deepcopy__"):
        return "rewrap"
    if call.name in LEAVING or call.name in _COPIES:
        return "item_roundtrip"
    if call.name in ("autograd.grad", "grad"):
        return "create_graph_missing"
    if call.name == "apply":
        if call.off is not None:
            return "no_grad"
        checkpoint = call.note["function"].__name__ == "CheckpointFunction"
        return "checkpoint_input" if checkpoint else "custom_function"
    if call.changed and call.changed[0].made is not None and call.changed[0].made.name == "data":
        return "data"
    if call.off is not None and differentiable(cut.value):
        return "data" if call.name == "copy_" and call.off.name == "no_grad" else "no_grad"
    if call.name == "data.set":
        return "data"
    return "non_diff_op"


def differentiable(value: Value) -> bool:
    return value.dtype is None or value.dtype.is_floating_point or value.dtype.is_complex


def spot_of(cut: Cut, kind: str) -> Spot | None:
    """The line that cuts: of the call, or of what switched gradients off for it."""
    if kind == "no_grad" and cut.call.off is not None and cut.call.off.spot is not None:
        return cut.call.off.spot
    if kind == "create_graph_missing":
        made = cut.call.note.get("pass")
        if made is not None and made.stack:
            return made.stack[0]
    return cut.call.spot


def what(cut: Cut, kind: str) -> str:
    """What the call did, in words."""
    name = cut.call.name.strip("_")
    if kind == "no_grad":
        return f"{name} ran while gradients were switched off"
    if kind == "create_graph_missing":
        return "this gradient was computed without create_graph=True and has no history"
    if kind == "checkpoint_input":
        return (
            "re-entrant checkpointing saw no input that requires a gradient and ran its part "
            "without a graph"
        )
    if kind == "rewrap":
        return "a new leaf is made here from a computed value"
    if kind == "item_roundtrip":
        return f"{name} takes the value out of the graph"
    if kind == "custom_function":
        return f"{cut.call.note['function'].__name__} gave a result without a history"
    if kind == "non_diff_op":
        return f"{name} has no derivative"
    if kind == "data":
        return f"{name} moves values past autograd"
    return f"{name} cuts the graph"
