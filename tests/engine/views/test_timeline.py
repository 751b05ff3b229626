"""The events panel: the same lines however a step is reached."""

from __future__ import annotations

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    KillConsumer,
    RenameConsumer,
    SetRelease,
    SetSetting,
    SplitBundle,
)
from engine.cluster.timeline import Timeline
from engine.views.failover.dashboard import dashboard_view
from engine.views.timeline import EVENTS_SHOWN
from tests.engine.views.states import FLAG, NAMESPACE, cluster, submitted, topic_name


def test_event_lines_are_the_same_stepwise_and_after_a_jump() -> None:
    def walk(timeline: Timeline) -> Timeline:
        return submitted(
            timeline,
            AddConsumer("sub", "c"),
            SetSetting(FLAG, "true"),
            KillConsumer("sub", 0),
            RenameConsumer("sub", 1, "bb"),
            AddTopic(topic_name("y"), 3),
            SplitBundle(NAMESPACE, "0x00000000_0x40000000", "range_equally_divide"),
            SetRelease("2.11.0"),
        )

    start = Timeline.start(cluster(["a", "b"], {"x": 9}))
    stepwise = walk(start)
    watched = start
    for step in stepwise.steps:
        watched = submitted(watched, step.command)
        dashboard_view(watched)
    jumped = dashboard_view(stepwise)
    assert dashboard_view(watched).events == jumped.events
    assert [line.kind for line in jumped.events] == [
        "open",
        "add",
        "setting",
        "kill",
        "add",
        "topic",
        "split",
        "release",
    ]
    assert jumped.timeline.kinds == tuple(line.kind for line in jumped.events[1:])
    assert [line.text for line in jumped.events[1:]] == [step.text for step in stepwise.steps]
    assert dashboard_view(stepwise.go_to(2)).events == jumped.events[:3]


def test_only_the_latest_events_are_listed() -> None:
    timeline = Timeline.start(cluster(["a"], {"x": 1}))
    for at in range(EVENTS_SHOWN + 5):
        timeline = submitted(timeline, SetSetting("maxConsumersPerTopic", str(at + 1)))
    events = dashboard_view(timeline).events
    assert [line.step for line in events] == list(range(6, EVENTS_SHOWN + 6))


def test_F05_messages_at_risk_are_the_unacknowledged_ones_of_moved_partitions() -> None:
    timeline = Timeline.start(cluster(["a", "b"], {"x": 4}))
    timeline = submitted(timeline, KillConsumer("sub", 0))
    last = dashboard_view(timeline).events[-1]
    # Partitions 0 and 2 were a's; the statistics give them 1 and 3 unacknowledged messages.
    assert (last.moved, last.least, last.unacked_at_risk) == (2, 2, 4)


def test_event_lines_that_are_half_known_are_completed_from_where_they_end() -> None:
    def walked() -> Timeline:
        start = Timeline.start(cluster(["a", "b"], {"x": 9}))
        return submitted(start, *(AddConsumer("sub", name) for name in "cdefg"), SetSetting(FLAG, "true"))

    timeline = walked()
    dashboard_view(timeline.go_to(2))
    assert dashboard_view(timeline).events == dashboard_view(walked()).events
