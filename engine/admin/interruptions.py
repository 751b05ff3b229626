"""What unloading a bundle interrupts, counted over its reported topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Annotated

from msgspec import Struct, field

from engine.admin.facts import Snapshot, TopicFacts, total, unacked_of
from engine.answer import about
from engine.bundles.boundaries import BundleRange, NamespaceBundles, namespace_bundles, parse_range
from engine.bundles.loads import bundle_of_topic
from engine.hashing import crc32_hash

_ONE_ACTIVE = ("Failover", "Exclusive")


class Interruption(Struct, frozen=True):
    """What unloading a bundle interrupts, as reported."""

    topics: Annotated[int, about("Reported topics in the bundle, partitions singly.", 0)] = 0
    producers: Annotated[int, about("Producers that connect again.", 0)] = 0
    consumers: Annotated[int, about("Consumers that connect again, on each topic.", 0)] = 0
    handovers: Annotated[
        int, about("Active consumers of Failover and Exclusive subscriptions that are chosen anew.", 0)
    ] = 0
    draining_slots: Annotated[int, about("Slots of Key_Shared that drain no more.", 0)] = 0
    unacked_messages: Annotated[
        int | None, about("Delivered messages that may come twice; null where an answer lacks them.", 0)
    ] = 0


def _interruption_of(topics: Sequence[TopicFacts]) -> Interruption:
    subscriptions = [subscription for topic in topics for subscription in topic.subscriptions]
    return Interruption(
        len(topics),
        sum(topic.publishers or 0 for topic in topics),
        sum(len(subscription.consumers) for subscription in subscriptions),
        sum(subscription.type in _ONE_ACTIVE and bool(subscription.consumers) for subscription in subscriptions),
        sum(len(consumer.draining) for subscription in subscriptions for consumer in subscription.consumers),
        total(map(unacked_of, subscriptions)),
    )


class _Topics(Struct):
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
