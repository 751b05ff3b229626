"""The examples in the docstrings of the Failover theory and the floor below it are true."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from engine import explain, hashing, ranges, ring
from engine.failover import choose, cursor
from engine.failover import explain as failover_explain
from engine.failover import ring as failover_ring


@pytest.mark.parametrize("module", [explain, hashing, ranges, ring, choose, cursor, failover_explain, failover_ring])
def test_every_example_runs_and_gives_what_it_says(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
