"""Does a learner's probe tell a broken script from its repaired twin and from healthy ones?"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace

from ..packed import unpack
from .file_cells import files_of
from .judges import RETURNED, words_of_probe
from .observation import Seen, settle
from .project import NoFiles, imported, texts_of

# How a probe is called in every script that it is tried on.
PROBE = "probe"


class Versions:
    """A script broken and repaired, and healthy ones that look like the broken one.

    `packed` is what `pack` made of their texts; a text is one script, or several files as in
    `project`.

    >>> from insidetorch.packed import pack
    >>> Versions(pack({"the broken script": "x = 1"})).load("the broken script").x
    1
    """

    def __init__(self, packed: str) -> None:
        settle()  # what the check makes next is made under what torch starts with
        self.texts: dict[str, str] = unpack(packed)

    def load(self, name: str, **files: str) -> SimpleNamespace | ModuleType:
        """A version run anew, without its probe and its source; beside several files, `files`."""
        text = self.texts[name]
        if own := files_of(text):
            own.pop(f"{PROBE}.py", None)
            others = {f"{one}.py": source for one, source in files.items()}
            return imported({**others, **own}, shown=False)
        script = imported({"script.py": text}, shown=False).script
        script.__dict__.pop(PROBE, None)
        return script


def probed(probe: Callable[..., object], versions: Versions, *names: str) -> Seen:
    """Try a probe twice on each version, each time on a version that is run anew.

    It is called with what the script has by these `names`. Returns what it did on each version by
    words, and what to tell of the first one where a good probe does something else. A probe that is
    still to be written raises its NotImplementedError.
    """
    return _tried(versions, lambda name: probe(*map(versions.load(name).__dict__.get, names)))


def probed_files(exercise_id: str, versions: Versions) -> Seen:
    """The same for versions of several files, with the learner's `probe.py` beside them, and any
    file that the versions do not have.

    That file imports what it needs from the others and has a function `probe()`. Raises NoFiles
    where there is no such file.
    """
    files = texts_of(exercise_id)
    if "probe.py" not in files:
        raise NoFiles(
            f"The probe of {exercise_id} was asked for. Its cell holds {', '.join(files)} and no "
            "file probe.py. Put the line `# file: probe.py` back, and the probe below it."
        )
    own = {file.removesuffix(".py"): text for file, text in files.items()}
    return _tried(versions, lambda name: versions.load(name, **own).probe.probe())


def _tried(versions: Versions, run: Callable[[str], object]) -> Seen:
    did: dict[str, str] = {}
    told: dict[str, str] = {}
    names = list(versions.texts)
    # In another order the second time, so that who counts the calls is found out.
    for name in [*names, *reversed(names)]:
        now, told[name] = _outcome(partial(run, name))
        did[name] = now if did.get(name, now) == now else "differs from time to time"
    return Seen(did, words_of_probe(did, told))


def _outcome(run: Callable[[], object]) -> tuple[str, str]:
    """What a probe does, and the words of its error."""
    settle()
    try:
        returned = run()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() and pytest.fail() too
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, NotImplementedError) and frames[-1].name == PROBE:
            raise
        said = f"{type(error).__name__}: {error}".rstrip(": ").partition("\n")[0]
        line = next((f.line for f in reversed(frames) if f.name == PROBE and f.line), "")
        return "fails", f"{said}, at `{line}`" if line else said
    finally:
        settle()
    return ("holds" if returned is None else RETURNED), ""
