"""The partitions of a Key_Shared subscription: what keys and messages each has, and which consumers it can reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from engine.keyshared.delivery_state import waits
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.partition_slots import Resonance, resonance_of
from engine.memo import Remembered
from engine.routing.clients import KeyRouting, partition_of_bytes
from engine.text import counted
from engine.views.keys.model import PartitionRow, PartitionsView, Unreached
from engine.views.keys.slice import KeysSlice, keys_slice

_resonance: Remembered[Resonance] = Remembered()


def partitions_view(now: KeysSlice) -> PartitionsView | None:
    """All partitions of the subscription, whatever the slice is of; None without partitions."""
    subscription = now.subscription
    if subscription.routing is None:
        return None
    known = (now if now.partition is None else keys_slice(now.state, subscription)).known
    traffic = {
        partition: (
            sum(len(held) for held in dispatcher.pending.values()),
            sum(len(wait.messages) for wait in waits(dispatcher)),
        )
        for partition, dispatcher in enumerate(subscription.dispatchers)
        if dispatcher.backlog
    }
    keys: Counter[int] = Counter(known.partitions.tolist())
    messages: Counter[int] = Counter()
    for partition, count in zip(known.partitions.tolist(), known.messages.tolist(), strict=True):
        messages[partition] += count
    return spread_over_partitions(subscription.selectors, subscription.routing, (keys, messages), traffic)


def spread_of_keys(selectors: Sequence[Selector], routing: KeyRouting, counts: Mapping[bytes, int]) -> PartitionsView:
    """The same without traffic, of the selector of each partition, and of known keys with their messages."""
    keys: Counter[int] = Counter()
    messages: Counter[int] = Counter()
    for key, count in counts.items():
        partition = partition_of_bytes(key, routing, len(selectors))
        keys[-1 if partition is None else partition] += 1
        messages[-1 if partition is None else partition] += count
    return spread_over_partitions(selectors, routing, (keys, messages), {})


def spread_over_partitions(
    selectors: Sequence[Selector],
    routing: KeyRouting,
    known: tuple[Mapping[int, int], Mapping[int, int]],
    traffic: Mapping[int, tuple[int, int]],
) -> PartitionsView:
    """One row a partition. ``known``: keys and messages by partition, -1 for those that no key decides.

    ``traffic``: (unacknowledged, waiting) messages of the partitions that have any.
    """
    keys, messages = known
    bits, count = routing.key_hash.murmur_bits, len(selectors)
    different = {id(selector): selector for selector in selectors}
    resonances = {known: resonance_between(selector, count, bits) for known, selector in different.items()}
    rows = []
    for partition, selector in enumerate(selectors):
        resonance = resonances[id(selector)]
        unacked, waiting = traffic.get(partition, (0, 0))
        rows.append(
            PartitionRow(
                partition=partition,
                keys=keys.get(partition, 0),
                messages=messages.get(partition, 0),
                unacked=unacked,
                waiting=waiting,
                slots=resonance.slot_counts[partition],
                consumers=int(resonance.busy[partition]),
            )
        )
    first = resonances[id(selectors[0])]
    consumers = {consumer.consumer_id: consumer for consumer in selectors[0].consumers}
    unreached = tuple(
        Unreached(consumer_id, consumers[consumer_id].name, partitions)
        for consumer_id, partitions in first.unreached.items()
    )
    return PartitionsView(
        client=routing.client,
        hashing=routing.hashing,
        modulus=first.modulus,
        rows=tuple(rows),
        undecided_keys=keys.get(-1, 0),
        unreached=unreached,
        sentence=resonance_sentence(first, selectors[0], tuple(consumers.values())),
    )


def resonance_between(selector: Selector, partitions: int, murmur_bits: int) -> Resonance:
    """``resonance_of``, remembered."""
    return _resonance.get(
        (selector,), (partitions, murmur_bits), lambda: resonance_of(selector, partitions, murmur_bits)
    )


def resonance_sentence(resonance: Resonance, selector: Selector, consumers: Sequence[Consumer]) -> str:
    """What the hash leaves of the slots, and who never gets keys of some partitions; "" where any slot occurs."""
    if resonance.modulus == 1:
        return ""
    fewest, most = resonance.slots
    amount = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    text = (
        f"Murmur3 decides partition and slot, so a partition sees {amount} of {selector.slots.occurring:,} slots"
        f" (hash mod {resonance.modulus:,} is the same for all its keys)"
    )
    if not resonance.unreached:
        return f"{text}; every consumer can get keys of every partition" if consumers else text
    busy = int(np.max(resonance.busy))
    names = {consumer.consumer_id: consumer.name for consumer in consumers}
    worst = sorted(resonance.unreached.items(), key=lambda item: -len(item[1]))
    some = ", ".join(f"{names[number]} of {len(missed):,}" for number, missed in worst[:3])
    more = ", ..." if len(worst) > 3 else ""
    return (
        f"{text}; at most {busy:,} of {counted(len(consumers), 'consumer')} can work on one, and"
        f" {counted(len(worst), 'consumer')} never {'gets' if len(worst) == 1 else 'get'} a key of some of"
        f" {resonance.partitions:,} partitions ({some}{more})"
    )
