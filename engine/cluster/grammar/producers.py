"""Reading commands about producers of a partitioned topic.

``producer add`` with nothing else creates one producer with the defaults of the Java client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from engine.cluster.commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    ProducerCommand,
    RecoverPartition,
    SendByProducers,
    SetProducerRate,
)
from engine.cluster.grammar.words import LineReader
from engine.cluster.producers.state import ProducerPlan
from engine.routing.producers.settings import DEFAULT_MSG_SIZE_BYTES

PRODUCER_FORMS: Final[Mapping[str, str]] = {
    "partition": "partition fail N [on TOPIC], or partition recover N [on TOPIC]",
    "producer": (
        "producer add [count N] [lazy] [partial N [above]] [router round-robin|single] [client java|python|cpp]"
        " [named NAME] [access MODE] [hashing SCHEME] [batching on|off] [delay MS] [switch N]"
        " [queue N] [across N] [on TOPIC],"
        " producer send NAME|#N|all [key KEY] [times N] [size BYTES] [on TOPIC],"
        " producer rate NAME|#N|all MSGS [size BYTES] [key KEY | keys N] [on TOPIC],"
        " or producer close NAME|#N [on TOPIC]"
    ),
}


def _producer(line: LineReader) -> ProducerCommand:
    action = line.take("add, send, rate or close")
    if action == "add":
        return _add(line)
    if action == "send":
        return _send(line)
    if action == "rate":
        return _rate(line)
    if action != "close":
        line.refuse("SyntaxError", f"producers can add, send, rate or close, not {action[:40]!r}", action)
    who = line.word("NAME|#N")
    topic = line.producer_topic(line.take("TOPIC") if line.option("on") else None)
    return CloseProducer(topic, line.producer(who, topic))


def _add(line: LineReader) -> ProducerCommand:
    plan, topic = ProducerPlan(), None
    said: set[str] = set()
    while (option := line.option("on", "partial", *_OPTIONS)) is not None:
        line.once(option, option if option in said else None, option)
        said.add(option)
        if option == "on":
            topic = line.take("TOPIC")
        else:
            plan = _with_option(line, plan, option)
    return AddProducers(line.producer_topic(topic), plan)


def _with_option(line: LineReader, plan: ProducerPlan, option: str) -> ProducerPlan:
    if option == "partial":
        return replace(plan, router="partial", limit=line.number("N"))
    field, read = _OPTIONS[option]
    return replace(plan, **{field: read(line)})


def _switch(line: LineReader) -> bool:
    text = line.take("on|off")
    if text not in ("on", "off"):
        line.refuse("SyntaxError", f"batching is on or off, not {text[:40]!r}", text)
    return text == "on"


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[LineReader], Any]]]] = {
    "above": ("allow_limit_above", lambda _: True),
    "access": ("access_mode", lambda line: line.take("MODE")),
    "across": ("max_pending_messages_across_partitions", lambda line: line.number("N")),
    "batching": ("batching", _switch),
    "client": ("client", lambda line: line.take("CLIENT")),
    "count": ("count", lambda line: line.number("N")),
    "delay": ("publish_delay_ms", lambda line: line.number("MS")),
    "hashing": ("hashing", lambda line: line.take("SCHEME")),
    "lazy": ("lazy", lambda _: True),
    "limit": ("limit", lambda line: line.number("N")),
    "named": ("name", lambda line: line.take("NAME")),
    "queue": ("max_pending_messages", lambda line: line.number("N")),
    "router": ("router", lambda line: line.take("ROUTER")),
    "switch": ("switch_frequency", lambda line: line.number("N")),
}
"""Option -> the field of the plan, and how its value is read."""


def _send(line: LineReader) -> ProducerCommand:
    who = None if line.option("all") else line.word("NAME|#N|all")
    key: str | None = None
    times: int | None = None
    size: int | None = None
    topic: str | None = None
    while (option := line.option("key", "times", "size", "on")) is not None:
        if option == "key":
            key = line.once("key", key, line.take("KEY"))
        elif option == "times":
            times = line.once("times", times, line.number("N"))
        elif option == "size":
            size = line.once("size", size, line.number("BYTES"))
        else:
            topic = line.once("on", topic, line.take("TOPIC"))
    chosen = line.producer_topic(topic)
    number = None if who is None else line.producer(who, chosen)
    size_bytes = DEFAULT_MSG_SIZE_BYTES if size is None else size
    return SendByProducers(chosen, number, key, 1 if times is None else times, size_bytes)


def _rate(line: LineReader) -> ProducerCommand:
    who = None if line.option("all") else line.word("NAME|#N|all")
    rate = line.decimal("MSGS")
    size: int | None = None
    key: str | None = None
    keys: int | None = None
    topic: str | None = None
    while (option := line.option("size", "key", "keys", "on")) is not None:
        if option == "size":
            size = line.once("size", size, line.number("BYTES"))
        elif option == "key":
            key = line.once("key", key, line.take("KEY"))
        elif option == "keys":
            keys = line.once("keys", keys, line.number("N"))
        else:
            topic = line.once("on", topic, line.take("TOPIC"))
    chosen = line.producer_topic(topic)
    number = None if who is None else line.producer(who, chosen)
    size_bytes = DEFAULT_MSG_SIZE_BYTES if size is None else size
    return SetProducerRate(chosen, number, rate, size_bytes, key, keys or 0)


def _partition(line: LineReader) -> ProducerCommand:
    action = line.take("fail or recover")
    if action not in ("fail", "recover"):
        line.refuse("SyntaxError", f"a partition can fail or recover, not {action[:40]!r}", action)
    number = line.number("N")
    topic = line.producer_topic(line.take("TOPIC") if line.option("on") else None)
    return FailPartition(topic, number) if action == "fail" else RecoverPartition(topic, number)


PRODUCER_PARSERS: Final[Mapping[str, Callable[[LineReader], ProducerCommand]]] = {
    "partition": _partition,
    "producer": _producer,
}
