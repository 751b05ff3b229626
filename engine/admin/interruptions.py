"""What unloading a bundle interrupts, by what was reported of its topics."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.admin.facts import Snapshot, TopicFacts
from engine.hashing import crc32_hash

_ONE_ACTIVE = ("Failover", "Exclusive")


@dataclass(frozen=True, slots=True)
class Interruption:
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


def interruption_of(topics: Iterable[TopicFacts]) -> Interruption:
    """What unloading a bundle with these topics interrupts."""
    there = tuple(topics)
    subscriptions = [subscription for topic in there for subscription in topic.subscriptions]
    return Interruption(
        len(there),
        sum(topic.publishers for topic in there),
        sum(len(subscription.consumers) for subscription in subscriptions),
        sum(subscription.type in _ONE_ACTIVE and bool(subscription.consumers) for subscription in subscriptions),
        sum(len(consumer.draining) for subscription in subscriptions for consumer in subscription.consumers),
        sum(topic.unacked_messages for topic in there),
    )


class Interruptions:
    """What unloading each bundle of a snapshot interrupts. ``read`` gives the snapshot, None where there is none; it
    is asked when the first bundle is.
    """

    def __init__(self, read: Callable[[], Snapshot | None]) -> None:
        self._read = read

    def of(self, bundle: str) -> Interruption | None:
        """The interruption by a bundle (its full name); None where nothing was reported of a topic in it.

        The first call takes O(topics).
        """
        topics = self._topics.get(bundle)
        return None if topics is None else interruption_of(topics)

    def of_all(self, bundles: Iterable[str]) -> dict[str, Interruption]:
        """The interruptions by those bundles of which topics were reported."""
        return {bundle: known for bundle in bundles if (known := self.of(bundle)) is not None}

    @cached_property
    def _topics(self) -> Mapping[str, list[TopicFacts]]:
        snapshot = self._read()
        if snapshot is None:
            return {}
        topics: dict[str, list[TopicFacts]] = defaultdict(list)
        for name, facts in snapshot.topics.items():
            piece = snapshot.bundle_of_topic.get(name) or bundle_at(snapshot, facts.namespace, name)
            if piece is not None:
                topics[f"{facts.namespace}/{piece}"].append(facts)
        return topics


def bundle_at(snapshot: Snapshot, namespace: str, topic: str) -> str | None:
    """The range of the bundle that a topic's hash is in, by the reported boundaries; None where there are none.

    >>> from engine.admin.facts import BundleList
    >>> known = Snapshot("here", {}, bundles={"t/n": BundleList((0, 2**31, 2**32 - 1))})
    >>> bundle_at(known, "t/n", "persistent://t/n/x"), bundle_at(known, "t/m", "persistent://t/m/x")
    ('0x00000000_0x80000000', None)
    """
    listed = snapshot.bundles.get(namespace)
    if listed is None or len(listed.boundaries) < 2:
        return None
    bounds = listed.boundaries
    at = min(max(bisect_right(bounds, crc32_hash(topic)) - 1, 0), len(bounds) - 2)  # the last bundle has its upper end
    return f"0x{bounds[at]:08x}_0x{bounds[at + 1]:08x}"


NOTHING_REPORTED = Interruptions(lambda: None)
