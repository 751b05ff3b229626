"""What unloading a bundle interrupts, counted over its reported topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from engine.admin.facts import Snapshot, TopicFacts
from engine.bundles.boundaries import BundleRange, NamespaceBundles, namespace_bundles, parse_range
from engine.bundles.loads import bundle_of_topic
from engine.hashing import crc32_hash

_ONE_ACTIVE = ("Failover", "Exclusive")


@dataclass(frozen=True, slots=True)
class Interruption:
    """What unloading a bundle interrupts, counted over its reported topics, partitions singly.

    Producers and consumers connect again, a consumer on several topics on each of them. ``handovers``: topics of
    Failover and Exclusive subscriptions whose active consumer is chosen anew. ``draining_slots``: slots of Key_Shared
    whose waiting ends. ``unacked_messages`` were delivered and may come twice. What an answer lacks is not counted.
    """

    topics: int = 0
    producers: int = 0
    consumers: int = 0
    handovers: int = 0
    draining_slots: int = 0
    unacked_messages: int = 0


def _interruption_of(topics: Sequence[TopicFacts]) -> Interruption:
    subscriptions = [subscription for topic in topics for subscription in topic.subscriptions]
    return Interruption(
        len(topics),
        sum(topic.publishers or 0 for topic in topics),
        sum(len(subscription.consumers) for subscription in subscriptions),
        sum(subscription.type in _ONE_ACTIVE and bool(subscription.consumers) for subscription in subscriptions),
        sum(len(consumer.draining) for subscription in subscriptions for consumer in subscription.consumers),
        sum(topic.unacked_messages for topic in topics),
    )


@dataclass(slots=True)
class _Topics:
    """Topics by the full name of their bundle; those of unknown bundles by namespace, with their hashes."""

    by_bundle: dict[str, list[TopicFacts]] = field(default_factory=lambda: defaultdict(list))
    without_bundle: dict[str, list[tuple[int, TopicFacts]]] = field(default_factory=lambda: defaultdict(list))


class Interruptions:
    """What unloading each bundle of a snapshot interrupts.

    ``read`` gives the snapshot, None where there is none; it is called for the first bundle.
    """

    def __init__(self, read: Callable[[], Snapshot | None]) -> None:
        self._read = read

    def of(self, bundle: str) -> Interruption | None:
        """The interruption by a bundle (its full name); None where none of its topics was reported.

        The first call takes O(topics).
        """
        namespace, _, text = bundle.rpartition("/")
        topics = list(self._topics.by_bundle.get(bundle, ()))
        without_bundle = self._topics.without_bundle.get(namespace)
        piece = parse_range(text) if without_bundle else None
        if without_bundle and isinstance(piece, BundleRange):
            topics += [facts for position, facts in without_bundle if piece.includes(position)]
        return _interruption_of(topics) if topics else None

    def of_all(self, bundles: Iterable[str]) -> dict[str, Interruption]:
        """The interruptions by those bundles of which topics were reported."""
        return {bundle: known for bundle in bundles if (known := self.of(bundle)) is not None}

    @cached_property
    def _topics(self) -> _Topics:
        snapshot, topics = self._read() or Snapshot("", {}), _Topics()
        del self._read  # what it holds is not needed again
        lists = {name: namespace_bundles(name, listed.boundaries) for name, listed in snapshot.bundles.items()}
        for name, facts in snapshot.topics.items():
            text, bundles = snapshot.bundle_of_topic.get(name), lists.get(facts.namespace)
            if text is None and isinstance(bundles, NamespaceBundles):
                bundle = bundle_of_topic(bundles, name)
                text = None if bundle is None else str(bundle)
            if text is not None:
                topics.by_bundle[f"{facts.namespace}/{text}"].append(facts)
            else:
                topics.without_bundle[facts.namespace].append((crc32_hash(name), facts))
        return topics


NOTHING_REPORTED = Interruptions(lambda: None)
