"""Bundles for a goal: a few topics by hand, and the bounds."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from engine.compare.sizes import Sizing
from engine.compare.suggestion import MOST_BUNDLES, bundles_for
from engine.compare.verdict import Goal
from engine.errors import Rejection

TOPICS = [f"persistent://t/n/x-{at}" for at in range(40)]
RATES = np.arange(40, dtype=np.float64)


def by_hand(bundles: int, brokers: int, weights: list[float]) -> float:
    on = [0.0] * brokers
    for topic, weight in zip(TOPICS, weights, strict=True):
        place = min(zlib.crc32(topic.encode()) // (2**32 // bundles), bundles - 1)
        on[place % brokers] += weight
    return max(on) * brokers / sum(on)


@pytest.mark.parametrize("by_messages", [False, True])
def test_rows_are_what_topics_one_by_one_give(by_messages: bool) -> None:
    result = bundles_for(TOPICS, RATES, 3, Goal(1.2, survive=True, by_messages=by_messages), [1, 2, 3, 5, 16], now=4)
    assert isinstance(result, Sizing)
    weights = RATES.tolist() if by_messages else [1.0] * 40
    for row in result.rows:
        assert row.max_over_mean == pytest.approx(by_hand(row.number, 3, weights))
        assert row.after_loss == pytest.approx(by_hand(row.number, 2, weights))
        assert row.good == (row.max_over_mean <= 1.2 and row.after_loss <= 1.2)
        assert row.chance_low <= row.chance_high
    assert [row.idle for row in result.rows[:3]] == [2, 1, 0]
    assert (result.now, result.hottest) == (4, TOPICS[39])
    assert result.hottest_share == pytest.approx(39 / 780)


def test_one_bundle_is_one_broker() -> None:
    result = bundles_for(TOPICS, RATES * 0, 4, Goal(4.0), [1], now=1)
    assert isinstance(result, Sizing)
    assert (result.rows[0].max_over_mean, result.rows[0].chance_low, result.smallest, result.hottest) == (
        4.0,
        4.0,
        1,
        "",
    )


def test_what_cannot_be_compared_is_refused() -> None:
    for topics, brokers, numbers in (
        ([], 1, [1]),
        (TOPICS, 0, [1]),
        (TOPICS, 1, []),
        (TOPICS, 1, [0]),
        (TOPICS, 1, [MOST_BUNDLES + 1]),
    ):
        rates = np.zeros(len(topics))
        assert isinstance(bundles_for(topics, rates, brokers, Goal(), numbers, now=1), Rejection)
