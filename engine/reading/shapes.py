"""Answers in other shapes: members spelt as other clients spell them, and parts of an answer without what is around.

Names of things (subscriptions, topics, cursors, properties) are never changed, only names of members.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

CONSUMERS: Final = "consumers"
SOME_CONSUMERS: Final = "someConsumers"
"""The name that a list of consumers gets where a part of it is missing: it must not be taken for all of them."""
UNNAMED: Final = "unnamed"
"""The name of a subscription or a cursor that was given without one."""
_NAMED_BY_PEOPLE: Final = frozenset({"partitions", "subscriptions", "cursors", "replication"})
"""Members whose own members have names of things, with values of Pulsar."""
_FREE: Final = frozenset({"metadata", "properties", "subscriptionProperties", "consumersAfterMarkDeletePosition"})
"""Members with names and values of people."""


def folded(name: str) -> str:
    """A name without what tells spellings apart: ``msg_rate_in``, ``MsgRateIn`` and ``msgRateIn`` are the same."""
    return name.replace("_", "").replace("-", "").lower()


def spelt(members: Mapping[str, Any], names: Mapping[str, str], *, is_map: bool = False) -> dict[str, Any]:
    """Return members with the names that brokers print; ``names`` has those by their folded forms.

    Depth is that of the input, which is bounded where it is decoded.

    >>> spelt({"msg_rate_in": 1, "subscriptions": {"msg_rate_in": {}}}, {"msgratein": "msgRateIn"})
    {'msgRateIn': 1, 'subscriptions': {'msg_rate_in': {}}}
    """
    result: dict[str, Any] = {}
    for name, value in members.items():
        known = name if is_map or name in result else names.get(folded(name), name)
        if not is_map and known in _FREE:
            result[known] = value
        else:
            result[known] = _below(value, names, is_map=not is_map and known in _NAMED_BY_PEOPLE)
    return result


def _below(value: Any, names: Mapping[str, str], *, is_map: bool) -> Any:
    if isinstance(value, dict):
        return spelt(value, names, is_map=is_map)
    if isinstance(value, list):
        return [_below(item, names, is_map=False) for item in value]
    return value


def is_subscription(value: object) -> bool:
    """Whether a value has what only a subscription of statistics has."""
    if not isinstance(value, Mapping):
        return False
    return SOME_CONSUMERS in value or ("msgBacklog" in value and not _OF_SUBSCRIPTIONS.isdisjoint(value))


_OF_SUBSCRIPTIONS: Final = frozenset({"consumers", "type", "blockedSubscriptionOnUnackedMsgs"})


def is_cursor(value: object) -> bool:
    """Whether a value has what only a cursor of internal statistics has."""
    return isinstance(value, Mapping) and "markDeletePosition" in value and not _OF_CURSORS.isdisjoint(value)


_OF_CURSORS: Final = frozenset(
    {"readPosition", "cursorLedger", "individuallyDeletedMessages", "numberOfEntriesSinceFirstNotAckedMessage"}
)


def is_topic(value: Mapping[str, Any]) -> bool:
    """Whether members are statistics of a topic, or a part of them that says something."""
    return any(isinstance(value.get(below), Mapping) and value[below] for below in ("subscriptions", "cursors"))


def name_without_head(value: object) -> str | None:
    """The name that a value has in what is around it, where the text begins inside of it; None where it says nothing.

    >>> name_without_head([{"consumerName": "a", "availablePermits": 0}]), name_without_head({"someConsumers": []})
    ('someConsumers', 'unnamed')
    """
    if isinstance(value, list):
        return SOME_CONSUMERS if any(isinstance(item, Mapping) and "consumerName" in item for item in value) else None
    if is_subscription(value):
        return UNNAMED
    if isinstance(value, Mapping) and value:
        if all(map(is_subscription, value.values())):
            return "subscriptions"
        if all(map(is_cursor, value.values())):
            return "cursors"
    return None


_OF_INTERNAL: Final = ("entriesAddedCounter", "lastConfirmedEntry", "ledgers")
"""Members of internal statistics that somebody may have copied beside those of a cursor."""


def completed(members: Mapping[str, Any], subscription: str = "") -> tuple[dict[str, Any], str] | None:
    """Return a part of an answer with what belongs around it, and what the part is; None for anything else.

    ``subscription`` is its name where the words before it say so.

    >>> completed({"s": {"msgBacklog": 1, "type": "Shared"}})[1]
    'subscriptions alone'
    """
    if is_subscription(members):
        inside = members.get("subscription")  # as people write it beside the numbers
        name = subscription or (inside if isinstance(inside, str) else "")
        whole = dict(members)
        if isinstance(count := whole.get("consumers"), int):  # of a list only its length: only of none it is known
            whole |= {"consumers": []}
            if count:
                del whole["consumers"]
        without = "" if name else ", without its name"
        return {"subscriptions": {name or UNNAMED: whole}}, f"one subscription alone{without}"
    if is_cursor(members):
        of_topic = {name: members[name] for name in _OF_INTERNAL if name in members}
        return {"ledgers": [], **of_topic, "cursors": {UNNAMED: dict(members)}}, "one cursor alone, without its name"
    if [*members] == ["replication"]:
        return dict(members), "replication alone"
    cursors = members["cursors"] if [*members] == ["cursors"] else members
    if members and all(map(is_subscription, members.values())):
        return {"subscriptions": dict(members)}, "subscriptions alone"
    if isinstance(cursors, Mapping) and cursors and all(map(is_cursor, cursors.values())):
        return {"cursors": dict(cursors), "ledgers": []}, "cursors alone"
    return None


def without_unsure(members: dict[str, Any], cut: Collection[tuple[str, str]]) -> list[str]:
    """Remove from statistics of a topic what a cut went through and what is half then; return the places.

    ``cut`` has a member with names of things and one of the names, which stay, so that nothing is fine of what is not
    known. A subscription with its type and its backlog says something, and half a cursor how far it acknowledged.
    """
    lost: list[str] = []
    for below, name in cut:
        things = members.get(below)
        if not isinstance(things, dict):
            continue
        thing = things.get(name)
        thing = thing if isinstance(thing, Mapping) else {}
        if below == "cursors":
            things[name] = {key: thing[key] for key in ("markDeletePosition",) if key in thing}
        elif _has_both(thing):
            continue
        else:
            things[name] = {}
        lost.append(f"{below}.{name}")
    return lost


def _has_both(value: object) -> bool:
    return isinstance(value, Mapping) and (SOME_CONSUMERS in value or ("type" in value and "msgBacklog" in value))
