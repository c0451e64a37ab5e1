"""Values that left torch and came back: numbers by their value, arrays by their memory."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

import numpy

from .values import Value, Values

if TYPE_CHECKING:
    from .calls import Call

LEAVING = {"item", "tolist", "numpy", "__float__", "__int__", "__array__", "__complex__"}
_COMMON = {0.0, 1.0, -1.0, 0.5, 2.0}  # numbers that stand in every script
_MOST = 4_096


class Escapes:
    """Which Python numbers and NumPy arrays came out of which tensor?"""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._numbers: dict[object, Value] = {}
        self._arrays: dict[int, Value] = {}

    def left(self, call: Call, result: object) -> None:
        """What a call gives that is no tensor any more."""
        if call.name not in LEAVING:
            return
        value = self._values.plain()
        value.made = call
        call.outputs += (value,)
        call.made += (0,)
        if isinstance(result, numpy.ndarray):
            self._arrays[address(result)] = value
            return
        if len(self._numbers) > _MOST:
            self._numbers.clear()
        for one in flat(result):
            if one not in _COMMON:
                self._numbers[one] = value

    def came_back(self, given: list[object]) -> tuple[Value, ...]:
        """The values of numbers and arrays that are given to a call."""
        found = []
        for one in given:
            if isinstance(one, numpy.ndarray):
                value = self._arrays.get(address(one))
            elif isinstance(one, numbers.Number):
                value = self._numbers.get(one)
            else:
                value = None
            if value is not None and value not in found:
                found.append(value)
        return tuple(found)


def address(array: numpy.ndarray) -> int:
    return array.__array_interface__["data"][0]


def flat(result: object) -> list:
    """The floating-point numbers in a result, which may be a nested list."""
    if isinstance(result, float):
        return [result]
    if isinstance(result, list):
        return [one for part in result for one in flat(part)][:256]
    return []
