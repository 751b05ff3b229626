"""Client families and their hashes: vectors from the tests of their repositories, and how they differ."""

from __future__ import annotations

import mmh3
import pytest

from engine.errors import Rejection
from engine.hashing import boost_hash, utf8
from engine.routing.clients import (
    PYTHON_DEFAULT,
    ROUTING_CLIENTS,
    KeyRouting,
    every_routing,
    key_routing,
    partition_of,
    route_key,
)
from tests.oracles.hashes import java_string_hash


def hash_of(client: str, scheme: str, key: str) -> int:
    return KeyRouting(client, scheme).hash_of(key)


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
    assert partition_of(key, PYTHON_DEFAULT, 6) == partition


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


@pytest.mark.parametrize("routing", list(every_routing()), ids=str)
def test_a_message_without_key_has_none_for_any_client(routing: KeyRouting) -> None:
    assert routing.undecided(None)
    assert partition_of(None, routing, 6) is None


@pytest.mark.parametrize("hashing", ["JavaStringHash", "Murmur3_32Hash"])
def test_an_empty_key_is_a_key_for_java_and_goes_to_partition_0(hashing: str) -> None:
    assert partition_of("", KeyRouting("java", hashing), 6) == 0


def test_a_key_of_bytes_is_hashed_in_its_base64_form() -> None:
    """Not as the bytes themselves, although those would be a fine text here."""
    java = KeyRouting("java", "Murmur3_32Hash")
    assert java.hash_of(b"key") == java.hash_of("a2V5") != java.hash_of("key")


def test_a_broken_surrogate_is_hashed_as_the_question_mark_java_makes_of_it() -> None:
    java = KeyRouting("java", "Murmur3_32Hash")
    assert java.hash_of("a\ud800") == java.hash_of("a?")
    assert PYTHON_DEFAULT.hash_of("a\ud800") == boost_hash(utf8("a?"))


# apache/pulsar-client-go pulsar/internal/hash_test.go
GO = [("", 0, 0), ("hello", 0x5E918D2, 0x248BFA47), ("test", 0x364492, 0x3A6BD213)]


@pytest.mark.parametrize(("key", "java", "murmur"), GO)
def test_go(key: str, java: int, murmur: int) -> None:
    assert hash_of("go", "JavaStringHash", key) == java
    assert hash_of("go", "Murmur3_32Hash", key) == murmur


# apache/pulsar-client-cpp tests/HashTest.cc
CPP_JAVA = [("keykeykeykeykey1", 434058482), ("keykeykey2", 42978643)]
CPP_MURMUR = [
    ("k1", 2110152746),
    ("k2", 1479966664),
    ("key1", 462881061),
    ("key2", 1936800180),
    ("key01", 39696932),
    ("key02", 751761803),
]


@pytest.mark.parametrize("client", ["cpp", "node"])
def test_cpp_and_node(client: str) -> None:
    assert [hash_of(client, "JavaStringHash", key) for key, _ in CPP_JAVA] == [value for _, value in CPP_JAVA]
    assert [hash_of(client, "Murmur3_32Hash", key) for key, _ in CPP_MURMUR] == [value for _, value in CPP_MURMUR]


# fsprojects/pulsar-client-dotnet tests/UnitTests/Common/HashTests.fs
FSHARP = [
    ("I will not buy this record, it is scratched.", 684731290),
    ("Hello world", 764499724),
    ("Съешь ещё этих мягких французских булок, да выпей чаю", 1885574967),
]


@pytest.mark.parametrize(("key", "value"), FSHARP)
def test_pulsar_client_dotnet(key: str, value: int) -> None:
    assert hash_of("fsharp", "Murmur3_32Hash", key) == value


def test_dotpulsar_hashes_the_bytes_of_a_key_and_keeps_the_top_bit() -> None:
    # apache/pulsar-dotpulsar tests: RoundRobinPartitionRouterTests, hash -179335155 of another key in issue 213
    data = bytes((13, 144, 79, 245))
    route = route_key(data, KeyRouting("dotpulsar", "Murmur3_32Hash"), 4)
    assert (route.hash_value, route.partition, route.hashed) == (mmh3.hash(data, signed=False), 2, data)
    java = route_key(data, KeyRouting("java", "Murmur3_32Hash"), 4)
    assert java.hashed == b"DZBP9Q=="
    assert route_key(data, KeyRouting("go", "Murmur3_32Hash"), 4).partition is None


def test_rust_and_java_part_where_the_top_bit_counts() -> None:
    keys = [f"key-{number}" for number in range(400)]
    rust, java = KeyRouting("rust", "Murmur3_32Hash"), KeyRouting("java", "Murmur3_32Hash")
    same = {
        count: sum(route_key(key, rust, count).partition == route_key(key, java, count).partition for key in keys)
        for count in (3, 8, 12)
    }
    negative = sum(mmh3.hash(key) < 0 for key in keys)
    # 2^31 mod 8 is 0, so powers of two agree; elsewhere every key with the top bit is in another partition.
    assert same == {3: len(keys) - negative, 8: len(keys), 12: len(keys) - negative}


def test_java_string_hash_is_three_functions_beyond_ascii() -> None:
    key = "größe-\U0001f600"
    values = {client: hash_of(client, "JavaStringHash", key) for client in ("java", "cpp", "go")}
    assert len({value & 0x7FFFFFFF for value in values.values()}) == 3
    assert values["java"] == java_string_hash(key)
    assert {hash_of(client, "JavaStringHash", "plain") for client in ("java", "cpp", "go")} == {
        java_string_hash("plain")
    }


def test_go_keeps_the_top_bit_of_java_string_hash() -> None:
    key = "keykeykey2"  # its hashCode() is negative
    go, java = hash_of("go", "JavaStringHash", key), hash_of("java", "JavaStringHash", key)
    assert go == java + 2**31
    assert route_key(key, KeyRouting("go", "JavaStringHash"), 6).partition == go % 6
    assert go % 6 != java % 6


def test_what_is_not_decided_by_the_key() -> None:
    for client, hashing in (("fsharp", "DotnetStringHash"), ("php", "none")):
        route = route_key("k", KeyRouting(client, hashing), 4)
        assert (route.partition, route.hash_value) == (None, None)
        assert not KeyRouting(client, hashing).known
    assert route_key(None, KeyRouting("java", "JavaStringHash"), 4).partition is None
    empty = {
        client: route_key("", KeyRouting(client, family.default.scheme), 4).partition
        for client, family in ROUTING_CLIENTS.items()
    }
    assert {client for client, partition in empty.items() if partition is not None} == {"java", "cpp", "node", "rust"}


def test_of_one_partition_every_key_has_it_whatever_the_client() -> None:
    for routing in every_routing():
        for key in ("k", "", b"k", None):
            assert route_key(key, routing, 1).partition == partition_of(key, routing, 1) == 0


def test_defaults_and_refusals() -> None:
    defaults = {client: family.default.scheme for client, family in ROUTING_CLIENTS.items()}
    assert defaults == {
        "java": "JavaStringHash",
        "cpp": "BoostHash",
        "python": "BoostHash",
        "node": "BoostHash",
        "go": "JavaStringHash",
        "rust": "Murmur3_32Hash",
        "dotpulsar": "Murmur3_32Hash",
        "fsharp": "DotnetStringHash",
        "php": "none",
    }
    assert key_routing("JAVA", "murmur3_32hash") == KeyRouting("java", "Murmur3_32Hash")
    for client, hashing in (("cobol", None), ("python", "Murmur3_32Hash")):
        refusal = key_routing(client, hashing)
        assert isinstance(refusal, Rejection)
        assert refusal.field == ("client" if hashing is None else "hashing")
