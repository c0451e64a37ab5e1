"""Does a learner's probe tell a broken script from its repaired twin and from healthy ones?"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace

from .file_cells import files_of
from .judges import wanted_of_probe
from .observation import Seen, settle
from .packed import unpack
from .project import imported, texts_of

# How a probe is called in every script that it is tried on.
PROBE = "probe"
_RETURNED = "returns a value"


class Versions:
    """A script broken and repaired, and healthy ones that look like the broken one.

    `packed` is what `pack` made of their texts; a text is one script, or several files as in
    `project`.

    >>> from insidetorch.learn.packed import pack
    >>> Versions(pack({"the broken script": "x = 1"})).load("the broken script").x
    1
    """

    def __init__(self, packed: str) -> None:
        self.texts: dict[str, str] = unpack(packed)

    def load(self, name: str, **files: str) -> SimpleNamespace | ModuleType:
        """A version run anew; of several files, with `files` beside or in place of its own."""
        text = self.texts[name]
        if own := files_of(text):
            return imported({**own, **{f"{one}.py": source for one, source in files.items()}})
        return imported({"script.py": text}).script


def probed(probe: Callable[..., object], versions: Versions, *names: str) -> Seen:
    """Try a probe twice on each version, each time on a version that is run anew.

    It is called with what the script has by these `names`. Returns what it did on each version by
    words, and what to tell of the first one where a good probe does something else. A probe that is
    still to be written raises its NotImplementedError.
    """
    return _tried(versions, lambda name: probe(*map(versions.load(name).__dict__.get, names)))


def probed_files(exercise_id: str, versions: Versions) -> Seen:
    """The same for versions of several files, with the learner's `probe.py` beside them.

    That file imports what it needs from the others and has a function `probe()`. Raises LookupError
    where there is no such file.
    """
    files = texts_of(exercise_id)
    if "probe.py" not in files:
        raise LookupError(
            f"The probe of {exercise_id} was asked for. Its cell holds {', '.join(files)} and no "
            "file probe.py. Put the line `# file: probe.py` back, and the probe below it."
        )
    source = files["probe.py"]
    return _tried(versions, lambda name: versions.load(name, probe=source).probe.probe())


def _tried(versions: Versions, run: Callable[[str], object]) -> Seen:
    did: dict[str, str] = {}
    told: dict[str, str] = {}
    for name in [*versions.texts, *versions.texts]:
        now, told[name] = _outcome(lambda name=name: run(name))
        did[name] = now if did.get(name, now) == now else "differs from time to time"
    return Seen(did, next(_told(did, told), ""))


def _outcome(run: Callable[[], object]) -> tuple[str, str]:
    """What a probe does, and the words of its error."""
    settle()
    try:
        returned = run()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, NotImplementedError) and frames[-1].name == PROBE:
            raise
        return "fails", f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0]
    finally:
        settle()
    return ("holds" if returned is None else _RETURNED), ""


def _told(did: dict[str, str], told: dict[str, str]) -> Iterator[str]:
    """What to tell of each version where a probe does not do what a good one does."""
    for name, should in wanted_of_probe(did).items():
        if did[name] == should:
            continue
        if did[name] == _RETURNED:
            yield f"On {name} your probe returns a value. A probe says what it has to with assert."
        elif did[name] == "holds":
            yield f"Your probe holds on {name}. It must fail there, or it does not find this bug."
        elif did[name] == "fails":
            yield f"Your probe fails on {name}, where nothing is wrong ({told[name]})."
        else:
            yield f"On {name} your probe {did[name]}. It must say the same each time."
