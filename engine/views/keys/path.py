"""The whole way of a keyed message: the client's hash, the partition, the slot in its dispatcher, the consumer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.answer import about
from engine.hashing import Division
from engine.keyshared.keys import EntryMetadata, decode_base64
from engine.keyshared.model import Selector
from engine.keyshared.partition_slots import partition_slots, resonance_of
from engine.routing.clients import KeyRoute, KeyRouting, OtherRoute, other_routes, route_key
from engine.text import counted


@dataclass(frozen=True, slots=True)
class SlotsOfPartition:
    """What the client's hash leaves of the slots for the keys of a partition."""

    modulus: Annotated[
        int, about("Keys of the partition agree in their hash modulo this number; 1: any slot occurs.", 1)
    ]
    slots: Annotated[int, about("Slots that occur among the keys of this partition.", 0)]
    slots_in_all: Annotated[int, about("Slots that occur at all.", 0)]
    consumers: Annotated[int, about("Consumers that can get a key of this partition.", 0)]
    consumers_in_all: Annotated[int, about("Connected consumers.", 0)]
    sentence: Annotated[str, about("The same in a sentence.")]


@dataclass(frozen=True, slots=True)
class KeyPath:
    """From the key to the partition."""

    client: Annotated[str, about("The client family that sends the message.")]
    hashing: Annotated[str, about("The hash that takes the partition.")]
    partitions: Annotated[int, about("How many there are.", 1)]
    partition: Annotated[int | None, about("The partition; null where the key does not decide.", 0)]
    hashed: Annotated[bytes | None, about("The bytes that are hashed, in hexadecimal.")]
    hash_value: Annotated[int | None, about("The client's hash.", 0)]
    division: Annotated[Division | None, about("The division by the partitions; null where no hash decides.")]
    undecided: Annotated[str, about("What decides instead of a hash, empty where one does.")]
    sentence: Annotated[str, about("The rule in a sentence.")]
    others: Annotated[tuple[OtherRoute, ...], about("All other clients and hashes.")]
    resonance: Annotated[SlotsOfPartition | None, about("Which slots the keys of this partition can have.")]


def routed_key(metadata: EntryMetadata) -> str | bytes | None:
    """The key that a router sees: the ordering key plays no part, bytes are those that were set as the key."""
    if metadata.partition_key is None or not metadata.partition_key_b64_encoded:
        return metadata.partition_key
    return decode_base64(metadata.partition_key) or b""


def key_path(key: str | bytes | None, routing: KeyRouting, partitions: int, selector: Selector | None) -> KeyPath:
    """The way to the partition; ``selector`` is that of its dispatcher, None where it is not known.

    >>> path = key_path("order-1", KeyRouting("java", "Murmur3_32Hash"), 4, None)
    >>> path.partition, [other.partition for other in path.others if other.client == "rust"]
    (1, [1])
    """
    route = route_key(key, routing, partitions)
    return KeyPath(
        client=routing.family.name,
        hashing=routing.hashing,
        partitions=partitions,
        partition=route.partition,
        hashed=route.hashed,
        hash_value=route.hash_value,
        division=route.division,
        undecided=route.undecided,
        sentence=route_sentence(route),
        others=other_routes(key, routing, partitions),
        resonance=None
        if route.partition is None or selector is None
        else slots_of_partition(route.partition, routing, partitions, selector),
    )


def slots_of_partition(partition: int, routing: KeyRouting, partitions: int, selector: Selector) -> SlotsOfPartition:
    """Which slots keys of a partition have, and how many consumers can get any of them."""
    bits = routing.key_hash.murmur_bits
    slots = partition_slots(selector.slots, partitions, partition, bits)
    resonance = resonance_of(selector, partitions, bits)
    busy, count = int(resonance.busy[partition]), len(selector.consumers)
    space = selector.slots
    if partitions == 1:
        sentence = "one partition has all slots"
    elif not bits:
        sentence = (
            f"any slot occurs in any partition: {routing.hashing} decides the partition, Murmur3 the slot, and the two"
            " are independent"
        )
    elif slots.modulus == 1:
        sentence = (
            f"any slot occurs in any partition: Murmur3 decides both, but {space.size:,} and {partitions} have no"
            " common divisor"
        )
    else:
        rest = " or ".join(map(str, slots.remainders))
        sentence = (
            f"Murmur3 decides both, so every key of partition {partition} has hash mod {slots.modulus} = {rest}:"
            f" {slots.count:,} of {space.occurring:,} slots occur there, and {busy} of {counted(count, 'consumer')} can"
            " get any of them"
        )
    return SlotsOfPartition(slots.modulus, slots.count, space.occurring, busy, count, sentence)


def route_sentence(route: KeyRoute) -> str:
    """The partition and its rule in one sentence."""
    if route.division is None:
        place = "0" if route.partition == 0 else f"any of {route.partitions}"
        return f"{place}: {route.undecided}"
    value = route.division.dividend
    return (
        f"{route.partition} of 0 to {route.partitions - 1}: {route.routing.hashing} of the {route.routing.family.name}"
        f" client gives {value}, and {value} mod {route.partitions} = {route.partition}"
    )
