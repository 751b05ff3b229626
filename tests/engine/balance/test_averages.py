"""Load averages of the modular load manager, and the limits of automatic splitting."""

from __future__ import annotations

import pytest

from engine.balance.averages import BundleData, TimeAverageMessageData, new_bundle_data
from engine.balance.limits import BundleStats, LimitMeasure, bandwidth_limit, exceeded_limit, limit_measures
from engine.bundles.algorithms import flow_limits
from engine.config import BrokerSettings

NAME = "t/n/0x00000000_0xffffffff"


def sample(rate_in: float, topics: int = 2) -> BundleStats:
    return BundleStats(NAME, topics, msg_rate_in=rate_in, throughput_out_bytes_per_sec=10 * rate_in)


def test_a_bundle_never_seen_starts_from_fifty_each_way_with_windows_of_10_and_1000() -> None:
    data = new_bundle_data()
    assert (data.short_term.max_samples, data.long_term.max_samples, data.topics) == (10, 1000, 0)
    assert (data.long_term.num_samples, data.long_term.msgs_per_sec, data.long_term.bytes_per_sec) == (0, 100, 100_000)


def test_an_average_begins_without_samples_and_traffic() -> None:
    assert TimeAverageMessageData(7) == TimeAverageMessageData(7, 0, 0.0, 0.0, 0.0, 0.0)
    assert BundleData(TimeAverageMessageData(1), TimeAverageMessageData(2)).topics == 0


def test_a_bundle_of_which_nothing_is_reported_is_idle() -> None:
    assert BundleStats(NAME) == BundleStats(NAME, 0, 0, 0, 0.0, 0.0, 0.0, 0.0)


def test_the_first_sample_replaces_the_start_values_wholly() -> None:
    data = new_bundle_data().update(sample(7.0, topics=3))
    assert (data.short_term.num_samples, data.long_term.msgs_per_sec, data.long_term.bytes_per_sec) == (1, 7.0, 70.0)
    assert (data.stored.topics, data.stored.throughput_out_bytes_per_sec) == (3, 70.0)


def test_a_full_window_gives_each_sample_its_share_and_the_count_stays() -> None:
    data = new_bundle_data()
    for rate in [0.0] * 10 + [100.0, 100.0]:
        data = data.update(sample(rate))
    assert data.short_term.num_samples == 10
    assert data.short_term.msg_rate_in == pytest.approx(19.0)  # 10, then (9 × 10 + 100) / 10
    assert (data.long_term.num_samples, data.long_term.msg_rate_in) == (12, pytest.approx(200 / 12))


def test_a_step_in_the_traffic_reaches_the_long_term_average_late() -> None:
    """Nine samples of 20 msg/s, then 120: the mean is above 60 from the 16th sample on, not with the 10th."""
    data, passed = new_bundle_data(), []
    for number in range(1, 20):
        data = data.update(sample(20.0 if number <= 9 else 120.0))
        if data.long_term.msgs_per_sec > 60.001:
            passed.append(number)
    assert passed == [16, 17, 18, 19]


@pytest.mark.parametrize(
    ("mbytes", "compared", "overflows"),
    [
        (100, 104_857_600, False),
        (2047, 2_146_435_072, False),
        (2048, -2_147_483_648, True),
        (4096, 0, True),
        (5000, 947_912_704, True),
        (-1, -1_048_576, False),
    ],
)
def test_the_deciders_multiply_the_bandwidth_in_32_bits(mbytes: int, compared: int, overflows: bool) -> None:
    """The split algorithm's own limit, in 64 bits, is what was meant."""
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=mbytes)
    limit = bandwidth_limit(settings)
    assert (limit.pulsar_bytes_per_sec, limit.overflows) == (compared, overflows)
    assert limit.bytes_per_sec == mbytes * 1_048_576 == flow_limits(settings).max_bytes_per_sec


@pytest.mark.parametrize(
    ("mbytes", "bytes_per_sec", "reason"),
    [
        (2047, 2_146_435_072.0, "Unknown"),
        (2047, 2_146_435_073.0, "Bandwidth"),
        (2048, 0.0, "Bandwidth"),
        (4096, 0.0, "Unknown"),
        (4096, 0.5, "Bandwidth"),
        (5000, 947_912_704.0, "Unknown"),
        (5000, 947_912_705.0, "Bandwidth"),
    ],
)
def test_a_bandwidth_limit_above_2047_is_another_limit(mbytes: int, bytes_per_sec: float, reason: str) -> None:
    """With 2048 every idle bundle is above it, with 4096 any traffic is, with 5000 it is 904 MB."""
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=mbytes)
    assert exceeded_limit(sample(0.0), 0.0, bytes_per_sec, settings) == reason


LIMITS = BrokerSettings(
    loadBalancerNamespaceBundleMaxTopics=10,
    loadBalancerNamespaceBundleMaxSessions=20,
    loadBalancerNamespaceBundleMaxMsgRate=30,
    loadBalancerNamespaceBundleMaxBandwidthMbytes=1,
)


@pytest.mark.parametrize(
    ("topics", "sessions", "rate", "throughput", "reason"),
    [
        (10, (10, 10), 30.0, 1_048_576.0, "Unknown"),
        (11, (21, 0), 31.0, 1_048_577.0, "Topics"),
        (10, (10, 11), 31.0, 1_048_577.0, "Sessions"),
        (10, (10, 10), 30.001, 1_048_577.0, "MsgRate"),
        (10, (10, 10), 30.0, 1_048_576.5, "Bandwidth"),
        (10, (10, 10), float("nan"), float("nan"), "Unknown"),
    ],
)
def test_the_first_limit_exceeded_is_named_and_reaching_one_is_not_exceeding_it(
    topics: int, sessions: tuple[int, int], rate: float, throughput: float, reason: str
) -> None:
    assert exceeded_limit(BundleStats(NAME, topics, *sessions), rate, throughput, LIMITS) == reason


@pytest.mark.parametrize("limit", [0, -1])
def test_a_session_limit_of_zero_or_less_is_off(limit: int) -> None:
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxSessions=limit)
    assert exceeded_limit(BundleStats(NAME, 2, 10**6, 10**6), 0.0, 0.0, settings) == "Unknown"


def test_a_session_limit_of_one_counts() -> None:
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxSessions=1)
    assert exceeded_limit(BundleStats(NAME, 2, 1, 1), 0.0, 0.0, settings) == "Sessions"
    assert exceeded_limit(BundleStats(NAME, 2, 1, 0), 0.0, 0.0, settings) == "Unknown"


@pytest.mark.parametrize(("sessions", "reasons"), [(0, 3), (1, 4), (20, 4)])
def test_each_limit_is_measured_and_sessions_only_where_they_are_limited(sessions: int, reasons: int) -> None:
    settings = BrokerSettings(
        loadBalancerNamespaceBundleMaxTopics=10,
        loadBalancerNamespaceBundleMaxSessions=sessions,
        loadBalancerNamespaceBundleMaxMsgRate=30,
        loadBalancerNamespaceBundleMaxBandwidthMbytes=1,
    )
    measures = [
        LimitMeasure("Topics", 5.0, 10.0),
        LimitMeasure("Sessions", 7.0, float(sessions)),
        LimitMeasure("MsgRate", 8.0, 30.0),
        LimitMeasure("Bandwidth", 9.0, 1_048_576.0),
    ]
    result = limit_measures(BundleStats(NAME, 5, 3, 4), 8.0, 9.0, settings)
    assert list(result) == [measure for measure in measures if reasons == 4 or measure.reason != "Sessions"]


@pytest.mark.parametrize(
    ("measured", "limit", "share", "exceeds"),
    [
        (3.0, 1.0, 3.0, True),
        (0.25, 0.5, 0.5, False),
        (0.0, 0.0, 0.0, False),
        (5.0, 0.0, 2.0, True),
        (0.0, -1.0, 2.0, True),
        (1.0, 1.0, 1.0, False),
    ],
)
def test_the_share_of_a_limit_of_zero_or_less_is_all_or_nothing(
    measured: float, limit: float, share: float, exceeds: bool
) -> None:
    measure = LimitMeasure("MsgRate", measured, limit)
    assert (measure.share_of_limit, measure.exceeds, measure.over_by) == (share, exceeds, measured - limit)
