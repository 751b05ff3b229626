"""The producers of a scenario as the model has them: which partitions each has opened, and under which names.

What a client draws at random (where a router begins) and the names that brokers give are taken as they were recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from engine.errors import Rejection
from engine.routing.producer import create, send
from engine.routing.producer_model import OpenReason, PartitionedProducer, PartitionProducer
from engine.routing.producer_settings import Client, ProducerSettings
from engine.routing.producer_topic import BrokerProducer, PartitionedTopic, connect, disconnect
from engine.routing.publishers import PublisherGroups, PublisherStats, flag_shown, grouped
from engine.routing.routers import Router, SinglePartitionRouter, round_robin
from tests.lab.judge import Judge
from tests.lab.producers.steps import SendTold, StartTold

GIVEN_NAME = re.compile(r"(.+-\d+)-(\d+)")
"""A name that a broker made: cluster and counters."""
Recorded = Mapping[int, Sequence[str]]
"""Partition -> the names listed there."""


class ProducersBook:
    """Owns the modelled topic; ``sent`` counts messages by partition, None once some were sent that nobody tells of."""

    def __init__(self, judge: Judge, client: Client, partitions: int) -> None:
        self._judge = judge
        self._client = client
        self.topic = PartitionedTopic(((),) * partitions)
        self.producers: dict[int, PartitionedProducer] = {}
        self.flags: dict[int, bool] = {}
        self.sent: list[int] | None = [0] * partitions
        self._given: dict[str, str] = {}
        self._uncertain: set[int] = set()
        self._count = 0

    def close_absent(self, recorded: Recorded, replaced: Iterable[str]) -> None:
        """Close who is listed nowhere any more, and who bears a name of ``replaced``: the scenario does not say so.

        Brokers refuse a namesake, so where one starts the earlier one was closed.
        """
        listed = {name for names in recorded.values() for name in names} - set(replaced)
        for owner in tuple(self.flags):
            if listed.isdisjoint(self._names_of(owner)):
                self._close(owner)

    def _names_of(self, owner: int) -> set[str]:
        mine = (each for there in self.topic.connected for each in there if each.owner == owner)
        return {self._given.get(each.producer_name, each.producer_name) for each in mine}

    def _close(self, owner: int) -> None:
        self.producers.pop(owner, None)
        self.topic = disconnect(self.topic, owner, range(self.topic.partitions))
        del self.flags[owner]

    def start(self, told: StartTold, recorded: Recorded) -> tuple[str, Rejection | None]:
        """Start a producer: its name, and why it was refused."""
        self._count += 1
        owner = self._count
        if told.partitions is not None:
            return self._start_raw(owner, told)
        settings = ProducerSettings(
            told.name, self._client, told.access_mode, lazy_start_partitioned_producers=told.lazy
        )
        step = create(settings, self._router(told, recorded), self.topic, 0, number=owner)
        self.topic = step.topic
        if step.error is None:
            self.producers[owner] = step.producer
            self.flags[owner] = self._client.supports_partial_producer
            if not self._foretold(told):
                self._uncertain.add(owner)
        return step.producer.producer_name or told.name or "a producer without a name", step.error

    def _start_raw(self, owner: int, told: StartTold) -> tuple[str, Rejection | None]:
        self.flags[owner] = told.flag
        given: str | Rejection = told.name or ""
        for partition in told.partitions or ():
            if partition >= self.topic.partitions:
                continue
            self.topic, given = connect(self.topic, partition, owner, told.name, "Shared")
            if isinstance(given, Rejection):
                return told.name or "a producer without a name", given
        return str(given), None

    def _foretold(self, told: StartTold) -> bool:
        """Whether the model can say where a message without a key goes: not where the clock or chance decides."""
        batching = self._client.batching if told.batching is None else told.batching
        return told.routing == "SinglePartition" or (told.routing == "RoundRobinPartition" and not batching)

    def _router(self, told: StartTold, recorded: Recorded) -> Router:
        hashing = told.hashing or self._client.hashings[0]
        there = (partition for partition, names in recorded.items() if told.name in names) if told.lazy else iter(())
        first = next(there, 0)
        if told.routing == "SinglePartition":
            return SinglePartitionRouter(first, hashing)
        return round_robin(first, batching=False, hashing=hashing)

    def claim_names(self, recorded: Recorded) -> tuple[tuple[str, ...], ...]:
        """Take the names brokers gave as they were recorded; the new ones, by producer, in the order of partitions."""
        claimed: dict[int, list[str]] = {}
        for partition, names in sorted(recorded.items()):
            there = self.topic.connected[partition]
            unknown = [name for name in names if GIVEN_NAME.fullmatch(name) and name not in self._given.values()]
            for each in there:
                if self._is_given(each) and each.producer_name not in self._given and unknown:
                    self._given[each.producer_name] = unknown.pop(0)
                    claimed.setdefault(each.owner, []).append(self._given[each.producer_name])
        return tuple(tuple(names) for names in claimed.values())

    def _is_given(self, each: BrokerProducer) -> bool:
        mine = self.producers.get(each.owner)
        named = mine.settings.producer_name is not None if mine is not None else False
        return not named and GIVEN_NAME.fullmatch(each.producer_name) is not None

    def name(self, modelled: str | None) -> str | None:
        """The recorded name in place of a modelled one."""
        return None if modelled is None else self._given.get(modelled, modelled)

    def send(self, told: SendTold) -> tuple[int, ...]:
        """Send messages; where each of them went. Nothing is sent where the sender is not known."""
        owner = self._sender(told.by)
        if owner is None:
            self.sent = None
            return ()
        went: list[int] = []
        mine = self.producers[owner]
        for key in told.keys:
            mine, self.topic, result = send(mine, self.topic, key, 0)
            went.append(result.partition)
        self.producers[owner] = mine
        if owner in self._uncertain and None in told.keys:
            self.sent = None
        elif self.sent is not None:
            for partition in went:
                self.sent[partition] += 1
        return tuple(went)

    def _sender(self, name: str | None) -> int | None:
        if name is None:
            return max(self.producers, default=None)
        return next((owner for owner, each in self.producers.items() if each.settings.producer_name == name), None)

    def adopt(self, recorded: Recorded, *, everybody: bool) -> int:
        """Open what lazy producers were seen to have opened by messages that nothing tells of; how many."""
        opened = 0
        for owner, mine in tuple(self.producers.items()):
            name = mine.settings.producer_name
            if name is None or not mine.settings.starts_lazily or not (everybody or owner in self._uncertain):
                continue
            for partition, names in recorded.items():
                if name in names and not self.topic.has(owner, partition):
                    self.topic, _ = connect(self.topic, partition, owner, name, "Shared")
                    one = PartitionProducer(partition, name, OpenReason.ROUTER_CHOICE)
                    self.producers[owner] = self.producers[owner].with_started([one])
                    opened += 1
        return opened

    def listed(self, partition: int) -> tuple[PublisherStats, ...]:
        """The producers of a partition as statistics list them: without flag first, then with it, each by name."""
        settings = self._judge.settings
        there: Iterable[BrokerProducer] = self.topic.connected[partition]
        groups: PublisherGroups = grouped(
            PublisherStats(
                self.name(each.producer_name),
                flag_shown(settings, client_supports_partial_producer=self.flags[each.owner]),
            )
            for each in there
        )
        return groups.listed()

    def access_mode(self, partition: int, name: str | None) -> str:
        """The access mode of a listed producer."""
        there = self.topic.connected[partition]
        return next((each.access_mode for each in there if self.name(each.producer_name) == name), "nobody")

    def renamed(self, producer: PartitionedProducer) -> PartitionedProducer:
        """A producer with the names of the recording, for what is shown to its user."""
        return producer.with_started(
            replace(each, producer_name=self.name(each.producer_name) or "") for each in producer.started.values()
        )
