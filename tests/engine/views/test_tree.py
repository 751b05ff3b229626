"""The bundle tree: what lies in every range, now and before a split."""

from __future__ import annotations

import pytest

from engine.cluster.bundles import topic_loads
from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    SplitBundle,
)
from engine.cluster.timeline import Timeline
from engine.hashing import crc32_hash
from engine.views.failover.dashboard import dashboard_view, partitions_of, topics_of_bundle
from engine.views.failover.model import BundleNode
from engine.views.failover.tree import HashedTopics
from tests.engine.views.states import NAMESPACE, QUARTERS, cluster, submitted


def leaves(nodes: tuple[BundleNode, ...]) -> list[BundleNode]:
    return [leaf for node in nodes for leaf in (leaves(node.children) if node.children else [node])]


def test_B14_topics_of_a_bundle_and_bundle_of_a_topic_agree() -> None:
    timeline = submitted(
        Timeline.start(cluster(["a"], {f"topic-{at}": at % 3 for at in range(50)})),
        SplitBundle(NAMESPACE, "0x00000000_0x40000000", "range_equally_divide"),
    )
    view = dashboard_view(timeline)
    seen = {}
    for leaf in leaves(view.namespaces[0].roots):
        listed = topics_of_bundle(timeline, NAMESPACE, leaf.range_text)
        assert len(listed) == leaf.topics
        assert sum(topic.msgs_per_sec for topic in listed) == pytest.approx(leaf.msgs_per_sec)
        assert [topic.topic_hash for topic in listed] == sorted(topic.topic_hash for topic in listed)
        assert all(topic.topic_hash == crc32_hash(topic.name) for topic in listed)
        assert all(leaf.lower <= topic.topic_hash < leaf.upper for topic in listed)
        seen |= {topic.name: leaf.range_text for topic in listed}
    assert seen == {row.name: row.bundle for row in partitions_of(timeline, 0, 0)}


def test_a_split_bundle_keeps_its_node_and_its_children_are_fresh_for_one_step() -> None:
    timeline = Timeline.start(cluster(["a"], {"x": 40}))
    timeline = submitted(timeline, SplitBundle(NAMESPACE, "0x00000000_0x40000000", "range_equally_divide"))
    (root, *others) = dashboard_view(timeline).namespaces[0].roots
    assert root.algorithm == "range_equally_divide" and [child.depth for child in root.children] == [1, 1]
    assert [child.fresh for child in root.children] == [True, True] and not any(each.fresh for each in others)
    assert root.topics == sum(child.topics for child in root.children)
    timeline = submitted(timeline, AddConsumer("sub", "b"))
    assert not any(child.fresh for child in dashboard_view(timeline).namespaces[0].roots[0].children)


def test_bundles_of_a_namespace_that_came_with_its_first_topic_are_fresh() -> None:
    timeline = submitted(Timeline.start(cluster(["a"], {"x": 1})), AddTopic("persistent://other/ns/y"))
    by_name = {node.name: node for node in dashboard_view(timeline).namespaces}
    assert all(root.fresh for root in by_name["other/ns"].roots)
    assert not any(root.fresh for root in by_name[NAMESPACE].roots)


def test_the_tree_counts_what_a_split_would_count() -> None:
    state = cluster(["a"], {f"topic-{at}": 3 for at in range(30)})
    roots = dashboard_view(Timeline.start(state)).namespaces[0].roots
    for root in roots:
        inside = [load for load in topic_loads(state, NAMESPACE) if root.lower <= load.hash < root.upper]
        assert root.topics == len(inside)
        assert root.msgs_per_sec == pytest.approx(sum(load.msgs_per_sec for load in inside))
    assert tuple(root.lower for root in roots) == QUARTERS[:-1]


def test_a_range_that_is_none_and_an_unknown_namespace_have_no_topics() -> None:
    timeline = Timeline.start(cluster(["a"], {"x": 4}))
    assert topics_of_bundle(timeline, NAMESPACE, "half") == ()
    assert len(topics_of_bundle(timeline, "no/where", "0x00000000_0xffffffff")) == 0
    assert len(topics_of_bundle(timeline, NAMESPACE, "0x00000000_0xffffffff")) == 4


def test_the_topmost_hash_belongs_to_the_last_bundle_only() -> None:
    topics = HashedTopics(("low", "high", "top"), (5, 0xFFFFFFFE, 0xFFFFFFFF))
    assert topics.inside(0xC0000000, 0xFFFFFFFF) == (1, 3)
    assert topics.inside(0, 5) == (0, 0) and topics.inside(5, 6) == (0, 1)
