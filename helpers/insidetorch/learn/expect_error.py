"""An error that is raised on purpose, shown without stopping the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def expect_error(error_type: type[Exception], *, match: str) -> Iterator[None]:
    """Run a block that must raise, and print what it raised.

    Args: `error_type`, the type, or a parent of it; `match`, a regular expression that the
    message must contain. Only the matched part is printed: the rest may differ between releases.
    Raises AssertionError if nothing is raised or the message does not match; an error of another
    type passes through.

    >>> with expect_error(ZeroDivisionError, match="by zero"):
    ...     1 / 0
    ZeroDivisionError: … by zero
    """
    try:
        yield
    except error_type as error:
        found = re.search(match, str(error))
        if found is None:
            raise AssertionError(
                f"A {error_type.__name__} that says {match!r} was expected. It says: {error} "
                "Correct the expectation, or find out what changed."
            ) from error
        before = "… " if found.start() else ""
        after = " …" if found.end() < len(str(error)) else ""
        print(f"{type(error).__name__}: {before}{found.group()}{after}")
    else:
        raise AssertionError(
            f"A {error_type.__name__} that says {match!r} was expected. Nothing was raised. "
            "Correct the block, or remove the expectation."
        )
