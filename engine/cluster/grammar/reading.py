"""The one grammar of the command line in the dashboard, of demo scripts and of journals.

::

    add NAME [priority N] [to SUBSCRIPTION]          topic add TOPIC [partitions N]
    kill NAME|#ID [of SUBSCRIPTION]                  topic remove TOPIC
    rename NAME|#ID to NEW [of SUBSCRIPTION]         topic partitions TOPIC N
    priority NAME|#ID N [of SUBSCRIPTION]            split NAMESPACE/RANGE [ALGORITHM] [at N,N]
    set SETTING VALUE, set SETTING=VALUE             split NAMESPACE LARGEST|HOT [ALGORITHM] [at N,N]
    toggle SETTING                                   undo, redo, home, end, step N, branch N
    release VERSION

    subscribe NAME to TOPIC [unordered]              share MODE [points N] [of SUBSCRIPTION]
    add NAME ranges START-END,... [to SUBSCRIPTION]  send KEY... [batched] [times N] [to SUBSCRIPTION]
    wait MILLISECONDS                                ack NAME|#ID|all [key KEY] [count N] [of SUBSCRIPTION]
    route CLIENT [HASHING] [of SUBSCRIPTION]

    producer add [count N] [lazy] [partial N] [...]  partition fail N [on TOPIC]
    producer send NAME|#N|all [key KEY] [times N]    partition recover N [on TOPIC]
    producer close NAME|#N [on TOPIC]
    producer rate NAME|#N|all MSGS [size BYTES] [key KEY | keys N] [on TOPIC]

Commands about scalable topics (``segment``, ``consumer``) are in ``grammar.scalable``.

Words are those of ``words``. A word in quotes is never an option and never an id. Where a namespace or a
range is written so oddly that the slash does not part them, ``split NAMESPACE bundle RANGE`` takes any two texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddTopic,
    Command,
    End,
    GoTo,
    Home,
    KillConsumer,
    PassTime,
    Redo,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    RouteKeys,
    SendKeys,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
    SubscribeKeyShared,
    SwitchBranch,
    TimelineCommand,
    Undo,
)
from engine.cluster.grammar.producers import PRODUCER_FORMS, PRODUCER_PARSERS
from engine.cluster.grammar.scalable import SCALABLE_FORMS, SCALABLE_PARSERS
from engine.cluster.grammar.text import command_text
from engine.cluster.grammar.words import LineReader, RefusedLine, split_words
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState
from engine.config import DEFAULTS
from engine.errors import Rejection
from engine.names import long_decode

DEFAULT_POINTS: Final = 100
"""Points of a node for consistent sticky ranges, where none are named."""
__all__ = ["COMMAND_FORMS", "command_text", "parse_command"]

COMMAND_FORMS: Final[Mapping[str, str]] = {
    "ack": "ack NAME|#ID|all [key KEY] [count N] [of SUBSCRIPTION]",
    "add": "add NAME [priority N] [ranges START-END,...] [to SUBSCRIPTION]",
    "branch": "branch N",
    "consumer": SCALABLE_FORMS["consumer"],
    "end": "end",
    "home": "home",
    "kill": "kill NAME|#ID [of SUBSCRIPTION]",
    **PRODUCER_FORMS,
    "priority": "priority NAME|#ID N [of SUBSCRIPTION]",
    "redo": "redo",
    "release": "release VERSION",
    "rename": "rename NAME|#ID to NEW [of SUBSCRIPTION]",
    "route": "route CLIENT [HASHING] [of SUBSCRIPTION]",
    "segment": SCALABLE_FORMS["segment"],
    "send": "send KEY... [batched] [times N] [to SUBSCRIPTION]",
    "set": "set SETTING VALUE",
    "share": "share MODE [points N] [of SUBSCRIPTION]",
    "split": "split NAMESPACE/RANGE [ALGORITHM] [at N,N], or split NAMESPACE LARGEST|HOT [ALGORITHM] [at N,N]",
    "step": "step N",
    "subscribe": "subscribe NAME to TOPIC [unordered]",
    "toggle": "toggle SETTING",
    "topic": "topic add TOPIC [partitions N | segments N], topic remove TOPIC, or topic partitions TOPIC N",
    "undo": "undo",
    "wait": "wait MILLISECONDS",
}
"""First word -> how the command is written, for help and for completion."""


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


def _route(line: LineReader) -> Command:
    client = line.take("CLIENT")
    hashing: str | None = None
    key: str | None = None
    while not line.at_end():
        if line.option("of") is not None:
            key = line.once("of", key, line.take("SUBSCRIPTION"))
        else:
            hashing = line.once("HASHING", hashing, line.take("HASHING"))
    return RouteKeys(line.subscription(key), client, hashing)


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
    "route": _route,
    "share": _share,
    "subscribe": _subscribe,
    "wait": _wait,
}


def parse_command(
    text: str, state: ClusterState, subscription_key: str | None = None
) -> Command | TimelineCommand | Rejection:
    """Read one line. ``state`` resolves names of consumers; ``subscription_key`` is the subscription in view.

    Without a named subscription and without one in view, a sole subscription is meant. Refusals (UnknownCommand,
    SyntaxError, AmbiguousConsumer, UnknownConsumer, ...) carry the word at fault in ``field``. Whether the command is
    possible is for ``decide`` to say.

    >>> parse_command("add worker-1 priority 2 to billing", ClusterState())
    AddConsumer(subscription='billing', name='worker-1', priority_level=2, ranges=None)
    >>> parse_command("udno", ClusterState()).message.partition(";")[0]
    "unknown command 'udno', did you mean undo?"
    """
    words = split_words(text)
    if isinstance(words, Rejection):
        return words
    known = ", ".join(COMMAND_FORMS)
    if not words:
        return Rejection("SyntaxError", f"write a command; known: {known}")
    first = words[0]
    parse = PARSERS.get(first.text)
    if parse is None:
        near = get_close_matches(first.text[:40], COMMAND_FORMS, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return Rejection("UnknownCommand", f"unknown command {first.text[:40]!r}{hint}; known: {known}", first.text)
    reader = LineReader(words, COMMAND_FORMS[first.text], state, subscription_key)
    try:
        command = parse(reader)
        reader.finish()
    except RefusedLine as refused:
        return refused.rejection
    return command


def _add(line: LineReader) -> Command:
    name = line.take("NAME")
    level: int | None = None
    key: str | None = None
    ranges: tuple[tuple[int, int], ...] | None = None
    while (option := line.option("priority", "ranges", "to")) is not None:
        if option == "priority":
            level = line.once("priority", level, line.number("N"))
        elif option == "ranges":
            ranges = line.once("ranges", ranges, line.ranges())
        else:
            key = line.once("to", key, line.take("SUBSCRIPTION"))
    return AddConsumer(line.subscription(key), name, level or 0, ranges)


def _kill(line: LineReader) -> Command:
    who = line.word("NAME|#ID")
    key = line.subscription_option("of")
    return KillConsumer(key, line.consumer(who, key))


def _rename(line: LineReader) -> Command:
    who = line.word("NAME|#ID")
    line.keyword("to")
    name = line.take("NEW")
    key = line.subscription_option("of")
    return RenameConsumer(key, line.consumer(who, key), name)


def _priority(line: LineReader) -> Command:
    who = line.word("NAME|#ID")
    level = line.number("N")
    key = line.subscription_option("of")
    return SetPriorityLevel(key, line.consumer(who, key), level)


def _set(line: LineReader) -> Command:
    word = line.word("SETTING")
    # A line of broker.conf can be pasted behind the word "set".
    if not word.quoted and "=" in word.text and line.at_end():
        name, _, text = word.text.partition("=")
        return SetSetting(name, text)
    return SetSetting(word.text, line.take("VALUE"))


def _toggle(line: LineReader) -> Command:
    word = line.word("SETTING")
    if not isinstance(DEFAULTS.get(word.text), bool):
        switches = [name for name, default in DEFAULTS.items() if isinstance(default, bool)]
        line.refuse("UnknownSetting", f"{word.text[:60]!r} is not a setting that is true or false", word.text, switches)
    return SetSetting(word.text, "false" if getattr(line.state.settings, word.text) else "true")


def _release(line: LineReader) -> Command:
    return SetRelease(line.take("VERSION"))


def _topic(line: LineReader) -> Command:
    action = line.take("add, remove or partitions")
    if action == "add":
        topic = line.take("TOPIC")
        return AddTopic(topic, line.number("N") if line.option("partitions", "segments") else 0)
    if action == "remove":
        return RemoveTopic(line.take("TOPIC"))
    if action != "partitions":
        line.refuse("SyntaxError", f"a topic can be added, removed or given partitions, not {action[:40]!r}", action)
    return RepartitionTopic(line.take("TOPIC"), line.number("N"))


def _split(line: LineReader) -> Command:
    namespace = line.take("NAMESPACE/RANGE")
    if line.option("bundle"):
        bundle = line.take("RANGE")
    elif namespace.count("/") >= 2:
        namespace, _, bundle = namespace.rpartition("/")
    else:
        bundle = line.take("RANGE, LARGEST or HOT")
    at = line.option("at")
    algorithm = None if at or line.at_end() else line.take("ALGORITHM")
    positions: list[int] = []
    if at or line.option("at"):
        for piece in "".join(line.rest("N,N")).split(","):
            position = long_decode(piece)
            if isinstance(position, Rejection):
                line.refuse("SyntaxError", f"position {position.message}", piece)
            positions.append(position)
    return SplitBundle(namespace, bundle, algorithm, tuple(positions))


def _step(line: LineReader) -> TimelineCommand:
    return GoTo(line.number("N"))


def _branch(line: LineReader) -> TimelineCommand:
    return SwitchBranch(line.number("N"))


PARSERS: Final[Mapping[str, Callable[[LineReader], Command | TimelineCommand]]] = {
    "add": _add,
    "branch": _branch,
    "end": lambda _: End(),
    "home": lambda _: Home(),
    "kill": _kill,
    "priority": _priority,
    "redo": lambda _: Redo(),
    "release": _release,
    "rename": _rename,
    "set": _set,
    "split": _split,
    "step": _step,
    "toggle": _toggle,
    "topic": _topic,
    "undo": lambda _: Undo(),
    **KEY_PARSERS,
    **PRODUCER_PARSERS,
    **SCALABLE_PARSERS,
}
