"""The state machine of producers under failures and growth, against a naive model: dicts, lists, and no sharing.

After every step the engine's state is the model's: who is connected where and in which order, what each producer has
started, sent and waiting, which count of partitions it knows. And what must hold by itself: a common name in Java, no
namesakes, no queue above its limit, statistics that add up to what was sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.hashing import boost_hash, java_string_hash
from engine.routing.producers.model import Created, OpenReason, ProducerEvent, ProducersState, ProducersStep, Sent
from engine.routing.producers.settings import CLIENTS, AccessMode, ProducerSettings, RouterKind, Routing
from engine.routing.producers.statistics import PartitionedPublishers, partitioned_publishers
from engine.routing.producers.steps import (
    add_producers,
    advance,
    close_producer,
    counts_of,
    fail_partition,
    grow_partitions,
    producers_state,
    recover_partition,
    send_by_all,
    send_by_one,
)
from engine.routing.routers import PartialRoundRobinRouter, RoundRobinRouter, SinglePartitionRouter

MINUTE_MS = 60_000
LIMIT = 2
QUEUE = 3
KEYS = st.none() | st.sampled_from(["", "a", "b", "k0", "k1", "\u00e9", "order-17"])
KINDS: tuple[RouterKind, ...] = ("SinglePartition", "RoundRobinPartition", "PartialRoundRobin")


@dataclass
class NaiveProducer:
    """``started`` maps a partition to [sent, waiting, connected]; ``turns`` counts messages without a deciding key."""

    java: bool
    lazy: bool
    exclusive: bool
    kind: RouterKind
    start: int
    known: int
    due_ms: int
    turns: int = 0
    closed: bool = False
    chosen: tuple[int, ...] = ()
    started: dict[int, list[Any]] = field(default_factory=dict)

    def place(self, key: str | None) -> int:
        """The partition of the next message."""
        if self.kind != "PartialRoundRobin" and key is not None and (self.java or key):
            return (java_string_hash(key) if self.java else boost_hash(key.encode())) % self.known
        if self.kind == "RoundRobinPartition" and not self.java and self.known == 1:
            return 0  # the C++ client, which Python's is made of, counts nothing where there is one partition
        self.turns += 1
        if self.kind == "SinglePartition":
            return self.start
        if self.kind == "RoundRobinPartition":
            return (self.start + self.turns - 1) % self.known
        return self.chosen[(self.turns - 1) % len(self.chosen)]


class ProducersMachine(RuleBasedStateMachine):
    """``topic`` is the naive list of owners per partition; ``down`` the partitions that refuse everybody."""

    state: ProducersState

    @initialize(partitions=st.integers(1, 4), brokers=st.integers(1, 3), seed=st.integers(0, 99))
    def open(self, partitions: int, brokers: int, seed: int) -> None:
        state = producers_state(partitions, brokers=brokers, seed=seed)
        assert isinstance(state, ProducersState)
        self.state = state
        self.topic: list[list[int]] = [[] for _ in range(partitions)]
        self.down: set[int] = set()
        self.producers: list[NaiveProducer] = []
        self.now_ms = 0

    def step(self, made: ProducersStep | Rejection) -> tuple[ProducerEvent, ...]:
        assert isinstance(made, ProducersStep), made
        self.state = made.state
        return made.events

    def connect(self, number: int, partition: int) -> bool:
        there = self.topic[partition]
        exclusive = self.producers[number].exclusive
        if partition in self.down or any(self.producers[other].exclusive or exclusive for other in there):
            return False
        there.append(number)
        return True

    def learn_list(self, number: int, partitions: int) -> None:
        """A partial router's random list is the engine's own; it may only grow at its end, up to what it may have."""
        producer = self.producers[number]
        if producer.kind == "PartialRoundRobin":
            router = self.state.producers[number].router
            assert isinstance(router, PartialRoundRobinRouter)
            assert router.chosen[: len(producer.chosen)] == producer.chosen
            assert len(set(router.chosen)) == max(len(producer.chosen), min(LIMIT, partitions))
            producer.chosen = router.chosen

    @rule(
        kind=st.sampled_from(KINDS),
        lazy=st.booleans(),
        java=st.booleans(),
        mode=st.sampled_from(["Shared", "Shared", "Shared", "Exclusive"]),
    )
    def add(self, kind: RouterKind, lazy: bool, java: bool, mode: AccessMode) -> None:
        java = java or kind == "PartialRoundRobin"
        client = CLIENTS["java" if java else "python"]
        settings_of = ProducerSettings(None, client, mode, lazy, max_pending_messages=QUEUE)
        number, partitions = len(self.producers), len(self.topic)
        routing = Routing(kind, LIMIT if kind == "PartialRoundRobin" else 0, batching=False)
        producers = add_producers(self.state, 1, settings_of, routing, allow_limit_above=True)
        [event] = self.step(producers)
        assert isinstance(event, Created)
        lazily = lazy and mode == "Shared"
        naive = NaiveProducer(java, lazily, mode == "Exclusive", kind, 0, partitions, self.now_ms + MINUTE_MS)
        self.producers.append(naive)
        if event.error is None:
            naive.start = self.drawn(number)
            self.learn_list(number, partitions if lazily else 0)
            expected = [naive.place(None)] if lazily else list(range(partitions))
            naive.started = {at: [0, 0, True] for at in expected if self.connect(number, at)}
            assert list(naive.started) == list(event.opened) == expected
            return
        assert lazily or any(
            at in self.down or any(self.producers[other].exclusive or naive.exclusive for other in self.topic[at])
            for at in range(partitions)
        )
        self.producers.pop()

    def drawn(self, number: int) -> int:
        router = self.state.producers[number].router
        if isinstance(router, SinglePartitionRouter):
            return router.index
        return router.start if isinstance(router, RoundRobinRouter) else 0

    def expect_sent(self, event: ProducerEvent, key: str | None) -> None:
        assert isinstance(event, Sent)
        producer, result = self.producers[event.number], event.result
        self.learn_list(event.number, producer.known)
        partition = producer.place(key)
        assert result.partition == partition
        opened = producer.lazy and partition not in producer.started
        if opened and not self.connect(event.number, partition):
            assert (result.outcome, result.opened) == ("failed", None) and result.cause is not None
            return
        if opened:
            producer.started[partition] = [0, 0, True]
        assert (result.opened is not None) == opened
        assert result.opened in (None, OpenReason.KEY, OpenReason.ROUTER_CHOICE)
        sent, waiting, connected = producer.started.get(partition, [0, 0, False])
        if producer.closed or (not connected and waiting == QUEUE):
            assert result.outcome == "failed" and result.error is not None
            return
        assert (result.outcome, result.sequence_id) == ("sent" if connected else "queued", sent + waiting)
        producer.started[partition] = [sent + connected, waiting + (not connected), connected]

    @precondition(lambda self: self.producers)
    @rule(data=st.data(), key=KEYS, messages=st.integers(0, 5))
    def send(self, data: st.DataObject, key: str | None, messages: int) -> None:
        number = data.draw(st.integers(0, len(self.producers) - 1))
        happened = self.step(send_by_one(self.state, number, key, messages=messages, size_bytes=7))
        assert len(happened) == messages
        # Why: a partial router's list is read from the state after all messages; between them no count changes.
        for event in happened:
            self.expect_sent(event, key)

    @rule(key=KEYS)
    def send_all(self, key: str | None) -> None:
        happened = self.step(send_by_all(self.state, key, size_bytes=7))
        assert len(happened) == sum(1 for producer in self.producers if not producer.closed)
        for event in happened:
            self.expect_sent(event, key)

    @rule(more=st.integers(0, 2), served=st.booleans())
    def grow(self, more: int, served: bool) -> None:
        before = len(self.topic)
        assert isinstance(grow_partitions(self.state, before - 1), Rejection)
        assert self.step(grow_partitions(self.state, before + more, error=None if served else "later")) == ()
        self.topic.extend([] for _ in range(more))
        self.down |= set() if served else set(range(before, before + more))

    @rule(pause_ms=st.sampled_from([1, MINUTE_MS // 2, MINUTE_MS, 5 * MINUTE_MS]))
    def wait(self, pause_ms: int) -> None:
        self.now_ms += pause_ms
        self.step(advance(self.state, self.now_ms))
        for number, producer in enumerate(self.producers):
            if producer.closed or self.now_ms < producer.due_ms:
                continue
            producer.due_ms = self.now_ms + MINUTE_MS
            added = range(producer.known, len(self.topic))
            if not producer.lazy:
                got = [at for at in added if self.connect(number, at)]
                if len(got) < len(added):
                    for at in got:
                        self.topic[at].remove(number)
                    continue
                producer.started |= {at: [0, 0, True] for at in got}
            producer.known = len(self.topic)

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        partition = data.draw(st.integers(0, len(self.topic) - 1))
        self.step(fail_partition(self.state, partition))
        self.down.add(partition)
        for number in self.topic[partition]:
            self.producers[number].started[partition][2] = False
        self.topic[partition] = []

    @rule(data=st.data())
    def recover(self, data: st.DataObject) -> None:
        partition = data.draw(st.integers(0, len(self.topic) - 1))
        self.step(recover_partition(self.state, partition))
        self.down.discard(partition)
        for number, producer in enumerate(self.producers):
            mine = producer.started.get(partition, [0, 0, True])
            if not producer.closed and not mine[2] and self.connect(number, partition):
                producer.started[partition] = [mine[0] + mine[1], 0, True]

    @precondition(lambda self: self.producers)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.producers) - 1))
        producer = self.producers[number]
        self.step(close_producer(self.state, number))
        if producer.closed:
            return
        producer.closed = True
        for partition, mine in producer.started.items():
            producer.started[partition] = [mine[0], 0, False]
            if number in self.topic[partition]:
                self.topic[partition].remove(number)

    @invariant()
    def the_state_is_the_model_s(self) -> None:
        assert [[each.owner for each in there] for there in self.state.topic.connected] == self.topic
        assert set(self.state.topic.failing) == self.down
        for mine, each in zip(self.producers, self.state.producers, strict=True):
            assert (each.partitions, each.state == "Closed") == (mine.known, mine.closed)
            reported = {at: [at_.sent_msgs, at_.pending_msgs, at_.connected] for at, at_ in each.started.items()}
            assert reported == mine.started and list(reported) == list(mine.started)

    @invariant()
    def objects_connections_and_partitions_are_counted(self) -> None:
        counts = counts_of(self.state)
        assert counts.broker_producers == sum(map(len, self.topic))
        assert counts.partitions_used == sum(map(bool, self.topic))
        pairs = {(owner, at % self.state.brokers) for at, there in enumerate(self.topic) for owner in there}
        assert counts.connections == len(pairs)

    @invariant()
    def what_pulsar_promises_about_names_and_queues_holds(self) -> None:
        for there in self.state.topic.connected:
            assert len({producer.producer_name for producer in there}) == len(there)
        for producer in self.state.producers:
            names = {mine.producer_name for mine in producer.started.values()}
            assert len(names) == (1 if producer.settings.client.name == "Java" else len(producer.started))
            assert all(mine.pending_msgs <= QUEUE for mine in producer.started.values())
            assert set(producer.started) <= set(range(self.state.topic.partitions))

    @invariant()
    def statistics_add_up_to_what_was_sent_through_connected_partitions(self) -> None:
        sent = sum(mine[0] for producer in self.producers for mine in producer.started.values() if mine[2])
        for on in (False, True):
            settings_of = BrokerSettings(aggregatePublisherStatsByProducerName=on)
            view = partitioned_publishers(self.state, settings_of, period_ms=1000)
            assert isinstance(view, PartitionedPublishers)
            for merged in (view.by_name, view.by_position):
                assert sum(entry.stats.msg_rate_in_msgs_per_sec for entry in merged.entries) == sent
                assert sum(entry.stats.count for entry in merged.entries) == sum(map(len, self.topic))
                assert {number for entry in merged.entries for number in entry.producers} == {
                    number for there in self.topic for number in there
                }
            java = {number for number, each in enumerate(self.producers) if each.java}
            mixed = {number for entry in view.by_name.mixtures for number in entry.producers}
            assert not mixed & java


ProducersMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestProducersMachine = ProducersMachine.TestCase
