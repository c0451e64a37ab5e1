"""What do backward formulas that are written in Python return?"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..records import Place
from . import private_nodes
from .places import is_users, place_of

# Of a node: what its formula returned for each edge that leads somewhere, and the formula's line.
Tell = Callable[[tuple[object, ...], Place | None], None]


@contextmanager
def formulas_watched(nodes: Sequence[object], tell: Tell) -> Iterator[None]:
    """Call `tell` with what each custom Function among these nodes returns, before the engine
    counts it and fits it to sizes. The classes are put back at the end of the block.
    """
    kinds = dict.fromkeys(filter(None, map(private_nodes.function_of, nodes)))
    found = [(kind, name) for kind in kinds for name in ("backward", "vjp") if _is_own(kind, name)]
    before = [(kind, name, vars(kind).get(name)) for kind, name in found]
    own = set(nodes) if found else set()
    # All are read before one is replaced: one class may inherit the formula of another.
    formulas = [getattr(kind, name) for kind, name in found]
    try:
        for (kind, name), formula in zip(found, formulas, strict=True):
            setattr(kind, name, staticmethod(_telling(formula, own, tell)))
        yield
    finally:
        for kind, name, plain in before:
            if plain is None:  # inherited
                delattr(kind, name)
            else:
                setattr(kind, name, plain)


def _is_own(kind: type, name: str) -> bool:
    """Is the formula the user's, and not the one of torch that only raises?"""
    return getattr(kind, name).__module__ != "torch.autograd.function"


def _telling(formula: Callable, own: set[object], tell: Tell) -> Callable:
    place = _returns_at(formula)

    def backward(ctx: object, *args: object) -> object:
        returned = formula(ctx, *args)
        # Other passes, inside of this one or in other threads, run nodes of the same class.
        if ctx in own:
            tell(_for_edges(ctx, returned), place)
        return returned

    return backward


def _for_edges(node: object, returned: object) -> tuple[object, ...]:
    """What was returned for the inputs that need a gradient: only they have an edge."""
    if returned is None:
        return ()
    found = returned if isinstance(returned, tuple | list) else (returned,)
    return tuple(one for one, needed in zip(found, node.needs_input_grad, strict=False) if needed)


def _returns_at(formula: Callable) -> Place | None:
    """The line of the user's on which a formula returns; its first if it returns on several."""
    code = getattr(inspect.unwrap(formula), "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    returns = {
        step.positions.lineno
        for step in dis.get_instructions(code)
        if step.opname in ("RETURN_VALUE", "RETURN_CONST")
    }
    if len(returns) == 1:
        return place_of(code.co_filename, returns.pop())
    place = place_of(code.co_filename, code.co_firstlineno)
    while place.statement.startswith("@"):
        place = place_of(code.co_filename, place.line + 1)
    return place
