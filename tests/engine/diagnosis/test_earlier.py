"""What did harm at an earlier moment and does no more: how far back it is looked for, and which moment is named."""

from __future__ import annotations

import pytest

from engine.diagnosis.model import Diagnosis
from engine.diagnosis.why import why, with_earlier
from tests.engine.diagnosis.made import TOPIC, Stats, consumer, moments, stats, stats_path

WELL = stats("Shared", [consumer("a")])
ALONE = stats("Shared", [], msgBacklog=5, msgOutCounter=3)
"""Nobody is connected, and messages wait: one moment shows it."""


def looked_back(*shown: Stats) -> Diagnosis:
    found = moments(*({stats_path(): each} for each in shown))
    (diagnosis,) = with_earlier(why(found), found)
    return diagnosis


@pytest.mark.parametrize(("since", "seen"), [(1, True), (2, True), (10, True), (11, False)])
def test_what_went_by_is_seen_ten_moments_back(since: int, seen: bool) -> None:
    found = looked_back(ALONE, *[WELL] * since)
    assert found.first is not None and not found.first.verdict.harms
    assert (found.earlier is not None) is seen
    if found.earlier is not None:
        assert (found.earlier.moment, found.earlier.cause.id) == (1, "no_consumers")


def test_the_latest_of_several_counts_and_none_beside_harm_that_lasts() -> None:
    found = looked_back(ALONE, WELL, ALONE, WELL, WELL)
    assert found.earlier is not None and found.earlier.moment == 3
    assert looked_back(ALONE, WELL, ALONE).earlier is None


def test_only_the_subscription_that_was_harmed_has_an_earlier_cause() -> None:
    other = "admin/v2/persistent/t/m/y/stats"
    found = moments({stats_path(): ALONE, other: WELL}, {stats_path(): WELL, other: WELL})
    told = {each.namespace: each.earlier for each in with_earlier(why(found), found)}
    assert told["t/m"] is None
    assert told["t/n"] is not None and told["t/n"].cause.topic == TOPIC
