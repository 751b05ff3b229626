"""``expect`` lines about a Key_Shared subscription, checked against what its screen tells.

::

    expect owner KEY CONSUMER|nobody            expect waiting OP N     (messages that wait to be sent)
    expect slots CONSUMER OP N                  expect unowned OP N     (slots that nobody has)
    expect keys CONSUMER OP N                   expect bystanders OP N  (lost slots although others came or went)
    expect unacked CONSUMER OP N                expect mode MODE
    expect blocked KEY CONSUMER                 expect verdict chance|chance of the points|names|join order|...
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.keyshared.key_text import key_of_text, text_of_key
from engine.views.keys.answers import key_answer
from engine.views.keys.model import KeyConsumerRow, KeysView
from engine.views.keys.view import keys_view

KEY_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "owner": (2, False, "expect owner KEY CONSUMER"),
    "slots": (1, True, "expect slots CONSUMER = N"),
    "keys": (1, True, "expect keys CONSUMER = N"),
    "unacked": (1, True, "expect unacked CONSUMER = N"),
    "blocked": (2, False, "expect blocked KEY CONSUMER"),
    "waiting": (0, True, "expect waiting = N"),
    "unowned": (0, True, "expect unowned = N"),
    "bystanders": (0, True, "expect bystanders = N"),
    "mode": (1, False, "expect mode MODE"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""

KEY_MEASURES: Final = ("slots", "keys", "messages")


def key_text_unmet(kind: str, subject: tuple[str, ...], timeline: Timeline, key: str) -> str | None:
    """Why an expectation without a number does not hold, "" when it does; None for a kind that is not known here."""
    view = keys_view(timeline, key)
    match kind:
        case "owner":
            found = key_answer(timeline, key, subject[0])
            if isinstance(found, Rejection):
                return found.message
            owner = found.explanation.owner.name if found.explanation.owner is not None else "nobody"
            return "" if owner == subject[1] else f"{owner} has {subject[0]}"
        case "blocked":
            return _unmet_blocked(view, *subject)
        case "mode":
            return "" if view.status.mode == subject[0] else f"the mode is {view.status.mode}"
        case "verdict":
            return "" if view.luck.verdict == subject[0] else f"the verdict is {view.luck.verdict}"
        case "notice":
            there = [notice.code for notice in view.notices]
            return "" if subject[0] in there else f"the notices are {', '.join(there) or 'none'}"
    return None


def key_number(kind: str, subject: tuple[str, ...], timeline: Timeline, key: str) -> float | str:
    """The number to compare, or why there is none."""
    view = keys_view(timeline, key)
    plain: dict[str, float] = {
        "moved": view.moves.slots,
        "least": view.moves.least,
        "bystanders": len(view.moves.bystanders),
        "waiting": view.foot.waiting,
        "unowned": view.foot.unowned_slots,
        "idle": view.foot.idle_consumers,
        "consumers": view.foot.consumers,
    }
    if kind in plain:
        return plain[kind]
    if kind == "max/mean":
        foot = view.foot
        values = (foot.max_over_mean_slots, foot.max_over_mean_keys, foot.max_over_mean_messages)
        measures = dict(zip(KEY_MEASURES, values, strict=True))
        return measures.get(subject[0], f"{subject[0]} is not measured here; known: {', '.join(KEY_MEASURES)}")
    rows = [row for row in view.consumers if subject and row.name == subject[0]]
    if len(rows) != 1:
        return f"{len(rows)} consumers are named {subject[0]!r}" if subject else f"{kind} is not known here"
    return _of_row(rows[0], kind)


def _of_row(row: KeyConsumerRow, kind: str) -> float | str:
    values: dict[str, float] = {"slots": row.slots, "keys": row.keys, "unacked": row.unacked, "share": row.share}
    return values.get(kind, f"{kind} is not known of a Key_Shared consumer")


def _unmet_blocked(view: KeysView, text: str, consumer: str) -> str:
    key = key_of_text(text)
    if isinstance(key, Rejection):
        return key.message
    for wait in view.waits:
        if text_of_key(key) in wait.keys:
            holders = [view.consumers[at].name for at, _ in wait.holders if at >= 0]
            return "" if consumer in holders else f"{text} waits ({wait.reason}) for {', '.join(holders) or 'nobody'}"
    return f"no message of {text} waits"
