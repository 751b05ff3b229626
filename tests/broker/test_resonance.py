"""Hash resonance: the Java client takes the partition, and a broker the slot, from one Murmur3 hash of the key."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import mmh3
import pytest

from engine.keyshared.model import Consumer
from engine.keyshared.partition_slots import partition_slots, resonance_of
from engine.keyshared.sticky import sticky_selector
from engine.routing.clients import KeyRouting, partition_of
from tests.broker.conftest import Brokers
from tests.broker.driving import SETTLE_S
from tests.broker.java_client import Producing, java_client
from tests.broker.standalone import Broker
from tests.broker.test_predictions import AT_ONCE, MODULO_AND_RING
from tests.broker.wire import Client

SLOTS: Final = 65_536
PARTITIONS: Final = 8
FIRST: Final = 32
"""The first slot of the narrow ranges; slot 0 is nobody's key."""
NARROW: Final = {f"narrow-{at}": [(FIRST + 2 * at, FIRST + 2 * at + 1)] for at in range(16)}
BEHIND: Final = FIRST + 2 * len(NARROW)
RANGES: Final = {**NARROW, "wide": [(0, FIRST - 1), (BEHIND, SLOTS - 1)]}
HASHINGS: Final = ("Murmur3_32Hash", "JavaStringHash")


def slot(key: str) -> int:
    return (mmh3.hash(key) & 0x7FFFFFFF) % SLOTS


def keys_of_slots(wanted: range, each: int, seed: int) -> list[str]:
    """Keys of every one of these slots, so many of each, in any order."""
    draw, missing, keys = random.Random(seed), dict.fromkeys(wanted, each), list[str]()
    while missing:
        key = f"k{draw.randrange(10**9)}"
        if (at := slot(key)) in missing:
            keys.append(key)
            missing[at] -= 1
            if not missing[at]:
                del missing[at]
    return keys


@pytest.fixture(scope="module")
def broker(brokers: Brokers) -> Broker:
    return brokers({**MODULO_AND_RING, **AT_ONCE})


@pytest.fixture(scope="module")
def java(broker: Broker, broker_jars: Path) -> Iterator[Producing]:
    with java_client(Producing, broker_jars, broker.port) as producing:
        yield producing


def settled(done: Callable[[], bool]) -> None:
    end = time.monotonic() + SETTLE_S
    while not done():
        assert time.monotonic() < end, "messages are missing"
        time.sleep(0.05)


@pytest.mark.parametrize("hashing", HASHINGS)
def test_which_consumers_of_a_partition_ever_work(
    broker: Broker, java: Producing, hashing: str, seed: int, predictions: list[int]
) -> None:
    name = f"resonance-{hashing}-{seed}"
    topic = f"persistent://public/default/{name}"
    broker.admin("PUT", f"/admin/v2/persistent/public/default/{name}/partitions", PARTITIONS)
    selector = sticky_selector()
    for number, (consumer, ranges) in enumerate(RANGES.items()):
        selector = selector.join(Consumer(number, consumer, tuple(ranges)))
    client = Client(broker.port)
    try:
        served: dict[int, tuple[str, int]] = {}
        for at in range(PARTITIONS):
            broker.admin("GET", f"/lookup/v2/topic/persistent/public/default/{name}-partition-{at}")
            for consumer, ranges in RANGES.items():
                number = client.subscribe(f"{topic}-partition-{at}", "s", "Key_Shared", consumer, ranges=ranges)
                client.allow(number, 1_000)
                served[number] = consumer, at
        assert java.open(name, topic, hashing=hashing)[0] == "ok"
        keys = keys_of_slots(range(FIRST, BEHIND), 6, seed) + [f"order-{at}" for at in range(100)]
        partitions = java.send_keys(name, keys)
        java.close(name)
        settled(lambda: len(client.received()) == len(keys))
        received = {message.key: served[message.consumer] for message in client.received()}
    finally:
        client.close()
    routing = KeyRouting("java", hashing)
    names = dict(enumerate(RANGES))
    for key, partition in zip(keys, partitions, strict=True):
        assert partition == partition_of(key, routing, PARTITIONS), key
        owner = selector.owner(slot(key))
        assert owner is not None and received[key] == (names[owner], partition), key
    predictions.append(2 * len(keys))
    resonance = resonance_of(selector, PARTITIONS, routing.key_hash.murmur_bits)
    missed = {names[number]: set(unreached) for number, unreached in resonance.unreached.items()}
    for consumer, at in served.values():
        if at in missed.get(consumer, ()):
            assert (consumer, at) not in received.values()
    if hashing == "JavaStringHash":
        assert resonance.modulus == 1 and not missed
        return
    # Slots of a partition are those with its remainder, so of each pair of slots two partitions see one.
    for key, partition in zip(keys, partitions, strict=True):
        assert slot(key) % PARTITIONS == partition
        assert partition_slots(selector.slots, PARTITIONS, partition, 31).count == SLOTS // PARTITIONS
    busy = [len({who for who, place in received.values() if place == at}) for at in range(PARTITIONS)]
    assert busy == list(resonance.busy) == [1 + len(NARROW) * 2 // PARTITIONS] * PARTITIONS
    assert {consumer: PARTITIONS - len(unreached) for consumer, unreached in missed.items()} == dict.fromkeys(NARROW, 2)
