"""Ranges and boundary lists: what is made, what is refused, and where a hash falls at the edges."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.bundles.boundaries import (
    FULL_UPPER_BOUND,
    MAX_BUNDLES,
    BundleRange,
    NamespaceBundles,
    compare_bundles,
    default_boundaries,
    namespace_bundles,
    parse_range,
)
from engine.bundles.columns import topics_in
from engine.bundles.loads import TopicLoad, bundle_of_topic, find_topic, topic_load
from engine.errors import Rejection
from engine.names import TopicName, long_decode, parse_topic_name
from tests.golden.creation import validate_boundaries_at_creation

HASHES_TO_THE_TOP = "persistent://tn/ns1/tqtqsqwrsqtpwv-partition-11"
QUARTERS = NamespaceBundles("tn/ns1", (0, 0x40000000, 0x80000000, 0xC0000000, FULL_UPPER_BOUND))


def refusal(answer: object) -> tuple[str, int]:
    """The name and the status of a refusal, which says why."""
    assert isinstance(answer, Rejection), answer
    assert answer.message
    return answer.error, answer.status


def test_the_last_default_bundle_takes_the_remainder() -> None:
    boundaries = default_boundaries(100)
    assert isinstance(boundaries, tuple)
    widths = [high - low for low, high in pairwise(boundaries)]
    assert set(widths[:-1]) == {0x28F5C28}
    assert widths[-1] == 0x28F5C28 + 95


@pytest.mark.parametrize("count", [0, -1])
def test_no_bundles_is_a_bad_request(count: int) -> None:
    assert refusal(default_boundaries(count)) == ("RestException", 400)


def test_a_typing_error_does_not_fill_the_memory() -> None:
    most = default_boundaries(2**20)
    assert isinstance(most, tuple) and len(most) == MAX_BUNDLES + 1 == 1_048_577
    assert refusal(default_boundaries(2**20 + 1)) == ("TooManyBundles", 0)


def test_one_bundle_is_the_whole_space() -> None:
    assert default_boundaries(1) == (0, 0xFFFFFFFF)


@pytest.mark.parametrize("boundaries", [["1", "0xffffffff"], ["0", "0xfffffffe"], ["0"], ["0xffffffff"]])
def test_boundaries_of_a_user_run_from_end_to_end(boundaries: list[str]) -> None:
    assert refusal(validate_boundaries_at_creation(boundaries)) == ("RestException", 400)


def test_equal_bundles_are_made_where_only_their_number_is_asked_for() -> None:
    assert default_boundaries(2) == (0, 0x80000000, FULL_UPPER_BOUND)
    assert default_boundaries(4) == QUARTERS.boundaries


def test_boundaries_of_a_user_are_sorted_as_text() -> None:
    """So a 33-bit number comes between smaller ones, and is refused only when bundles are made of the list."""
    boundaries = validate_boundaries_at_creation(["0x20000000", "0x100000000", "0", "0xffffffff"])
    assert boundaries == (0, 0x100000000, 0x20000000, FULL_UPPER_BOUND)
    assert refusal(namespace_bundles("t/n", boundaries)) == ("IllegalArgumentException", 0)


@pytest.mark.parametrize(
    "boundaries",
    [
        [],
        [FULL_UPPER_BOUND],
        [0, 5],
        [0, 7, 6, FULL_UPPER_BOUND],
        [0, 7, 7, FULL_UPPER_BOUND],
        [0, FULL_UPPER_BOUND, FULL_UPPER_BOUND],
        [0, FULL_UPPER_BOUND, 7],
    ],
)
def test_a_list_that_makes_no_bundles_is_refused(boundaries: list[int]) -> None:
    assert refusal(namespace_bundles("t/n", boundaries)) == ("IllegalArgumentException", 0)


def test_a_closed_point_at_the_top_is_a_bundle() -> None:
    point = namespace_bundles("t/n", [FULL_UPPER_BOUND, FULL_UPPER_BOUND])
    assert isinstance(point, NamespaceBundles)
    assert [bundle.includes(FULL_UPPER_BOUND) for bundle in point] == [True]


def test_a_hash_on_a_boundary_belongs_to_the_bundle_that_starts_there() -> None:
    assert [QUARTERS.index_of(position) for position in (0, 0x3FFFFFFF, 0x40000000, 0xFFFFFFFE)] == [0, 0, 1, 3]


def test_the_top_hash_is_placed_in_the_last_bundle_and_pulsars_failure_is_reported() -> None:
    assert QUARTERS.find(FULL_UPPER_BOUND) == QUARTERS[3]
    assert refusal(QUARTERS.pulsar_find(FULL_UPPER_BOUND)) == ("IndexOutOfBoundsException", 0)
    name = parse_topic_name(HASHES_TO_THE_TOP)
    assert isinstance(name, TopicName)
    assert refusal(find_topic(QUARTERS, name)) == ("IndexOutOfBoundsException", 0)
    assert bundle_of_topic(QUARTERS, HASHES_TO_THE_TOP) == QUARTERS[3]


def test_a_hash_outside_the_list_is_in_no_bundle() -> None:
    upper_half = NamespaceBundles("t/n", (0x80000000, FULL_UPPER_BOUND))
    assert refusal(upper_half.find(0x7FFFFFFF)) == ("IndexOutOfBoundsException", 0)
    assert refusal(upper_half.find(2**32)) == ("IndexOutOfBoundsException", 0)
    assert [upper_half.index_of(position) for position in (0x7FFFFFFF, 0x80000000, 2**32)] == [-1, 0, -1]


def test_a_topic_of_another_namespace_is_in_no_bundle() -> None:
    other = parse_topic_name("persistent://tn/other/x")
    assert isinstance(other, TopicName)
    assert refusal(find_topic(QUARTERS, other)) == ("IllegalArgumentException", 0)
    assert bundle_of_topic(QUARTERS, "persistent://tn/other/x") is None
    assert bundle_of_topic(QUARTERS, "no/name") is None


def test_B14_looking_up_a_topic_and_listing_a_bundle_agree() -> None:
    topics = [topic_load(f"persistent://tn/ns1/orders-partition-{i}") for i in range(200)]
    listed = {topic.name: bundle for bundle in QUARTERS for topic in topics_in(bundle, topics)}
    assert listed == {topic.name: bundle_of_topic(QUARTERS, topic.name) for topic in topics}
    assert len(set(listed.values())) == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0x10", -16),
        ("+#Ff", 255),
        ("0755", 493),
        ("0x7fffffffffffffff", 2**63 - 1),
        ("-0x8000000000000000", -(2**63)),
        ("\uff11\u0662", 12),
        ("0x\uff41\uff22", 0xAB),
    ],
)
def test_long_decode_reads(text: str, value: int) -> None:
    assert long_decode(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "0x", "#", "08", "0xg", " 1", "1 ", "1_0", "--1", "0x-1", "1e3", "1L", "0b1",
        "9223372036854775808", "-0x8000000000000001", "0x8000000000000000", "99999999999999999999", "²", "𝟙",
    ],
)  # fmt: skip
def test_long_decode_refuses(text: str) -> None:
    assert refusal(long_decode(text)) == ("NumberFormatException", 0)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0x0_0X10", "0x00000000_0x00000010"),
        ("00_037777777777", "0x00000000_0xffffffff"),
        ("1_2_and_more", "0x00000001_0x00000002"),
        ("-0x1_5", "0xffffffffffffffff_0x00000005"),
        ("0xffffffff_0xffffffff", "0xffffffff_0xffffffff"),
    ],
)
def test_a_range_is_written_in_one_way(text: str, canonical: str) -> None:
    assert str(parse_range(text)) == canonical


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("0x00000000", "IllegalArgumentException"),
        ("2_1", "IllegalArgumentException"),
        ("1_1", "IllegalArgumentException"),
        ("_", "ArrayIndexOutOfBoundsException"),
        ("1_", "ArrayIndexOutOfBoundsException"),
        ("1__", "ArrayIndexOutOfBoundsException"),
        ("_1", "NumberFormatException"),
        ("1__2", "NumberFormatException"),
        ("x_1", "NumberFormatException"),
    ],
)
def test_a_bad_range_is_refused(text: str, error: str) -> None:
    assert refusal(parse_range(text)) == (error, 412)


@pytest.mark.parametrize("low", [0, 1000, FULL_UPPER_BOUND - 2])
@pytest.mark.parametrize(("width", "can_split"), [(0, False), (1, False), (2, True)])
def test_B04_a_bundle_of_width_below_two_cannot_be_split(low: int, width: int, can_split: bool) -> None:
    assert BundleRange(low, low + width).can_split is can_split


def test_only_a_current_bundle_is_valid() -> None:
    assert QUARTERS.validate_bundle(QUARTERS[2]) is None
    assert refusal(QUARTERS.validate_bundle(BundleRange(1, 0x40000000))) == ("IllegalArgumentException", 412)
    assert refusal(QUARTERS.validate_bundle(BundleRange(0, 0x80000000))) == ("IllegalArgumentException", 412)
    assert refusal(QUARTERS.validate_bundle(BundleRange(-1, 0))) == ("IllegalArgumentException", 412)
    top = BundleRange(FULL_UPPER_BOUND, FULL_UPPER_BOUND)
    assert refusal(QUARTERS.validate_bundle(top)) == ("IndexOutOfBoundsException", 412)


def test_bundles_are_ordered_by_namespace_and_then_by_place() -> None:
    low, high = BundleRange(0, 10), BundleRange(10, 20)
    assert compare_bundles("t/a", high, "t/b", low) == -1
    assert compare_bundles("t/a", low, "t/a", high) == -1
    assert compare_bundles("t/a", high, "t/a", low) == 1
    assert compare_bundles("t/a", low, "t/a", low) == 0
    assert compare_bundles("t/a", low, "t/a", BundleRange(20, FULL_UPPER_BOUND)) == -1
    assert compare_bundles("t/a", BundleRange(20, FULL_UPPER_BOUND), "t/a", high) == 1
    assert refusal(compare_bundles("t/a", low, "t/a", BundleRange(9, 20))) == ("IllegalArgumentException", 412)
    top = BundleRange(FULL_UPPER_BOUND, FULL_UPPER_BOUND)
    assert refusal(compare_bundles("t/a", top, "t/a", BundleRange(5, FULL_UPPER_BOUND))) == (
        "IllegalArgumentException",
        412,
    )


def test_topics_in_keeps_the_order_of_the_listing() -> None:
    topics = [TopicLoad(name, position) for name, position in (("c", 7), ("a", 3), ("x", 10), ("b", 5))]
    assert [topic.name for topic in topics_in(BundleRange(0, 10), topics)] == ["c", "a", "b"]
