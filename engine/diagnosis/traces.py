"""Hot keys in a trace: statistics show which consumer is busy, and the trace shows by which key."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from engine.diagnosis.causes.pace import HOT_KEY
from engine.diagnosis.model import Cause, Diagnosis, RuledOut, Verdict, in_order_of_verdict
from engine.diagnosis.seen import KEY_SHARED, Dispatcher, SubscriptionSeen
from engine.keyshared.keys import text_of_key
from engine.keyshared.luck import HOT_TIMES
from engine.keyshared.model import RANGE_SIZE, RING_SLOTS, SlotSpace
from engine.text import counted

HALVES: Final = SlotSpace(0, RANGE_SIZE - 1)


@dataclass(frozen=True, slots=True)
class HotKey:
    """The most frequent key of a trace and its owner by the reported ranges.

    Shares are of all messages of the trace.
    """

    key: bytes
    slot: int
    owner: str
    messages: float
    share: float
    owner_share: float
    keys_of_owner: int
    is_hot: bool


def hottest(dispatcher: Dispatcher, counts: Mapping[bytes, float]) -> HotKey | None:
    """Return the most frequent key, None if nobody owns its slot. It is hot if it exceeds a fair share on its own.

    It also has to carry at least three times the average of the other keys. O(keys x consumers).
    """
    total = sum(counts.values())
    if not total or not dispatcher.consumers:
        return None
    slots = slots_of(dispatcher)
    key = max(counts, key=lambda other: (counts[other], other))
    slot = slots.slot_of_key(key)
    owner = dispatcher.consumer_at(slot)
    if owner is None:
        return None
    carried: defaultdict[str, float] = defaultdict(float)
    keys: Counter[str] = Counter()
    for other, count in counts.items():
        consumer = dispatcher.consumer_at(slots.slot_of_key(other))
        if consumer is not None:
            carried[consumer.name] += count
            keys[consumer.name] += 1
    others = (total - counts[key]) / max(1, len(counts) - 1)
    share = counts[key] / total
    return HotKey(
        key,
        slot,
        owner.name,
        counts[key],
        share,
        carried[owner.name] / total,
        keys[owner.name],
        share * len(dispatcher.consumers) >= 1 and counts[key] >= HOT_TIMES * others,
    )


def slots_of(dispatcher: Dispatcher) -> SlotSpace:
    """Return the slots of keys: those of the ring where a consumer has several ranges that it did not declare."""
    several = any(len(consumer.key_hash_ranges) > 1 for consumer in dispatcher.sub.consumers)
    return RING_SLOTS if several and dispatcher.sub.mode != "STICKY" else HALVES


def with_trace(diagnosis: Diagnosis, seen: SubscriptionSeen, counts: Mapping[bytes, float]) -> Diagnosis:
    """Add the hot key of a trace to a diagnosis of a Key_Shared subscription.

    A cause ``hot_key`` gets the key's name and share, or the statement that no single key is hot. A hot key that slows
    nobody yet is an uneven cause.
    """
    if seen.type != KEY_SHARED:
        return diagnosis
    known = next((item for item in diagnosis.causes if item.id == HOT_KEY), None)
    topic = known.topic if known is not None else seen.largest.topic
    dispatcher = next(item for item in seen.dispatchers if item.topic == topic)
    hot = hottest(dispatcher, counts)
    if hot is None:
        return diagnosis
    numbers = (
        ("hot_key_share", round(hot.share, 4)),
        ("hot_key_messages", hot.messages),
        ("hot_key_slot", hot.slot),
        ("owner_share", round(hot.owner_share, 4)),
        ("keys_of_owner", hot.keys_of_owner),
        ("keys", len(counts)),
    )
    name = text_of_key(hot.key)
    if known is not None:
        explains = hot.is_hot and hot.owner in known.by
        what = (
            f"{known.what}; in the trace the key {name} carries {hot.share:.0%}"
            if explains
            else f"{known.what}; no single key of the trace is hot, so {hot.owner if hot.is_hot else 'it'} is slow"
        )
        added = structs.replace(
            known, what=what, numbers=(*known.numbers, *numbers, ("hot_key", name if explains else ""))
        )
        causes = [added if item is known else item for item in diagnosis.causes]
        return replace(diagnosis, causes=tuple(causes))
    if not hot.is_hot:
        return diagnosis
    cause = Cause(
        HOT_KEY,
        Verdict.UNEVEN,
        f"in the trace the key {name} carries {hot.share:.0%} of {counted(int(sum(counts.values())), 'message')}: all"
        f" of them go to {hot.owner}",
        topic,
        by=(hot.owner,),
        numbers=(*numbers, ("hot_key", name)),
        fix="a finer key; more consumers do not help, since a key has one",
        fields=("keyHashRangeArrays",),
    )
    ruled_out: tuple[RuledOut, ...] = tuple(item for item in diagnosis.ruled_out if item.id != HOT_KEY)
    return replace(diagnosis, causes=tuple(in_order_of_verdict([*diagnosis.causes, cause])), ruled_out=ruled_out)
