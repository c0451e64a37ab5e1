"""Which tensor does a question ask about?"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from difflib import get_close_matches

import torch

_PARTS = {"grad", "grad_fn", "requires_grad", "is_leaf", "shape", "dtype", "data_ptr"}


def tensor_asked(
    question: str, names: Mapping[str, object], known: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    """The tensor that a question is about.

    Args: `question`, an expression such as "encoder.weight.grad"; `names`, the variables that it
    may use; `known`, the tensors of models by their names, of which the end is enough.
    Raises ValueError where it is no expression or leads to no tensor; whatever evaluating raises.
    """
    wanted = question.strip().removesuffix(".grad")
    if wanted in known:
        return known[wanted]
    try:
        tree = _tensor_part(ast.parse(question.strip(), mode="eval").body)
    except SyntaxError:
        raise ValueError(
            f"{question!r} is no Python expression. Ask about a tensor of the program, such as "
            "model[0].weight.grad."
        ) from None
    found = _evaluated(wanted, tree, names, known)
    if not isinstance(found, torch.Tensor):
        raise ValueError(
            f"{question!r} is a {type(found).__name__}, no tensor. Ask about a tensor, such as a "
            "parameter of it."
        )
    return found


def _evaluated(
    wanted: str, tree: ast.expr, names: Mapping[str, object], known: Mapping[str, torch.Tensor]
) -> object:
    try:
        return eval(compile(ast.Expression(tree), "<question>", "eval"), dict(names))
    except (NameError, AttributeError) as error:
        found = {id(t): t for name, t in known.items() if name.endswith(f".{wanted}")}
        if len(found) == 1:
            return next(iter(found.values()))
        near = get_close_matches(wanted, known, n=3, cutoff=0.4) or list(known)[:3]
        some = f". These can be asked about: {', '.join(near)}" if near else ""
        raise type(error)(f"{error}{some}") from None


def _tensor_part(tree: ast.expr) -> ast.expr:
    """The part of a question that is the tensor: `w` of `w.grad[0]`."""
    inner = tree
    while isinstance(inner, (ast.Subscript, ast.Attribute, ast.Call)):
        if isinstance(inner, ast.Attribute) and inner.attr in _PARTS:
            return inner.value
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    return tree
