"""The questions of the screen "producers" that are answered on demand: a send explained, and merged statistics."""

from __future__ import annotations

from typing import Final

from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import behaviour_in, find_producer_topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.memo import Remembered
from engine.routing.explain import explain_send
from engine.routing.producers.statistics import MergedPublishers, PartitionedPublishers, partitioned_publishers
from engine.text import counted
from engine.views.history import state_before
from engine.views.producers.growth import GrowthView, growth_view
from engine.views.producers.model import SendAnswer, StatisticsRow, StatisticsView
from engine.views.producers.routes import elsewhere
from engine.views.producers.words import name_of

KEYS_LISTED: Final = 20

_statistics: Remembered[StatisticsView] = Remembered()


def send_answer(timeline: Timeline, topic: str, number: int, key: str | None) -> SendAnswer | Rejection:
    """What the next message of a producer with this key, or without one, would do. Refused: no such producer."""
    now = find_producer_topic(timeline.state, topic)
    if now is None:
        return Rejection("ProducersNotFound", f"there are no producers of {topic!r}", "topic")
    told = explain_send(now.producers, number, key)
    if isinstance(told, Rejection):
        return told
    producer = now.producers.producers[number]
    others = elsewhere(told.route, producer.partitions)
    return SendAnswer(number, name_of(producer), producer.settings.client.name, key, told, others)


def statistics_view(timeline: Timeline, topic: str) -> StatisticsView:
    """The merged statistics both ways; the messages of the whole history count as of one minute.

    Remembered until something changes. O(producer objects), but for sorting.
    """
    now = find_producer_topic(timeline.state, topic)
    assert now is not None, f"there are no producers of {topic!r}"
    settings, behaviour = timeline.state.settings, behaviour_in(timeline.state)

    def computed() -> StatisticsView:
        found = partitioned_publishers(now.producers, settings, behaviour=behaviour)
        assert not isinstance(found, Rejection), found
        return _view(now, found, by_name=settings.aggregatePublisherStatsByProducerName)

    return _statistics.get(
        (now.producers,), (settings.aggregatePublisherStatsByProducerName, behaviour.label), computed
    )


def known_keys_view(timeline: Timeline, topic: str) -> GrowthView | None:
    """The busiest known keys under each hash: where they were before the last step and where they are. None: no key."""
    now = find_producer_topic(timeline.state, topic)
    if now is None or not now.keys:
        return None
    earlier = state_before(timeline)
    before = find_producer_topic(earlier, topic) if earlier is not None else None
    busiest = sorted(now.keys, key=lambda key: (-now.keys[key], key))[:KEYS_LISTED]
    found = growth_view(busiest, before.partitions if before is not None else now.partitions, now.partitions)
    assert not isinstance(found, Rejection), found
    return found


def _view(topic: ProducerTopic, found: PartitionedPublishers, *, by_name: bool) -> StatisticsView:
    truth = tuple(
        StatisticsRow(
            each.producer_name or "",
            (each.number,),
            each.msg_rate_in_msgs_per_sec,
            each.msg_throughput_in_bytes_per_sec,
            each.average_msg_size_bytes,
        )
        for each in found.truth
    )
    return StatisticsView(
        in_force="by name" if by_name else "by position",
        by_name=_rows(found.by_name),
        by_position=_rows(found.by_position),
        truth=truth,
        torn_by_name=len(found.by_name.torn),
        torn_by_position=len(found.by_position.torn),
        sentence=_sentence(found, by_name=by_name),
    )


def _rows(merged: MergedPublishers) -> tuple[StatisticsRow, ...]:
    return tuple(
        StatisticsRow(
            each.stats.producer_name or "",
            each.producers,
            each.stats.msg_rate_in_msgs_per_sec,
            each.stats.msg_throughput_in_bytes_per_sec,
            each.stats.average_msg_size_bytes,
        )
        for each in merged.entries
    )


def _sentence(found: PartitionedPublishers, *, by_name: bool) -> str:
    if not found.truth:
        return "nobody is connected"
    merged = found.in_force
    what = "by producer name" if by_name else "by position in each partition's list"
    entries = len(merged.entries)
    told = f"merged {what}: {counted(entries, 'entry')} for {counted(len(found.truth), 'producer')}"
    mixtures, torn = len(merged.mixtures), len(merged.torn)
    if not mixtures and not torn:
        return f"{told}, each its own"
    torn_apart = f"{counted(torn, 'producer')} torn over several entries"
    return f"{told}, {mixtures:,} of them mixtures of several producers, {torn_apart}"
