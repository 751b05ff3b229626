"""Search by a part of a name: subscriptions, their consumers, and topics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from engine.cluster.state import ClusterState, shown_places
from engine.diagnosis.seen import SubscriptionSeen

MOST_MATCHES: Final = 200
"""The most matches of a kind."""
_PARTITION: Final = re.compile(r"(.*)-partition-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Match:
    """A subscription, consumer, producer or topic whose name contains the text that was searched for.

    ``place`` is that of its subscription or of its topic with producers, -1 for a topic that none of them has.

    ``consumer_id`` is a consumer's or, on topics with producers, the number of one; -1 for a consumer that brokers
    reported and for which nothing is computed.
    """

    kind: Literal["subscription", "consumer", "producer", "topic"]
    name: str
    place: int
    consumer_id: int = -1


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """All that can be searched. ``keys`` are those of all places, and ``others`` the reported ones, which come last."""

    state: ClusterState
    keys: tuple[str, ...]
    others: tuple[SubscriptionSeen, ...] = ()

    def find(self, part: str, shown: int = 0, limit: int = MOST_MATCHES) -> list[Match]:
        """Subscriptions first, then consumers, then topics with a part in their names, ``limit`` of each at most.

        Case is ignored. A topic is found at the place ``shown``, if it is there, else at the first that has it.
        O(names).

        >>> from engine.cluster.state import Subscription
        >>> from engine.cluster.tables.topics import Topic
        >>> from engine.failover.model import Consumer
        >>> topic = Topic("persistent://t/n/orders", 4)
        >>> billing = Subscription("billing", "billing", "t/n", (topic.name,), (Consumer(7, "b-0"),))
        >>> state = ClusterState(topics={topic.name: topic}, subscriptions=(billing,))
        >>> [(match.kind, match.name) for match in SearchIndex(state, ("billing",)).find("b")]
        [('subscription', 'billing'), ('consumer', 'b-0')]
        >>> SearchIndex(state, ("billing",)).find("ORDERS-partition-3")
        [Match(kind='topic', name='persistent://t/n/orders-partition-3', place=0, consumer_id=-1)]
        """
        folded = part.casefold()
        places = (Match("subscription", key, place) for place, key in enumerate(self.keys) if folded in key.casefold())
        members = (member for member in self._members() if folded in member.name.casefold())
        return [*islice(places, limit), *islice(members, limit), *self._topics(part, shown, limit)]

    def _members(self) -> Iterator[Match]:
        state = self.state
        listed = [subscription.consumers for subscription in state.subscriptions] + [
            subscription.consumers for subscription in state.key_subscriptions
        ]
        for at, consumers in enumerate(listed):
            for consumer in consumers:
                yield Match("consumer", consumer.name, at, consumer.consumer_id)
        for at, topic in enumerate(state.producer_topics, len(listed)):
            for producer in topic.producers.producers:
                yield Match("producer", producer.producer_name or f"#{producer.number}", at, producer.number)
        scalable = enumerate(state.scalable_topics, len(listed) + len(state.producer_topics))
        for at, one in scalable:
            members = dict.fromkeys(name for group in one.running.groups.values() for name in group.names)
            yield from (Match("consumer", name, at) for name in members)
        first = len(self.keys) - len(self.others)
        for place, seen in enumerate(self.others, first):
            names = (consumer.name for dispatcher in seen.dispatchers for consumer in dispatcher.consumers)
            for name in dict.fromkeys(names):
                yield Match("consumer", name, place)

    def _topics(self, part: str, shown: int, limit: int) -> list[Match]:
        table = self.state.topics
        names = [table.names[at] for at in table.names.containing(part, limit)]
        typed = _PARTITION.fullmatch(part)
        if typed is not None and len(names) < limit:
            number = int(typed[2])
            for at in table.names.containing(typed[1], limit):
                name, partitions = table.names[at], int(table.partitions[at])
                if number < partitions and name.casefold().endswith(typed[1].casefold()):
                    names.append(f"{name}-partition-{number}")
        whole = {name: _PARTITION.sub(r"\1", name) for name in names}
        places = self._places_of({*whole, *whole.values()}, shown)
        return [Match("topic", name, places.get(name, places.get(whole[name], -1))) for name in names]

    def _places_of(self, names: set[str], shown: int) -> dict[str, int]:
        """Topic name -> the place that shows it. O(topics of all places)."""
        places: dict[str, int] = {}
        topics = list(enumerate(self._topics_by_place()))
        for place, own in (*topics[shown : shown + 1], *topics):
            here = names if own is self.state.topics.names else names.intersection(own)
            for name in here - places.keys():
                places[name] = place
            if len(places) == len(names):
                break
        return places

    def _topics_by_place(self) -> Iterable[Sequence[str]]:
        state = self.state
        yield from (subscription.topics for subscription in state.subscriptions)
        yield from (subscription.topics for subscription in state.key_subscriptions)
        yield from ((topic.topic,) for topic in state.producer_topics)
        yield from ((scalable.topic,) for scalable in state.scalable_topics)
        first = len(self.keys) - len(self.others)
        if first > len(shown_places(state)):
            yield ()  # the place of the bundles
        yield from (other.topics for other in self.others)
