"""Laws of automatic splitting: no decider passes a cap, and whatever it chooses is above a limit of its own."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.balance.averages import TimeAverageMessageData
from engine.balance.limits import BundleStats
from engine.balance.splitting.extensible import CycleLimits, CycleObservation, SplitMemory, cycle
from engine.balance.splitting.modular import BrokerReport, ModularObservation, modular_decision
from engine.bundles.boundaries import BundleRange, parse_range
from engine.bundles.loads import TopicLoad
from engine.config import SPLIT_ALGORITHMS, BrokerSettings

EDGES = (0, 1, 3, 100, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
NAMES = [f"{namespace}/{BundleRange(low, high)}" for namespace in ("t/n", "t/n1") for low, high in pairwise(EDGES)]
RATES = st.one_of(st.just(0.0), st.sampled_from([4.0, 5.0, 5.5, 1e308, float("inf"), float("nan")]))
BYTES = st.one_of(st.just(0.0), st.sampled_from([0.5, 524_288.0, 1e9, 3e9]))
COUNTS = st.integers(0, 5)


@st.composite
def reported(draw: st.DrawFn, name: str) -> BundleStats:
    sessions = (draw(COUNTS), draw(COUNTS))
    return BundleStats(name, draw(COUNTS), *sessions, draw(RATES), draw(RATES), draw(BYTES), draw(BYTES))


@st.composite
def reports(draw: st.DrawFn) -> tuple[BundleStats, ...]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=len(NAMES)))
    return tuple(draw(reported(name)) for name in names)


@st.composite
def broker_settings(draw: st.DrawFn) -> BrokerSettings:
    return BrokerSettings(
        loadBalancerNamespaceMaximumBundles=draw(st.sampled_from([4, 5, 6, 128])),
        loadBalancerNamespaceBundleMaxTopics=draw(st.integers(2, 5)),
        loadBalancerNamespaceBundleMaxSessions=draw(st.integers(-1, 8)),
        loadBalancerNamespaceBundleMaxMsgRate=draw(st.sampled_from([0, 10, 30_000])),
        loadBalancerNamespaceBundleMaxBandwidthMbytes=draw(st.sampled_from([1, 100, 2047, 2048, 4096, 5000])),
        defaultNamespaceBundleSplitAlgorithm=draw(st.sampled_from(SPLIT_ALGORITHMS)),
    )


BUNDLE_COUNTS = st.fixed_dictionaries({"t/n": st.integers(2, 5)}, optional={"t/n1": st.integers(2, 5)})
OVERFLOWN = {1: 2**20, 100: 104_857_600, 2047: 2_146_435_072, 2048: -(2**31), 4096: 0, 5000: 947_912_704}


def above_a_limit(stats: BundleStats, msgs_per_sec: float, bytes_per_sec: float, limits: BrokerSettings) -> bool:
    """The thresholds once more, in other words than the engine's."""
    sessions = limits.loadBalancerNamespaceBundleMaxSessions
    return stats.topics >= 2 and any(
        (
            stats.topics > limits.loadBalancerNamespaceBundleMaxTopics,
            sessions > 0 and stats.producers + stats.consumers > sessions,
            msgs_per_sec > limits.loadBalancerNamespaceBundleMaxMsgRate,
            bytes_per_sec > OVERFLOWN[limits.loadBalancerNamespaceBundleMaxBandwidthMbytes],
        )
    )


@given(st.lists(reports(), max_size=3), reports(), BUNDLE_COUNTS, broker_settings())
@settings(max_examples=80, deadline=None)
def test_B13_the_modular_decider_stays_below_the_cap_and_chooses_what_its_averages_condemn(
    given_reports: list[tuple[BundleStats, ...]],
    averages: tuple[BundleStats, ...],
    counts: dict[str, int],
    limits: BrokerSettings,
) -> None:
    by_broker = tuple(BrokerReport(f"b{place}", bundles) for place, bundles in enumerate(given_reports))
    long_term = {
        stats.bundle: TimeAverageMessageData(
            1000,
            1,
            stats.msg_rate_in,
            stats.msg_rate_out,
            stats.throughput_in_bytes_per_sec,
            stats.throughput_out_bytes_per_sec,
        )
        for stats in averages
    }
    decision = modular_decision(ModularObservation(by_broker, long_term, counts), limits)
    assert len(decision.verdicts) == sum(map(len, given_reports))
    for namespace, chosen in Counter(name.rpartition("/")[0] for name in decision.chosen).items():
        assert counts[namespace] + chosen <= limits.loadBalancerNamespaceMaximumBundles
    average_of = {stats.bundle: stats for stats in averages}
    for report in by_broker:
        for stats in report.bundles:
            if decision.chosen.get(stats.bundle) == report.broker:
                average = average_of.get(stats.bundle, BundleStats(stats.bundle))
                assert above_a_limit(stats, average.msgs_per_sec, average.bytes_per_sec, limits)


TOPICS = st.lists(
    st.builds(
        lambda at, rate: TopicLoad("persistent://t/n/x", at, rate),
        st.sampled_from([0, 1, 2, 3, 50, 99, 100, 0x80000000, 0xFFFFFFFD, 0xFFFFFFFF]),
        RATES,
    ),
    max_size=6,
)


@given(
    st.lists(reports(), min_size=1, max_size=5), TOPICS, BUNDLE_COUNTS, broker_settings(),
    st.sampled_from([1, 1, 2, 0, -1]), st.integers(0, 2),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_B13_the_extensible_decider_stays_below_both_caps_and_chooses_what_was_above_often_enough(
    cycles: list[tuple[BundleStats, ...]],
    topics: list[TopicLoad],
    counts: dict[str, int],
    limits: BrokerSettings,
    maximum: int,
    threshold: int,
) -> None:
    memory = SplitMemory()
    above: Counter[str] = Counter()
    for bundles in cycles:
        seen = CycleObservation(bundles, counts, {"t/n": topics, "t/n1": topics})
        memory, decision = cycle(memory, seen, limits, CycleLimits(maximum, threshold))
        assert maximum <= 0 or len(decision.chosen) <= maximum
        for namespace, chosen in Counter(choice.bundle.rpartition("/")[0] for choice in decision.chosen).items():
            assert counts[namespace] + chosen <= limits.loadBalancerNamespaceMaximumBundles
        stats_of = {stats.bundle: stats for stats in bundles}
        above.update(
            stats.bundle for stats in bundles if above_a_limit(stats, stats.msgs_per_sec, stats.bytes_per_sec, limits)
        )
        for choice in decision.chosen:
            stats = stats_of[choice.bundle]
            assert above_a_limit(stats, stats.msgs_per_sec, stats.bytes_per_sec, limits)
            assert threshold < choice.hits <= above[choice.bundle]
            (cut,) = choice.boundaries or ()
            parent = parse_range(stats.range_text)
            assert choice.children == (BundleRange(parent.lower, cut), BundleRange(cut, parent.upper))
            assert all(child.width > 0 or child.upper_inclusive for child in choice.children)
            assert memory.hits_of(choice.bundle) == 0
        assert {bundle for bundle, _ in memory.hits} <= stats_of.keys()
        assert all(hits >= 1 for _, hits in memory.hits)
