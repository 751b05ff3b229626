"""A Key_Shared subscription on a partitioned topic: as many dispatchers as partitions, each as if it were alone."""

from __future__ import annotations

import random

import mmh3
import pytest

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    PassTime,
    RepartitionTopic,
    RouteKeys,
    SendKeys,
    ShareKeys,
    SubscribeKeyShared,
)
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.keys.evolve import folded
from engine.cluster.keys.state import (
    KeyEvent,
    KeysAcknowledged,
    KeysPublished,
    KeysRouted,
    KeySubscription,
    set_of,
)
from engine.cluster.state import ClusterState, find_key_subscription
from engine.errors import Rejection
from engine.routing.clients import partition_of_bytes
from engine.scenarios.synthetic import KEY_SUBSCRIPTION, synthetic_keys
from tests.journal_bytes import parse_state, serialise_state
from tests.oracles.hashes import java_string_hash

TOPIC = "persistent://public/default/t"


def done(state: ClusterState, *commands: Command) -> ClusterState:
    for command in commands:
        events = decide(state, command)
        assert not isinstance(events, Rejection), (command, events)
        for event in events:
            state = evolve(state, event)
    return state


def of(state: ClusterState) -> KeySubscription:
    subscription = find_key_subscription(state, KEY_SUBSCRIPTION)
    assert subscription is not None
    return subscription


def alone(subscription: KeySubscription, partition: int) -> KeySubscription:
    """The subscription of a topic without partitions that gets what this partition gets."""
    events: list[KeyEvent] = []
    routed: KeysRouted | None = None
    for event in subscription.happened:
        match event:
            case KeysRouted():
                routed = event
            case KeysPublished(name, texts):
                assert routed is not None
                hashes = [mmh3.hash(text) & 0x7FFFFFFF for text in texts]
                if routed.hashing == "JavaStringHash":
                    hashes = [java_string_hash(text) for text in texts]
                mine = tuple(
                    text for text, value in zip(texts, hashes, strict=True) if value % routed.partitions == partition
                )
                events.append(KeysPublished(name, mine))
            case KeysAcknowledged(name, consumer_id, positions, acknowledged):
                if acknowledged == partition:
                    events.append(KeysAcknowledged(name, consumer_id, positions))
            case _:
                events.append(event)
    folding = folded(events)
    assert isinstance(folding, KeySubscription), folding
    return folding


@pytest.mark.parametrize("seed", range(12))
def test_each_partition_is_a_dispatcher_of_its_own(seed: int) -> None:
    chance = random.Random(seed)
    mode = ("auto-split", "consistent-auto-split", "sticky", "consistent-sticky")[seed % 4]
    state = synthetic_keys(0, 3, mode=mode, partitions=chance.choice((2, 3, 5)), points=5).state
    names = iter(f"n-{number}" for number in range(99))
    for _ in range(40):
        ids = [consumer.consumer_id for consumer in of(state).consumers]
        keys = tuple(f"k{chance.randrange(30)}" for _ in range(chance.randrange(1, 6)))
        commands: list[Command] = [
            SendKeys(KEY_SUBSCRIPTION, keys, chance.randrange(1, 4)),
            Acknowledge(KEY_SUBSCRIPTION, count=chance.randrange(4)),
            PassTime(chance.choice((5, 10, 1000))),
            RouteKeys(KEY_SUBSCRIPTION, "java", chance.choice(("murmur3_32hash", None))),
        ]
        if mode != "sticky":
            commands.append(AddConsumer(KEY_SUBSCRIPTION, next(names)))
        if len(ids) > 1:
            commands.append(KillConsumer(KEY_SUBSCRIPTION, chance.choice(ids)))
        state = done(state, chance.choice(commands))
    subscription = of(state)
    assert subscription.agree
    for partition, dispatcher in enumerate(subscription.dispatchers):
        assert dispatcher == alone(subscription, partition).delivery
    assert parse_state(serialise_state(state)) == state
    assert of(parse_state(serialise_state(state))).dispatchers == subscription.dispatchers


def test_a_batch_has_the_first_key_of_its_partition() -> None:
    state = synthetic_keys(0, 1, partitions=2).state
    keys = ("a", "b", "c", "d", "e")
    partitions = [java_string_hash(key) % 2 for key in keys]
    assert partitions == [1, 0, 1, 0, 1]
    after = of(done(state, SendKeys(KEY_SUBSCRIPTION, keys, batched=True)))
    assert [sorted({message.key for message in each.backlog.values()}) for each in after.dispatchers] == [
        [b"b"],
        [b"a"],
    ]
    assert [len(each.backlog) for each in after.dispatchers] == [2, 3]
    assert [(one.partition, one.sent.message.key) for one in after.sent] == [
        (1, b"a"), (0, b"b"), (1, b"a"), (0, b"b"), (1, b"a"),
    ]  # fmt: skip


def test_partitions_without_traffic_are_one_object() -> None:
    state = synthetic_keys(100, 50, partitions=1_024).state
    assert len(set_of(of(state).dispatchers)) == 1
    after = of(done(state, SendKeys(KEY_SUBSCRIPTION, ("a", "b")), AddConsumer(KEY_SUBSCRIPTION, "late")))
    assert len(set_of(after.dispatchers)) == 3
    assert after.agree
    assert len({id(each.selector) for each in after.dispatchers}) == 1


def test_partitions_that_are_added_do_not_know_who_left() -> None:
    state = synthetic_keys(0, 0, mode="auto-split", partitions=2).state
    state = done(state, *(AddConsumer(KEY_SUBSCRIPTION, name) for name in "abcd"))
    second = of(state).consumers[1].consumer_id
    state = done(state, KillConsumer(KEY_SUBSCRIPTION, second))
    topic = of(state).topics[0]
    grown = of(done(state, RepartitionTopic(topic, 5)))
    assert (grown.partitions, grown.agree) == (5, False)
    fresh = synthetic_keys(0, 0, mode="auto-split").state
    fresh = done(fresh, *(AddConsumer(KEY_SUBSCRIPTION, name) for name in "acd"))
    ranges = [list(each.selector.ranges().values()) for each in grown.dispatchers]
    assert ranges[2:] == [list(of(fresh).delivery.selector.ranges().values())] * 3
    assert ranges[0] == ranges[1] != ranges[2]
    agreeing = of(done(synthetic_keys(0, 4, partitions=2).state, RepartitionTopic(topic, 5)))
    assert (agreeing.partitions, agreeing.agree) == (5, True)


def test_who_subscribes_to_a_partitioned_topic_has_its_partitions() -> None:
    state = done(ClusterState(), AddTopic(TOPIC, 6), SubscribeKeyShared(KEY_SUBSCRIPTION, TOPIC))
    subscription = of(state)
    assert subscription.partitions == 6
    for client, hashing in (("go", None), ("rust", None), ("python", None), ("cpp", "JavaStringHash")):
        state = done(state, RouteKeys(KEY_SUBSCRIPTION, client, hashing))
        routing = of(state).routing
        assert routing is not None
        assert of(state).partition_of(b"order-1") == partition_of_bytes(b"order-1", routing, 6)
    plain = done(ClusterState(), AddTopic(TOPIC), SubscribeKeyShared(KEY_SUBSCRIPTION, TOPIC))
    assert of(plain).partitions == 0


@pytest.mark.parametrize(
    ("command", "error", "field"),
    [
        (RouteKeys(KEY_SUBSCRIPTION, "php"), "UndecidedPartition", "client"),
        (RouteKeys(KEY_SUBSCRIPTION, "fsharp"), "UndecidedPartition", "client"),
        (RouteKeys(KEY_SUBSCRIPTION, "cobol"), "UnknownValue", "client"),
        (RouteKeys(KEY_SUBSCRIPTION, "go", "BoostHash"), "UnknownValue", "hashing"),
        (RouteKeys("other", "go"), "SubscriptionNotFound", "subscription"),
    ],
)
def test_refusals(command: RouteKeys, error: str, field: str) -> None:
    refusal = decide(synthetic_keys(1, 1, partitions=3).state, command)
    assert isinstance(refusal, Rejection)
    assert (refusal.error, refusal.field) == (error, field)


def test_a_key_that_the_client_does_not_count() -> None:
    state = done(synthetic_keys(1, 1, partitions=3).state, SendKeys(KEY_SUBSCRIPTION, ("",)))
    routed = done(state, RouteKeys(KEY_SUBSCRIPTION, "go"))
    refusal = decide(routed, SendKeys(KEY_SUBSCRIPTION, ("",)))
    assert isinstance(refusal, Rejection)
    assert refusal.error == "UndecidedPartition"
    refusal = decide(synthetic_keys(1, 1).state, RouteKeys(KEY_SUBSCRIPTION, "go"))
    assert isinstance(refusal, Rejection)
    assert refusal.error == "NotPartitioned"


def test_the_hash_of_producers_is_a_step_like_any_other() -> None:
    state = synthetic_keys(1, 1, partitions=3).state
    assert decide(state, RouteKeys(KEY_SUBSCRIPTION, "java")) == ()
    for command in (
        RouteKeys(KEY_SUBSCRIPTION, "go"),
        RouteKeys(KEY_SUBSCRIPTION, "java", "Murmur3_32Hash"),
    ):
        text = command_text(command, state)
        assert parse_command(text, state, KEY_SUBSCRIPTION) == command
    assert parse_command("route java murmur3_32hash of orders", state) == RouteKeys("orders", "java", "murmur3_32hash")


def test_another_mode_keeps_the_messages_in_their_partitions() -> None:
    state = done(synthetic_keys(0, 2, partitions=3).state, SendKeys(KEY_SUBSCRIPTION, tuple("abcdef")))
    before = [set(each.backlog) for each in of(state).dispatchers]
    after = of(done(state, ShareKeys(KEY_SUBSCRIPTION, "auto-split")))
    assert [set(each.backlog) for each in after.dispatchers] == before
    assert sum(map(len, before)) == 6
