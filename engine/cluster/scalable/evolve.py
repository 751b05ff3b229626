"""The fold of a scalable topic, alone and within a state; ``decide`` carries out the same steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from msgspec import structs

from engine.cluster.events import fold
from engine.cluster.scalable.events import (
    LONGEST_MS,
    TIME_REFUSED,
    ScalableCreated,
    ScalableRemoved,
    ScalableSeen,
    ScalableTimePassed,
    ScalableTopicEvent,
    SegmentConsumerJoined,
    SegmentConsumerLeft,
    SegmentMessagesAcknowledged,
    SegmentMessagesSent,
    SegmentRateSet,
    SegmentRebucketed,
    SegmentsMerged,
    SegmentSplit,
)
from engine.cluster.scalable.opening import running_of
from engine.cluster.scalable.running import (
    Running,
    acknowledge,
    created,
    join,
    leave,
    merge_segments,
    passed,
    rebucket_segments,
    split_segment,
    with_messages,
    with_rates,
)
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState, find_scalable_topic
from engine.errors import Rejection
from engine.memo import Remembered

LATEST_MS: Final = 2**46
"""Times of the simulation are before this, some two thousand years."""


_begun: Remembered[ScalableTopic | str] = Remembered()


def begun_topic(event: ScalableSeen | ScalableCreated) -> ScalableTopic | str:
    """The topic that an event begins, or what is wrong with it."""
    return _begun.get((event,), (), lambda: _begun_topic(event))


def _begun_topic(event: ScalableSeen | ScalableCreated) -> ScalableTopic | str:
    if isinstance(event, ScalableSeen):
        if not 0 <= event.now_ms < LATEST_MS:
            return f"{event.now_ms} is not a time"
        running = running_of(event)
    else:
        begun = created(event.topic, event.segments)
        running = begun.message if isinstance(begun, Rejection) else begun
    return running if isinstance(running, str) else ScalableTopic(event.topic, (event,), running)


def after(topic: ScalableTopic, event: ScalableTopicEvent) -> ScalableTopic | Rejection:
    """The topic after an event, or why that cannot happen."""
    running = stepped(topic.running, event)
    if isinstance(running, Rejection):
        return running
    return replace(topic, happened=(*topic.happened, event), running=running)


_steps: Remembered[Running | Rejection] = Remembered()


def stepped(running: Running, event: ScalableTopicEvent) -> Running | Rejection:
    """The next state, or why it cannot be; remembered, since a command is decided, checked and carried out."""
    return _steps.get((running,), (event,), lambda: _stepped(running, event))


def _stepped(running: Running, event: ScalableTopicEvent) -> Running | Rejection:
    match event:
        case SegmentSplit():
            return split_segment(running, event.segment)
        case SegmentsMerged():
            return merge_segments(running, (event.first, event.second))
        case SegmentRebucketed():
            return rebucket_segments(running, (event.segment,), event.buckets)
        case SegmentRateSet():
            return with_rates(running, event.segment, event.msgs_in_per_sec, event.msgs_out_per_sec, event.msg_bytes)
        case SegmentMessagesSent():
            return with_messages(running, event.keys, event.times)
        case SegmentConsumerJoined():
            return join(running, event.subscription, event.name, event.kind)
        case SegmentConsumerLeft():
            return leave(running, event.subscription, event.name, closes=event.closes)
        case SegmentMessagesAcknowledged():
            return acknowledge(running, event.subscription, event.name, event.count)
        case ScalableTimePassed():
            if not running.now_ms < event.now_ms < min(LATEST_MS, running.now_ms + LONGEST_MS + 1):
                return Rejection("IllegalArgumentException", TIME_REFUSED, "duration_ms")
            return passed(running, event.now_ms)
        case ScalableRemoved():
            return Rejection("NotFoundException", f"{event.topic} is removed", "topic", 404)
        case ScalableSeen() | ScalableCreated():
            return Rejection("ConflictException", f"{event.topic} exists already", "topic", 409)


def folded_scalable(events: Iterable[ScalableTopicEvent]) -> ScalableTopic | str:
    """The topic to which all this happened, or the first fault."""

    def begin(first: ScalableTopicEvent | None) -> ScalableTopic | str:
        if not isinstance(first, ScalableSeen | ScalableCreated):
            return "a scalable topic begins by being seen or created"
        return begun_topic(first)

    def objection(topic: ScalableTopic, event: ScalableTopicEvent) -> str:
        if event.topic != topic.topic:
            return f"an event of {event.topic!r} in the history of {topic.topic!r}"
        refused = stepped(topic.running, event)
        return refused.message if isinstance(refused, Rejection) else ""

    def evolved(topic: ScalableTopic, event: ScalableTopicEvent) -> ScalableTopic:
        result = after(topic, event)
        assert isinstance(result, ScalableTopic), result
        return result

    return fold(events, begin, objection, evolved)


def scalable_event_objection(state: ClusterState, event: ScalableTopicEvent) -> str:
    """Why an event cannot follow this state, "" when it can."""
    topic = find_scalable_topic(state, event.topic)
    if isinstance(event, ScalableSeen | ScalableCreated):
        begun = begun_topic(event) if topic is None else f"{event.topic!r} exists already"
        return begun if isinstance(begun, str) else ""
    if topic is None:
        return f"there is no scalable topic {event.topic!r}"
    if isinstance(event, ScalableRemoved):
        return ""
    refused = stepped(topic.running, event)
    return refused.message if isinstance(refused, Rejection) else ""


def with_scalable_event(state: ClusterState, event: ScalableTopicEvent) -> ClusterState:
    """The state after an event of a scalable topic; the others are the same objects as before."""
    if isinstance(event, ScalableSeen | ScalableCreated):
        begun = begun_topic(event)
        assert not isinstance(begun, str), begun
        return structs.replace(state, scalable_topics=(*state.scalable_topics, begun))
    if isinstance(event, ScalableRemoved):
        return structs.replace(
            state, scalable_topics=tuple(one for one in state.scalable_topics if one.topic != event.topic)
        )
    changed: list[ScalableTopic] = []
    for topic in state.scalable_topics:
        next_one = after(topic, event) if topic.topic == event.topic else topic
        assert not isinstance(next_one, Rejection), next_one
        changed.append(next_one)
    return structs.replace(state, scalable_topics=tuple(changed))
