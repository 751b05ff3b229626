"""Clusters with producers, made by commands of people."""

from __future__ import annotations

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from tests.engine.cluster.support import ORDERS, cluster


def timeline_after(*lines: str, partitions: int = 6, start: ClusterState | None = None) -> Timeline:
    """The timeline of these lines on a cluster whose topic ``orders`` is partitioned; none may be refused."""
    timeline = Timeline.start(start or cluster(partitions=partitions), 7, "a test")
    for line in lines:
        command = parse_command(line, timeline.state)
        assert isinstance(command, Command), (line, command)
        timeline, refused = timeline.submit(command)
        assert refused is None, (line, refused)
    return timeline


def producers_of(timeline: Timeline) -> ProducerTopic:
    """The producers of ``orders``."""
    return next(topic for topic in timeline.state.producer_topics if topic.topic == ORDERS)
