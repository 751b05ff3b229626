"""A cluster with producers under arbitrary commands: its state, its journal, its screen and its statistics agree.

After every step: nothing is wrong with the state, folding what was written down gives the same state, the matrix is
what producers hold and what brokers have, every message is counted once, undoing and redoing changes nothing, and
commands read back from their own words.
"""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from engine.cluster.commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    PassTime,
    RecoverPartition,
    RemoveTopic,
    RepartitionTopic,
    SendByProducers,
    SetSetting,
)
from engine.cluster.producers.state import ProducerPlan, ProducerTopic
from engine.cluster.state import ClusterState, Namespace
from engine.cluster.tables.topics import Topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.routing.producers.settings import ACCESS_MODES
from engine.views.producers.answers import send_answer, statistics_view
from engine.views.producers.model import FRESH, LOST, REASON
from engine.views.producers.view import producers_view
from tests.properties.timeline_machine import TimelineMachine

TOPIC, OTHER = "persistent://t/n/orders", "persistent://t/n/bills"
KEYS = st.none() | st.sampled_from(["", "k0", "k1", "order 17", "é", "\ud800"])
PLANS = st.builds(
    ProducerPlan,
    count=st.integers(0, 3),
    name=st.none() | st.sampled_from(["a", "b", "all", "#1", " "]),
    lazy=st.booleans(),
    router=st.sampled_from(["round-robin", "single", "partial", "sideways"]),
    limit=st.sampled_from([0, 0, 1, 3, 9]),
    allow_limit_above=st.booleans(),
    client=st.sampled_from(["java", "java", "python", "cpp", "go"]),
    access_mode=st.sampled_from(["Shared", "Shared", "shared", *ACCESS_MODES]),
    hashing=st.none() | st.sampled_from(["Murmur3_32Hash", "boosthash"]),
    batching=st.none() | st.booleans(),
    publish_delay_ms=st.sampled_from([None, None, 25, 0]),
    switch_frequency=st.sampled_from([None, None, 3]),
    max_pending_messages=st.sampled_from([0, 0, 2, -1]),
    max_pending_messages_across_partitions=st.sampled_from([0, 0, 3]),
)


def opening() -> ClusterState:
    return ClusterState(
        topics={TOPIC: Topic(TOPIC, 4), OTHER: Topic(OTHER, 2)},
        namespaces={"t/n": Namespace("t/n", (0, 0x80000000, 0xFFFFFFFF))},
    )


class ProducerCluster(TimelineMachine):
    """Commands of people, refused or not."""

    @initialize(lazy=st.booleans())
    def open(self, lazy: bool) -> None:
        self.timeline = Timeline.start(opening(), 7, "machine")
        assert self.submit(AddProducers(TOPIC, ProducerPlan(count=2, lazy=lazy, batching=False))) is None

    @property
    def topic(self) -> ProducerTopic:
        return next(topic for topic in self.timeline.state.producer_topics if topic.topic == TOPIC)

    @rule(plan=PLANS, topic=st.sampled_from([TOPIC, TOPIC, OTHER]))
    def add(self, plan: ProducerPlan, topic: str) -> None:
        before = len(self.topic.producers.producers)
        refusal = self.submit(AddProducers(topic, plan))
        if topic == TOPIC and refusal is None:
            tally = self.topic.tally
            assert tally.created + tally.refused == plan.count and tally.created > 0
            assert len(self.topic.producers.producers) == before + tally.created

    @rule(who=st.none() | st.integers(0, 6), key=KEYS, times=st.integers(0, 4), size=st.sampled_from([0, 100, 7000]))
    def send(self, who: int | None, key: str | None, times: int, size: int) -> None:
        producers = self.topic.producers.producers
        senders = sum(producer.state != "Closed" for producer in producers) if who is None else 1
        before = self.topic
        result = None
        if who is not None and who < len(producers):
            result = send_answer(self.timeline, TOPIC, who, key)
        refusal = self.submit(SendByProducers(TOPIC, who, key, times, size))
        known = who is None or who < len(producers)
        assert (refusal is None) == (known and times > 0 and senders > 0)
        if refusal is not None:
            return
        tally = self.topic.tally
        assert tally.sent + tally.queued + tally.failed == senders * times
        if key is not None:
            assert self.topic.keys[key] == before.keys.get(key, 0) + senders * times
        if result is not None and times == 1 and not isinstance(result, Rejection) and size == 100:
            last = self.topic.recent[-1]
            assert getattr(last, "result") == result.explanation.result  # noqa: B009 - an event of a send

    @rule(who=st.integers(0, 6))
    def close(self, who: int) -> None:
        refusal = self.submit(CloseProducer(TOPIC, who))
        if refusal is None:
            assert self.topic.producers.producers[who].state == "Closed"

    @rule(partition=st.integers(-1, 12), down=st.booleans())
    def serve(self, partition: int, down: bool) -> None:
        refusal = self.submit(FailPartition(TOPIC, partition) if down else RecoverPartition(TOPIC, partition))
        assert (refusal is None) == (0 <= partition < self.topic.partitions)
        if refusal is None:
            assert (partition in self.topic.producers.topic.failing) == down

    @rule(more=st.integers(-1, 3))
    def grow(self, more: int) -> None:
        before = self.topic.partitions
        refusal = self.submit(RepartitionTopic(TOPIC, before + more))
        assert (refusal is not None) == (more < 0)
        assert self.topic.partitions == max(before, before + more)

    @rule(duration=st.sampled_from([1, 500, 59_000, 60_000]))
    def wait(self, duration: int) -> None:
        before = self.topic.now_ms
        assert self.submit(PassTime(duration)) is None
        assert {topic.now_ms - duration for topic in self.timeline.state.producer_topics} >= {before}

    @rule(on=st.booleans())
    def merge(self, on: bool) -> None:
        self.submit(SetSetting("aggregatePublisherStatsByProducerName", "true" if on else "false"))

    @rule()
    def delete_the_other_topic(self) -> None:
        if OTHER in self.timeline.state.topics:
            self.submit(RemoveTopic(OTHER))
            assert [topic.topic for topic in self.timeline.state.producer_topics] == [TOPIC]

    def same_history(self, written: ClusterState) -> None:
        for mine, read in zip(self.timeline.state.producer_topics, written.producer_topics, strict=True):
            assert (read.producers, read.keys, read.tally) == (mine.producers, mine.keys, mine.tally)

    @invariant()
    def the_matrix_is_what_producers_hold_and_brokers_have(self) -> None:
        view = producers_view(self.timeline, TOPIC)
        producers, brokers = self.topic.producers.producers, self.topic.producers.topic
        assert view.matrix.shape == (len(producers), brokers.partitions)
        for producer in producers:
            # A send through a closed lazy producer opens a partition before it fails.
            closed = producer.state == "Closed"
            held = {at for at, partition in producer.started.items() if partition.connected or not closed}
            assert set(np.flatnonzero(view.matrix[producer.number] & REASON).tolist()) == held
            lost = {at for at in held if not producer.started[at].connected}
            assert set(np.flatnonzero(view.matrix[producer.number] & LOST).tolist()) == lost
        live = (view.matrix & REASON > 0) & (view.matrix & LOST == 0)
        assert (
            live.sum(axis=0).tolist()
            == [len(there) for there in brokers.connected]
            == view.partitions.producers.tolist()
        )
        assert int(live.sum()) == view.foot.broker_producers == sum(row.connected for row in view.producers)
        assert sum(row.gained for row in view.producers) == int((view.matrix & FRESH > 0).sum())

    @invariant()
    def every_message_is_counted_once(self) -> None:
        view = producers_view(self.timeline, TOPIC)
        assert view.foot.sent_msgs == int(view.partitions.messages.sum())
        assert view.foot.pending_msgs == int(view.partitions.pending.sum())
        result = statistics_view(self.timeline, TOPIC)
        for rows in (result.by_name.entries, result.by_position.entries):
            total = sum(row.msgs_per_sec for row in rows)
            assert abs(total - sum(row.msgs_per_sec for row in result.truth)) < 1e-6
            assert {number for row in rows for number in row.producers} == {row.producers[0] for row in result.truth}


ProducerCluster.TestCase.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
TestProducerCluster = ProducerCluster.TestCase
