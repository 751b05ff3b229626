"""What the doctor asks of topics in columns is what it would ask topic by topic, to the last bit."""

from __future__ import annotations

from math import fsum

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.config import SPLIT_ALGORITHMS, BrokerSettings
from engine.lint import World
from engine.lint.doctor import NAMESPACE_RULES, lint_namespace
from engine.lint.model import NamespaceCase
from engine.lint.topics import Traffic, above, traffic_of, twins_of

TOP = 0xFFFFFFFF
EDGES = st.integers(0, 12) | st.integers(TOP - 12, TOP) | st.integers(0, TOP)
"""Both ends of the space, where widths of 1 and shared hashes are common, and anything between."""
OF_PRODUCERS = {"producers-mixed-key-routing", "producers-full"}
"""Rules about who produces, which do not look at topics."""
RATES = st.sampled_from((0.0, 0.1, 0.2, 0.3, 30.0, 40.0, 50.0, 99.9, 100.0, 1e17)) | st.floats(0, 200)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Limits that are exceeded often, 0 and an overflow of Pulsar's included."""
    return World(
        BrokerSettings(
            defaultNamespaceBundleSplitAlgorithm=draw(st.sampled_from(SPLIT_ALGORITHMS)),
            loadBalancerAutoBundleSplitEnabled=draw(st.integers(0, 9)) > 0,
            loadBalancerNamespaceBundleMaxTopics=draw(st.integers(1, 4)),
            loadBalancerNamespaceBundleMaxSessions=draw(st.sampled_from((0, 3, 1000))),
            loadBalancerNamespaceBundleMaxMsgRate=draw(st.sampled_from((0, 100, 30_000))),
            loadBalancerNamespaceBundleMaxBandwidthMbytes=draw(st.sampled_from((0, 1, 100, 2048))),
            loadBalancerNamespaceMaximumBundles=draw(st.sampled_from((2, 128))),
        ),
        load_manager=draw(st.sampled_from(("modular", "extensible", None))),
    )


@st.composite
def cases(draw: st.DrawFn) -> NamespaceCase:
    """A namespace whose first boundary need not be 0, and whose bundles answers may list in part or not at all."""
    bounds = sorted(draw(st.sets(EDGES.filter(lambda value: value < TOP), min_size=1, max_size=3)))
    bundles = NamespaceBundles("t/n", (*bounds, TOP))
    topics = tuple(
        TopicLoad(f"persistent://t/n/{at}", value, *(draw(RATES) for _ in RATE_FIELDS), draw(st.integers(0, 5)) > 0)
        for at, value in enumerate(draw(st.lists(EDGES, max_size=14)))
    )
    texts = [str(bundle) for bundle in bundles]
    listed = draw(st.none() | st.sets(st.sampled_from(texts)).map(frozenset))
    sessions = draw(st.just(()) | st.lists(st.integers(0, 4), min_size=len(topics), max_size=len(topics)))
    return NamespaceCase(draw(worlds()), bundles, topics, listed, sessions)


@settings(max_examples=400, deadline=None)
@given(cases())
def test_topics_are_counted_as_one_by_one(case: NamespaceCase) -> None:
    topics = case.topics
    loaded = [topic for topic in topics if topic.has_stats]
    rates = fsum(topic.msgs_per_sec for topic in loaded), fsum(topic.bytes_per_sec for topic in loaded)
    assert traffic_of(topics) == Traffic(len(loaded), *rates)
    assert [*above(topics, 90, 90)] == [one for one in loaded if one.msgs_per_sec > 90 or one.bytes_per_sec > 90]
    hashes = [topic.hash for topic in topics]
    assert {position: [*twins] for position, twins in twins_of(topics)} == {
        position: [topic for topic in topics if topic.hash == position]
        for position in hashes
        if hashes.count(position) > 1
    }
    inside = {
        bundle: [at for at, topic in enumerate(topics) if bundle.includes(topic.hash)]
        for bundle in case.bundles
        if case.lists(bundle)
    }
    assert [(found.bundle, [*found.topics], found.sessions) for found in case.by_bundle] == [
        (bundle, [topics[at] for at in rows], sum(case.sessions[at] for at in rows if topics[at].has_stats)
         if case.sessions else 0)
        for bundle, rows in inside.items()
        if rows
    ]  # fmt: skip


def test_the_random_cases_reach_every_rule_about_topics() -> None:
    reached: set[str] = set()

    @settings(max_examples=600, deadline=None, derandomize=True, database=None)
    @given(cases())
    def collect(case: NamespaceCase) -> None:
        reached.update(finding.rule for finding in lint_namespace(case))

    collect()
    assert reached == {rule.id for rule in NAMESPACE_RULES} - OF_PRODUCERS
