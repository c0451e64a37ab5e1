"""What pytest needs before it collects: the rules for notebooks, and `--slow`."""

from __future__ import annotations

import pytest

pytest_plugins = ["coursekit.nbval_plugin"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="take every case of the exhaustive sets")


@pytest.fixture(scope="session")
def every(request: pytest.FixtureRequest) -> int:
    """Take every n-th case of an exhaustive set: all of them under --slow."""
    return 1 if request.config.getoption("slow") else 15
