"""Topic names: what Pulsar accepts, what it refuses, and what stays letter for letter."""

from __future__ import annotations

import pytest

from engine.errors import Rejection
from engine.hashing import crc32_hash
from engine.names import TopicName, parse_topic_name, partition_index, partition_name, refuse_namespace


def parsed(text: str) -> TopicName:
    name = parse_topic_name(text)
    assert isinstance(name, TopicName), name
    return name


@pytest.mark.parametrize(
    ("short", "complete"),
    [
        ("x", "persistent://public/default/x"),
        ("t/n/x", "persistent://t/n/x"),
        (" x ", "persistent://public/default/ x "),
        ("x-partition-3", "persistent://public/default/x-partition-3"),
    ],
)
def test_a_short_name_is_completed(short: str, complete: str) -> None:
    assert complete == parsed(short).complete


def test_a_complete_name_is_taken_apart() -> None:
    name = parsed("non-persistent://acme/shop-1/orders-partition-12")
    assert (name.domain, name.tenant, name.namespace_portion) == ("non-persistent", "acme", "shop-1")
    assert (name.namespace, name.local_name, name.partition_index) == ("acme/shop-1", "orders-partition-12", 12)
    assert name.partitioned_topic == "non-persistent://acme/shop-1/orders"


def test_the_domain_is_matched_without_case_and_hashed_as_typed() -> None:
    odd = parsed("Persistent://t/n/x")
    assert (odd.domain, odd.complete) == ("persistent", "Persistent://t/n/x")
    assert crc32_hash(odd.complete) != crc32_hash("persistent://t/n/x")


def test_java_ignores_case_unit_by_unit() -> None:
    """The long s passes for an s; a sharp s does not pass for two."""
    assert parsed("perſistent://t/n/x").domain == "persistent"
    assert isinstance(parse_topic_name("perßistent://t/n/x"), Rejection)


def test_java_lowers_a_dotted_capital_i_to_one_unit() -> None:
    assert parsed("TOPİC://t/n/x").domain == "topic"
    assert isinstance(parse_topic_name("tópic://t/n/x"), Rejection)


def test_persistent_and_non_persistent_namesakes_hash_apart() -> None:
    assert crc32_hash("persistent://t/n/x") != crc32_hash("non-persistent://t/n/x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n/x",
        "/x",
        "//x",
        "a/b/c/d",
        "persistent://",
        "persistent://t/n",
        "persistent://t/n/",
        "persistent://t/n/ \t\u2003",
        "persistent:///n/x",
        "persistent://t//x",
        "persistent://t/n s/x",
        "persistent://té/n/x",
        "kafka://t/n/x",
        "persistent://t/c/n/x",
        "segment://t/n/parent",
        "segment://t/n/parent/0-1",
    ],
)
def test_a_bad_name_is_refused_with_a_sentence(text: str) -> None:
    refusal = parse_topic_name(text)
    assert isinstance(refusal, Rejection)
    assert refusal.error == "IllegalArgumentException"
    assert refusal.message
    assert refusal.field == "topic"


def test_a_local_name_may_hold_anything_but_blanks_alone() -> None:
    for local in ("a?b#c", "%F0%9F", "naïve 😀", "\u00a0", "a:b"):
        assert parsed(f"persistent://t/n/{local}").local_name == local


@pytest.mark.parametrize("char", "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2003\u2028\u2029\u3000")
def test_java_s_white_space_is_no_local_name(char: str) -> None:
    assert isinstance(parse_topic_name(f"persistent://t/n/{char}{char}"), Rejection)
    assert parsed(f"persistent://t/n/{char}x").local_name == f"{char}x"


@pytest.mark.parametrize("char", "\x08\x0e\x1b\x7f\x85\u00a0\u2007\u202f\u200b")
def test_what_java_does_not_call_white_space_is_a_local_name(char: str) -> None:
    assert parsed(f"persistent://t/n/{char}").local_name == char


def test_a_long_name_is_shown_up_to_200_characters() -> None:
    for length, shown in ((199, 199), (200, 200), (201, 200), (10_000, 200)):
        refusal = refuse_namespace("n" * length)
        assert refusal is not None
        assert f"'{'n' * shown}'" in refusal.message
        assert (f"'{'n' * length}' " in refusal.message) == (length <= 200)


def test_a_name_of_scalable_topics_may_hold_slashes() -> None:
    assert parsed("topic://t/n/a/b").local_name == "a/b"
    assert parsed("topic://t/n/a://b").local_name == "a://b"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("segment://t/n/x/0-7FFF-1", "segment://t/n/x/0000-7fff-1"),
        ("SEGMENT://t/n/x/8000-ffff-02", "segment://t/n/x/8000-ffff-2"),
        ("segment://t/n/a/b/0-1-3", "segment://t/n/a/b/0000-0001-3"),
    ],
)
def test_a_segment_is_written_in_one_way(written: str, canonical: str) -> None:
    assert parsed(written).complete == canonical


@pytest.mark.parametrize("text", ["segment://t/n/x/zz-1-2", "segment://t/n/x/0-1-b"])
def test_a_segment_without_numbers_is_no_segment(text: str) -> None:
    refusal = parse_topic_name(text)
    assert isinstance(refusal, Rejection)
    assert refusal.error == "NumberFormatException"


@pytest.mark.parametrize(
    ("topic", "index"),
    [
        ("x-partition-0", 0),
        ("x-partition-2147483647", 2147483647),
        ("x-partition-2147483648", -1),
        ("x-partition-99999999999999999999", -1),
        ("x-partition-00", -1),
        ("x-partition-01", -1),
        ("x-partition-+1", -1),
        ("x-partition--1", -1),
        ("x-partition-1_0", -1),
        ("x-partition- 1", -1),
        ("x-partition-²", -1),
        ("x-partition-١٢", 12),
        ("x-partition-１", 1),
        ("x-partition-𝟙", -1),
        ("x-partition-1-partition-2", 2),
        ("x-partition-1-partition-x", -1),
        ("x", -1),
        ("", -1),
    ],
)
def test_partition_index(topic: str, index: int) -> None:
    """Only the shortest decimal text of a 31-bit number counts, in any digits Java reads as one unit."""
    assert partition_index(topic) == index


def test_a_namespace_cannot_make_a_partition_of_its_topics() -> None:
    assert parsed("persistent://t/n-partition-5/x").partition_index == -1


def test_partition_name_and_index_undo_each_other() -> None:
    base = "persistent://t/n/x-partition-7"
    name = parsed(partition_name(base, 40))
    assert (name.partition_index, name.partitioned_topic) == (40, base)
