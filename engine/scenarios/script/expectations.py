"""``expect`` lines of a script: a member of a JSON document as commands print it, compared with a value.

::

    expect totals.idle_consumers = 0              the document of what is shown: ringside schema dashboard, keys, ...
    expect consumers[worker-0].unacked > 2        [TEXT]: the row whose first text it is, here or inside of a row
    expect rates.msgs_per_sec[3] < 166.7          [NUMBER]: so many rows on; -1 is the last one
    expect segments[state=SEALED] = 3             [MEMBER=TEXT]: all such rows; of several, their number is compared
    expect subscriptions.consumers[a].reported has 4
    expect status.rule = first connected          a text; none is null
    expect key order-1: consumer = none           another answer: key KEY, route PRODUCER KEY, forecast NAMESPACE,
                                                  migration KEY
    expect refused [ERROR]                        (the command on the line before)

A comparison is ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=`` or ``has``. The member of several rows is what they have
there, each value once; ``=`` and a text hold if all are that. What is not there has no members: each is none. Where a
cluster has subscriptions, producers and a scalable topic, the member is that of the first that has it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final

from engine.answer import about
from engine.cluster.timeline import Timeline
from engine.documents import document
from engine.errors import Rejection
from engine.scenarios.script.model import REFUSED, Expectation
from engine.views.bundles.document import balance_document
from engine.views.bundles.model import BalanceQuestion
from engine.views.bundles.view import balance_view
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.document import dashboard_document
from engine.views.keys.answers import key_answer
from engine.views.keys.document import keys_document
from engine.views.keys.view import keys_view
from engine.views.producers.answers import send_answer, statistics_view
from engine.views.producers.document import producers_document
from engine.views.producers.view import producers_view
from engine.views.scalable.dashboard import keys_answered, scalable_dashboard
from engine.views.scalable.migration import classic_topic_of, migration_view, routing_of

NONE: Final = "none"
_SIGNS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PATH: Final = r"[a-z][a-z_]*(?:\.[a-z][a-z_]*|\[[^\[\]]+\])*"
_FORM: Final = re.compile(rf"(?P<path>{_PATH})\s*(?P<sign>!=|<=|>=|[=<>]|has\b)\s*(?P<value>\S.*)")
_STEP: Final = re.compile(r"\[([^\[\]]+)\]|([a-z_]+)")
_NUMBER: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,6})?")
_WRITE: Final = "write expect MEMBER = VALUE, such as expect totals.idle_consumers = 0"


def parse_expectation(text: str) -> Expectation | Rejection:
    """Read what follows ``expect``.

    >>> parse_expectation("key a: consumer = c-1")
    Expectation(text='key a: consumer = c-1', question='key a', path='consumer', sign='=', value='c-1')
    """
    word, _, rest = text.partition(" ")
    if word == REFUSED:
        if " " in rest.strip():
            return Rejection("SyntaxError", "write expect refused, or expect refused ERROR", rest)
        return Expectation(text, REFUSED, value=rest.strip())
    question, asks, path = text.partition(": ")
    if not asks or question.partition(" ")[0] not in _ANSWERS:
        question, path = "", text
    form = _FORM.fullmatch(path.strip())
    if form is None:
        return Rejection("SyntaxError", _WRITE, path)
    if form["sign"] not in ("=", "!=", "has") and not _NUMBER.fullmatch(form["value"]):
        return Rejection("SyntaxError", f"{form['value']!r} is not a number; {_WRITE}", form["value"])
    return Expectation(text, question, form["path"], form["sign"], form["value"])


def unmet(expectation: Expectation, timeline: Timeline) -> str:
    """Why an expectation does not hold at the cursor, with what is there instead; "" when it holds.

    ``refused`` is for the runner, which knows what became of the command before.
    """
    return judged(expectation, timeline)[0]


def judged(expectation: Expectation, timeline: Timeline) -> tuple[str, float | None]:
    """The same with the number that came, None where none was compared."""
    first = ""
    for answer in _documents(expectation.question, timeline):
        if isinstance(answer, Rejection):
            return answer.message, None
        try:
            value = _member(answer, expectation.path)
        except LookupError as fault:
            first = first or str(fault.args[0])
        else:
            return _compared(expectation, value)
    return first, None


def _compared(expectation: Expectation, value: Any) -> tuple[str, float | None]:
    sign, wanted = expectation.sign, expectation.value
    values = value if isinstance(value, list) else [value]
    texts = [_text(one) for one in values] or [NONE]
    if sign == "has":
        return "" if wanted in texts else f"it has {', '.join(texts)}", None
    if _NUMBER.fullmatch(wanted):
        number = len(value) if isinstance(value, list) else value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return "" if _SIGNS[sign](number, float(wanted)) else f"it is {number:g}", float(number)
    if sign in ("=", "!=") and all((text == wanted) is (sign == "=") for text in texts):
        return "", None
    return f"it is {', '.join(dict.fromkeys(texts))}", None


def _text(value: Any) -> str:
    return NONE if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"


def _member(answer: Any, path: str) -> Any:
    """The member of a document at a path. Raises ``LookupError`` that says how far it comes."""
    value, done = answer, ""
    for chosen, name in _STEP.findall(path):
        value = _chosen(value, chosen, done) if chosen else _named(value, name, done)
        done += f"[{chosen}]" if chosen else f".{name}" if done else name
    return value


def _named(value: Any, name: str, done: str) -> Any:
    if value is None:
        return None
    if isinstance(value, list) and len(value) != 1:
        inner = [one for row in value for one in _flat(_named(row, name, done))]
        return [one for at, one in enumerate(inner) if one not in inner[:at]]
    row = value[0] if isinstance(value, list) else value
    if isinstance(row, dict) and name in row:
        return row[name]
    known = f" (it has {', '.join(row)})" if isinstance(row, dict) else ""
    raise LookupError(f"{done or 'the document'} has no {name}{known}")


def _flat(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _chosen(value: Any, chosen: str, done: str) -> Any:
    name, sign, text = chosen.partition("=")
    if sign and isinstance(value, list):
        return [row for row in value if text in map(_text, _flat(_named(row, name, done)))]
    level = _flat(value)
    while level:
        rows = [row for row in level if isinstance(row, dict) and _is_called(row, chosen)]
        if len(rows) == 1:
            return rows[0]
        if rows:
            raise LookupError(f"{len(rows)} rows of {done} are called {chosen!r}")
        level = [row for outer in level if isinstance(outer, dict) for row in _rows_in(outer)]
    if isinstance(value, list) and re.fullmatch(r"-?[0-9]{1,9}", chosen) and -len(value) <= int(chosen) < len(value):
        return value[int(chosen)]
    raise LookupError(f"no row of {done} is called {chosen!r}")


def _is_called(row: dict[str, Any], text: str) -> bool:
    """Whether the first text of a row is this one, or the end of it: a topic has a short name."""
    first = next((value for value in row.values() if isinstance(value, str)), None)
    return first is not None and (first == text or first.endswith(f"/{text}"))


def _rows_in(row: dict[str, Any]) -> Iterator[Any]:
    for value in row.values():
        if isinstance(value, list):
            yield from value


# Documents.


@dataclass(frozen=True, slots=True)
class Destination:
    partition: Annotated[int | None, about("Its partition; null where no hash takes one.")]
    consumer: Annotated[str | None, about("Who gets it; null for nobody, and where nobody was asked for.")]


def _documents(question: str, timeline: Timeline) -> Iterator[Any]:
    """The answer to a question; without one what the cluster has, in the order of what can be shown."""
    word, _, rest = question.partition(" ")
    if word:
        answer = _ANSWERS[word](timeline, rest.strip())
        yield answer if isinstance(answer, Rejection) else document(answer)
        return
    state = timeline.state
    there = {
        "dashboard": state.subscriptions,
        "keys": state.key_subscriptions,
        "producers": state.producer_topics,
        "scalable": state.scalable_topics,
    }
    for kind in dict.fromkeys([*(kind for kind, some in there.items() if some), "dashboard"]):
        yield _shown(timeline, kind)


@lru_cache(maxsize=4)
def _shown(timeline: Timeline, kind: str) -> Any:
    """The document of the first subscription or topic of a kind; kept, since lines that expect something are many."""
    state = timeline.state
    if kind == "keys":
        return keys_document(keys_view(timeline, state.key_subscriptions[0].key))
    if kind == "producers":
        topic = state.producer_topics[0].topic
        return producers_document(producers_view(timeline, topic), statistics_view(timeline, topic))
    if kind == "scalable":
        return document(scalable_dashboard(timeline, state.scalable_topics[0].topic).view)
    return dashboard_document(dashboard_view(timeline))


def _of_key(timeline: Timeline, key: str) -> Any:
    state = timeline.state
    if state.key_subscriptions:
        answer = key_answer(timeline, state.key_subscriptions[0].key, key)
        if isinstance(answer, Rejection):
            return answer
        owner, path = answer.explanation.owner, answer.path
        return Destination(None if path is None else path.partition, None if owner is None else owner.name)
    if state.scalable_topics:
        return keys_answered(scalable_dashboard(timeline, state.scalable_topics[0].topic), (key,)).keys[0]
    return Rejection("SubscriptionNotFound", "nothing is shown that keys go to")


def _of_route(timeline: Timeline, text: str) -> Any:
    producer, _, key = text.partition(" ")
    topic = next((one.topic for one in timeline.state.producer_topics), None)
    rows = producers_view(timeline, topic).producers if topic is not None else ()
    numbers = [row.number for row in rows if producer in (row.name, f"#{row.number}")]
    if topic is None or len(numbers) != 1:
        return Rejection("ProducerNotFound", f"{len(numbers)} producers are called {producer!r}")
    answer = send_answer(timeline, topic, numbers[0], key)
    return answer if isinstance(answer, Rejection) else Destination(answer.explanation.route.partition, None)


def _of_forecast(timeline: Timeline, namespace: str) -> Any:
    view = balance_view(timeline.state, namespace, BalanceQuestion())
    return view if isinstance(view, Rejection) else balance_document(view)


def _of_migration(timeline: Timeline, key: str) -> Any:
    topic = min(timeline.state.topics, default="")
    before = classic_topic_of(timeline.state, topic)
    if before is None:
        return Rejection("TopicNotFound", "there is no classic topic")
    return migration_view(before, [key.encode("utf-8", "surrogatepass")], routing_of(timeline.state, topic))


_ANSWERS: Final[Mapping[str, Callable[[Timeline, str], Any]]] = {
    "key": _of_key,
    "route": _of_route,
    "forecast": _of_forecast,
    "migration": _of_migration,
}
