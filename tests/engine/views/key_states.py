"""Small Key_Shared subscriptions for tests of projections, made by commands in the words of the command line."""

from __future__ import annotations

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState, Namespace
from engine.cluster.tables.topics import Topic
from engine.cluster.timeline import Timeline

TOPIC = "persistent://t/n/orders"
KEY = "orders"
CREATED = f"subscribe {KEY} to {TOPIC}"


def empty_state() -> ClusterState:
    return ClusterState(topics={TOPIC: Topic(TOPIC)}, namespaces={"t/n": Namespace("t/n", (0, 0x80000000, 0xFFFFFFFF))})


def after(*lines: str, start: Timeline | None = None) -> Timeline:
    """The timeline after these commands, none of which may be refused; the subscription is created first."""
    timeline = start or Timeline.start(empty_state(), 7, "test")
    for line in lines if start is not None else (CREATED, *lines):
        command = parse_command(line, timeline.state, KEY)
        assert isinstance(command, Command), (line, command)
        timeline, refusal = timeline.submit(command)
        assert refusal is None, (line, refusal)
    return timeline
