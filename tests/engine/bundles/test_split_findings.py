"""Warnings of a plan: the hottest topic, children that still exceed a limit, the same from columns."""

from __future__ import annotations

import pytest

from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import ChildShare, SplitWarning, child_findings, topic_findings

TOP = 0xFFFFFFFF


def findings(topics: list[TopicLoad], limits: FlowLimits) -> list[SplitWarning]:
    result = topic_findings(topics, limits)
    assert topic_findings(TopicColumns.of([BalancedTopic(topic) for topic in topics]).loads, limits) == result
    return result


def topic(name: str, msgs: float, octets: float, position: int = 0) -> TopicLoad:
    """A quarter of the traffic comes in."""
    return TopicLoad(name, position + ord(name), msgs / 4, msgs * 3 / 4, octets / 4, octets * 3 / 4)


@pytest.mark.parametrize(
    ("most_msgs", "most_bytes", "hottest"),
    [
        (100, 1000, "c"),  # 2 times, 2.5 times, 3 times the bytes
        (80, 1000, "b"),  # 2.5 times, 3.125 times, 3 times the bytes
        (100, 4000, "b"),
        (250, 2999, "c"),
        (0, 10**6, "b"),  # a limit of 0 counts as 1
        (10**6, 0, "c"),
        (1, 10, "c"),  # 200, 250, 300 times
        (2, 20, "c"),
    ],
)
def test_the_hottest_topic_is_the_farthest_above_one_of_its_limits(
    most_msgs: int, most_bytes: int, hottest: str
) -> None:
    topics = {each.name: each for each in (topic("a", 200.0, 8.0), topic("b", 250.0, 8.0), topic("c", 0.0, 3000.0))}
    (result,) = findings(
        [*topics.values(), TopicLoad("x", 1, 1e9, has_stats=False)], FlowLimits(most_msgs, most_bytes, 0)
    )
    expected = topics[hottest]
    assert result == SplitWarning(
        "hot-topic", topics=(hottest,), msgs_per_sec=expected.msgs_per_sec, bytes_per_sec=expected.bytes_per_sec
    )


@pytest.mark.parametrize(("msgs", "octets", "limits", "hottest"), [(3, 2, (2, 1), "b"), (2, 3, (1, 2), "a")])
def test_a_limit_of_one_is_one(msgs: float, octets: float, limits: tuple[int, int], hottest: str) -> None:
    """Twice its limit is farther above than one and a half times."""
    (result,) = findings([topic("a", msgs, 0.0), topic("b", 0.0, octets)], FlowLimits(*limits, 0))
    assert result.topics == (hottest,)


def test_a_topic_on_its_limits_is_not_hot() -> None:
    assert findings([topic("a", 100.0, 1000.0)], FlowLimits(100, 1000, 0)) == []
    assert [finding.code for finding in findings([topic("a", 100.0, 1000.5)], FlowLimits(100, 1000, 0))] == [
        "hot-topic"
    ]
    assert [finding.code for finding in findings([topic("a", 100.5, 1000.0)], FlowLimits(100, 1000, 0))] == [
        "hot-topic"
    ]


def test_shared_hashes_come_first_and_the_hash_that_is_lost_comes_last() -> None:
    twins = [TopicLoad("a", 5, 200.0), TopicLoad("b", TOP), TopicLoad("c", 5), TopicLoad("d", TOP)]
    assert findings(twins, FlowLimits(100, 1000, 0)) == [
        SplitWarning("equal-hashes", topics=("a", "c"), positions=(5,)),
        SplitWarning("equal-hashes", topics=("b", "d"), positions=(TOP,)),
        SplitWarning("hot-topic", topics=("a",), msgs_per_sec=200.0),
        SplitWarning("lookup-fails", topics=("b", "d")),
    ]


def test_children_without_topics_and_above_a_limit_are_named_with_their_traffic() -> None:
    after = NamespaceBundles("t/n", (0, 10, 20, 30, 40, TOP))
    shares = [
        ChildShare(BundleRange(0, 10), (), 0.0, 0.0),
        ChildShare(BundleRange(10, 20), ("a",), 100.0, 1000.0),
        ChildShare(BundleRange(20, 30), ("b",), 100.5, 7.0),
        ChildShare(BundleRange(30, 40), ("c",), 8.0, 1000.5),
    ]
    limits = FlowLimits(100, 1000, 0)
    above = [
        SplitWarning("empty-child", bundle="0x00000000_0x0000000a"),
        SplitWarning("child-over-limit", bundle="0x00000014_0x0000001e", msgs_per_sec=100.5, bytes_per_sec=7.0),
        SplitWarning("child-over-limit", bundle="0x0000001e_0x00000028", msgs_per_sec=8.0, bytes_per_sec=1000.5),
    ]
    assert child_findings(shares, after, limits, 5) == above
    assert child_findings(shares, after, limits, 4) == [*above, SplitWarning("above-maximum-bundles")]
    assert child_findings([], after, limits, 4) == []
