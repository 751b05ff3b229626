"""Rules over namespaces and settings: each fires, each has a case where it nearly would, its numbers are checked."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from engine.hashing import crc32_hash
from engine.lint import ProducedTopic, Severity, World
from engine.lint.rules.bundles import (
    BUNDLE_HOT_TOPIC,
    SPLIT_EMPTY_HALF,
    SPLIT_IN_VAIN,
    SPLIT_MANY_BOUNDARIES,
    TOPIC_CRC32_TWINS,
    TOPIC_LOOKUP_FAILS,
)
from engine.lint.rules.producers import FULL, MIXED_KEY_ROUTING
from engine.lint.rules.settings import BANDWIDTH_LIMIT_OVERFLOW
from engine.producer_limit import ProducerLimit
from tests.engine.lint.worlds import findings_by, namespace, topic, world

HOT = BUNDLE_HOT_TOPIC
EMPTY = SPLIT_EMPTY_HALF
VAIN = SPLIT_IN_VAIN
MANY = SPLIT_MANY_BOUNDARIES
HALF = 0x80000000
FLOW = "flow_or_qps_equally_divide"
BY_COUNT = "topic_count_equally_divide"


def test_B01_one_topic_above_the_limit_is_reported_with_its_part_of_the_bundle() -> None:
    topics = [topic(5, 40_000.0), topic(6, 10_000.0), topic(HALF + 1, 29_000.0)]
    (finding,) = findings_by(HOT, namespace(topics, world(), HALF))
    assert (finding.severity, finding.where.bundle) == (Severity.WARNING, "0x00000000_0x80000000")
    assert finding.where.topic == topics[0].name
    assert finding.number("share_of_bundle") == pytest.approx(0.8)
    assert (finding.number("msgs_per_sec"), finding.number("max_msgs_per_sec"), finding.number("other_topics")) == (
        40e3,
        30e3,
        1,
    )


def test_B01_exactly_at_the_limit_is_not_hot_and_bandwidth_counts_too() -> None:
    limit = 100 * 1_048_576
    at_the_limit = [topic(5, 30_000.0, float(limit)), topic(6, 30_000.0)]
    assert findings_by(HOT, namespace(at_the_limit, world())) == []
    (finding,) = findings_by(HOT, namespace([topic(5, 1.0, limit + 1.0), topic(6)], world()))
    assert finding.number("bytes_per_sec") == limit + 1


def test_B01_the_part_of_the_bundle_is_that_of_what_is_above_the_limit() -> None:
    limit = 100 * 1_048_576
    heavy = [topic(5, 10.0, 3.0 * limit), topic(6, 990.0, 1.0 * limit)]
    (finding,) = findings_by(HOT, namespace(heavy, world()))
    assert finding.number("share_of_bundle") == pytest.approx(0.75), "of bytes, not the one percent of messages"


def test_a_limit_of_0_or_less_which_anything_exceeds_makes_no_topic_hot() -> None:
    for limit in (0, -5):
        none = world(loadBalancerNamespaceBundleMaxMsgRate=limit, loadBalancerNamespaceBundleMaxBandwidthMbytes=limit)
        assert findings_by(HOT, namespace([topic(5, 40_000.0), topic(6)], none)) == []


def test_B01_a_hot_topic_with_a_bundle_to_itself_is_only_to_be_known() -> None:
    (finding,) = findings_by(HOT, namespace([topic(5, 40_000.0), topic(HALF)], world(), HALF))
    assert finding.severity is Severity.INFO and "to itself" in finding.what


def test_B01_a_bundle_that_was_only_assumed_is_not_named() -> None:
    (finding,) = findings_by(HOT, namespace([topic(5, 40_000.0), topic(6)], world(), known_bundles=frozenset()))
    assert (finding.severity, finding.where.bundle, finding.number("other_topics")) == (Severity.INFO, "", 0)


def tight(algorithm: str, manager: str | None = None, topics: int = 1, **settings: Any) -> World:
    """A world in which a bundle of more than so many topics is split by this algorithm."""
    return world(
        manager=manager,
        defaultNamespaceBundleSplitAlgorithm=algorithm,
        loadBalancerNamespaceBundleMaxTopics=topics,
        **settings,
    )


def test_B06_neighbouring_hashes_leave_an_empty_half_that_no_further_split_mends() -> None:
    (finding,) = findings_by(EMPTY, namespace([topic(10), topic(11)], tight(BY_COUNT)))
    assert finding.severity is Severity.WARNING
    # The cut is 10 + (11 - 10) / 2 = 10: both topics go right, and there the next cut is the lower edge itself.
    assert "cut at 0x0000000a" in finding.what and "0x00000000_0x0000000a" in finding.what
    assert (finding.number("splits_needed"), finding.number("empty_children")) == (0, 1)


def test_B06_hashes_two_apart_are_parted_at_once() -> None:
    assert findings_by(EMPTY, namespace([topic(10), topic(12)], tight(BY_COUNT))) == []


def test_B06_halving_the_range_needs_as_many_splits_as_the_hashes_have_equal_leading_bits_and_one() -> None:
    near = [topic(0x10000000), topic(0x18000000)]
    (finding,) = findings_by(EMPTY, namespace(near, tight("range_equally_divide")))
    # Middles: 0x7fffffff, 0x3fffffff, 0x1fffffff, then 0x0fffffff (both right), and 0x17ffffff parts them.
    assert finding.number("splits_needed") == 5
    assert findings_by(EMPTY, namespace([topic(1), topic(HALF)], tight("range_equally_divide"))) == []


def test_B06_a_bundle_that_is_not_due_is_not_reported() -> None:
    near = [topic(10), topic(11)]
    for where in (
        tight(BY_COUNT, topics=2),
        tight(BY_COUNT, loadBalancerAutoBundleSplitEnabled=False),
    ):
        assert findings_by(EMPTY, namespace(near, where)) == []
    assert findings_by(EMPTY, namespace(near, tight(BY_COUNT), known_bundles=frozenset())) == []
    assert findings_by(EMPTY, namespace([topic(10)], tight(BY_COUNT, topics=0))) == []


def test_B06_the_lower_topic_on_the_edge_of_its_bundle_makes_a_split_in_vain() -> None:
    (finding,) = findings_by(VAIN, namespace([topic(HALF), topic(HALF + 1)], tight(BY_COUNT), HALF))
    assert "cuts at the bundle's own edge" in finding.what and finding.severity is Severity.WARNING


def test_B05_three_pieces_are_refused_by_the_extensible_load_manager_only() -> None:
    # 1,000 per bundle: 800 + 800 > 1,000 twice, so two cuts.
    topics = [topic(at * 100, 800.0) for at in range(3)]
    limits: dict[str, int] = {"topics": 1000, "loadBalancerNamespaceBundleMaxMsgRate": 1000}
    (finding,) = findings_by(MANY, namespace(topics, tight(FLOW, "extensible", **limits)))
    assert (finding.severity, finding.number("boundaries"), finding.number("msgs_per_sec")) == (Severity.ERROR, 2, 2400)
    (unknown,) = findings_by(MANY, namespace(topics, tight(FLOW, **limits)))
    assert unknown.severity is Severity.INFO
    assert findings_by(MANY, namespace(topics, tight(FLOW, "modular", **limits))) == []
    assert findings_by(VAIN, namespace(topics, tight(FLOW, "modular", **limits))) == []


def test_B05_two_pieces_are_taken() -> None:
    topics = [topic(0, 800.0), topic(100, 100.0), topic(200, 800.0)]
    limits: dict[str, int] = {"topics": 1000, "loadBalancerNamespaceBundleMaxMsgRate": 1000}
    assert findings_by(MANY, namespace(topics, tight(FLOW, "extensible", **limits))) == []


def test_a_flow_split_that_is_due_for_its_topics_changes_nothing_for_ever() -> None:
    idle = [topic(at * 100, 1.0) for at in range(3)]
    (finding,) = findings_by(VAIN, namespace(idle, tight(FLOW, topics=2)))
    assert (finding.severity, finding.number("topics")) == (Severity.WARNING, 3)
    assert "limit of topics" in finding.what and "has no boundary" in finding.what
    assert findings_by(VAIN, namespace(idle, tight(FLOW, topics=3))) == []
    assert findings_by(VAIN, namespace(idle, tight(BY_COUNT, topics=2))) == []


def test_rates_between_the_limit_and_the_flow_algorithm_s_own_are_only_to_be_known() -> None:
    limits: dict[str, int] = {"topics": 1000, "loadBalancerNamespaceBundleMaxMsgRate": 1000}
    for rate, severities in ((500.0, []), (525.0, [Severity.INFO]), (551.0, [])):
        topics = [topic(0, rate), topic(100, rate)]
        findings = findings_by(VAIN, namespace(topics, tight(FLOW, **limits)))
        assert [finding.severity for finding in findings] == severities, rate


def test_sessions_count_where_they_are_reported() -> None:
    two = [topic(0), topic(100)]
    where = tight(FLOW, topics=1000, loadBalancerNamespaceBundleMaxSessions=5)
    (one,) = findings_by(VAIN, namespace(two, where, sessions=(3, 3)))
    assert "limit of sessions" in one.what
    assert findings_by(VAIN, namespace(two, where, sessions=(5, 0))) == []


@pytest.mark.parametrize("algorithm", [BY_COUNT, FLOW, "range_equally_divide"])
def test_B13_in_a_full_namespace_no_split_is_tried_whatever_it_would_do(algorithm: str) -> None:
    # By topic count and by range the first half would be left empty, by flow there would be three pieces.
    hot = [topic(at, 20_000.0) for at in (HALF + 5, HALF + 6, HALF + 7)]
    for most, full in ((2, True), (1, True), (3, False)):
        where = tight(algorithm, "extensible", loadBalancerNamespaceMaximumBundles=most)
        case = namespace(hot, where, HALF)
        findings = findings_by(VAIN, case)
        assert [finding.where.bundle for finding in findings if "is passed over" in finding.what] == (
            ["0x80000000_0xffffffff"] if full else []
        )
        assert all("NamespaceMaximumBundles" in finding.advice for finding in findings if full)
        assert bool(findings_by(EMPTY, case) or findings_by(MANY, case)) is not full


def test_specified_positions_as_default_never_split() -> None:
    (finding,) = findings_by(VAIN, namespace([topic(0), topic(9)], tight("specified_positions_divide")))
    assert "needs positions" in finding.what


def test_a_limit_of_2048_megabytes_makes_every_bundle_with_two_topics_due() -> None:
    (finding,) = findings_by(BANDWIDTH_LIMIT_OVERFLOW, world(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048))
    assert (finding.severity, finding.where.namespace) == (Severity.ERROR, "")
    assert finding.number("compared_bytes_per_sec") == 2048 * 2**20 - 2**32 == -(2**31)
    assert finding.number("meant_bytes_per_sec") == 2**31
    assert findings_by(BANDWIDTH_LIMIT_OVERFLOW, world(loadBalancerNamespaceBundleMaxBandwidthMbytes=2047)) == []
    idle = [topic(10), topic(11)]
    overflown = world(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048, defaultNamespaceBundleSplitAlgorithm=BY_COUNT)
    assert len(findings_by(EMPTY, namespace(idle, overflown))) == 1, "idle topics are split because of it"


def test_B07_topics_of_one_hash_are_reported_once_for_each_hash() -> None:
    topics = [topic(7, 2.0, name="persistent://t/n/b"), topic(7, 3.0, name="persistent://t/n/a"), topic(8)]
    (finding,) = findings_by(TOPIC_CRC32_TWINS, namespace(topics, world()))
    assert (finding.severity, finding.where.topic) == (Severity.INFO, "persistent://t/n/a")
    assert (finding.number("topics"), finding.number("msgs_per_sec")) == (2, 5.0)
    none = world(loadBalancerNamespaceBundleMaxMsgRate=0, loadBalancerNamespaceBundleMaxBandwidthMbytes=-1)
    assert [each.severity for each in findings_by(TOPIC_CRC32_TWINS, namespace(topics, none))] == [Severity.INFO]
    loud = [topic(7, 16_000.0, name="persistent://t/n/a"), topic(7, 16_000.0, name="persistent://t/n/b")]
    assert [each.severity for each in findings_by(TOPIC_CRC32_TWINS, namespace(loud, world()))] == [Severity.WARNING]
    assert findings_by(TOPIC_CRC32_TWINS, namespace([topic(7), topic(8)], world())) == []


def test_B07_a_real_pair_of_names_has_one_crc32() -> None:
    first, second = twins()
    assert first != second and zlib.crc32(first.encode()) == zlib.crc32(second.encode())
    both = [topic(crc32_hash(name), name=name) for name in (first, second)]
    assert len(findings_by(TOPIC_CRC32_TWINS, namespace(both, world()))) == 1


def twins() -> tuple[str, str]:
    """Two names of one CRC-32, found by trying numbers."""
    seen: dict[int, str] = {}
    for number in range(1_000_000):
        name = f"persistent://t/n/topic-{number * 7919:x}"
        other = seen.setdefault(zlib.crc32(name.encode()), name)
        if other != name:
            return other, name
    raise AssertionError("no pair among a million names")


def test_the_one_hash_the_broker_cannot_look_up_is_an_error() -> None:
    (finding,) = findings_by(TOPIC_LOOKUP_FAILS, namespace([topic(0xFFFFFFFF), topic(0xFFFFFFFE), topic(0)], world()))
    assert finding.severity is Severity.ERROR and finding.number("hash") == 0xFFFFFFFF


@pytest.mark.parametrize(
    ("versions", "partitions", "expected"),
    [
        ({"Pulsar-Java-v4.0.7", "Pulsar-CPP-v4.2.0"}, 6, True),
        ({"2.11.0", "Pulsar-CPP-v3.7.0"}, 6, True),
        ({"Pulsar-Java-v4.0.7", "Pulsar-CPP-v4.2.0"}, 1, False),
        ({"Pulsar-Java-v4.0.7", "2.11.0"}, 6, False),
        ({"Pulsar-CPP-v4.2.0", "pulsar-rs-v6.4.1"}, 6, False),
    ],
)
def test_R01_java_beside_python_sends_a_key_to_two_partitions(
    versions: set[str], partitions: int, expected: bool
) -> None:
    topics = (ProducedTopic("persistent://t/n/x", partitions, frozenset(versions)),)
    findings = findings_by(MIXED_KEY_ROUTING, namespace([], world(), produced=topics))
    assert [finding.number("keys_apart_share") for finding in findings] == ([pytest.approx(5 / 6)] if expected else [])
    assert all(finding.severity is Severity.INFO for finding in findings)


@pytest.mark.parametrize(
    ("producers", "most", "numbers"),
    [
        ((4, 5, 1), 4, {"full_partitions": 2, "partitions": 3, "producers": 5, "max_producers": 4}),
        ((4, 4, 3), 5, None),
        ((4, 5, 1), 0, None),
        ((), 1, None),
    ],
)
def test_partitions_that_take_no_other_producer(
    producers: tuple[int, ...], most: int, numbers: dict[str, int] | None
) -> None:
    topics = (ProducedTopic("persistent://t/n/x", 3, frozenset(), producers, ProducerLimit(most, "topic policy")),)
    findings = findings_by(FULL, namespace([], world(), produced=topics))
    assert [dict(finding.numbers) for finding in findings] == ([numbers] if numbers else [])
