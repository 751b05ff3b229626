"""``expect`` lines of a script: what should be on the screen now, checked against what is.

::

    expect active TOPIC CONSUMER|nobody         expect moved OP N            (partitions the last step moved)
    expect partitions CONSUMER OP N             expect least OP N            (moves that had to be)
    expect share CONSUMER OP X                  expect idle OP N             (consumers of the cohort without any)
    expect max/mean partitions|ring|rate OP X   expect consumers OP N
    expect bundles NAMESPACE OP N               expect rule modulo|ring|first connected|mixed|nobody
    expect bundle NAMESPACE/RANGE               expect notice CODE
    expect topics NAMESPACE/RANGE OP N          expect refused [ERROR]       (the command on the line before)
    expect rate NAMESPACE/RANGE OP X            (messages per second, in plus out)

Those about Key_Shared subscriptions are in ``key_expectations``, those about producers in ``producer_expectations``,
those about bundles over time in ``balance_expectations``, those about scalable topics in ``scalable_expectations``.
For Key_Shared, moved, least, idle, consumers, share, notice and ``max/mean slots|keys|messages`` hold there too and
then count slots. ``OP`` is ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from engine.cluster.grammar.words import split_words
from engine.cluster.state import shown_places
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.scenarios.script.feature_expectations import (
    BALANCE_FORMS,
    BALANCE_WORDS,
    KEY_FORMS,
    KEY_MEASURES,
    PRODUCER_FORMS,
    balance_number,
    balance_text_unmet,
    key_number,
    key_text_unmet,
    producer_number,
    producer_text_unmet,
)
from engine.scenarios.script.model import Expectation
from engine.scenarios.script.scalable_expectations import SCALABLE_FORMS, scalable_number, scalable_text_unmet
from engine.views.failover.dashboard import dashboard_view, topic_explanation
from engine.views.failover.model import BundleNode, ConsumerRow, DashboardView, RuleInForce
from engine.views.keys.words import VERDICTS

_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBER: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,6})?")
_WORDS: Final = {"rule": tuple(rule.value for rule in RuleInForce), "verdict": tuple(VERDICTS.values())}
_MEASURES: Final = ("partitions", "ring", "rate")

_LISTED: Final[Mapping[str, tuple[int, Sequence[str]]]] = {
    "max/mean": (0, (*_MEASURES, *KEY_MEASURES)),
    **BALANCE_WORDS,
}
"""Kind -> which of its words is one of a list, and the list."""

_OF_BUNDLES: Final = frozenset({"bundles", "bundle", "topics", "rate"})

# Kind -> how many words name the subject, and whether a comparison follows.
_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "active": (2, False, "expect active TOPIC CONSUMER"),
    "partitions": (1, True, "expect partitions CONSUMER = N"),
    "share": (1, True, "expect share CONSUMER >= 0.05"),
    "max/mean": (1, True, "expect max/mean partitions|ring|rate < X"),
    "moved": (0, True, "expect moved <= N"),
    "least": (0, True, "expect least = N"),
    "idle": (0, True, "expect idle = N"),
    "consumers": (0, True, "expect consumers = N"),
    "bundles": (1, True, "expect bundles NAMESPACE = N"),
    "bundle": (1, False, "expect bundle NAMESPACE/RANGE"),
    "topics": (1, True, "expect topics NAMESPACE/RANGE = N"),
    "rate": (1, True, "expect rate NAMESPACE/RANGE <= X"),
    "notice": (1, False, "expect notice CODE"),
    **BALANCE_FORMS,
    **KEY_FORMS,
    **PRODUCER_FORMS,
    **SCALABLE_FORMS,
}


def parse_expectation(text: str) -> Expectation | Rejection:
    """Read what follows ``expect``. The refusal says how that kind is written.

    >>> parse_expectation("partitions billing-0 = 100")
    Expectation(text='partitions billing-0 = 100', kind='partitions', subject=('billing-0',), operator='=', value=100.0)
    """
    split = split_words(text)
    if isinstance(split, Rejection):
        return split
    words = [word.text for word in split]
    kind, rest = (words[0], words[1:]) if words else ("", [])
    if kind in _WORDS:
        value = " ".join(rest)
        if value not in _WORDS[kind]:
            return _refuse(f"{value!r} is not a {kind}; write one of {', '.join(_WORDS[kind])}", value)
        return Expectation(text, kind, (value,))
    if kind == "refused":
        if len(rest) > 1:
            return _refuse("write expect refused, or expect refused ERROR", rest[1])
        return Expectation(text, kind, tuple(rest))
    if kind not in _FORMS:
        known = [*_FORMS, *_WORDS, "refused"]
        near = get_close_matches(kind, known, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return _refuse(f"{kind!r} cannot be expected{hint}; known: {', '.join(known)}", kind)
    count, compared, form = _FORMS[kind]
    if len(rest) != count + 2 * compared:
        return _refuse(f"write {form}", kind)
    place, listed = _LISTED.get(kind, (0, rest))
    if rest and rest[place] not in listed:
        verb = "measured" if kind == "max/mean" else "forecast"
        return _refuse(f"{rest[place]!r} is not {verb}; write {form}", rest[place])
    if not compared:
        return Expectation(text, kind, tuple(rest))
    sign, number = rest[count:]
    if sign not in _OPERATORS:
        return _refuse(f"{sign!r} is not a comparison; use one of {' '.join(_OPERATORS)}", sign)
    if not _NUMBER.fullmatch(number):
        return _refuse(f"{number!r} is not a number; write {form}", number)
    return Expectation(text, kind, tuple(rest[:count]), sign, float(number))


def unmet(expectation: Expectation, timeline: Timeline, subscription: int = 0) -> str:
    """Why an expectation does not hold at the cursor, with what is there instead; "" when it holds.

    ``refused`` is for the runner, which knows what became of the command before.
    """
    return judged(expectation, timeline, subscription)[0]


def judged(expectation: Expectation, timeline: Timeline, subscription: int = 0) -> tuple[str, float | None]:
    """The same with the number that came, None where no number is expected or there is none."""
    if expectation.kind in BALANCE_FORMS:
        return _judged_forecast(expectation, timeline)
    scalable = _scalable_topic(timeline, subscription, expectation.kind)
    if scalable:
        reason = scalable_text_unmet(expectation.kind, expectation.subject, timeline, scalable)
        if reason is None:
            return _compared(expectation, scalable_number(expectation.kind, expectation.subject, timeline, scalable))
        return reason, None
    if expectation.kind in SCALABLE_FORMS:
        return "there is no scalable topic", None
    topic = _producer_topic(timeline, subscription, expectation.kind)
    if topic:
        reason = producer_text_unmet(expectation.kind, expectation.subject, timeline, topic)
        if reason is None:
            return _compared(expectation, producer_number(expectation.kind, expectation.subject, timeline, topic))
        return reason, None
    if expectation.kind in PRODUCER_FORMS:
        return "there are no producers", None
    shared = _shared_key(timeline, subscription)
    if shared:
        reason = key_text_unmet(expectation.kind, expectation.subject, timeline, shared)
        if reason is not None:
            return reason, None
        if expectation.kind not in _OF_BUNDLES:
            return _compared(expectation, key_number(expectation.kind, expectation.subject, timeline, shared))
    elif expectation.kind in KEY_FORMS or expectation.kind == "verdict":
        return "no Key_Shared subscription is shown", None
    view = dashboard_view(timeline, subscription=subscription)
    if expectation.operator:
        return _compared(expectation, _number(expectation, view))
    return _unmet_words(expectation, timeline, subscription, view), None


def _unmet_words(expectation: Expectation, timeline: Timeline, subscription: int, view: DashboardView) -> str:
    match expectation.kind:
        case "active":
            return _unmet_active(expectation, timeline, subscription)
        case "rule":
            rule = view.status.rule.value
            return "" if rule == expectation.subject[0] else f"the rule is {rule}"
        case "notice":
            there = [notice.code for notice in view.notices]
            return "" if expectation.subject[0] in there else f"the notices are {', '.join(there) or 'none'}"
        case _:
            node = _bundle(view, expectation.subject[0])
            return (
                "" if node is not None and not node.children else f"{expectation.subject[0]} is not a bundle in force"
            )


def _judged_forecast(expectation: Expectation, timeline: Timeline) -> tuple[str, float | None]:
    if not expectation.operator:
        return balance_text_unmet(expectation.subject, timeline.state), None
    return _compared(expectation, balance_number(expectation.subject, timeline.state))


def _producer_topic(timeline: Timeline, subscription: int, kind: str) -> str:
    """The topic whose producers are meant: the one that is shown, or for what only they have the first."""
    state = timeline.state
    at = subscription - len(state.subscriptions) - len(state.key_subscriptions)
    topics = state.producer_topics
    if not topics or kind in _OF_BUNDLES or (at < 0 and kind not in PRODUCER_FORMS):
        return ""
    return topics[min(max(at, 0), len(topics) - 1)].topic


def _scalable_topic(timeline: Timeline, subscription: int, kind: str) -> str:
    """The scalable topic that is meant: the one that is shown, or for what only they have the first."""
    state = timeline.state
    topics = state.scalable_topics
    at = subscription - (len(shown_places(state)) - len(topics))
    if not topics or kind in _OF_BUNDLES or (at < 0 and kind not in SCALABLE_FORMS):
        return ""
    return topics[min(max(at, 0), len(topics) - 1)].topic


def _shared_key(timeline: Timeline, subscription: int) -> str:
    """The key of the shown subscription when that is a Key_Shared one: they follow those of type Failover."""
    state = timeline.state
    at = subscription - len(state.subscriptions)
    if at < 0 or not state.key_subscriptions:
        return ""
    return state.key_subscriptions[min(at, len(state.key_subscriptions) - 1)].key


def _compared(expectation: Expectation, actual: float | str) -> tuple[str, float | None]:
    if isinstance(actual, str):
        return actual, None
    holds = _OPERATORS[expectation.operator](actual, expectation.value)
    return "" if holds else f"it is {actual:g}", actual


def _number(expectation: Expectation, view: DashboardView) -> float | str:
    """The number to compare, or why there is none."""
    subject = expectation.subject[0] if expectation.subject else ""
    last = view.events[-1]
    plain: dict[str, float] = {
        "moved": last.moved,
        "least": last.least,
        "idle": view.foot.idle_consumers,
        "consumers": view.foot.consumers,
    }
    if expectation.kind in plain:
        return plain[expectation.kind]
    match expectation.kind:
        case "max/mean":
            if subject not in _MEASURES:
                return f"{subject} is measured where a Key_Shared subscription is shown"
            foot = view.foot
            values = (foot.max_over_mean_partitions, foot.max_over_mean_ring_share, foot.max_over_mean_rate)
            value = values[_MEASURES.index(subject)]
            return "no answer has the rates of all partitions" if value is None else value
        case "bundles":
            node = next((namespace for namespace in view.namespaces if namespace.name == subject), None)
            return f"there is no namespace {subject!r}" if node is None else node.bundles
        case "topics" | "rate":
            bundle = _bundle(view, subject)
            if bundle is None:
                return f"there is no bundle {subject!r}"
            value = bundle.topics if expectation.kind == "topics" else bundle.msgs_per_sec
            return f"no answer has the rates of all topics of {subject!r}" if value is None else value
        case _:
            row = _consumer(view, subject)
            if isinstance(row, str):
                return row
            return row.active_partitions if expectation.kind == "partitions" else row.ring_share


def _unmet_active(expectation: Expectation, timeline: Timeline, subscription: int) -> str:
    topic, wanted = expectation.subject
    explained = topic_explanation(timeline, subscription, topic)
    if isinstance(explained, Rejection):
        return explained.message
    active = explained.why.active.name if explained.why else "nobody"
    return "" if active == wanted else f"{active} is active for {explained.topic}"


def _consumer(view: DashboardView, name: str) -> ConsumerRow | str:
    rows = [row for row in view.consumers if row.name == name]
    if len(rows) == 1:
        return rows[0]
    return f"{len(rows)} consumers are named {name!r}" if rows else f"no consumer is named {name!r}"


def _bundle(view: DashboardView, name: str) -> BundleNode | None:
    namespace, _, wanted = name.rpartition("/")
    for node in view.namespaces:
        if node.name == namespace:
            return next((inner for root in node.roots for inner in _all(root) if inner.range_text == wanted), None)
    return None


def _all(node: BundleNode) -> Iterator[BundleNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def _refuse(message: str, field: str) -> Rejection:
    return Rejection("SyntaxError", message, field)
