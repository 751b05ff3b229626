"""States, events and commands as canonical JSON: one value, one sequence of bytes.

Keys are sorted, mappings are lists sorted by name, numbers are written the shortest way that reads back. JSON carries
no half of a surrogate pair and no number that is infinite, Python texts and floats do: such a text is written as
``{"code_points": [...]}``, such a number as ``{"float": "inf"}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, NoReturn, TypeVar, get_args

import msgspec

from engine.cluster.columns_text import columns_from_plain, columns_to_plain
from engine.cluster.commands import Command
from engine.cluster.events import Event
from engine.cluster.invariants import faults
from engine.cluster.key_events import KeyEvent
from engine.cluster.key_evolve import folded
from engine.cluster.key_state import KeySubscription
from engine.cluster.large_topics import LargeTopics
from engine.cluster.producer_events import ProducerTopicEvent
from engine.cluster.producer_evolve import folded_producers
from engine.cluster.producer_state import ProducerTopic
from engine.cluster.state import ClusterState, Load, Namespace, Subscription, Topic
from engine.config import BrokerSettings
from engine.errors import InputError, Problem

FORMAT: Final = 2
"""Version of the written form. A reader refuses a newer one; an older one is read as long as this says so."""
PLAIN_FORMAT: Final = 1
"""What is written for a state without columns, so that older readers take it too."""

T = TypeVar("T")

_EVENTS: Final[dict[str, type[Any]]] = {each.__name__: each for each in get_args(Event)}
_COMMANDS: Final[dict[str, type[Any]]] = {each.__name__: each for each in get_args(Command)}
_encoder: Final = msgspec.json.Encoder(order="deterministic")


def serialise_state(state: ClusterState) -> bytes:
    """The canonical bytes of a state; equal states give equal bytes. O(size of the state).

    >>> parse_state(serialise_state(ClusterState())) == ClusterState()
    True
    """
    return encode(state_to_plain(state))


def parse_state(data: bytes, source: str = "state") -> ClusterState:
    """The state of ``serialise_state``. Raises InputError with the place for anything else, a newer format included."""
    return state_from_plain(decode(data, source), source)


def serialise_event(event: Event) -> bytes:
    """``{"type": "ConsumerAdded", ...}`` with the event's fields."""
    return encode(to_plain(event, tagged=True))


def parse_event(data: bytes, source: str = "event") -> Event:
    """The event of ``serialise_event``. Raises InputError."""
    return event_from_plain(decode(data, source), source)


def serialise_command(command: Command) -> bytes:
    """``{"type": "AddConsumer", ...}`` with the command's fields; whole numbers must fit into 64 bits."""
    return encode(to_plain(command, tagged=True))


def parse_command_json(data: bytes, source: str = "command") -> Command:
    """The command of ``serialise_command``. Raises InputError."""
    return command_from_plain(decode(data, source), source)


def format_of(state: ClusterState) -> int:
    """The version in which a state is written."""
    return FORMAT if isinstance(state.topics, LargeTopics) else PLAIN_FORMAT


def state_to_plain(state: ClusterState) -> dict[str, Any]:
    """A state as JSON values, mappings turned into lists sorted by name; columns stay columns, or their recipe."""
    in_columns = isinstance(state.topics, LargeTopics)
    plain = {
        "format": format_of(state),
        "release": to_plain(state.release),
        "settings": to_plain(state.settings),
        "topics": [] if in_columns else [to_plain(state.topics[name]) for name in sorted(state.topics)],
        "loads": []
        if in_columns
        else [{"partition": to_plain(name), "load": to_plain(state.loads[name])} for name in sorted(state.loads)],
        "subscriptions": [_subscription_to_plain(each, state) for each in state.subscriptions],
        "key_subscriptions": [
            [to_plain(event, tagged=True) for event in each.happened] for each in state.key_subscriptions
        ],
        "producer_topics": [
            [to_plain(event, tagged=True) for event in each.happened] for each in state.producer_topics
        ],
        "namespaces": [to_plain(state.namespaces[name]) for name in sorted(state.namespaces)],
        "next_consumer_id": state.next_consumer_id,
    }
    if isinstance(state.topics, LargeTopics):
        plain["columns"] = columns_to_plain(state.topics, state.loads)
    return plain


def _subscription_to_plain(subscription: Subscription, state: ClusterState) -> Any:
    if isinstance(state.topics, LargeTopics) and subscription.topics is state.topics.names:
        return {**to_plain(replace(subscription, topics=())), "every_topic": True}
    return to_plain(replace(subscription, topics=tuple(subscription.topics)))


def state_from_plain(plain: Any, source: str = "state") -> ClusterState:
    """The state of ``state_to_plain``, checked for everything that holds in a state. Raises InputError."""
    check_format(plain, source)
    topics, loads = _topics_and_loads(plain, source)
    state = ClusterState(
        release=convert(plain.get("release"), str, source, "$.release"),
        settings=convert(plain.get("settings"), BrokerSettings, source, "$.settings"),
        topics=topics,
        loads=loads,
        subscriptions=_subscriptions(plain, topics, source),
        key_subscriptions=_key_subscriptions(plain, source),
        producer_topics=_producer_topics(plain, source),
        namespaces={each.name: each for each in _list_of(plain, "namespaces", Namespace, source)},
        next_consumer_id=convert(plain.get("next_consumer_id"), int, source, "$.next_consumer_id"),
    )
    found = faults(state)
    if found:
        problems = tuple(Problem(source, "$", reason) for reason in found)
        raise InputError(f"{source} holds a state that cannot be: {found[0]}", problems)
    return state


def _topics_and_loads(plain: Any, source: str) -> tuple[Mapping[str, Topic], Mapping[str, Load]]:
    if "columns" in plain:
        try:
            return columns_from_plain(from_plain(plain["columns"]))
        except (ValueError, TypeError, msgspec.ValidationError) as error:
            _fail(source, "$.columns", str(error))
    rows = _member(plain, "loads", list, source)
    loads = {
        convert(_member(each, "partition", object, source), str, source, f"$.loads[{at}].partition"): convert(
            _member(each, "load", dict, source), Load, source, f"$.loads[{at}].load"
        )
        for at, each in enumerate(rows)
    }
    topics = {each.name: each for each in _list_of(plain, "topics", Topic, source)}
    return topics, {name: _with_floats(load) for name, load in loads.items()}


def _subscriptions(plain: Any, topics: Mapping[str, Topic], source: str) -> tuple[Subscription, ...]:
    found: list[Subscription] = []
    for at, row in enumerate(_member(plain, "subscriptions", list, source)):
        every = isinstance(row, dict) and row.get("every_topic") is True and isinstance(topics, LargeTopics)
        rest = {name: value for name, value in row.items() if name != "every_topic"} if every else row
        read = convert(rest, Subscription, source, f"$.subscriptions[{at}]")
        found.append(
            replace(read, topics=topics.names if isinstance(topics, LargeTopics) and every else tuple(read.topics))
        )
    return tuple(found)


def event_from_plain(plain: Any, source: str, place: str = "$") -> Event:
    """An event from JSON values. Raises InputError."""
    event: Event = _tagged(plain, _EVENTS, source, place)
    return event


def command_from_plain(plain: Any, source: str, place: str = "$") -> Command:
    """A command from JSON values. Raises InputError."""
    command: Command = _tagged(plain, _COMMANDS, source, place)
    return command


def to_plain(value: Any, *, tagged: bool = False) -> Any:
    """A frozen value as JSON values; ``tagged`` adds the name of its class as ``type``."""
    if isinstance(value, str):
        return value if _is_utf8(value) else {"code_points": [ord(char) for char in value]}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    if is_dataclass(value):
        plain = {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **plain} if tagged else plain
    assert value is None or isinstance(value, (bool, int)), f"{type(value)} has no written form"
    return value


def encode(plain: Any) -> bytes:
    """JSON values as bytes, keys sorted."""
    return _encoder.encode(plain)


def decode(data: bytes, source: str) -> Any:
    """JSON bytes as values. Raises InputError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{source} is no JSON: {error}", (Problem(source, "$", str(error)),)) from error


def check_format(plain: Any, source: str) -> None:
    """Raises InputError for anything that this version cannot read."""
    version = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _fail(source, "$.format", "this was not written by Ringside: it has no format number")
    if version > FORMAT:
        _fail(
            source,
            "$.format",
            f"it has format {version}, and this Ringside reads up to {FORMAT}; use the newer one that wrote it",
        )


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def from_plain(plain: Any) -> Any:
    """Texts and numbers that JSON cannot carry, back from their wrappings."""
    if isinstance(plain, list):
        return [from_plain(each) for each in plain]
    if isinstance(plain, dict):
        if plain.keys() == {"code_points"}:
            return "".join(map(chr, plain["code_points"]))
        if plain.keys() == {"float"}:
            return float(plain["float"])
        return {key: from_plain(each) for key, each in plain.items()}
    return plain


def convert(plain: Any, kind: type[T], source: str, place: str) -> T:
    """JSON values as a value of a known kind. Raises InputError with the place."""
    try:
        return msgspec.convert(from_plain(plain), kind)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        _fail(source, place, str(error))


def _tagged(plain: Any, kinds: dict[str, type[Any]], source: str, place: str) -> Any:
    name = plain.get("type") if isinstance(plain, dict) else None
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        _fail(source, place, f"{name!r} is none of {', '.join(sorted(kinds))}")
    return convert(plain, kind, source, place)


def _key_subscriptions(plain: Any, source: str) -> tuple[KeySubscription, ...]:
    found: list[KeySubscription] = []
    for place, events in _histories(plain, "key_subscriptions", source):
        subscription = folded(event for event in events if isinstance(event, KeyEvent))
        if isinstance(subscription, str):
            _fail(source, place, subscription)
        found.append(subscription)
    return tuple(found)


def _producer_topics(plain: Any, source: str) -> tuple[ProducerTopic, ...]:
    found: list[ProducerTopic] = []
    for place, events in _histories(plain, "producer_topics", source):
        topic = folded_producers(event for event in events if isinstance(event, ProducerTopicEvent))
        if isinstance(topic, str):
            _fail(source, place, topic)
        found.append(topic)
    return tuple(found)


def _histories(plain: Any, key: str, source: str) -> Iterator[tuple[str, list[Event]]]:
    """What is written down as the events of each, with its place; none in what is older than they are."""
    for at, rows in enumerate(_member(plain, key, list, source) if key in plain else ()):
        place = f"$.{key}[{at}]"
        listed = rows if isinstance(rows, list) else [rows]
        yield place, [event_from_plain(row, source, f"{place}[{number}]") for number, row in enumerate(listed)]


def _list_of(plain: Any, key: str, kind: type[T], source: str) -> list[T]:
    rows: Sequence[Any] = _member(plain, key, list, source)
    return [convert(row, kind, source, f"$.{key}[{at}]") for at, row in enumerate(rows)]


def _member(plain: Any, key: str, kind: type[T], source: str) -> T:
    value = plain.get(key) if isinstance(plain, dict) else None
    if value is None or not isinstance(value, kind):
        _fail(source, f"$.{key}", f"{key} is missing or of the wrong kind")
    return value


def _with_floats(load: Load) -> Load:
    # A rate that was written as 5 is the number 5.0, so that it is written the same way the next time.
    return replace(
        load,
        msg_rate_in=float(load.msg_rate_in),
        msg_rate_out=float(load.msg_rate_out),
        throughput_in_bytes_per_sec=float(load.throughput_in_bytes_per_sec),
        throughput_out_bytes_per_sec=float(load.throughput_out_bytes_per_sec),
    )


def _fail(source: str, place: str, reason: str) -> NoReturn:
    raise InputError(f"{source} at {place}: {reason}", (Problem(source, place, reason),))
