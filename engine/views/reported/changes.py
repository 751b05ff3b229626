"""Changes between two moments in words, and which of them concern a subscription."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from engine.admin import between
from engine.admin.between import Change
from engine.text import counted
from engine.views.reported.model import Disagreement, SeenEvent

DIFFERS: Final = "differs"
_COUNTED: Final[Mapping[str, str]] = {
    "backlog": "backlog",
    "unacked": "unacknowledged messages",
    "replay": "messages in replay",
    "draining": "draining slots",
}
_STATES: Final[Mapping[str, tuple[str, str]]] = {
    between.BLOCKED: ("is now blocked by unacknowledged messages", "is no longer blocked by unacknowledged messages"),
    between.PERMITS: ("has no permits left", "has permits again"),
}
"""What is said where it began, and where it ended."""
LISTED: Final = 20
"""Changes of one kind between two moments that are listed one by one; the others are counted."""


def seen_events(changes: Iterable[Change], moment: int, at_ms: int | None) -> tuple[SeenEvent, ...]:
    """The changes up to the ``moment`` (from 2 on) as events."""
    events = []
    time = -1 if at_ms is None else at_ms
    for kind, group in groupby(changes, key=lambda change: change.kind):
        same = list(group)
        events += [SeenEvent(moment, time, kind, change_text(change)) for change in same[:LISTED]]
        if len(same) > LISTED:
            events.append(SeenEvent(moment, time, kind, f"{len(same) - LISTED:,} more changes of the kind {kind}"))
    return tuple(events)


def disagreement_events(
    disagreements: Iterable[Disagreement], seen: tuple[str, Collection[str]], moment: int, at_ms: int | None
) -> tuple[SeenEvent, ...]:
    """The disagreements about a subscription (its name and its topics) as events."""
    name, topics = seen
    mine = [
        disagreement
        for disagreement in disagreements
        if disagreement.subscription == name and disagreement.topic in topics
    ]
    time = -1 if at_ms is None else at_ms
    events = [SeenEvent(moment, time, DIFFERS, disagreement_text(differing)) for differing in mine[:LISTED]]
    if len(mine) > LISTED:
        events.append(SeenEvent(moment, time, DIFFERS, f"{len(mine) - LISTED:,} more facts differ"))
    return tuple(events)


def disagreement_text(disagreement: Disagreement) -> str:
    """One disagreement in words.

    >>> disagreement_text(Disagreement("active consumer", "t", "s", "a", "b", "modulo"))
    'the broker reports a as active consumer, the model b (modulo) on t'
    """
    return (
        f"the broker reports {disagreement.reported} as {disagreement.kind}, the model {disagreement.modelled}"
        f" ({disagreement.rule}) on {disagreement.topic}"
    )


def concerning(changes: Iterable[Change], namespace: str, name: str, topics: Collection[str]) -> Iterator[Change]:
    """The changes of a subscription, and of bundles, brokers and partitions that it has to do with.

    Counts that change with every moment are left out: tables have them.
    """
    for change in changes:
        if change.namespace != namespace or change.kind in ("unacked", "replay", "draining"):
            continue
        if change.subscription == name or (not change.subscription and _is_near(change, topics)):
            yield change


def _is_near(change: Change, topics: Collection[str]) -> bool:
    """Whether a change without a subscription concerns the whole namespace or one of the topics."""
    return "://" not in change.topic or change.topic in topics


def change_text(change: Change) -> str:
    """One change in words.

    >>> change_text(Change(between.BACKLOG, "t/n", "s", "persistent://t/n/x", 1, number=1200))
    'backlog of s grew by 1,200 on persistent://t/n/x'
    >>> change_text(Change(between.BLOCKED, "t/n", "s", "persistent://t/n/x", 1, after="c-1"))
    'c-1 of s is now blocked by unacknowledged messages on persistent://t/n/x'
    """
    where = _where(change)
    match change.kind:
        case between.JOINED:
            return f"{change.after or '(no name)'} joined{where}"
        case between.LEFT:
            return f"{change.before or '(no name)'} left{where}"
        case between.ACTIVE:
            return f"the active consumer changed from {change.before} to {change.after}{where}"
        case between.RANGES:
            return f"{counted(change.number, 'slot')} changed the consumer{where}"
        case between.TYPE:
            return f"{change.subscription} changed from {change.before} to {change.after}{where}"
        case between.GONE | between.NEW:
            return f"{change.subscription} is {change.kind}{where}"
        case between.BUNDLES:
            return f"bundle {change.before} of {change.namespace} was split at {change.after}"
        case between.OWNER:
            return f"{change.topic} moved from broker {change.before} to {change.after}"
        case between.PARTITIONS:
            return f"{change.topic} grew from {change.before} to {change.after} partitions"
        case between.BLOCKED | between.PERMITS:
            who, ended = change.after or change.before or "(no name)", bool(change.before)
            return f"{who} of {change.subscription} {_STATES[change.kind][ended]}{where}"
    grew = "grew" if change.number > 0 else "shrank"
    return f"{_COUNTED[change.kind]} of {change.subscription} {grew} by {abs(change.number):,}{where}"


def _where(change: Change) -> str:
    if change.topic:
        return f" on {change.topic}"
    return f" on {counted(change.topics, 'topic')}" if change.topics else ""
