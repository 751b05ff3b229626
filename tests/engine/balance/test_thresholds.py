"""Thresholds with their ranges: every shedder has some, defaults lie inside, steps end at the ends."""

from __future__ import annotations

import pytest

from engine.balance.settings import LOAD_SETTING_DEFAULTS, BalanceSettings, LoadSettings
from engine.balance.thresholds import Threshold, threshold_of, thresholds_of
from engine.views.brokers.view import PLACEMENTS, SHEDDERS

EVERY = sorted(
    {
        threshold.name
        for shedder in SHEDDERS
        for placement in (None, *PLACEMENTS)
        for threshold in thresholds_of(shedder, placement)
    }
)


@pytest.mark.parametrize("name", EVERY)
def test_a_threshold_has_its_default_inside_its_range_and_is_reached_step_by_step(name: str) -> None:
    threshold = threshold_of(name)
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


def scale(threshold: Threshold) -> float:
    """What one of the larger unit is that people read a value in: bytes in MiB."""
    return 1048576 if threshold.unit == "bytes/s" else 1


def of_a_whole(threshold: Threshold) -> float | None:
    """The whole, where a value is a part of one; a broker's usage, too, is at most 100 percent."""
    if threshold.name == "loadBalancerBrokerOverloadedThresholdPercentage" or threshold.unit == "percent points":
        return 100
    return 1 if threshold.unit == "as a share" or threshold.is_switch else None


@pytest.mark.parametrize("name", EVERY)
def test_a_range_is_the_whole_or_ends_at_a_round_number(name: str) -> None:
    threshold = threshold_of(name)
    whole = of_a_whole(threshold)
    assert threshold.high == whole if whole is not None else threshold.high / scale(threshold) % 10 == 0


@pytest.mark.parametrize("name", EVERY)
def test_a_range_begins_at_nothing_or_at_the_least_that_pulsar_takes(name: str) -> None:
    if name == "loadBalancerSheddingIntervalMinutes":
        lows = [BalanceSettings(loadBalancerSplitIntervalMinutes=minutes).check() is None for minutes in (0, 1)]
        assert (lows, threshold_of(name).low) == ([False, True], 1), "no timer of a broker takes an interval of 0"
    else:
        unlimited = -1 if name == "maxUnloadBundleNumPerShedding" else 0
        assert threshold_of(name).low == unlimited


@pytest.mark.parametrize("name", EVERY)
def test_steps_are_those_of_a_ruler_and_meet_the_default_and_both_ends(name: str) -> None:
    """A one or a five with zeros; seconds go by half minutes or minutes."""
    threshold = threshold_of(name)
    step = threshold.step / scale(threshold)
    on_a_ruler = f"{step:e}"[0] in "15" and float(f"{step:.0e}") == step
    assert on_a_ruler or (threshold.unit == "s" and step in (30, 60))
    default = float(LOAD_SETTING_DEFAULTS[name])  # type: ignore[arg-type]
    for place in (default, threshold.high):
        steps = (place - threshold.low) / threshold.step
        assert steps == pytest.approx(round(steps), abs=1e-9)


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


def test_without_a_file_a_broker_has_the_defaults_of_pulsar() -> None:
    """Those of broker.conf in 4.2.4."""
    settings = LoadSettings()
    assert settings.loadBalancerSheddingIntervalMinutes == 1
    assert settings.loadBalancerSheddingGracePeriodMinutes == 30
    assert settings.loadBalancerBrokerMaxTopics == 50_000
    assert settings.loadBalancerReportUpdateThresholdPercentage == 10
    assert settings.loadBalancerReportUpdateMaxIntervalMinutes == 15
    assert settings.loadBalancerMaxNumberOfBundlesInBundleLoadReport == 10
