"""The doctor over topics in columns finds what it finds topic by topic, whatever the settings, and to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.columns import LoadColumns, PickedNames
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.config import SPLIT_ALGORITHMS, BrokerSettings
from engine.lint import World
from engine.lint.doctor import NAMESPACE_RULES, lint_namespace
from engine.lint.model import NamespaceCase

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


def in_columns(case: NamespaceCase) -> NamespaceCase:
    names = [topic.name for topic in case.topics]
    rates = [[getattr(topic, name) for topic in case.topics] for name in RATE_FIELDS]
    return replace(
        case,
        topics=LoadColumns(
            PickedNames(names, np.arange(len(names))),
            np.array([topic.hash for topic in case.topics], dtype=np.int64),
            np.array(rates, dtype=np.float64).reshape(len(RATE_FIELDS), len(names)),
            np.array([topic.has_stats for topic in case.topics], dtype=bool),
        ),
    )


@settings(max_examples=400, deadline=None)
@given(cases())
def test_a_namespace_in_columns_has_the_same_findings(case: NamespaceCase) -> None:
    assert lint_namespace(in_columns(case)) == lint_namespace(case)


def test_the_random_cases_reach_every_rule_about_topics() -> None:
    reached: set[str] = set()

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(cases())
    def collect(case: NamespaceCase) -> None:
        reached.update(finding.rule for finding in lint_namespace(case))

    collect()
    assert reached == {rule.id for rule in NAMESPACE_RULES} - OF_PRODUCERS
