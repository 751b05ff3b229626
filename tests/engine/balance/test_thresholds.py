"""Thresholds with their ranges: every shedder has some, defaults lie inside, steps end at the ends."""

from __future__ import annotations

import pytest

from engine.balance.settings import LOAD_SETTING_DEFAULTS
from engine.balance.thresholds import threshold_of, thresholds_of
from engine.views.brokers.view import PLACEMENTS, SHEDDERS

EVERY = {
    each.name: each
    for shedder in SHEDDERS
    for placement in (None, *PLACEMENTS)
    for each in thresholds_of(shedder, placement)
}


@pytest.mark.parametrize("name", EVERY)
def test_a_threshold_has_its_default_inside_its_range_and_is_reached_step_by_step(name: str) -> None:
    threshold = EVERY[name]
    default = float(LOAD_SETTING_DEFAULTS[name])  # type: ignore[arg-type]
    assert threshold.low <= default <= threshold.high
    text = str(LOAD_SETTING_DEFAULTS[name])
    assert threshold.stepped("nonsense", 5).lower() == text.lower()
    lowest, highest = threshold.stepped(text, -(10**6)), threshold.stepped(text, 10**6)
    assert (threshold.share_of(lowest), threshold.share_of(highest)) == (0.0, 1.0)
    assert threshold.share_of(threshold.stepped(lowest, 1)) == pytest.approx(
        threshold.step / (threshold.high - threshold.low)
    )
    assert threshold.is_switch is isinstance(LOAD_SETTING_DEFAULTS[name], bool)


@pytest.mark.parametrize(
    ("name", "text", "steps", "expected"),
    [
        ("loadBalancerBrokerThresholdShedderPercentage", "10", -3, "7"),
        ("loadBalancerBundleUnloadMinThroughputThreshold", "10.4", 1, "11.0"),
        ("loadBalancerBundleUnloadMinThroughputThreshold", "10.4", -1, "10.0"),
        ("loadBalancerHistoryResourcePercentage", "NaN", -1, "0.9"),
        ("loadBalancerHistoryResourcePercentage", "Infinity", 1, "0.9"),
        ("maxUnloadBundleNumPerShedding", "-1", -1, "-1"),
        ("minUnloadMessageThroughput", "1048576", 1, "2097152"),
        ("loadBalancerTransferEnabled", "true", -1, "false"),
    ],
)
def test_steps(name: str, text: str, steps: int, expected: str) -> None:
    assert threshold_of(name).stepped(text, steps) == expected


def test_a_value_outside_its_range_is_drawn_at_the_end_and_a_text_nowhere() -> None:
    threshold = threshold_of("loadBalancerBrokerOverloadedThresholdPercentage")
    assert [threshold.share_of(text) for text in ("150", "-5", "many", "")] == [1.0, 0.0, None, None]
