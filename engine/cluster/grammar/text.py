"""A command as a line of the grammar; ``engine.cluster.grammar.reading`` reads it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Final

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddProducers,
    AddTopic,
    CloseProducer,
    Command,
    End,
    FailPartition,
    GoTo,
    Home,
    KillConsumer,
    PassTime,
    ProducerCommand,
    RecoverPartition,
    Redo,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    RouteKeys,
    ScalableCommand,
    SendByProducers,
    SendKeys,
    SetPriorityLevel,
    SetProducerRate,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
    SubscribeKeyShared,
    SwitchBranch,
    TimelineCommand,
    Undo,
)
from engine.cluster.grammar.scalable import scalable_command_text
from engine.cluster.grammar.words import quote
from engine.cluster.keys.state import SharingMode
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.state import (
    ClusterState,
    consumers_of,
    producer_topics_meant,
    producers_named,
    subscription_keys,
)
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES
from engine.scalable.model import TOPIC_SCHEME

_DEFAULTS: Final = ProducerPlan()


def producer_command_text(command: ProducerCommand, state: ClusterState | None = None) -> str:
    """One line that reads back as the same command; names and a sole topic as in ``command_text``.

    >>> producer_command_text(AddProducers("orders", ProducerPlan(count=100, lazy=True, router="partial", limit=3)))
    'producer add count 100 lazy partial 3 on orders'
    """
    where = _topic(command.topic, state)
    match command:
        case AddProducers(_, plan):
            return f"producer add{_plan(plan)}{where}"
        case SendByProducers(topic, number, key, times, size_bytes):
            who = "all" if number is None else _producer(topic, number, state)
            what = "" if key is None else f" key {quote(key)}"
            amount = f" times {times}" if times != 1 else ""
            size = f" size {size_bytes}" if size_bytes != DEFAULT_MSG_SIZE_BYTES else ""
            return f"producer send {who}{what}{amount}{size}{where}"
        case SetProducerRate(topic, number, rate, size_bytes, key, keys):
            who = "all" if number is None else _producer(topic, number, state)
            size = f" size {size_bytes}" if size_bytes != DEFAULT_MSG_SIZE_BYTES else ""
            what = ("" if key is None else f" key {quote(key)}") + (f" keys {keys}" if keys else "")
            return f"producer rate {who} {_decimal(rate)}{size}{what}{where}"
        case CloseProducer(topic, number):
            return f"producer close {_producer(topic, number, state)}{where}"
        case FailPartition(_, partition):
            return f"partition fail {partition}{where}"
        case RecoverPartition(_, partition):
            return f"partition recover {partition}{where}"


def _plan(plan: ProducerPlan) -> str:
    words = [f"count {plan.count}"] if plan.count != _DEFAULTS.count else []
    words += ["lazy"] if plan.lazy else []
    if plan.router == "partial":
        words.append(f"partial {plan.limit}")
    else:
        words += [f"router {quote(plan.router)}"] if plan.router != _DEFAULTS.router else []
        words += [f"limit {plan.limit}"] if plan.limit else []
    words += ["above"] if plan.allow_limit_above else []
    words += [f"client {quote(plan.client)}"] if plan.client != _DEFAULTS.client else []
    words += [f"named {quote(plan.name)}"] if plan.name is not None else []
    words += [f"access {quote(plan.access_mode)}"] if plan.access_mode != _DEFAULTS.access_mode else []
    words += [f"hashing {quote(plan.hashing)}"] if plan.hashing is not None else []
    words += [f"batching {'on' if plan.batching else 'off'}"] if plan.batching is not None else []
    words += [f"delay {plan.publish_delay_ms}"] if plan.publish_delay_ms is not None else []
    words += [f"switch {plan.switch_frequency}"] if plan.switch_frequency is not None else []
    words += [f"queue {plan.max_pending_messages}"] if plan.max_pending_messages else []
    across = plan.max_pending_messages_across_partitions
    words += [f"across {across}"] if across else []
    return "".join(f" {word}" for word in words)


def _producer(topic: str, number: int, state: ClusterState | None) -> str:
    producers = (
        next((candidate for candidate in state.producer_topics if candidate.topic == topic), None)
        if state is not None
        else None
    )
    if producers is not None and 0 <= number < len(producers.producers.producers):
        name = producers.producers.producers[number].producer_name
        if name is not None and producers_named(producers, name) == [number]:
            return quote(name, ("all",))
    return f"#{number}"


def _decimal(number: float) -> str:
    """The shortest digits that read back as the same number, without an exponent.

    >>> _decimal(100.0), _decimal(0.1), _decimal(1e-7)
    ('100', '0.1', '0.0000001')
    """
    return format(Decimal(repr(number)), "f").removesuffix(".0")


def _topic(topic: str, state: ClusterState | None) -> str:
    sole = state is not None and producer_topics_meant(state) == [topic]
    return "" if sole else f" on {quote(topic)}"


OPTION_WORDS: Final = frozenset(
    {
        "at",
        "batched",
        "bundle",
        "count",
        "key",
        "of",
        "partitions",
        "points",
        "priority",
        "ranges",
        "times",
        "to",
        "unordered",
    }
)
"""Words that begin an option; a value of that spelling is written in quotes where an option is possible."""

BUNDLE_WORDS: Final = ("LARGEST", "HOT")


def command_text(command: Command | TimelineCommand, state: ClusterState | None = None) -> str:
    """One line that reads back as the same command.

    Without a state a consumer is written ``#ID`` and its subscription always named, so the line reads back anywhere.
    With the state it is about to act on, names are used where they are unique and a sole subscription is left out.

    >>> command_text(AddConsumer("billing", "worker 1", 2))
    'add "worker 1" priority 2 to billing'
    >>> command_text(SplitBundle("t/n", "0x00000000_0x80000000", "specified_positions_divide", (7, 9)))
    'split t/n/0x00000000_0x80000000 specified_positions_divide at 7,9'
    """
    match command:
        case AddConsumer(key, name, level, ranges):
            priority = f" priority {level}" if level else ""
            declared = "" if ranges is None else f" ranges {ranges_text(ranges)}"
            return f"add {quote(name)}{priority}{declared}{_subscription('to', key, state)}"
        case KillConsumer(key, consumer_id):
            return f"kill {_consumer(key, consumer_id, state)}{_subscription('of', key, state)}"
        case RenameConsumer(key, consumer_id, name):
            who = _consumer(key, consumer_id, state)
            return f"rename {who} to {quote(name)}{_subscription('of', key, state)}"
        case SetPriorityLevel(key, consumer_id, level):
            return f"priority {_consumer(key, consumer_id, state)} {level}{_subscription('of', key, state)}"
        case SetSetting(name, text):
            return f"set {quote(name)} {quote(text)}"
        case SetRelease(version):
            return f"release {quote(version)}"
        case AddTopic() | RemoveTopic() | RepartitionTopic():
            return _topic_command_text(command)
        case SplitBundle():
            return _split_text(command)
        case SubscribeKeyShared() | ShareKeys() | RouteKeys() | SendKeys() | Acknowledge() | PassTime():
            return _key_command_text(command, state)
        case Undo() | Redo() | Home() | End() | GoTo() | SwitchBranch():
            return _timeline_text(command)
        case _ if isinstance(command, ScalableCommand):
            return scalable_command_text(command, state)
        case _:
            return producer_command_text(command, state)


def _topic_command_text(command: AddTopic | RemoveTopic | RepartitionTopic) -> str:
    match command:
        case AddTopic(topic, partitions):
            noun = "segments" if topic.startswith(TOPIC_SCHEME) else "partitions"
            return f"topic add {quote(topic)}" + (f" {noun} {partitions}" if partitions else "")
        case RemoveTopic(topic):
            return f"topic remove {quote(topic)}"
        case RepartitionTopic(topic, partitions):
            return f"topic partitions {quote(topic)} {partitions}"


def _key_command_text(
    command: SubscribeKeyShared | ShareKeys | RouteKeys | SendKeys | Acknowledge | PassTime, state: ClusterState | None
) -> str:
    match command:
        case SubscribeKeyShared(name, topic, out_of_order):
            return f"subscribe {quote(name, OPTION_WORDS)} to {quote(topic)}" + (" unordered" if out_of_order else "")
        case ShareKeys(key, mode, points):
            declares_points = points or mode == SharingMode.CONSISTENT_STICKY.value
            amount = f" points {points}" if declares_points else ""
            return f"share {quote(mode, OPTION_WORDS)}{amount}{_subscription('of', key, state)}"
        case RouteKeys(key, client, hashing):
            scheme = "" if hashing is None else f" {quote(hashing, OPTION_WORDS)}"
            return f"route {quote(client, OPTION_WORDS)}{scheme}{_subscription('of', key, state)}"
        case SendKeys(key, keys, times, batched):
            words = " ".join(quote(text, OPTION_WORDS) for text in keys)
            amount = f" times {times}" if times != 1 else ""
            return f"send {words}{' batched' if batched else ''}{amount}{_subscription('to', key, state)}"
        case Acknowledge(key, consumer_id, text, count):
            who = "all" if consumer_id is None else _consumer(key, consumer_id, state, reserved=("all",))
            what = "" if text is None else f" key {quote(text)}"
            amount = f" count {count}" if count else ""
            return f"ack {who}{what}{amount}{_subscription('of', key, state)}"
        case PassTime(duration_ms):
            return f"wait {duration_ms}"


def _timeline_text(command: TimelineCommand) -> str:
    match command:
        case GoTo(step):
            return f"step {step}"
        case SwitchBranch(branch):
            return f"branch {branch}"
        case Undo() | Redo() | Home() | End():
            return type(command).__name__.lower()


def _split_text(command: SplitBundle) -> str:
    algorithm = f" {quote(command.algorithm, OPTION_WORDS)}" if command.algorithm is not None else ""
    positions = f" at {','.join(map(str, command.positions))}" if command.positions else ""
    slashes = command.namespace.count("/")
    if command.bundle in BUNDLE_WORDS and slashes < 2:
        target = f"{quote(command.namespace)} {command.bundle}"
    elif command.bundle and "/" not in command.bundle and slashes == 1:
        target = quote(f"{command.namespace}/{command.bundle}")
    else:
        # Any two texts fit in here, also those that no broker has.
        target = f"{quote(command.namespace)} bundle {quote(command.bundle)}"
    return f"split {target}{algorithm}{positions}"


def ranges_text(ranges: Iterable[tuple[int, int]]) -> str:
    """Ranges as one word; none at all is a dash.

    >>> ranges_text([(0, 99), (200, 299)]), ranges_text([])
    ('0-99,200-299', '-')
    """
    return ",".join(f"{start}-{end}" for start, end in ranges) or "-"


def _consumer(key: str, consumer_id: int, state: ClusterState | None, reserved: Collection[str] = ()) -> str:
    if state is not None:
        consumers = consumers_of(state, key)
        names = [name for number, name in consumers if number == consumer_id]
        if len(names) == 1 and sum(name == names[0] for _, name in consumers) == 1:
            return quote(names[0], reserved)
    return f"#{consumer_id}"


def _subscription(word: str, key: str, state: ClusterState | None) -> str:
    sole = state is not None and subscription_keys(state) == [key]
    return "" if sole else f" {word} {quote(key)}"
