"""What did harm at an earlier moment and does no more: how far back it is looked for, and which moment is named."""

from __future__ import annotations

import pytest

from engine.diagnosis.model import Diagnosis
from engine.diagnosis.why import why, with_earlier
from tests.engine.diagnosis.answers import TOPIC, Stats, consumer, moments, stats, stats_path

WELL = stats("Shared", [consumer("a")])
ALONE = stats("Shared", [], msgBacklog=5, msgOutCounter=3)
"""Nobody is connected, and messages wait: one moment shows it."""


def looked_back(*shown: Stats) -> Diagnosis:
    result = moments(*({stats_path(): each} for each in shown))
    (diagnosis,) = with_earlier(why(result), result)
    return diagnosis


@pytest.mark.parametrize(("since", "seen"), [(1, True), (2, True), (10, True), (11, False)])
def test_what_went_by_is_seen_ten_moments_back(since: int, seen: bool) -> None:
    result = looked_back(ALONE, *[WELL] * since)
    assert result.first is not None and not result.first.verdict.harms
    assert (result.earlier is not None) is seen
    if result.earlier is not None:
        assert (result.earlier.moment, result.earlier.cause.id) == (1, "no_consumers")


def test_the_latest_of_several_counts_and_none_beside_harm_that_lasts() -> None:
    result = looked_back(ALONE, WELL, ALONE, WELL, WELL)
    assert result.earlier is not None and result.earlier.moment == 3
    assert looked_back(ALONE, WELL, ALONE).earlier is None


def test_only_the_subscription_that_was_harmed_has_an_earlier_cause() -> None:
    other = "admin/v2/persistent/t/m/y/stats"
    result = moments({stats_path(): ALONE, other: WELL}, {stats_path(): WELL, other: WELL})
    reported = {each.namespace: each.earlier for each in with_earlier(why(result), result)}
    assert reported["t/m"] is None
    assert reported["t/n"] is not None and reported["t/n"].cause.topic == TOPIC
