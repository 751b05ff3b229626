"""Fixtures of the golden tests. The hooks are in plugin.py, which the root of the tests loads early enough."""

from pathlib import Path

import pytest

from tests.golden import plugin
from tests.golden.harness import KEPT
from tests.own_folder import GOLDEN


@pytest.fixture
def golden_dir(pytestconfig: pytest.Config) -> Path:
    """The folder whose vectors are checked."""
    return GOLDEN.of(pytestconfig)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each family. In a folder of somebody's own an absent one makes no test, so it cannot pass either."""
    if "family" in metafunc.fixturenames:
        config = metafunc.config
        metafunc.parametrize("family", KEPT if GOLDEN.is_committed(config) else plugin.present_families(config))
