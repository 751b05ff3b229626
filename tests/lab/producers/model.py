"""The producers of a scenario in the model: which partitions each has opened, and under which names.

What a client draws at random (where a router begins) and the names that brokers give are taken from the recording.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from engine.errors import Rejection
from engine.hashing import sign_safe_mod
from engine.routing.clients import KeyRouting
from engine.routing.producers.model import OpenReason, PartitionedProducer, PartitionProducer
from engine.routing.producers.producer import create, send
from engine.routing.producers.settings import Client, ProducerSettings
from engine.routing.producers.topic import BrokerProducer, PartitionedTopic, connect, disconnect
from engine.routing.publishers import PublisherGroups, PublisherStats, flag_shown, grouped
from engine.routing.routers import PartialRoundRobinRouter, Router, SinglePartitionRouter, round_robin
from engine.verify.report import Rules
from tests.lab.producers.steps import ProducerStart, Sending

GIVEN_NAME: Final = re.compile(r"(.+-\d+)-(\d+)")
"""A name that a broker gave: cluster and counters."""
UNNAMED: Final = "a producer without a name"
Listed = Mapping[int, Sequence[str]]
"""Partition -> the names of the producers listed there."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a recording shows of a producer that starts, to infer what its client drew at random.

    ``listed`` are the producers at the end of the step, ``name`` is what the client gave its user. ``keyless`` are the
    partitions of its messages without key in later steps, ``messages`` those of all its messages.
    """

    listed: Listed
    name: str | None = None
    keyless: tuple[int, ...] = ()
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """Where the model sent messages; the router was inferred from the first ``inferred_from``, which are not compared.

    ``certain``: neither the clock nor an unknown start decided; ``by_keys``: keys are not ignored.
    """

    partitions: tuple[int, ...]
    certain: bool
    by_keys: bool
    inferred_from: int


@dataclass(slots=True)
class _Producer:
    """``certain``: where messages without key go can be predicted. ``left`` counts messages the router came from."""

    producer: PartitionedProducer
    start: ProducerStart
    certain: bool
    left: int


class ModelledProducers:
    """The modelled topic; ``sent`` counts messages by partition, None once some were sent that nothing describes."""

    def __init__(self, rules: Rules, client: Client, partitions: int) -> None:
        self._rules = rules
        self._client = client
        self.topic = PartitionedTopic(((),) * partitions)
        self._producers: dict[int, _Producer] = {}
        self._flags: dict[int, bool] = {}
        self.sent: list[int] | None = [0] * partitions
        self._given: dict[str, str] = {}
        self._count = 0

    def close_absent(self, listed: Listed, replaced: Iterable[str]) -> None:
        """Close those that are listed nowhere any more, and those with a name in ``replaced``: scenarios do not say so.

        Brokers refuse namesakes, so where one starts the earlier one was closed.
        """
        names = {name for there in listed.values() for name in there} - set(replaced)
        for owner in tuple(self._flags):
            if names.isdisjoint(self._names_of(owner)):
                self._close(owner)

    def close_eager(self) -> None:
        """Close all producers that did not start lazily."""
        for owner in tuple(self._flags):
            if not self._producers[owner].producer.settings.starts_lazily:
                self._close(owner)

    def _close(self, owner: int) -> None:
        self._producers.pop(owner, None)
        self.topic = disconnect(self.topic, owner, range(self.topic.partitions))
        del self._flags[owner]

    def _names_of(self, owner: int) -> set[str]:
        mine = (one for there in self.topic.connected for one in there if one.owner == owner)
        return {self._given.get(one.producer_name, one.producer_name) for one in mine}

    def start(self, start: ProducerStart, evidence: Evidence) -> tuple[str, Rejection | None]:
        """Start a producer: its name, and why it was refused."""
        self._count += 1
        owner = self._count
        if start.partitions is not None:
            return self._start_raw(owner, start)
        settings = ProducerSettings(
            start.name, self._client, start.access_mode, lazy_start_partitioned_producers=start.lazy
        )
        router, certain, used = self._router(start, settings, evidence)
        step = create(settings, router, self.topic, 0, number=owner)
        self.topic = step.topic
        if step.error is None:
            self._producers[owner] = _Producer(step.producer, start, certain, used)
            self._flags[owner] = self._client.supports_partial_producer
        return step.producer.producer_name or start.name or UNNAMED, step.error

    def _start_raw(self, owner: int, start: ProducerStart) -> tuple[str, Rejection | None]:
        self._flags[owner] = start.flag
        given: str | Rejection = start.name or ""
        for partition in start.partitions or ():
            if partition < self.topic.partitions:
                self.topic, given = connect(self.topic, partition, owner, start.name, "Shared")
            if isinstance(given, Rejection):
                return start.name or UNNAMED, given
        return str(given), None

    def _router(self, start: ProducerStart, settings: ProducerSettings, evidence: Evidence) -> tuple[Router, bool, int]:
        """The router, whether it can be predicted, and how many messages it was inferred from."""
        keys = KeyRouting(self._client.word, start.hashing or self._client.family.default.scheme)
        opened = self._opened(start, evidence) if settings.starts_lazily else None
        if start.routing == "PartialRoundRobin":
            return self._partial_router(start, opened, evidence.messages, lazy=settings.starts_lazily)
        certain = start.routing == "SinglePartition" or self._is_by_turns(start)
        first, used = opened, 0
        if first is None and certain and evidence.keyless:
            # A lazy round robin has used one turn before its first message.
            turned = settings.starts_lazily and start.routing == "RoundRobinPartition"
            first, used = sign_safe_mod(evidence.keyless[0] - turned, self.topic.partitions), 1
        certain = certain and first is not None
        if start.routing == "RoundRobinPartition":
            return round_robin(first or 0, batching=False, keys=keys), certain, used
        return SinglePartitionRouter(first or 0, keys), certain, used

    def _opened(self, start: ProducerStart, evidence: Evidence) -> int | None:
        """The partition that a lazy producer opened: where its name is listed, or a name that nobody else explains."""
        name = start.name or evidence.name
        if name is not None:
            return next((at for at, names in evidence.listed.items() if name in names), None)
        known = set(self._given.values())
        return next(
            (
                at
                for at, names in evidence.listed.items()
                if any(GIVEN_NAME.fullmatch(name) and name not in known for name in names)
            ),
            None,
        )

    def _partial_router(
        self, start: ProducerStart, opened: int | None, messages: Sequence[int], *, lazy: bool
    ) -> tuple[Router, bool, int]:
        """A partial round robin; its list is drawn at random, so the first messages show it."""
        length = min(start.limit, self.topic.partitions)
        sent_to = ([opened] if opened is not None else []) + list(messages)
        chosen = tuple(dict.fromkeys(sent_to))[:length]
        if lazy and opened is None and len(chosen) == length:
            # The first turn was used at the start, so the list begins with the partition that came last.
            chosen = (chosen[-1], *chosen[:-1])
        used = next((at for at in range(len(messages) + 1) if set(chosen) <= {opened, *messages[:at]}), 0)
        known = len(chosen) == length
        return PartialRoundRobinRouter(start.limit, chosen=chosen), known, used

    def claim_names(self, listed: Listed) -> tuple[tuple[str, ...], ...]:
        """Take the names brokers gave from the recording; the new ones, by producer, in the order of partitions."""
        claimed: dict[int, list[str]] = {}
        for partition, names in sorted(listed.items()):
            unknown = [name for name in names if GIVEN_NAME.fullmatch(name) and name not in self._given.values()]
            for one in self.topic.connected[partition]:
                if self._is_given(one) and one.producer_name not in self._given and unknown:
                    self._given[one.producer_name] = unknown.pop(0)
                    claimed.setdefault(one.owner, []).append(self._given[one.producer_name])
        return tuple(tuple(names) for names in claimed.values())

    def _is_given(self, one: BrokerProducer) -> bool:
        mine = self._producers.get(one.owner)
        named = mine is not None and mine.producer.settings.producer_name is not None
        return not named and GIVEN_NAME.fullmatch(one.producer_name) is not None

    def name(self, modelled: str | None) -> str | None:
        """The recorded name in place of a modelled one."""
        return None if modelled is None else self._given.get(modelled, modelled)

    def shown_name(self) -> str | None:
        """The name that the producer started last shows its user; None without producers."""
        if not self._producers:
            return None
        last = self._producers[max(self._producers)].producer
        renamed = (replace(one, producer_name=self.name(one.producer_name) or "") for one in last.started.values())
        return last.with_started(renamed).producer_name

    def send(self, sending: Sending) -> Sent | None:
        """Send messages; None where the sender is not known."""
        owner = self._sender(sending.by)
        if owner is None:
            self.sent = None
            return None
        went: list[int] = []
        sender = self._producers[owner]
        for key in sending.keys:
            sender.producer, self.topic, result = send(sender.producer, self.topic, key, 0)
            went.append(result.partition)
        by_keys = sender.start.routing in ("SinglePartition", "RoundRobinPartition")
        keyless = sending.keys.count(None)
        predictable = sender.certain or (by_keys and not keyless)
        # Round robin begins anywhere, but whole rounds give every partition the same.
        whole_rounds = by_keys and self._is_by_turns(sender.start) and keyless % self.topic.partitions == 0
        if not predictable and not whole_rounds:
            self.sent = None
        elif self.sent is not None:
            for partition in went:
                self.sent[partition] += 1
        inferred_from = 0 if by_keys and not keyless else min(sender.left, len(went))
        sender.left -= inferred_from
        return Sent(tuple(went), predictable, by_keys, inferred_from)

    def _is_by_turns(self, start: ProducerStart) -> bool:
        """Whether a producer goes round by its messages, not by the clock."""
        batching = self._client.batching if start.batching is None else start.batching
        return start.routing == "RoundRobinPartition" and not batching

    def _sender(self, name: str | None) -> int | None:
        if name is None:
            return max(self._producers, default=None)
        return next(
            (owner for owner, one in self._producers.items() if one.producer.settings.producer_name == name), None
        )

    def adopt(self, listed: Listed, *, everybody: bool) -> int:
        """Open what lazy producers were seen to have opened by messages that nothing describes; how many."""
        opened = 0
        for owner, one in self._producers.items():
            name = one.producer.producer_name
            if name is None or not one.producer.settings.starts_lazily or not (everybody or not one.certain):
                continue
            for partition, names in listed.items():
                if self.name(name) in names and not self.topic.has(owner, partition):
                    self.topic, _ = connect(self.topic, partition, owner, name, "Shared")
                    added = PartitionProducer(partition, name, OpenReason.ROUTER_CHOICE)
                    one.producer = one.producer.with_started([added])
                    opened += 1
        return opened

    def publishers(self, partition: int) -> tuple[PublisherStats, ...]:
        """The producers of a partition as statistics list them: without flag first, then with it, each by name."""
        settings = self._rules.settings
        groups: PublisherGroups = grouped(
            PublisherStats(
                self.name(one.producer_name),
                flag_shown(settings, client_supports_partial_producer=self._flags[one.owner]),
            )
            for one in self.topic.connected[partition]
        )
        return groups.listed()

    def access_mode(self, partition: int, name: str | None) -> str:
        """The access mode of a listed producer."""
        there = self.topic.connected[partition]
        return next((one.access_mode for one in there if self.name(one.producer_name) == name), "nobody")
