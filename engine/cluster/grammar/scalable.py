"""Reading and writing commands about scalable topics.

::

    segment split ID [on TOPIC]                segment send KEY... [times N] [on TOPIC]
    segment merge ID ID [on TOPIC]             segment send keyless [times N] [on TOPIC]
    segment rebucket ID BUCKETS [on TOPIC]     segment rate ID|all MSGS [out MSGS] [size BYTES] [on TOPIC]
    consumer join NAME [checkpoint|queue] [to SUBSCRIPTION] [on TOPIC]
    consumer close|lose NAME [of SUBSCRIPTION] [on TOPIC]
    consumer ack NAME|all [count N] [of SUBSCRIPTION] [on TOPIC]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from engine.cluster.commands import (
    AcknowledgeSegments,
    JoinSegments,
    LeaveSegments,
    MergeSegments,
    RebucketSegment,
    ScalableCommand,
    SendToSegments,
    SetSegmentRate,
    SplitSegment,
)
from engine.cluster.grammar.words import LineReader, quote
from engine.cluster.state import ClusterState, find_scalable_topic, scalable_topic_names
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES
from engine.scalable.model import Kind

SCALABLE_FORMS: Final[Mapping[str, str]] = {
    "consumer": (
        "consumer join NAME [checkpoint|queue] [to SUBSCRIPTION] [on TOPIC],"
        " consumer close|lose NAME [of SUBSCRIPTION] [on TOPIC],"
        " or consumer ack NAME|all [count N] [of SUBSCRIPTION] [on TOPIC]"
    ),
    "segment": (
        "segment split ID [on TOPIC], segment merge ID ID, segment rebucket ID BUCKETS,"
        " segment rate ID|all MSGS [out MSGS] [size BYTES], segment send KEY...|keyless [times N]"
    ),
}
FIRST_SUBSCRIPTION: Final = "subscription"
"""The subscription that a consumer joins where the topic has none and none is named."""
_RESERVED: Final = frozenset({"on", "of", "to", "times", "keyless", "all", "count", "checkpoint", "queue"})
_KINDS: Final[Mapping[str, Kind]] = {"checkpoint": "CHECKPOINT", "queue": "QUEUE"}


def _topic(line: LineReader, named: str | None = None) -> str:
    return line.scalable_topic(named if named is not None else line.take("TOPIC") if line.option("on") else None)


def _segment(line: LineReader) -> ScalableCommand:
    action = line.take("split, merge, rebucket, rate or send")
    match action:
        case "split":
            segment = line.number("ID")
            return SplitSegment(_topic(line), segment)
        case "merge":
            first, second = line.number("ID"), line.number("ID")
            return MergeSegments(_topic(line), first, second)
        case "rebucket":
            segment, buckets = line.number("ID"), line.number("BUCKETS")
            return RebucketSegment(_topic(line), segment, buckets)
        case "rate":
            return _rate(line)
        case "send":
            return _send(line)
        case _:
            return line.refuse(
                "SyntaxError", f"segments split, merge, rebucket, rate, send, not {action[:40]!r}", action
            )


def _rate(line: LineReader) -> ScalableCommand:
    segment = None if line.option("all") else line.number("ID|all")
    msgs_in = line.decimal("MSGS")
    msgs_out: float | None = None
    size: int | None = None
    topic: str | None = None
    while (option := line.option("out", "size", "on")) is not None:
        if option == "out":
            msgs_out = line.once("out", msgs_out, line.decimal("MSGS"))
        elif option == "size":
            size = line.once("size", size, line.number("BYTES"))
        else:
            topic = line.once("on", topic, line.take("TOPIC"))
    outgoing = msgs_in if msgs_out is None else msgs_out
    return SetSegmentRate(
        _topic(line, topic), segment, msgs_in, outgoing, DEFAULT_MSG_SIZE_BYTES if size is None else size
    )


def _send(line: LineReader) -> ScalableCommand:
    keys: list[str] = []
    times: int | None = None
    topic: str | None = None
    keyless = line.option("keyless") is not None
    if not keyless:
        keys.append(line.take("KEY"))
    while not line.at_end():
        option = line.option("times", "on")
        if option == "times":
            times = line.once("times", times, line.number("N"))
        elif option == "on":
            topic = line.once("on", topic, line.take("TOPIC"))
        elif keyless:
            break
        else:
            keys.append(line.take("KEY"))
    return SendToSegments(_topic(line, topic), tuple(keys), 1 if times is None else times)


def _consumer(line: LineReader) -> ScalableCommand:
    action = line.take("join, close, lose or ack")
    if action not in ("join", "close", "lose", "ack"):
        line.refuse("SyntaxError", f"consumers here can join, close, lose or ack, not {action[:40]!r}", action)
    name = None if action == "ack" and line.option("all") else line.take("NAME")
    kind: Kind | None = None
    count: int | None = None
    subscription: str | None = None
    topic: str | None = None
    options = ("checkpoint", "queue", "to", "on") if action == "join" else ("of", "on")
    while (option := line.option(*options, *(("count",) if action == "ack" else ()))) is not None:
        if option in _KINDS:
            kind = line.once(option, kind, _KINDS[option])
        elif option == "count":
            count = line.once("count", count, line.number("N"))
        elif option == "on":
            topic = line.once("on", topic, line.take("TOPIC"))
        else:
            subscription = line.once(option, subscription, line.take("SUBSCRIPTION"))
    chosen = _topic(line, topic)
    group = _subscription(line, chosen, subscription, joins=action == "join")
    if action == "join":
        assert name is not None
        return JoinSegments(chosen, group, name, kind or _kind(line.state, chosen, group))
    if action == "ack":
        return AcknowledgeSegments(chosen, group, name, count or 0)
    assert name is not None
    return LeaveSegments(chosen, group, name, action == "close")


def _kind(state: ClusterState, topic: str, subscription: str) -> Kind:
    known = find_scalable_topic(state, topic)
    group = known.running.groups.get(subscription) if known is not None else None
    return group.kind if group is not None and group.names else "STREAM"


def _subscription(line: LineReader, topic: str, named: str | None, *, joins: bool) -> str:
    """The subscription that was named, else the sole one of the topic."""
    if named is not None:
        return named
    known = find_scalable_topic(line.state, topic)
    names = list(known.running.groups) if known is not None else []
    if len(names) == 1:
        return names[0]
    if not names and joins:
        return FIRST_SUBSCRIPTION
    listed = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    what = f"name one of {listed}" if names else "there is none"
    return line.refuse("SubscriptionNotFound", f"which subscription? {what}", topic)


SCALABLE_PARSERS: Final[Mapping[str, Callable[[LineReader], ScalableCommand]]] = {
    "consumer": _consumer,
    "segment": _segment,
}


def scalable_command_text(command: ScalableCommand, state: ClusterState | None = None) -> str:
    """One line that reads back as the same command.

    >>> scalable_command_text(JoinSegments("topic://t/n/x", "orders", "worker 1", "QUEUE"))
    'consumer join "worker 1" queue to orders on topic://t/n/x'
    """
    where = (
        "" if state is not None and scalable_topic_names(state) == [command.topic] else f" on {quote(command.topic)}"
    )
    match command:
        case SplitSegment(_, segment):
            return f"segment split {segment}{where}"
        case MergeSegments(_, first, second):
            return f"segment merge {first} {second}{where}"
        case RebucketSegment(_, segment, buckets):
            return f"segment rebucket {segment} {buckets}{where}"
        case SetSegmentRate(_, segment, msgs_in, msgs_out, size):
            which = "all" if segment is None else segment
            out = "" if msgs_out == msgs_in else f" out {_number(msgs_out)}"
            each = "" if size == DEFAULT_MSG_SIZE_BYTES else f" size {size}"
            return f"segment rate {which} {_number(msgs_in)}{out}{each}{where}"
        case SendToSegments(_, keys, times):
            what = " ".join(quote(key, _RESERVED) for key in keys) if keys else "keyless"
            return f"segment send {what}{f' times {times}' if times != 1 else ''}{where}"
        case JoinSegments(_, subscription, name, kind):
            word = f" {kind.lower()}" if kind != "STREAM" else ""
            return f"consumer join {quote(name, _RESERVED)}{word} to {quote(subscription)}{where}"
        case LeaveSegments(_, subscription, name, closes):
            return f"consumer {'close' if closes else 'lose'} {quote(name, _RESERVED)} of {quote(subscription)}{where}"
        case AcknowledgeSegments(_, subscription, named, count):
            who = "all" if named is None else quote(named, _RESERVED)
            return f"consumer ack {who}{f' count {count}' if count else ''} of {quote(subscription)}{where}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:f}"
