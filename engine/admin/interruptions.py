"""What unloading a bundle interrupts, by what was reported of its topics."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from engine.admin.facts import BundleList, Snapshot, TopicFacts
from engine.bundles.boundaries import BundleRange, parse_range
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
    members = tuple(topics)
    subscriptions = [subscription for topic in members for subscription in topic.subscriptions]
    return Interruption(
        len(members),
        sum(topic.publishers for topic in members),
        sum(len(subscription.consumers) for subscription in subscriptions),
        sum(subscription.type in _ONE_ACTIVE and bool(subscription.consumers) for subscription in subscriptions),
        sum(len(consumer.draining) for subscription in subscriptions for consumer in subscription.consumers),
        sum(topic.unacked_messages for topic in members),
    )


@dataclass(slots=True)
class _Topics:
    """Topics by the bundle that has them; those of namespaces without boundaries by namespace, with their hashes."""

    by_bundle: dict[str, list[TopicFacts]] = field(default_factory=lambda: defaultdict(list))
    by_namespace: dict[str, list[tuple[int, TopicFacts]]] = field(default_factory=lambda: defaultdict(list))


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
        known = self._known
        namespace, _, text = bundle.rpartition("/")
        topics = list(known.by_bundle.get(bundle, ()))
        elsewhere = known.by_namespace.get(namespace)
        piece = parse_range(text) if elsewhere else None
        if elsewhere and isinstance(piece, BundleRange):
            topics += [facts for at, facts in elsewhere if piece.includes(at)]
        return interruption_of(topics) if topics else None

    def of_all(self, bundles: Iterable[str]) -> dict[str, Interruption]:
        """The interruptions by those bundles of which topics were reported."""
        return {bundle: known for bundle in bundles if (known := self.of(bundle)) is not None}

    @cached_property
    def _known(self) -> _Topics:
        snapshot, topics = self._read() or Snapshot("", {}), _Topics()
        del self._read  # what it holds is not needed again
        lists = {namespace: listed for namespace, listed in snapshot.bundles.items() if usable(listed)}
        for name, facts in snapshot.topics.items():
            piece = snapshot.bundle_of_topic.get(name) or bundle_at(lists.get(facts.namespace), name)
            if piece is not None:
                topics.by_bundle[f"{facts.namespace}/{piece}"].append(facts)
            else:
                topics.by_namespace[facts.namespace].append((crc32_hash(name), facts))
        return topics


def bundle_at(listed: BundleList | None, topic: str) -> str | None:
    """The range of the bundle that a topic's hash is in, by the reported boundaries of its namespace; None where there
    are none, or they cannot be.

    >>> bundle_at(BundleList((0, 2**31, 2**32 - 1)), "persistent://t/n/x"), bundle_at(None, "persistent://t/m/x")
    ('0x00000000_0x80000000', None)
    """
    bounds = listed.boundaries if listed is not None else ()
    position = crc32_hash(topic)
    at = min(bisect_right(bounds, position) - 1, len(bounds) - 2)  # the last bundle has its upper end as well
    if at < 0 or not bounds[at] <= position <= bounds[at + 1]:
        return None
    return f"0x{bounds[at]:08x}_0x{bounds[at + 1]:08x}"


def usable(listed: BundleList) -> bool:
    """Whether boundaries ascend, as those of bundles do. O(boundaries)."""
    return all(lower < upper for lower, upper in pairwise(listed.boundaries))


NOTHING_REPORTED = Interruptions(lambda: None)
