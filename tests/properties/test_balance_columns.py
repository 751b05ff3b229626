"""Topics in columns answer what objects one by one answer, to the last digit."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.balance.splitting.start import BalanceStart, balance_start
from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.curve import flow_curve
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.bundles.plan import shares_of
from engine.config import BrokerSettings
from engine.errors import Rejection
from tests.engine.bundles.scalar_curve import flow_curve as scalar_curve
from tests.properties.test_balance_laws import TOP, topics


def load_at(topic: BalancedTopic, interval: int) -> TopicLoad:
    """A topic's load after that many full intervals."""
    factor = topic.growth_per_cycle**interval
    return structs.replace(topic.load, **{name: min(getattr(topic.load, name) * factor, 1e300) for name in RATE_FIELDS})


@given(topics(), st.booleans(), st.floats(allow_nan=True), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_a_start_keeps_and_refuses_the_same_topics_from_columns(
    given_topics: list[BalancedTopic], spoilt: bool, rate: float, brokers: int
) -> None:
    if spoilt and given_topics:
        given_topics[0] = replace(given_topics[0], load=structs.replace(given_topics[0].load, msg_rate_in=rate))
    names = [f"b:{place}" for place in range(brokers)]
    whole = NamespaceBundles("t/n", (5, 0x80000000, TOP))
    plain = balance_start(whole, given_topics, names, BrokerSettings())
    large = balance_start(whole, TopicColumns.of(given_topics), names, BrokerSettings())
    assert isinstance(plain, BalanceStart) and isinstance(large, BalanceStart)
    assert replace(large, topics=plain.topics) == plain
    assert list(large.topics) == list(plain.topics)
    again = balance_start(whole, TopicColumns.of(plain.topics), names, BrokerSettings())
    assert isinstance(again, BalanceStart) and len(again.topics) == len(plain.topics)


@given(topics(), st.sampled_from([0, 10, 60, 30_000]), st.sampled_from([0, 10, 100]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_curve_is_the_same_from_columns(
    given_topics: list[BalancedTopic], rate: int, gate: int, proposed: bool
) -> None:
    limits = FlowLimits(rate, 100, gate)
    for piece in (BundleRange(0, TOP), BundleRange(2, 0x80000000)):
        for at in (0, 3):
            loads = [load_at(topic, at) for topic in given_topics]
            plain = scalar_curve(piece, loads, limits, "proposed" if proposed else "merged")
            grown = TopicColumns.of(given_topics).loads_at(at)
            large = flow_curve(piece, grown, limits, "proposed" if proposed else "merged")
            if isinstance(large, Rejection):
                assert large == plain
            else:
                assert replace(large, points=tuple(large.points), idle=tuple(large.idle)) == plain


@given(topics(), st.sets(st.integers(1, TOP - 1), min_size=3, max_size=8))
@settings(max_examples=60, deadline=None)
def test_shares_of_many_bundles_are_the_same_from_columns(given_topics: list[BalancedTopic], cuts: set[int]) -> None:
    bundles = NamespaceBundles("t/n", (0, *sorted(cuts), TOP)).bundles
    for pieces in (bundles, bundles[1:], bundles[:-1]):
        shares = shares_of(pieces, TopicColumns.of(given_topics).loads)
        for piece, share in zip(pieces, shares, strict=True):
            inside = [topic.load for topic in given_topics if piece.includes(topic.load.hash)]
            known = [load for load in inside if load.has_stats]
            assert (share.bundle, [*share.topics]) == (piece, [load.name for load in inside])
            assert share.msgs_per_sec == sum((load.msgs_per_sec for load in known), 0.0)
            assert share.bytes_per_sec == sum((load.bytes_per_sec for load in known), 0.0)
