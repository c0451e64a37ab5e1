"""See the real PyTorch runtime: storage, views, graphs, gradients.

Names load on first use, so that `import insidetorch` is quick and a part that needs no torch
works without it.
"""

from __future__ import annotations

from importlib import import_module

_PLACES = {
    "AccumulationLab": "widgets.accumulation_lab",
    "AliasMap": "widgets.alias_map",
    "BackwardStepper": "widgets.backward_stepper",
    "BranchExplorer": "widgets.branch_explorer",
    "Clinic": "learn.clinic_desk",
    "DispatchExplorer": "widgets.dispatch_explorer",
    "DoctorPanel": "widgets.doctor_panel",
    "ForwardRecorder": "observe.recorder",
    "FusionLab": "widgets.fusion_lab",
    "GraphExplorer": "widgets.graph_explorer",
    "GraphMemory": "widgets.graph_memory",
    "OperatorTrace": "widgets.operator_trace",
    "RequiresGradTable": "widgets.requires_grad_table",
    "SecondOrderExplorer": "widgets.second_order_explorer",
    "StrideExplorer": "widgets.stride_explorer",
    "TensorXRay": "widgets.tensor_xray",
    "ViewExplorer": "widgets.view_explorer",
    "WriteThrough": "widgets.write_through",
    "byte_costs": "widgets.times",
    "check": "learn.check",
    "clinic_case": "learn.clinic",
    "compare": "widgets.compare",
    "compare_times": "widgets.times",
    "compilation_of": "observe.compilation",
    "copies": "observe.steps",
    "copy_costs": "widgets.times",
    "count": "observe.dispatch",
    "expect_error": "learn.expect_error",
    "explain_backward": "widgets.explain_backward",
    "explain_dispatch": "widgets.explain_dispatch",
    "explain_compile": "widgets.explain_compile",
    "explain_view": "widgets.view_explorer",
    "families": "observe.aliases",
    "graph_cost": "observe.memory",
    "graph_holders": "observe.holders",
    "graph_memory": "observe.graph_memory",
    "graph_of": "observe.graph",
    "hint": "learn.hint",
    "layout_of": "observe.layout",
    "ledger": "observe.ledger",
    "memory_steps": "observe.steps",
    "operator_costs": "widgets.times",
    "path_of": "observe.paths",
    "predict": "learn.predict",
    "progress": "learn.overview",
    "quiz_result": "learn.quiz",
    "record_backward": "observe.backward",
    "relation": "observe.aliases",
    "show": "widgets.show",
    "trace": "observe.trace",
    "watch": "doctor.watching",
    "xray_of": "observe.xray",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> object:
    if name == "doctor":
        return import_module(f"{__name__}.doctor")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "indexing", "records"]
