"""The commands of the grammar that only Key_Shared subscriptions know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from engine.cluster.commands import Acknowledge, Command, PassTime, SendKeys, ShareKeys, SubscribeKeyShared
from engine.cluster.grammar.line_reader import LineReader
from engine.cluster.keys.state import SharingMode

DEFAULT_POINTS: Final = 100
"""Points of a node for consistent sticky ranges, where none are named."""


def _subscribe(line: LineReader) -> Command:
    name = line.take("NAME")
    line.keyword("to")
    topic = line.take("TOPIC")
    return SubscribeKeyShared(name, topic, line.option("unordered") is not None)


def _share(line: LineReader) -> Command:
    mode = line.take("MODE")
    unnamed = DEFAULT_POINTS if mode == SharingMode.CONSISTENT_STICKY.value else 0
    points = line.number("N") if line.option("points") else unnamed
    return ShareKeys(line.subscription_option("of"), mode, points)


def _send(line: LineReader) -> Command:
    keys = [line.take("KEY")]
    times: int | None = None
    key: str | None = None
    batched = False
    while not line.at_end():
        option = line.option("times", "to", "batched")
        if option == "batched":
            batched = True
        elif option == "times":
            times = line.once("times", times, line.number("N"))
        elif option == "to":
            key = line.once("to", key, line.take("SUBSCRIPTION"))
        else:
            keys.append(line.take("KEY"))
    return SendKeys(line.subscription(key), tuple(keys), 1 if times is None else times, batched)


def _ack(line: LineReader) -> Command:
    who = None if line.option("all") else line.word("NAME|#ID|all")
    text: str | None = None
    count: int | None = None
    key: str | None = None
    while (option := line.option("key", "count", "of")) is not None:
        if option == "key":
            text = line.once("key", text, line.take("KEY"))
        elif option == "count":
            count = line.once("count", count, line.number("N"))
        else:
            key = line.once("of", key, line.take("SUBSCRIPTION"))
    chosen = line.subscription(key)
    return Acknowledge(chosen, None if who is None else line.consumer(who, chosen), text, count or 0)


def _wait(line: LineReader) -> Command:
    return PassTime(line.number("MILLISECONDS"))


KEY_PARSERS: Final[Mapping[str, Callable[[LineReader], Command]]] = {
    "ack": _ack,
    "send": _send,
    "share": _share,
    "subscribe": _subscribe,
    "wait": _wait,
}
