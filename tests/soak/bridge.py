"""From a state of the engine to an oracle: the oracle gets what happened, never what the engine made of it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from engine.cluster.keys.state import KeySubscription
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState
from tests.oracles.cluster import Cluster, Failover, key_bytes
from tests.oracles.failover import Connected
from tests.oracles.hashes import Hashes
from tests.oracles.keys import KeyShared, Member
from tests.oracles.routing import Producers


def oracle_of(state: ClusterState, hashes: Hashes) -> Cluster:
    """The oracle of a state, for the beginning of a timeline."""
    settings = asdict(state.settings)
    return Cluster(
        hashes,
        state.release,
        settings,
        [
            Failover(
                subscription.key,
                subscription.name,
                subscription.namespace,
                list(subscription.topics),
                [
                    Connected(consumer.consumer_id, consumer.name, consumer.priority_level)
                    for consumer in subscription.consumers
                ],
            )
            for subscription in state.subscriptions
        ],
        {name: list(namespace.boundaries) for name, namespace in state.namespaces.items()},
        {name: topic.partitions for name, topic in state.topics.items()},
        {
            name: (
                load.msg_rate_in,
                load.msg_rate_out,
                load.throughput_in_bytes_per_sec,
                load.throughput_out_bytes_per_sec,
            )
            for name, load in state.loads.items()
        },
        [_keyed(subscription, hashes, settings, state.release) for subscription in state.key_subscriptions],
        [_producers(topic, hashes) for topic in state.producer_topics],
        state.next_consumer_id,
    )


def _keyed(subscription: KeySubscription, hashes: Hashes, settings: dict[str, Any], release: str) -> KeyShared:
    keyed = KeyShared.new(
        subscription.key, subscription.name, subscription.topics[0], strict=True, hashes=hashes,
        settings=settings, release=release, now_ms=0,
    )  # fmt: skip
    for event in subscription.happened:
        match type(event).__name__:
            case "KeyDispatcherStarted":
                values = dict(keyed_settings(event.settings, settings))
                keyed.declares, keyed.points = event.declares, event.points
                keyed.strict = not event.allow_out_of_order_delivery
                keyed.restart(values, event.release, [])
            case "KeyConsumerJoined":
                keyed._join(Member(event.consumer_id, event.name, event.declared))
            case "KeyConsumerLeft":
                keyed._leave(event.consumer_id)
            case "KeysPublished":
                keyed.send([key_bytes(text) for text in event.keys])
            case "KeysAcknowledged":
                held = keyed.dispatchers[event.partition]
                held.acknowledge(event.consumer_id, list(event.positions), keyed.now_ms)
            case "KeysRouted":
                assert event.hashing == "JavaStringHash"
                keyed.partitioned = True
                keyed.grow(event.partitions)
            case "KeyTimePassed":
                keyed.wait(event.now_ms - keyed.now_ms)
            case "KeySubscriptionCreated":
                pass
            case other:
                raise AssertionError(f"no oracle begins with {other}")
    return keyed


def keyed_settings(texts: tuple[tuple[str, str], ...], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with those that an event has as text."""
    read = {"true": True, "false": False}
    return {**settings, **{name: read.get(text, text) if text in read else int(text) for name, text in texts}}


def _producers(topic: ProducerTopic, hashes: Hashes) -> Producers:
    first, *events = topic.happened
    producers = Producers(topic.topic, first.seed, hashes, [[] for _ in range(first.partitions)])
    for event in events:
        match type(event).__name__:
            case "ProducersAdded":
                producers.add(event.plan)
            case "ProducersSent":
                producers.send(event.producer, event.key, event.times, event.size_bytes)
            case "ProducerClosed":
                producers.close(event.producer)
            case "PartitionFailed":
                producers.fail(event.partition)
            case "PartitionRecovered":
                producers.recover(event.partition)
            case "ProducerPartitionsGrown":
                producers.grow(event.partitions)
            case "ProducerLimitChanged":
                producers.limit = event.max_producers
            case "ProducerTimePassed":
                producers.wait(event.now_ms - producers.now_ms)
            case other:
                raise AssertionError(f"no oracle begins with {other}")
    return producers
