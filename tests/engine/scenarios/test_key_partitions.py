"""A recorded Key_Shared subscription on a partitioned topic is one subscription with its partitions."""

from __future__ import annotations

from typing import Any

from engine.admin.facts import ConsumerFacts
from engine.cluster.commands import AddConsumer, KillConsumer
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import ClusterState, Namespace
from engine.cluster.tables.topics import Topic
from engine.config import CURRENT, BrokerSettings, default_settings
from engine.errors import Rejection
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.model import Consumer
from engine.scenarios.key_subscriptions import (
    PARTITIONS_ASSUMED,
    PARTITIONS_DIFFER,
    gather_keys,
    key_subscriptions_of,
)
from tests.engine.keyshared.selectors import auto_split
from tests.journal_bytes import parse_state, serialise_state

TOPIC = "persistent://public/default/t"


class Facts:
    """What of a snapshot is read here."""

    def __init__(self, partitions: dict[int, list[ConsumerFacts]]) -> None:
        self.topics: dict[str, Any] = {
            f"{TOPIC}-partition-{at}": type(
                "TopicFacts",
                (),
                {
                    "namespace": "public/default",
                    "subscriptions": (
                        type("Sub", (), {"name": "s", "type": "Key_Shared", "consumers": tuple(consumers)}),
                    ),
                },
            )
            for at, consumers in partitions.items()
        }


def reported(selector: AutoSplitSelector) -> list[ConsumerFacts]:
    """The consumers in the order of joining with their ranges."""
    ranges = selector.ranges()
    return [
        ConsumerFacts(
            name=consumer.name,
            range_arrays=tuple((piece.start, piece.end) for piece in ranges.get(consumer.consumer_id, ())),
        )
        for consumer in selector.consumers
    ]


def joined(*names: str) -> AutoSplitSelector:
    selector = auto_split()
    for number, name in enumerate(names):
        selector = selector.join(Consumer(number, name))
    return selector


def opened(partitions: dict[int, list[ConsumerFacts]], count: int) -> tuple[KeySubscription, list[str]]:
    settings: BrokerSettings = default_settings(CURRENT)
    groups = gather_keys(Facts(partitions), [Topic(TOPIC, count)])  # type: ignore[arg-type]
    assert len(groups) == 1
    (subscription,), notes = key_subscriptions_of(groups, settings, CURRENT, set(), 7)
    return subscription, [note.code for note in notes]


def test_partitions_that_agree_share_one_dispatcher() -> None:
    subscription, codes = opened({at: reported(joined("a", "b", "c")) for at in range(4)}, 4)
    assert (subscription.partitions, subscription.agree) == (4, True)
    assert len({id(each) for each in subscription.dispatchers}) == 1
    assert PARTITIONS_DIFFER not in codes
    assert [consumer.consumer_id for consumer in subscription.consumers] == [7, 8, 9]


def test_each_partition_has_the_ranges_that_were_reported_of_it() -> None:
    orders = [("a", "b", "c"), ("c", "a", "b"), ("a", "b", "c"), ("b",)]
    given = {at: reported(joined(*names)) for at, names in enumerate(orders)}
    subscription, codes = opened(given, 4)
    assert PARTITIONS_DIFFER in codes
    assert (subscription.partitions, subscription.agree) == (4, False)
    ids = {consumer.name: consumer.consumer_id for consumer in subscription.consumers}
    assert sorted(ids) == ["a", "b", "c"]
    for partition, dispatcher in enumerate(subscription.dispatchers):
        assert {
            consumer.name: tuple(
                (piece.start, piece.end) for piece in dispatcher.selector.ranges().get(consumer.consumer_id, ())
            )
            for consumer in dispatcher.selector.consumers
        } == {facts.name: facts.key_hash_ranges for facts in given[partition]}
        assert [ids[consumer.name] for consumer in dispatcher.selector.consumers] == [
            consumer.consumer_id for consumer in dispatcher.selector.consumers
        ]
    assert [consumer.name for consumer in subscription.dispatchers[3].selector.consumers] == ["b"]


def test_what_no_answer_says_is_noted() -> None:
    consumers = reported(joined("a", "b"))
    subscription, codes = opened({0: consumers, 2: consumers}, 5)
    assert (subscription.partitions, subscription.agree) == (5, True)
    assert PARTITIONS_ASSUMED in codes
    nobody, _ = opened({0: [], 1: consumers}, 2)
    assert [len(each.selector.consumers) for each in nobody.dispatchers] == [0, 2]


def test_the_simulation_goes_on_from_partitions_that_differ() -> None:
    subscription, _ = opened({0: reported(joined("a", "b")), 1: reported(joined("b", "a"))}, 2)
    state = ClusterState(
        topics={TOPIC: Topic(TOPIC, 2)},
        key_subscriptions=(subscription,),
        next_consumer_id=20,
        namespaces={"public/default": Namespace("public/default", (0, 0xFFFFFFFF))},
    )
    for command in (AddConsumer(subscription.key, "c"), KillConsumer(subscription.key, 7)):
        events = decide(state, command)
        assert not isinstance(events, Rejection), events
        for event in events:
            state = evolve(state, event)
        assert state.key_subscriptions[0].agree is (command == KillConsumer(subscription.key, 7))
    after = state.key_subscriptions[0]
    assert sorted(consumer.name for consumer in after.consumers) == ["b", "c"]
    assert parse_state(serialise_state(state)).key_subscriptions[0].dispatchers == after.dispatchers
