"""``ringside explain TOPIC --consumers A,B,C`` answers before topic and consumers exist."""

from __future__ import annotations

import json
from zlib import crc32

import mmh3
import pytest

from tests.oracles.failover import Connected, active_consumers
from tests.oracles.releases import Release, version_of
from tests.tui.cli.conftest import Run

NAMES = ("x", "y", "z", "x")


def ring_hash(data: bytes) -> int:
    return int(mmh3.hash(data, signed=False) & 0x7FFFFFFF)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("release", ["2.11.0", "3.2.3", "4.2.4"])
@pytest.mark.parametrize(
    ("topic", "words"),
    [("t/n/orders-partition-2", ()), ("t/n/orders-partition-2", ("--partitions", "5")), ("t/n/orders", ())],
)
def test_the_active_consumer_is_the_brokers(
    run: Run, topic: str, words: tuple[str, ...], release: str, flag: bool
) -> None:
    state = "on" if flag else "off"
    consumers = ("--consumers", ",".join(NAMES), "--pulsar", release, "--flag", state)
    ran = run("explain", topic, *words, *consumers, "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    full = f"persistent://{topic}"
    connected = tuple(Connected(at, name, 0) for at, name in enumerate(NAMES))
    expected = active_consumers(connected, (full,), flag=flag, release=Release(version_of(release)), murmur=ring_hash)[
        full
    ]
    assert document["topic"] == full
    assert document["why"]["choice"]["active"]["consumer_id"] == expected
    assert document["bundle_hash"] == crc32(full.encode())


@pytest.mark.parametrize(
    "words",
    [
        ("orders", "--partitions", "3"),
        ("orders", "stats.json", "--consumers", "a"),
        ("a/b", "--consumers", "a"),
        ("orders-partition-3", "--consumers", "a", "--partitions", "2"),
        ("orders", "--consumers", "a", "--partitions", "2000000"),
        ("orders", "--consumers", "a", "--pulsar", "1.2"),
        ("orders-partition-2147483646", "--consumers", "a"),
    ],
)
def test_what_cannot_be_planned_is_refused(run: Run, words: tuple[str, ...]) -> None:
    ran = run("explain", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") <= 4


def test_nobody_is_active_without_consumers(run: Run) -> None:
    assert json.loads(run("explain", "orders", "--consumers", "", "--json").out)["why"] is None
