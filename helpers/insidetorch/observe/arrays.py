"""Which tensor reads the memory of this NumPy array?"""

from __future__ import annotations

from dataclasses import replace

import numpy
import torch

from ..records import Index, Layout, XRay
from . import private
from .layout import NoStorageError
from .xray import xray_of


def is_array(x: object) -> bool:
    """Is it a NumPy array? By its class: an object may lie about it, or raise when asked.

    >>> is_array(numpy.zeros(2)), is_array(numpy.float32(0)), is_array([0])
    (True, False, False)
    """
    return issubclass(type(x), numpy.ndarray)


def tensor_over(array: numpy.ndarray) -> torch.Tensor:
    """Which tensor reads the memory of this array?

    Returns `torch.from_numpy(array)`, of a read-only array as well, and without torch's warning.
    Raises NoStorageError, with torch's reason, if torch does not take the array.

    >>> tensor_over(numpy.zeros((2, 3)).T).stride()
    (1, 3)
    """
    plain = numpy.ndarray.view(array, numpy.ndarray)  # a subclass may say something else of itself
    try:
        over = plain if plain.flags.writeable else numpy.asarray(_Writable(plain))
        with private.unseen(), torch.inference_mode(False):
            return torch.from_numpy(over)
    except (TypeError, ValueError) as error:
        why = first_sentence(error)
        raise NoStorageError(
            f"This {type(array).__name__} has sizes {plain.shape} and strides of {plain.strides} "
            f"bytes, which torch does not take: {why}."
        ) from None


def first_sentence(error: Exception) -> str:
    """What an error says, up to its first full stop.

    >>> first_sentence(ValueError("No tensor. Make one."))
    'No tensor'
    """
    return str(error).partition("\n")[0].partition(". ")[0].rstrip(".")


class _Writable:
    """The memory of a read-only array as if it were none, by NumPy's array interface.

    torch warns of a read-only array once in a process. Looking neither prints that warning nor
    uses it up; nothing is written through the tensor.
    """

    def __init__(self, array: numpy.ndarray) -> None:
        self.array = array  # keeps the memory alive
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.ctypes.data, False),
        }


def array_layout(array: numpy.ndarray, layout: Layout) -> Layout:
    """The layout of the tensor over an array, with what NumPy says of the array.

    An array has a class of its own, may be a view of another array, and keeps no version.
    """
    is_view = numpy.ndarray.base.__get__(array) is not None
    return replace(layout, type_name=type(array).__name__, is_view=is_view, version=None)


def array_xray(array: numpy.ndarray, *, outer: Index | None = None) -> XRay:
    """What does this array look like from inside? As `xray_of` the tensor over its memory.

    Raises NoStorageError if torch does not take the array, and what `xray_of` raises.

    >>> array_xray(numpy.zeros((2, 3))[:, ::2]).layout.strides
    (3, 2)
    """
    x = xray_of(tensor_over(array), outer=outer)
    return replace(x, layout=array_layout(array, x.layout))
