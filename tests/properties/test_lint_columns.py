"""What the doctor asks of topics in columns is what it would ask topic by topic, to the last bit."""

from __future__ import annotations

from math import fsum
from random import Random

from hypothesis import given, settings

from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.config import SPLIT_ALGORITHMS, BrokerSettings
from engine.lint import World
from engine.lint.doctor import NAMESPACE_RULES, lint_namespace
from engine.lint.model import NamespaceCase
from engine.lint.topics import Traffic, above, traffic_of, twins_of
from tests.seeds import by_seed

TOP = 0xFFFFFFFF
OF_PRODUCERS = {"producers-mixed-key-routing", "producers-full"}
"""Rules about who produces, which do not look at topics."""
RATES = (0.0, 0.1, 0.2, 0.3, 30.0, 40.0, 50.0, 99.9, 100.0, 1e17)


def an_edge(rng: Random) -> int:
    """Both ends of the space, where widths of 1 and shared hashes are common, and anything between."""
    return rng.choice((rng.randint(0, 12), rng.randint(TOP - 12, TOP), rng.randint(0, TOP)))


def a_world(rng: Random) -> World:
    """Limits that are exceeded often, 0 and an overflow of Pulsar's included."""
    return World(
        BrokerSettings(
            defaultNamespaceBundleSplitAlgorithm=rng.choice(SPLIT_ALGORITHMS),
            loadBalancerAutoBundleSplitEnabled=rng.randint(0, 9) > 0,
            loadBalancerNamespaceBundleMaxTopics=rng.randint(1, 4),
            loadBalancerNamespaceBundleMaxSessions=rng.choice((0, 3, 1000)),
            loadBalancerNamespaceBundleMaxMsgRate=rng.choice((0, 100, 30_000)),
            loadBalancerNamespaceBundleMaxBandwidthMbytes=rng.choice((0, 1, 100, 2048)),
            loadBalancerNamespaceMaximumBundles=rng.choice((2, 128)),
        ),
        load_manager=rng.choice(("modular", "extensible", None)),
    )


def a_case(rng: Random) -> NamespaceCase:
    """A namespace whose first boundary need not be 0, and whose bundles answers may list in part or not at all."""
    bounds = sorted({min(an_edge(rng), TOP - 1) for _ in range(rng.randint(1, 3))})
    bundles = NamespaceBundles("t/n", (*bounds, TOP))
    topics = tuple(
        TopicLoad(
            f"persistent://t/n/{at}",
            an_edge(rng),
            *(rng.choice((rng.choice(RATES), rng.uniform(0, 200))) for _ in RATE_FIELDS),
            rng.randint(0, 5) > 0,
        )
        for at in range(rng.randint(0, 14))
    )
    texts = [str(bundle) for bundle in bundles]
    listed = rng.choice((None, frozenset(rng.sample(texts, rng.randint(0, len(texts))))))
    sessions = rng.choice(((), [rng.randint(0, 4) for _ in topics]))
    return NamespaceCase(a_world(rng), bundles, topics, listed, sessions)


@settings(max_examples=400, deadline=None)
@given(by_seed(a_case))
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
    @given(by_seed(a_case))
    def collect(case: NamespaceCase) -> None:
        reached.update(finding.rule for finding in lint_namespace(case))

    collect()
    assert reached == {rule.id for rule in NAMESPACE_RULES} - OF_PRODUCERS
