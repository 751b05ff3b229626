"""Decide on commands about scalable topics; the fold says what is refused, in Pulsar's words where Pulsar refuses."""

from __future__ import annotations

from typing import Final

from engine.cluster import commands
from engine.cluster.limits import MAX_CONSUMERS, MAX_MSGS_PER_SEC, refuse_long_name
from engine.cluster.scalable.events import (
    ScalableCreated,
    ScalableRemoved,
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
from engine.cluster.scalable.evolve import stepped
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState, find_scalable_topic
from engine.errors import Rejection
from engine.names import SCALABLE, TopicName, parse_topic_name
from engine.scalable.model import RING_SIZE

MAX_MESSAGES: Final = 10**9
"""Messages that one command sends."""
MAX_MSG_BYTES: Final = 2**30


def decide_scalable(
    state: ClusterState, command: commands.ScalableCommand
) -> tuple[ScalableTopicEvent, ...] | Rejection:
    """The event of a command, or the refusal: an unknown topic (404), what Pulsar refuses, our limits."""
    topic = find_scalable_topic(state, command.topic)
    if topic is None:
        return Rejection("NotFoundException", f"Scalable topic not found: {command.topic}", "topic", 404)
    event = _event(command)
    refused = _refuse_consumer(topic, event) if isinstance(event, SegmentConsumerJoined) else _refuse_number(event)
    if refused is not None:
        return refused
    refused_step = stepped(topic.running, event)
    return refused_step if isinstance(refused_step, Rejection) else (event,)


def _event(command: commands.ScalableCommand) -> ScalableTopicEvent:
    match command:
        case commands.SplitSegment(topic, segment):
            return SegmentSplit(topic, segment)
        case commands.MergeSegments(topic, first, second):
            return SegmentsMerged(topic, first, second)
        case commands.RebucketSegment(topic, segment, buckets):
            return SegmentRebucketed(topic, segment, buckets)
        case commands.SetSegmentRate(topic, segment, msgs_in, msgs_out, msg_bytes):
            return SegmentRateSet(topic, segment, msgs_in, msgs_out, msg_bytes)
        case commands.SendToSegments(topic, keys, times):
            return SegmentMessagesSent(topic, keys, times)
        case commands.JoinSegments(topic, subscription, name, kind):
            return SegmentConsumerJoined(topic, subscription, name, kind)
        case commands.LeaveSegments(topic, subscription, name, closes):
            return SegmentConsumerLeft(topic, subscription, name, closes)
        case commands.AcknowledgeSegments(topic, subscription, name, count):
            return SegmentMessagesAcknowledged(topic, subscription, name, count)


def _refuse_number(event: ScalableTopicEvent) -> Rejection | None:
    match event:
        case SegmentRateSet():
            if max(event.msgs_in_per_sec, event.msgs_out_per_sec) > MAX_MSGS_PER_SEC:
                return _refuse(f"a rate is from 0 to {MAX_MSGS_PER_SEC:,.0f} messages a second", "rate")
            if not 0 <= event.msg_bytes <= MAX_MSG_BYTES:
                return _refuse(f"{event.msg_bytes} is not the size of a message", "size")
        case SegmentMessagesSent():
            if not 1 <= event.times <= MAX_MESSAGES:
                return _refuse(f"{event.times} times is not a number of messages", "times")
        case SegmentMessagesAcknowledged():
            if event.count < 0:
                return _refuse(f"{event.count} is not a number of messages", "count")
    return None


def _refuse(message: str, field: str) -> Rejection:
    return Rejection("IllegalArgumentException", message, field)


def _refuse_consumer(topic: ScalableTopic, event: SegmentConsumerJoined) -> Rejection | None:
    for text, field in ((event.name, "name"), (event.subscription, "subscription")):
        if not text:
            return _refuse(f"the {field} is empty", field)
        refused = refuse_long_name(text, field)
        if refused is not None:
            return refused
    group = topic.running.groups.get(event.subscription)
    if group is not None and len(group.names) >= MAX_CONSUMERS:
        return Rejection("TooManyConsumers", f"up to {MAX_CONSUMERS:,} consumers are modelled here", "name")
    return None


def add_scalable_topic(state: ClusterState, command: commands.AddTopic) -> tuple[ScalableTopicEvent, ...] | Rejection:
    """A new scalable topic; ``partitions`` of the command are its first segments."""
    name = parse_topic_name(command.topic)
    if isinstance(name, Rejection):
        return name
    assert isinstance(name, TopicName), name
    if name.domain != SCALABLE:
        return Rejection("IllegalArgumentException", f"{command.topic!r} is not a name topic://…", "topic")
    complete = str(name)
    if find_scalable_topic(state, complete) is not None:
        return Rejection("ConflictException", f"Topic already exists: {complete}", "topic", 409)
    if not 0 <= command.partitions <= RING_SIZE:
        message = f"{command.partitions} segments: from 1 to {RING_SIZE:,} are possible"
        return Rejection("IllegalArgumentException", message, "segments", 412)
    return (ScalableCreated(complete, command.partitions or 1),)


def remove_scalable_topic(
    state: ClusterState, command: commands.RemoveTopic
) -> tuple[ScalableTopicEvent, ...] | Rejection:
    """The end of a scalable topic; refused where there is none of this name (404)."""
    if find_scalable_topic(state, command.topic) is None:
        return Rejection("NotFoundException", f"Scalable topic not found: {command.topic}", "topic", 404)
    return (ScalableRemoved(command.topic),)
