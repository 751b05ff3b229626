"""Hooks that must be known before any test is collected, also to the process that only hands tests out (xdist)."""

import pytest

from tests import thrift
from tests.golden import plugin
from tests.golden.plugin import pytest_addoption, pytest_terminal_summary
from tests.thrift import pytest_collection_finish, pytest_unconfigure

__all__ = [
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_configure",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]


def pytest_configure(config: pytest.Config) -> None:
    plugin.pytest_configure(config)
    thrift.pytest_configure()
