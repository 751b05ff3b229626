"""The scalable topics of a snapshot as topics of the model."""

from __future__ import annotations

from engine.admin.facts import Snapshot
from engine.admin.scalable import ScalableFacts
from engine.cluster.scalable.evolve import begun_topic
from engine.cluster.scalable.opening import seen_event
from engine.cluster.scalable.state import ScalableTopic
from engine.scalable.model import Layout
from engine.scalable.settings import MAX_BUCKETS, max_buckets
from engine.scalable.statistics import TopicStatistics
from engine.scenarios.subscriptions import SCALABLE_TOPICS
from engine.views.failover.model import Notice


def scalable_topics_of(snapshot: Snapshot, now_ms: int | None) -> tuple[tuple[ScalableTopic, ...], list[Notice]]:
    """The topics with a record or statistics; ``now_ms`` is when they were read, None where that is unknown."""
    topics: list[ScalableTopic] = []
    notes: list[Notice] = []
    most = max_buckets(snapshot.configuration.get(MAX_BUCKETS))
    for name, facts in sorted(snapshot.scalable.items()):
        layout = facts.layout()
        if layout is None:
            notes.append(Notice(SCALABLE_TOPICS, f"{name}: neither its record nor its statistics are there"))
            continue
        time = now_ms if now_ms is not None else _latest_ms(facts, layout)
        statistics = facts.statistics or TopicStatistics()
        begun = begun_topic(seen_event(name, layout, statistics, facts.clocks(), now_ms=max(time, 0), max_buckets=most))
        if isinstance(begun, ScalableTopic):
            topics.append(begun)
        else:
            notes.append(Notice(SCALABLE_TOPICS, begun))
    return tuple(topics), notes


def _latest_ms(facts: ScalableFacts, layout: Layout) -> int:
    """The latest time that the answers name: they were read then or later."""
    clocks = facts.clocks()
    times = [clocks.last_split_ms, clocks.last_merge_ms, clocks.last_rebucket_ms]
    segments = layout.segments.values()
    times += [max(one.created_at_ms, one.sealed_at_ms) for one in segments]
    return max((time for time in times if time is not None), default=0)
