"""Client families and their hashes: vectors from the tests of their repositories, and how they differ."""

from __future__ import annotations

import mmh3
import pytest

from engine.errors import Rejection
from engine.routing.clients import ROUTING_CLIENTS, KeyRouting, key_routing, route_key
from tests.oracles.hashes import java_string_hash


def hash_of(client: str, scheme: str, key: str) -> int:
    made = ROUTING_CLIENTS[client].hashes[scheme].of
    assert made is not None
    return made(key)


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


def test_one_partition_hashes_nothing() -> None:
    for client, family in ROUTING_CLIENTS.items():
        route = route_key("k", KeyRouting(client, family.default.scheme), 1)
        assert (route.partition, route.division) == (0, None)


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
