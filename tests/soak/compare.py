"""A state of the engine beside the oracle's: every part that both know."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from engine.cluster.keys.state import KeySubscription
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState
from engine.keyshared.delivery_state import DeliveryState
from tests.oracles.cluster import Cluster
from tests.oracles.delivery import Dispatcher
from tests.oracles.keys import KeyShared
from tests.oracles.routing import Producers
from tests.soak.tally import Tally

SENT_KEPT = 200


def compare_states(state: ClusterState, cluster: Cluster, tally: Tally) -> None:
    """Everything that commands decide: who is connected where, settings, topics, bundles, messages, producers."""
    tally.agree("release", state.release, cluster.release)
    tally.agree("settings", asdict(state.settings), cluster.settings)
    tally.agree("topics", {topic.name: topic.partitions for topic in state.topics.values()}, cluster.topics)
    tally.agree("statistics", set(state.loads), set(cluster.rates))
    tally.agree("ids", state.next_consumer_id, cluster.next_number)
    boundaries = {name: list(namespace.boundaries) for name, namespace in state.namespaces.items()}
    tally.agree("boundaries", boundaries, cluster.boundaries)
    for mine, theirs in zip(state.subscriptions, cluster.failover, strict=True):
        tally.agree("topics of a subscription", sorted(mine.topics), sorted(theirs.topics), mine.key)
        connected = [(consumer.consumer_id, consumer.name, consumer.priority_level) for consumer in mine.consumers]
        tally.agree("consumers", connected, [tuple(consumer) for consumer in theirs.consumers], mine.key)
    keys = [subscription.key for subscription in state.key_subscriptions]
    tally.agree("Key_Shared subscriptions", keys, [each.key for each in cluster.keyed])
    for mine, theirs in zip(state.key_subscriptions, cluster.keyed, strict=True):
        _compare_keyed(mine, theirs, tally)
    topics = [topic.topic for topic in state.producer_topics]
    tally.agree("topics with producers", topics, [producer.topic for producer in cluster.producers])
    for mine, theirs in zip(state.producer_topics, cluster.producers, strict=True):
        _compare_producers(mine, theirs, tally)


def _compare_keyed(mine: KeySubscription, theirs: KeyShared, tally: Tally) -> None:
    key = mine.key
    members = sorted((consumer.consumer_id, consumer.name, consumer.declared) for consumer in mine.consumers)
    tally.agree(
        "members", members, sorted((member.number, member.name, member.declared) for member in theirs.members), key
    )
    tally.agree("mode", (mine.mode.value, mine.points), (theirs.mode, theirs.points), key)
    tally.agree("clock", mine.now_ms, theirs.now_ms, key)
    tally.agree("known keys", dict(mine.keys), theirs.known, key)
    tally.agree("partitions", mine.partitions, len(theirs.dispatchers) if theirs.partitioned else 0, key)
    for partition, (engine, oracle) in enumerate(zip(mine.dispatchers, theirs.dispatchers, strict=True)):
        about = f"{key} {partition}" if theirs.partitioned else key
        _compare_dispatchers(engine, oracle, about, tally)
        sent = [(one.sent.consumer_id, one.sent.message.position) for one in mine.sent if one.partition == partition]
        tally.agree("sent messages", sent, oracle.sent[len(oracle.sent) - len(sent) :], about)
    tally.agree("number of sent messages", len(mine.sent), min(SENT_KEPT, sum(len(o.sent) for o in theirs.dispatchers)))


def _compare_dispatchers(engine: DeliveryState, oracle: Dispatcher, key: str, tally: Tally) -> None:
    places = (engine.next_position, engine.read_position)
    tally.agree("positions", places, (oracle.next_position, oracle.read_position), key)
    messages = {position: (message.key, message.slot) for position, message in engine.backlog.items()}
    known = {position: (text, oracle.slots[position]) for position, text in oracle.unacked.items()}
    tally.agree("backlog", messages, known, key)
    pending = {number: set(held) for number, held in engine.pending.items()}
    tally.agree("held messages", pending, oracle.pending, key)
    tally.agree("replay queue", set(engine.replay), oracle.replay, key)
    draining = {
        slot: (each.consumer_id, each.unacked, each.blocked_attempts > 0)
        for slot, each in engine.draining.entries.items()
    }
    entries = {slot: (each.holder, each.count, each.blocked) for slot, each in oracle.draining.items()}
    tally.agree("draining hashes", draining, entries, key)
    tally.agree("recently joined", dict(engine.recently_joined.marks), oracle.marks, key)
    tally.agree("next read", (engine.read_due_ms, engine.stopped_at is not None), (oracle.due_ms, oracle.stopped), key)


def _compare_producers(mine: ProducerTopic, theirs: Producers, tally: Tally) -> None:
    topic, state = mine.topic, mine.producers
    tally.agree("producers' clock", mine.now_ms, theirs.now_ms, topic)
    there = [
        [(producer.owner, producer.producer_name, producer.access_mode) for producer in at]
        for at in state.topic.connected
    ]
    tally.agree("producers at brokers", there, theirs.there, topic)
    tally.agree("failing partitions", set(state.topic.failing), theirs.down, topic)
    tally.agree("keys of producers", dict(mine.keys), theirs.keys, topic)
    tally.agree("number of producers", len(state.producers), len(theirs.all), topic)
    for producer, other in zip(state.producers, theirs.all, strict=True):
        about = f"{topic} #{other.number}"
        tally.agree(
            "state of a producer", (producer.state, producer.partitions), (other.state, other.partitions), about
        )
        links: dict[int, tuple[Any, ...]] = {
            at: (
                link.producer_name, link.connected, link.next_sequence_id, link.pending_msgs, link.pending_bytes,
                link.sent_msgs, link.sent_bytes,
            )
            for at, link in producer.started.items()
        }  # fmt: skip
        expected = {
            at: (
                link.name, link.connected, link.taken, link.waiting_msgs, link.waiting_bytes, link.sent_msgs,
                link.sent_bytes,
            )
            for at, link in other.links.items()
        }  # fmt: skip
        tally.agree("partitions of a producer", list(links.items()), list(expected.items()), about)
        tally.agree("queue limit", producer.max_pending_messages, other.queue, about)
