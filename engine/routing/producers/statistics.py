"""The publishers of a partitioned topic from the producers on it: merged by name, merged by position, and the truth.

An entry of the merged list is a mixture where it adds up different partitioned producers; a producer is torn where it
is spread over several entries. Source: ``TopicStatsImpl``; PIP-79, #12401.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.hashing import utf16_order
from engine.routing.producers.model import PartitionedProducer, PartitionProducer, ProducersState
from engine.routing.producers.rates import sends
from engine.routing.producers.topic import BrokerProducer
from engine.routing.publishers import (
    PublisherGroups,
    PublisherStats,
    aggregate_publishers,
    flag_shown,
    grouped,
    unnamed_entries,
)


@dataclass(frozen=True, slots=True)
class MergedEntry:
    """One entry of the merged list, and the numbers of the partitioned producers that are added up in it, ascending."""

    stats: PublisherStats
    producers: tuple[int, ...]

    @property
    def mixture(self) -> bool:
        """Whether it adds up different producers, so that its numbers are nobody's."""
        return len(self.producers) > 1


@dataclass(frozen=True, slots=True)
class MergedPublishers:
    """The list a broker shows for the partitioned topic. ``torn``: producers that are in several entries."""

    entries: tuple[MergedEntry, ...]
    torn: tuple[int, ...]

    @property
    def mixtures(self) -> tuple[MergedEntry, ...]:
        """The entries that mix different producers."""
        return tuple(entry for entry in self.entries if entry.mixture)


@dataclass(frozen=True, slots=True)
class PublisherTruth:
    """What one producer really does: the sum over its partitions and the mean size over its messages."""

    number: int
    producer_name: str | None
    partitions: int
    msg_rate_in_msgs_per_sec: float
    msg_throughput_in_bytes_per_sec: float
    average_msg_size_bytes: float


@dataclass(frozen=True, slots=True)
class PartitionedPublishers:
    """``by_name`` is shown with ``aggregatePublisherStatsByProducerName`` on, ``by_position`` with it off.

    Also with the setting on, publishers of a client without the feature flag are merged by position.
    ``per_partition`` is what each partition shows under the setting in force.
    """

    in_force: MergedPublishers
    by_name: MergedPublishers
    by_position: MergedPublishers
    per_partition: tuple[tuple[PublisherStats, ...], ...]
    truth: tuple[PublisherTruth, ...]


def partitioned_publishers(
    state: ProducersState,
    settings: BrokerSettings,
    *,
    period_ms: int = 60_000,
    behaviour: ReleaseBehaviour = CURRENT,
) -> PartitionedPublishers | Rejection:
    """Both merged lists, from every message published so far as if within ``period_ms``.

    A producer that lost its connection to a partition is not in that partition's list. Before #18807
    (``behaviour``) unnamed publishers are added too often. Linear in the brokers' producer objects but for sorting.
    """
    if period_ms < 1:
        return Rejection("IllegalArgumentException", f"{period_ms} is below 1", field="periodMs")
    merged: dict[bool, MergedPublishers] = {}
    groups: dict[bool, list[PublisherGroups]] = {}
    in_force = settings.aggregatePublisherStatsByProducerName
    for on in (False, True):
        assumed = replace(settings, aggregatePublisherStatsByProducerName=on)
        groups[on] = _groups(state, assumed, period_ms)
        merged[on] = _merged(state, assumed, groups[on], behaviour)
    listed = tuple(group.listed() for group in groups[in_force])
    return PartitionedPublishers(merged[in_force], merged[True], merged[False], listed, _truth(state, period_ms))


def _merged(
    state: ProducersState, settings: BrokerSettings, groups: Sequence[PublisherGroups], behaviour: ReleaseBehaviour
) -> MergedPublishers:
    total = aggregate_publishers(groups, behaviour)
    unnamed_owners = [
        [producer.owner for producer in there if not _named(state, settings, producer)]
        for there in state.topic.connected
    ]
    entries = [
        MergedEntry(stats, _ascending(unnamed_owners[at][place] for at, place in members))
        for stats, members in zip(total.unnamed, unnamed_entries(groups, behaviour), strict=True)
    ]
    owners: dict[str, set[int]] = {}
    for there in state.topic.connected:
        for producer in there:
            if _named(state, settings, producer):
                owners.setdefault(producer.producer_name, set()).add(producer.owner)
    named = sorted(total.named, key=lambda stats: utf16_order(stats.producer_name or ""))
    entries.extend(MergedEntry(stats, _ascending(owners[stats.producer_name or ""])) for stats in named)
    return MergedPublishers(tuple(entries), _torn(entries))


def _groups(state: ProducersState, settings: BrokerSettings, period_ms: int) -> list[PublisherGroups]:
    return [
        grouped(_publisher(state, settings, at, producer, period_ms) for producer in there)
        for at, there in enumerate(state.topic.connected)
    ]


def _publisher(
    state: ProducersState, settings: BrokerSettings, partition: int, producer: BrokerProducer, period_ms: int
) -> PublisherStats:
    owner = state.producers[producer.owner]
    msgs, size_bytes = _published(owner, owner.started[partition], sends(owner), period_ms)
    return PublisherStats(
        producer.producer_name,
        _named(state, settings, producer),
        msgs * 1000 / period_ms,
        size_bytes * 1000 / period_ms,
        size_bytes / msgs if msgs else 0.0,
    )


def _published(
    producer: PartitionedProducer, mine: PartitionProducer, rates: Mapping[int, float], period_ms: int
) -> tuple[float, float]:
    """Messages and bytes of one partition within the period: single ones, and those of the producer's rate."""
    msgs, size_bytes = float(mine.sent_msgs), float(mine.sent_bytes)
    rated = rates.get(mine.partition, 0.0) * period_ms / 1000
    if producer.rate is not None and rated and mine.connected:
        msgs, size_bytes = msgs + rated, size_bytes + rated * producer.rate.size_bytes
    return msgs, size_bytes


def _named(state: ProducersState, settings: BrokerSettings, producer: BrokerProducer) -> bool:
    client = state.producers[producer.owner].settings.client
    return flag_shown(settings, client_supports_partial_producer=client.supports_partial_producer)


def _truth(state: ProducersState, period_ms: int) -> tuple[PublisherTruth, ...]:
    rows = []
    for producer in state.producers:
        live = [mine for mine in producer.started.values() if mine.connected]
        rates = sends(producer)
        parts = [_published(producer, mine, rates, period_ms) for mine in live]
        msgs, size_bytes = sum(part[0] for part in parts), sum(part[1] for part in parts)
        if live:
            rate, throughput = msgs * 1000 / period_ms, size_bytes * 1000 / period_ms
            mean = size_bytes / msgs if msgs else 0.0
            rows.append(PublisherTruth(producer.number, producer.producer_name, len(live), rate, throughput, mean))
    return tuple(rows)


def _torn(entries: Sequence[MergedEntry]) -> tuple[int, ...]:
    seen: set[int] = set()
    torn: set[int] = set()
    for entry in entries:
        torn.update(seen.intersection(entry.producers))
        seen.update(entry.producers)
    return tuple(sorted(torn))


def _ascending(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(numbers)))
