"""States, events and commands as canonical JSON: one value, one sequence of bytes.

Keys are sorted, mappings are lists sorted by name, numbers are written the shortest way that reads back
(``engine.cluster.journal.plain``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from types import UnionType
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec import structs

from engine.cluster.commands import Command
from engine.cluster.events import Event
from engine.cluster.journal.invariants import faults, load_faults
from engine.cluster.journal.plain import (
    columns_from_plain,
    columns_to_plain,
    convert,
    fail,
    from_plain,
    list_of,
    loads_from_plain,
    loads_to_plain,
    member,
    tagged,
    to_plain,
)
from engine.cluster.keys.evolve import folded
from engine.cluster.keys.state import KeyEvent
from engine.cluster.limits import count_faults
from engine.cluster.producers.evolve import folded_producers
from engine.cluster.producers.state import ProducerTopicEvent
from engine.cluster.scalable.events import ScalableTopicEvent
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import RATES, LoadTable
from engine.cluster.tables.topics import Load, Topic, TopicTable
from engine.config import BrokerSettings
from engine.errors import InputError, Problem

FORMAT: Final = 2
"""Version of the written form. A reader refuses a newer one; an older one is read as long as this says so.

Format 1 had a row for each topic and for the traffic of each partition, where this one has columns.
"""

T = TypeVar("T")

_EVENTS: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Event)}
_COMMANDS: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Command)}


def state_to_plain(state: ClusterState) -> dict[str, Any]:
    """A state as JSON values, mappings turned into lists sorted by name; columns stay columns, or their recipe."""
    return {
        "format": FORMAT,
        "release": to_plain(state.release),
        "settings": to_plain(state.settings),
        "columns": columns_to_plain(state.topics, state.loads),
        "subscriptions": [_subscription_to_plain(subscription, state) for subscription in state.subscriptions],
        "key_subscriptions": [
            [to_plain(event, tagged=True) for event in subscription.happened]
            for subscription in state.key_subscriptions
        ],
        "producer_topics": [
            [to_plain(event, tagged=True) for event in topic.happened] for topic in state.producer_topics
        ],
        "scalable_topics": [
            [to_plain(event, tagged=True) for event in topic.happened] for topic in state.scalable_topics
        ],
        "producer_policies": {name: state.producer_policies[name] for name in sorted(state.producer_policies)},
        "namespaces": [to_plain(state.namespaces[name]) for name in sorted(state.namespaces)],
        "next_consumer_id": state.next_consumer_id,
    }


def _subscription_to_plain(subscription: Subscription, state: ClusterState) -> Any:
    every = subscription.topics is state.topics.names
    listed = () if every else tuple(subscription.topics)
    plain = {
        field.name: to_plain(listed if field.name == "topics" else getattr(subscription, field.name))
        for field in fields(subscription)
        if field.name != "loads"
    }
    if every:
        plain["every_topic"] = True
    if subscription.loads:
        plain["load_columns"] = loads_to_plain(LoadTable.of(state.topics, subscription.loads))
    return plain


def state_from_plain(plain: Any, source: str = "state") -> ClusterState:
    """The state of ``state_to_plain``, checked for everything that holds in a state. Raises InputError."""
    from engine.cluster.scalable.evolve import folded_scalable

    check_format(plain, source)
    topics, loads = _topics_and_loads(plain, source)
    state = ClusterState(
        release=convert(plain.get("release"), str, source, "$.release"),
        settings=convert(plain.get("settings"), BrokerSettings, source, "$.settings"),
        topics=topics,
        loads=loads,
        subscriptions=_subscriptions(plain, topics, source),
        key_subscriptions=_folds(plain, "key_subscriptions", KeyEvent, folded, source),
        producer_topics=_folds(plain, "producer_topics", ProducerTopicEvent, folded_producers, source),
        scalable_topics=_folds(plain, "scalable_topics", ScalableTopicEvent, folded_scalable, source),
        producer_policies=convert(plain.get("producer_policies", {}), dict[str, int], source, "$.producer_policies"),
        namespaces={namespace.name: namespace for namespace in list_of(plain, "namespaces", Namespace, source)},
        next_consumer_id=convert(plain.get("next_consumer_id"), int, source, "$.next_consumer_id"),
    )
    _refuse_faults(faults(state), source)
    return state


def _refuse_faults(reasons: Sequence[str], source: str) -> None:
    if reasons:
        problems = tuple(Problem(source, "$", reason) for reason in reasons)
        raise InputError(f"{source} holds a state that cannot be: {reasons[0]}", problems)


def _topics_and_loads(plain: Any, source: str) -> tuple[TopicTable, LoadTable]:
    if "columns" in plain:
        try:
            return columns_from_plain(from_plain(plain["columns"]))
        except (ValueError, TypeError, OverflowError, msgspec.ValidationError) as error:
            fail(source, "$.columns", str(error))
    listed = {topic.name: topic for topic in list_of(plain, "topics", Topic, source)}
    # A table has a row per partition, so their number is checked before it is built.
    reported = len(member(plain, "loads", list, source))
    _refuse_faults(count_faults({topic.name: topic.partitions for topic in listed.values()}, reported), source)
    topics = TopicTable.of(listed)
    return topics, _loads_from_plain(plain, topics, source, "$")


def _loads_from_plain(plain: Any, topics: TopicTable, source: str, place: str) -> LoadTable:
    loads = {
        convert(member(row, "partition", object, source), str, source, f"{place}.loads[{at}].partition"): _with_floats(
            convert(member(row, "load", dict, source), Load, source, f"{place}.loads[{at}].load")
        )
        for at, row in enumerate(member(plain, "loads", list, source))
    }
    # Faults in them would not show in the columns.
    _refuse_faults(load_faults(topics, loads), source)
    return LoadTable.of(topics, loads)


def _folds(
    plain: Any, key: str, kind: UnionType, fold: Callable[[Iterable[Any]], T | str], source: str
) -> tuple[T, ...]:
    """The values whose events are stored, folded; none in older formats."""
    values: list[T] = []
    for at, rows in enumerate(member(plain, key, list, source) if key in plain else ()):
        place = f"$.{key}[{at}]"
        listed = rows if isinstance(rows, list) else [rows]
        events = [event_from_plain(row, source, f"{place}[{number}]") for number, row in enumerate(listed)]
        value = fold(event for event in events if isinstance(event, kind))
        if isinstance(value, str):
            fail(source, place, value)
        values.append(value)
    return tuple(values)


def _subscriptions(plain: Any, topics: TopicTable, source: str) -> tuple[Subscription, ...]:
    subscriptions: list[Subscription] = []
    for at, row in enumerate(member(plain, "subscriptions", list, source)):
        every = isinstance(row, dict) and row.get("every_topic") is True
        place = f"$.subscriptions[{at}]"
        own = ("every_topic", "loads", "load_columns")
        rest = {name: value for name, value in row.items() if name not in own} if isinstance(row, dict) else row
        read = convert(rest, Subscription, source, place)
        listed = topics.names if every else tuple(read.topics)
        subscriptions.append(replace(read, topics=listed, **_own_loads(row, topics, source, place)))
    return tuple(subscriptions)


def _own_loads(row: dict[str, Any], topics: TopicTable, source: str, place: str) -> dict[str, Any]:
    """The own traffic of one subscription, if it has any; older formats have none."""
    if "loads" in row:
        return {"loads": _loads_from_plain(row, topics, source, place)}
    if "load_columns" not in row:
        return {}
    try:
        return {"loads": loads_from_plain(topics, row["load_columns"])}
    except (ValueError, TypeError) as error:
        fail(source, f"{place}.load_columns", str(error))


def event_from_plain(plain: Any, source: str, place: str = "$") -> Event:
    """An event from JSON values. Raises InputError."""
    event: Event = tagged(plain, _EVENTS, source, place)
    return event


def command_from_plain(plain: Any, source: str, place: str = "$") -> Command:
    """A command from JSON values. Raises InputError."""
    command: Command = tagged(plain, _COMMANDS, source, place)
    return command


def check_format(plain: Any, source: str) -> None:
    """Raises InputError for anything that this version cannot read."""
    version = plain.get("format") if isinstance(plain, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        fail(source, "$.format", "this was not written by Ringside: it has no format number")
    if version > FORMAT:
        fail(
            source,
            "$.format",
            f"it has format {version}, and this Ringside reads up to {FORMAT}; use the newer one that wrote it",
        )


def _with_floats(load: Load) -> Load:
    # A rate that was written as 5 is the number 5.0, so that it is written the same way the next time.
    rates: dict[str, Any] = {name: float(rate) for name in RATES if (rate := getattr(load, name)) is not None}
    return structs.replace(load, **rates)
