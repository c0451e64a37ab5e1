"""What ran, from which line, with which tensors: the record that every cause is found in."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch

from ..observe import private_doctor, private_nodes
from .calls import Call
from .escapes import Escapes
from .following import Following
from .functions import HANDLED, Kind, kind_of
from .lasting import Lasting
from .log import MOST_CALLS, Log
from .looks import LOOKED_AT
from .stacks import stack_here, torch_frame
from .tensors import gather, gather_into, overlapping, standing_of
from .values import DEAD, Memory, Value


class Recorder(Following, Log):
    """Remembers, while it is entered, each call of torch, and changes none.

    Args: `most`, how many calls are kept: when there are more, the older half is forgotten.
    It keeps no tensor alive but the leaves, which a report is about.
    """

    def __init__(self, *, most: int = MOST_CALLS) -> None:
        Following.__init__(self)
        Log.__init__(self, most)
        self.escapes = Escapes(self.values)
        self.unseen: list[tuple[Call, Memory]] = []  # writes that no version counter counts
        self.failed: Call | None = None
        self.error: BaseException | None = None
        self.roots: dict[int, weakref.ref] = {}  # modules that ran inside of no other
        self.functions: dict[type, object] = {}  # custom functions, and their own backward
        self.summed: dict[type, tuple] = {}  # what size one returned, and what was wanted
        self.spoiled: dict[type, Call | None] = {}  # whose backward wrote to what it was given
        self.ignored: set[type] = set()  # those whose backward does not use what it is given
        self.lasting = Lasting()
        self.in_training: set[int] = set()  # of these modules, those that ran in training mode
        self.passes = 0
        self.steps = 0  # of optimizers
        self._kinds: dict[object, Kind] = {}

    # What torch calls.

    def __torch_function__(self, f, types, args=(), kwargs=None):
        try:
            kind = self._kinds[f]
        except KeyError:
            kind = self._kinds[f] = kind_of(f)
        if kind.name is None or self.here.quiet or self.stopped:
            return f(*args, **(kwargs or {}))
        if self.here.inner is not None:
            self._read_inside(args, kwargs or {})
            return f(*args, **(kwargs or {}))
        if kind.handler is not None:
            return HANDLED[kind.handler](self, f, args, kwargs or {})
        return self.call(kind.name, f, args, kwargs or {})

    def call(self, name: str, f: Callable, args: tuple, kwargs: dict, note: dict | None = None):
        """Run a function of torch and write down what it did."""
        tensors, numbers = gather(args, kwargs)
        before = [private_doctor.version(t) for t in tensors]
        standing = tuple([standing_of(t) for t in tensors])
        first = private_nodes.next_sequence_nr()
        try:
            result = f(*args, **kwargs)
        except BaseException as error:
            self.raised(error, name, args, kwargs)
            raise
        changed = [
            t for t, v in zip(tensors, before, strict=True) if private_doctor.version(t) != v
        ]
        if name == "detach_" or (len(changed) > 1 and name.endswith("_")):
            changed = tensors[:1]  # others share its memory, and so its version
        self.note(
            name, tensors, standing, result, changed, first,
            stack=stack_here(), numbers=numbers, note=note, given=(args, kwargs),
        )  # fmt: skip
        return result

    def note(self, *given, **named) -> Call | None:
        """Write down a call that has run."""
        return self.guarded(self._note, *given, **named)

    def _note(
        self, name, tensors, standing, result, changed=(), first=None, *, stack,
        numbers=(), note=None, given=((), {}),
    ) -> Call:  # fmt: skip
        of = self.values.of
        end = private_nodes.next_sequence_nr()
        inputs = tuple([of(t) for t in tensors])
        call = Call(
            self._next(), name, stack, inputs, standing, first=end if first is None else first,
            end=end, off=self.here.switches.off(), inside=self.here.inside,
            module=self.here.modules[-1] if self.here.modules else None,
        )  # fmt: skip
        look = LOOKED_AT.get(name)
        if look is not None:
            call.note = look(*given)
        if note:
            call.note.update(note)
        if self.here.via:
            call.note["via"] = self.here.via
        if numbers:
            came = self.escapes.came_back(numbers)
            if not came and any(isinstance(one, float) for one in numbers):
                call.note["number"] = True
            call.inputs += came
            call.standing += (DEAD,) * len(came)
        results: list[torch.Tensor] = []
        if isinstance(result, torch.Tensor):
            results.append(result)
        elif isinstance(result, (list, tuple, dict)):
            gather_into(result, results, [])
        made = []
        for t in results:
            value = of(t, inputs=inputs)
            if value.made is None and value not in inputs:
                value.made = call
            made.append(value)
        for t in changed:
            value = of(t)
            if overlapping(t):
                call.note["overlap"] = True
            self._wrote(call, value)
            if not any(value is one for one in made):
                made.append(value)
                results.append(t)
        call.outputs = tuple(made)
        call.made = tuple([standing_of(t) for t in results])
        call.changed = tuple([of(t) for t in changed])
        self.escapes.left(call, result)
        for value in call.inputs:
            value.readers.append(call)
        self._keep(call)
        return call

    def looked_at(self, args: tuple, kwargs: dict) -> tuple[list, tuple, list]:
        """The tensors of a call, how they stand to autograd, and how often they were written."""
        tensors = gather(args, kwargs)[0]
        return (
            tensors,
            tuple(map(standing_of, tensors)),
            [private_doctor.version(t) for t in tensors],
        )

    # What others tell.

    def enter(self, module: torch.nn.Module) -> None:
        """A module's forward begins."""
        running = self.here.modules
        running.append(weakref.ref(module))
        if len(running) == 1:
            self._root(module, running[0])

    def _root(self, module: torch.nn.Module, reference: weakref.ref) -> None:
        if module.training:
            self.in_training.add(id(module))
        known = self.roots.get(id(module))
        if known is None or known() is not module:
            self.roots[id(module)] = reference
            self.guarded(self.lasting.keep, module)

    def leave(self, module: torch.nn.Module) -> None:
        """A module's forward has ended."""
        running = self.here.modules
        if running and running[-1]() is module:
            running.pop()

    def raised(self, error: BaseException, name: str, args: object, kwargs: dict) -> None:
        """A call has raised: what was it given?"""
        if error is not self.error:
            self.error = error
            self.guarded(self._raised, name, args, kwargs)

    def _raised(self, name: str, args: object, kwargs: dict) -> None:
        tensors, _ = gather(args, kwargs)
        self.failed = Call(
            self.number + 1, name, stack_here(), tuple(map(self.values.of, tensors)),
            tuple(map(standing_of, tensors)), off=self.here.switches.off(), inside=self.here.inside,
            module=self.here.modules[-1] if self.here.modules else None,
        )  # fmt: skip

    def switch(self, on: bool) -> None:
        """Gradients are switched; called from torch's own switch."""
        self.here.switches.called(on, torch_frame())

    def _wrote(self, call: Call, value: Value) -> None:
        value.wrote.append(call)
        if value.memory is not None:
            value.memory.writes.append((call, value))
            if value.made is not None and value.made.name == "data":
                self.unseen.append((call, value.memory))

    def _read_inside(self, args: tuple, kwargs: dict) -> None:
        """Which tensors does the forward of a custom function read?"""
        for t in gather(args, kwargs)[0]:
            value = self.values.known(t)
            if value is not None:
                self.here.inner.setdefault(value, standing_of(t))
