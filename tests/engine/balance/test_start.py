"""Bad input of a simulation is named by its field and counted; what was good is kept."""

from __future__ import annotations

from typing import Any

import pytest

from engine.balance.limits import BandwidthLimit, bandwidth_finding
from engine.balance.settings import BalanceSettings
from engine.balance.splitting.model import BalanceVerdict
from engine.balance.splitting.start import BalanceStart, balance_start, check_topics
from engine.balance.splitting.topics import BalancedTopic
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import TopicLoad, topic_load
from engine.config import CURRENT, BrokerSettings
from engine.errors import Rejection

WHOLE = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
GOOD = TopicLoad("persistent://t/n/good", 5, 1.0)


def start(topics: list[Any], brokers: tuple[str, ...] = ("b:1",), **more: Any) -> BalanceStart | Rejection:
    return balance_start(WHOLE, topics, brokers, more.pop("settings", BrokerSettings()), change_events=False, **more)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.001])
@pytest.mark.parametrize(
    "field", ["msg_rate_in", "msg_rate_out", "throughput_in_bytes_per_sec", "throughput_out_bytes_per_sec"]
)
def test_a_rate_that_is_no_rate_is_left_out_and_the_rest_stays(field: str, value: float) -> None:
    rates: dict[str, Any] = {field: value}
    result = start([TopicLoad("persistent://t/n/bad", 9, **rates), GOOD])
    assert isinstance(result, BalanceStart), result
    assert [topic.load for topic in result.topics] == [GOOD]
    assert (result.bad_topics, [problem.field for problem in result.problems]) == (1, [f"topics[0].{field}"])


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"growth_per_cycle": float("nan")}, "growth_per_cycle"),
        ({"growth_per_cycle": -1.0}, "growth_per_cycle"),
        ({"producers": -1}, "producers"),
        ({"consumers": -1}, "consumers"),
    ],
)
def test_growth_and_sessions_are_checked_too(more: dict[str, Any], field: str) -> None:
    good, bad = check_topics([BalancedTopic(GOOD, **more)])
    assert (good, [refusal.field for refusal in bad]) == ((), [f"topics[0].{field}"])


@pytest.mark.parametrize(
    ("brokers", "more", "field"),
    [
        ((), {}, "brokers"),
        (("b:1", "b:1"), {}, "brokers"),
        (("b:1",), {"load_manager": "simple"}, "load_manager"),
        (("b:1",), {"first_rate_factor": 0.0}, "first_rate_factor"),
        (("b:1",), {"first_rate_factor": float("nan")}, "first_rate_factor"),
        (("b:1",), {"owners": {"0x00000000_0xffffffff": "b:9"}}, "owners"),
        (
            ("b:1",),
            {"intervals": BalanceSettings(loadBalancerSplitIntervalMinutes=0)},
            "loadBalancerSplitIntervalMinutes",
        ),
    ],
)
def test_what_no_simulation_can_start_from_is_refused_by_name(
    brokers: tuple[str, ...], more: dict[str, Any], field: str
) -> None:
    result = start([GOOD], brokers, **more)
    assert isinstance(result, Rejection)
    assert result.field == field


@pytest.mark.parametrize(
    ("mbytes", "compared", "word"),
    [(2048, -(2**31), "idle ones too"), (4096, 0, "any traffic"), (5000, 947_912_704, "not what was asked for")],
)
def test_an_overflowing_bandwidth_limit_says_what_pulsar_compares_and_what_is_right(
    mbytes: int, compared: int, word: str
) -> None:
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=mbytes)
    result = start([GOOD], settings=settings)
    assert isinstance(result, BalanceStart)
    (problem,) = result.problems
    assert problem == bandwidth_finding(settings)
    for text in (str(compared), str(BandwidthLimit(mbytes).bytes_per_sec), word, "2047"):
        assert text in problem.message


def test_2047_is_the_last_limit_that_needs_no_word() -> None:
    assert bandwidth_finding(BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=2047)) is None


def test_B07_topics_of_one_hash_are_kept_and_pointed_out() -> None:
    result = start([GOOD, TopicLoad("persistent://t/n/twin", GOOD.hash), TopicLoad("persistent://t/n/other", 6)])
    assert isinstance(result, BalanceStart)
    assert (len(result.topics), result.bad_topics) == (3, 0)
    (problem,) = result.problems
    assert (problem.error, problem.field) == ("EqualHashes", "topics")
    assert "good" in problem.message and "twin" in problem.message and "other" not in problem.message


def test_change_events_comes_once_and_only_when_asked_for() -> None:
    listed = topic_load("persistent://t/n/__change_events")
    for topics, expected, count in (([GOOD], True, 2), ([GOOD], False, 1), ([GOOD, listed], True, 2)):
        result = balance_start(WHOLE, topics, ["b:1"], BrokerSettings(), change_events=expected)
        assert isinstance(result, BalanceStart)
        assert len(result.topics) == count


def test_a_topic_of_which_only_traffic_is_known_has_no_sessions_and_stays_as_it_is() -> None:
    found = balance_start(WHOLE, [GOOD], ["b:1"], BrokerSettings(), change_events=False)
    assert isinstance(found, BalanceStart)
    assert list(found.topics) == [BalancedTopic(GOOD, 0, 0, 1.0)]


def test_a_start_has_pulsars_intervals_no_owners_and_true_first_rates_unless_others_are_given() -> None:
    assert BalanceSettings() == BalanceSettings(5000, 10, 15, 15, 1)
    plain = start([])
    assert isinstance(plain, BalanceStart)
    assert plain == BalanceStart(WHOLE, plain.topics, ("b:1",), BrokerSettings(), BalanceSettings())
    assert len(plain.topics) == 0
    assert (plain.load_manager, plain.owners, plain.averages, plain.first_rate_factor) == ("modular", {}, {}, 1.0)
    assert (plain.behaviour, plain.problems, plain.bad_topics) == (CURRENT, (), 0)
    verdict = BalanceVerdict("t/n/0x00000000_0xffffffff", "b:1", "below-limits", "Unknown", None)
    assert (verdict.hits, verdict.detail) == (0, None)
