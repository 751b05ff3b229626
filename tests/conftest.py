"""Hooks that must be known before any test is collected, also to the process that only hands tests out (xdist)."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests import thrift
from tests.distribution import pytest_collection_modifyitems, pytest_xdist_make_scheduler
from tests.golden import plugin as golden
from tests.lab import plugin as lab
from tests.own_folder import GOLDEN, LAB
from tests.thrift import pytest_collection_finish

__all__ = [
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    GOLDEN.add(parser)
    LAB.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    os.environ["RINGSIDE_CONFIG"] = ""  # whoever runs the tests may have settings of their own
    # A machine that does other things at the same time is slow, and nothing is wrong with it.
    settings.register_profile("untimed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("untimed")
    GOLDEN.check(config)
    LAB.check(config)
    thrift.pytest_configure(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    golden.pytest_terminal_summary(terminalreporter, config)
    lab.pytest_terminal_summary(terminalreporter, config)
