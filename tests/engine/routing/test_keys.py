"""Which text is the key, and where each client's hash puts it."""

from __future__ import annotations

import pytest

from engine.hashing import utf8
from engine.routing.keys import HashingScheme, Message, boost_hash, key_hash, partition_of_key

SEEN_FROM_PYTHON = {
    "k0": 5,
    "k1": 1,
    "k5": 4,
    "k6": 0,
    "k15": 3,
    "k18": 1,
    "k39": 3,
    "\u00e4": 0,
    "\u65e5\u672c": 4,
    "\U0001f600": 5,
    "user-1": 4,
    "user-2": 0,
    "eightchr": 5,
    "sixteen-chars-ok": 2,
    "a" * 100: 2,
}
"""Where the Python client 3.13.0 sent a message of this key on a topic of 6 partitions."""


@pytest.mark.parametrize(("key", "partition"), SEEN_FROM_PYTHON.items())
def test_the_boost_hash_puts_keys_where_the_python_client_sent_them(key: str, partition: int) -> None:
    assert partition_of_key(key, "BoostHash", 6) == partition


@pytest.mark.parametrize("size", range(26))
def test_every_byte_of_every_block_and_tail_counts_in_the_boost_hash(size: int) -> None:
    """A change of one byte, wherever it is, changes the hash: nothing of a tail is left out."""
    data = bytes(range(0x78, 0x78 + size))
    changed = [data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :] for at in range(size)]
    hashes = [boost_hash(each) for each in [data, *changed]]
    assert len(set(hashes)) == size + 1
    assert all(0 <= hash_ < 2**31 for hash_ in hashes)


def test_zero_bytes_at_the_end_change_the_boost_hash() -> None:
    """The length is part of it: a tail that is padded with zeros would hash alike otherwise."""
    assert len({boost_hash(b"k" + b"\x00" * count) for count in range(12)}) == 12


@pytest.mark.parametrize("hashing", ["JavaStringHash", "Murmur3_32Hash"])
def test_an_empty_key_is_a_key_for_java_and_goes_to_partition_0(hashing: HashingScheme) -> None:
    assert Message("").has_key(hashing)
    assert key_hash("", hashing) == 0


def test_an_empty_key_is_no_key_for_the_python_client() -> None:
    assert not Message("").has_key("BoostHash")
    assert Message("k").has_key("BoostHash")


@pytest.mark.parametrize("hashing", ["JavaStringHash", "Murmur3_32Hash", "BoostHash"])
def test_a_message_without_key_has_none_for_anybody(hashing: HashingScheme) -> None:
    assert not Message().has_key(hashing)


def test_a_key_of_bytes_is_hashed_in_its_base64_form() -> None:
    """Not as the bytes themselves, although those would be a fine text here."""
    message = Message.of_key_bytes(b"key")
    assert message == Message("a2V5")
    assert key_hash("a2V5", "Murmur3_32Hash") != key_hash("key", "Murmur3_32Hash")


def test_a_broken_surrogate_is_hashed_as_the_question_mark_java_makes_of_it() -> None:
    assert key_hash("a\ud800", "Murmur3_32Hash") == key_hash("a?", "Murmur3_32Hash")
    assert key_hash("a\ud800", "BoostHash") == boost_hash(utf8("a?"))
