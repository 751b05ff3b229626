"""The rest of a topic's way: the bundle that holds it is owned by a broker, and unloading it interrupts others too."""

from __future__ import annotations

from dataclasses import dataclass

from engine.admin.facts import Snapshot, TopicFacts
from engine.bundles.boundaries import BundleRange, parse_range
from engine.hashing import crc32_hash

_ONE_ACTIVE = ("Failover", "Exclusive")


@dataclass(frozen=True, slots=True)
class Unload:
    """What unloading a bundle interrupts, by what was reported of its topics, partitions singly.

    Producers and consumers connect again, a consumer on several topics on each of them. ``handovers``: topics of
    Failover and Exclusive subscriptions whose active consumer is chosen anew. ``draining_slots``: slots of Key_Shared
    whose waiting ends. ``unacked_messages`` were delivered and may come twice.
    """

    topics: int
    producers: int
    consumers: int
    handovers: int
    draining_slots: int
    unacked_messages: int


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """``broker`` owns the topic, "" where no answer says it; ``by_look_up``: an answer about the topic says so."""

    broker: str
    by_look_up: bool
    unload: Unload


def whereabouts_of(snapshot: Snapshot, topic: str, namespace: str, bundle: str) -> Whereabouts | None:
    """Who owns a topic, and what unloading its bundle interrupts. None without a bundle. O(topics of the namespace)."""
    piece = parse_range(bundle)
    if not isinstance(piece, BundleRange):
        return None
    looked_up = snapshot.owners.get(topic)
    broker = looked_up or snapshot.owners.get(f"{namespace}/{bundle}", "")
    there = [
        each
        for name, each in snapshot.topics.items()
        if each.namespace == namespace and piece.includes(crc32_hash(name))
    ]
    return Whereabouts(broker, looked_up is not None, _unload(there))


def _unload(topics: list[TopicFacts]) -> Unload:
    subscriptions = [each for topic in topics for each in topic.subscriptions]
    return Unload(
        len(topics),
        sum(topic.publishers for topic in topics),
        sum(len(each.consumers) for each in subscriptions),
        sum(each.type in _ONE_ACTIVE and bool(each.consumers) for each in subscriptions),
        sum(len(consumer.draining) for each in subscriptions for consumer in each.consumers),
        sum(topic.unacked_messages for topic in topics),
    )
