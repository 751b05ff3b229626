"""``expect`` lines of demo scripts about Key_Shared, producers and bundles over time, checked against the views.

::

    expect owner KEY CONSUMER|nobody            expect waiting OP N     (messages that wait to be sent)
    expect slots CONSUMER OP N                  expect unowned OP N     (slots without owner)
    expect keys CONSUMER OP N                   expect bystanders OP N  (lost slots although others came or went)
    expect unacked CONSUMER OP N                expect mode MODE
    expect blocked KEY CONSUMER                 expect verdict chance|chance of the points|names|join order|...

    expect producers OP N            expect opened PRODUCER OP N        (partitions it has opened)
    expect objects OP N              expect knows PRODUCER OP N         (partitions it counts with)
    expect connections OP N          expect route PRODUCER KEY OP N     (the partition of its next message)
    expect used|full OP N            expect state PRODUCER STATE
    expect pending OP N              expect entries by name|by position OP N
    expect published OP N            expect mixtures by name|by position OP N
    expect eager|lazy|partial OP X   expect torn by name|by position OP N
    expect inflow PARTITION OP X     expect hottest OP X                 (times the average of the partitions)
    expect without OP N              (partitions that get nothing)

    expect next split NAMESPACE RANGE|nothing
    expect next reason NAMESPACE Topics|Sessions|MsgRate|Bandwidth
    expect forecast NAMESPACE cycle|seconds|splits|bundles|over|pieces OP N

``objects`` are producer objects on brokers, ``used`` partitions with any and ``full`` ones with as many as
``maxProducersPerTopic`` allows; ``inflow`` is in messages a second; eager, lazy and partial are what the same
producers would have opened by now with that way to start. A PRODUCER is a name or #N.

The forecast has two brokers with the modular load manager, twenty cycles of steady traffic, and the algorithm that the
settings lead to. ``cycle``, ``seconds`` and ``pieces`` are those of the next split; ``splits``, ``bundles`` and
``over`` (bundles above a limit) are counted after the last cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.keyshared.keys import key_of_text, text_of_key
from engine.views.bundles.model import BalanceQuestion, BalanceView
from engine.views.bundles.view import balance_frame, balance_view
from engine.views.keys.answers import key_answer
from engine.views.keys.model import KeyConsumerRow, KeysView
from engine.views.keys.view import keys_view
from engine.views.producers.answers import send_answer, statistics_view
from engine.views.producers.model import ProducerRow, ProducersView
from engine.views.producers.view import producers_view

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
    "partition": (1, True, "expect partition KEY = N"),
    "unreached": (0, True, "expect unreached = N"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""

KEY_MEASURES: Final = ("slots", "keys", "messages")


def key_text_unmet(kind: str, subject: tuple[str, ...], timeline: Timeline, key: str) -> str | None:
    """Why an expectation without a number does not hold, "" when it does; None for a kind that is not known here."""
    view = keys_view(timeline, key)
    match kind:
        case "owner":
            answer = key_answer(timeline, key, subject[0])
            if isinstance(answer, Rejection):
                return answer.message
            owner = answer.explanation.owner.name if answer.explanation.owner is not None else "nobody"
            return "" if owner == subject[1] else f"{owner} has {subject[0]}"
        case "blocked":
            return _unmet_blocked(view, *subject)
        case "mode":
            return "" if view.status.mode.value == subject[0] else f"the mode is {view.status.mode.value}"
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
        "unreached": 0 if view.partitions is None else len(view.partitions.unreached),
    }
    if kind in plain:
        return plain[kind]
    if kind == "partition":
        answer = key_answer(timeline, key, subject[0])
        if isinstance(answer, Rejection):
            return answer.message
        partition = None if answer.path is None else answer.path.partition
        return "no hash takes a partition" if partition is None else partition
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
            holders = [view.consumers[holder.consumer].name for holder in wait.holders if holder.consumer >= 0]
            return "" if consumer in holders else f"{text} waits ({wait.reason}) for {', '.join(holders) or 'nobody'}"
    return f"no message of {text} waits"


PRODUCER_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "producers": (0, True, "expect producers = N"),
    "objects": (0, True, "expect objects = N"),
    "connections": (0, True, "expect connections = N"),
    "used": (0, True, "expect used = N"),
    "full": (0, True, "expect full = N"),
    "pending": (0, True, "expect pending = N"),
    "published": (0, True, "expect published = N"),
    "eager": (0, True, "expect eager = N"),
    "lazy": (0, True, "expect lazy = N"),
    "partial": (0, True, "expect partial = N"),
    "inflow": (1, True, "expect inflow PARTITION = X"),
    "hottest": (0, True, "expect hottest = X"),
    "without": (0, True, "expect without = N"),
    "opened": (1, True, "expect opened PRODUCER = N"),
    "knows": (1, True, "expect knows PRODUCER = N"),
    "route": (2, True, "expect route PRODUCER KEY = N"),
    "state": (2, False, "expect state PRODUCER Ready|Closed|Fenced"),
    "entries": (2, True, "expect entries by name = N"),
    "mixtures": (2, True, "expect mixtures by position = N"),
    "torn": (2, True, "expect torn by position = N"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""

_WAYS: Final = ("by name", "by position")


def producer_text_unmet(kind: str, subject: tuple[str, ...], timeline: Timeline, topic: str) -> str | None:
    """Why an expectation without a number does not hold, "" when it does; None for a kind that is not known here."""
    view = producers_view(timeline, topic)
    if kind == "state":
        row = _row(view, subject[0])
        return row if isinstance(row, str) else "" if row.state == subject[1] else f"{subject[0]} is {row.state}"
    if kind == "notice":
        there = [notice.code for notice in view.notices]
        return "" if subject[0] in there else f"the notices are {', '.join(there) or 'none'}"
    return None


def producer_number(kind: str, subject: tuple[str, ...], timeline: Timeline, topic: str) -> float | str:
    """The number to compare, or why there is none."""
    view = producers_view(timeline, topic)
    foot, here = view.foot, view.counts.here
    plain: dict[str, float] = {
        "producers": foot.ready,
        "objects": foot.broker_producers,
        "connections": foot.connections,
        "used": foot.partitions_used,
        "full": foot.full,
        "pending": foot.pending_msgs,
        "published": foot.sent_msgs,
        "eager": here.eager,
        "lazy": here.lazy,
        "partial": here.partial,
    }
    if kind in plain:
        return plain[kind]
    if kind in ("inflow", "hottest", "without"):
        return _of_rates(kind, subject, view)
    if kind in ("entries", "mixtures", "torn"):
        return _of_statistics(kind, " ".join(subject), timeline, topic)
    if kind not in PRODUCER_FORMS:
        return f"{kind} is not known of producers"
    row = _row(view, subject[0])
    if isinstance(row, str):
        return row
    if kind == "route":
        answer = send_answer(timeline, topic, row.number, subject[1])
        return answer.message if isinstance(answer, Rejection) else answer.explanation.route.partition
    return row.opened if kind == "opened" else row.known


def _of_rates(kind: str, subject: tuple[str, ...], view: ProducersView) -> float | str:
    rates = view.rates
    if rates is None:
        return "no producer has a rate; producer rate gives it one"
    if kind != "inflow":
        return rates.busiest_over_average if kind == "hottest" else rates.without
    partition = int(subject[0]) if subject[0].isdecimal() else -1
    if not 0 <= partition < len(rates.msgs_per_sec):
        return f"there is no partition {subject[0]}"
    return float(rates.msgs_per_sec[partition])


def _of_statistics(kind: str, way: str, timeline: Timeline, topic: str) -> float | str:
    if way not in _WAYS:
        return f"statistics are merged {' or '.join(_WAYS)}, not {way!r}"
    merged = statistics_view(timeline, topic)
    if kind == "torn":
        return (merged.by_name if way == "by name" else merged.by_position).torn
    rows = (merged.by_name if way == "by name" else merged.by_position).entries
    return len(rows) if kind == "entries" else sum(row.mixture for row in rows)


def _row(view: ProducersView, who: str) -> ProducerRow | str:
    if who.startswith("#") and who[1:].isdecimal():
        number = int(who[1:])
        return view.producers[number] if number < len(view.producers) else f"there is no producer {number}"
    rows = [row for row in view.producers if row.name == who]
    return rows[0] if len(rows) == 1 else f"{len(rows)} producers are named {who!r}"


BALANCE_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "next": (3, False, "expect next split NAMESPACE RANGE, or expect next reason NAMESPACE REASON"),
    "forecast": (2, True, "expect forecast NAMESPACE cycle|seconds|splits|bundles|over|pieces = N"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""

BALANCE_WORDS: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "next": (0, ("split", "reason")),
    "forecast": (1, ("cycle", "seconds", "splits", "bundles", "over", "pieces")),
}
"""Kind -> which of its words is one of a list, and the list."""

NOTHING: Final = "nothing"


def balance_text_unmet(subject: tuple[str, ...], state: ClusterState) -> str:
    """Why ``next split`` or ``next reason`` does not hold, "" when it does."""
    what, namespace, wanted = subject
    view = _view(namespace, state)
    if isinstance(view, str):
        return view
    split = view.configured.next_split()
    if split is None:
        return "" if what == "split" and wanted == NOTHING else f"nothing splits within {view.question.cycles} cycles"
    actual = split.range_text if what == "split" else split.reason
    return "" if actual == wanted else f"it is {actual}"


def balance_number(subject: tuple[str, ...], state: ClusterState) -> float | str:
    """The number to compare, or why there is none."""
    namespace, what = subject
    view = _view(namespace, state)
    if isinstance(view, str):
        return view
    tree = view.configured
    if what == "splits":
        return len(tree.splits)
    if what == "bundles":
        return tree.bundles
    if what == "over":
        return balance_frame(view, tree.algorithm, view.question.cycles).over
    split = tree.next_split()
    if split is None:
        return f"nothing splits within {view.question.cycles} cycles"
    return {"cycle": split.cycle, "seconds": split.at_seconds, "pieces": len(split.children)}[what]


def _view(namespace: str, state: ClusterState) -> BalanceView | str:
    view = balance_view(state, namespace, BalanceQuestion())
    return view.message if isinstance(view, Rejection) else view
