"""The benchmark of a refresh runs, small: what it needs of a broker is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import refresh
from tests.broker.conftest import Brokers


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the CPU time of a broker is read from there")
@pytest.mark.parametrize("load", [refresh.Load(1, 1, 1, partitions=2), refresh.Load(2, 2, 1, partitions=2)])
def test_a_small_refresh_is_timed(brokers: Brokers, load: refresh.Load) -> None:
    pace = refresh.Pace(warm_up=1, rounds=2, pause_s=0, idle_s=0.1)
    row = refresh.row_of(brokers(refresh.SETTINGS), load, pace)
    assert row.ours_ms > 0
    assert row.peer
