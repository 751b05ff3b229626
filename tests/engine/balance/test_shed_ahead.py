"""What a forecast of shedding refuses before it begins."""

from __future__ import annotations

import pytest

from engine.balance.ahead.forecast import MAX_CYCLES, MAX_MINUTES, shed_ahead
from engine.balance.ahead.model import ShedAhead, ShedStart
from engine.balance.brokers import BrokerLoad
from engine.balance.settings import LoadSettings
from engine.bundles.plan import LoadManager
from engine.errors import Rejection

INTERVAL = "loadBalancerSheddingIntervalMinutes"


@pytest.mark.parametrize("load_manager", ["modular", "extensible"])
@pytest.mark.parametrize(
    ("interval", "cycles", "field"),
    [(0, 1, INTERVAL), (-1, 1, INTERVAL), (MAX_MINUTES + 1, 1, "cycles"), (2**31 - 1, 2, "cycles"),
     (MAX_MINUTES // 100, 101, "cycles"), (1, 0, "cycles"), (1, MAX_CYCLES + 1, "cycles")],
)  # fmt: skip
def test_a_forecast_without_time_between_cycles_or_without_end_is_refused(
    load_manager: LoadManager, interval: int, cycles: int, field: str
) -> None:
    found = shed_ahead(start(load_manager, interval), cycles)
    assert isinstance(found, Rejection)
    assert (found.error, found.field) == ("IllegalArgumentException", field)


def test_the_longest_interval_is_still_forecast() -> None:
    found = shed_ahead(start("modular", MAX_MINUTES), 1)
    assert isinstance(found, ShedAhead)
    assert found.cycles[-1].at_ms == MAX_MINUTES * 60_000


def start(load_manager: LoadManager, interval: int) -> ShedStart:
    settings = LoadSettings(loadBalancerSheddingIntervalMinutes=interval)
    return ShedStart((BrokerLoad("b:1"), BrokerLoad("b:2")), settings, load_manager=load_manager)
