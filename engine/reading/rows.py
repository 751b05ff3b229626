"""Tables that people make of answers: rows of a filter of jq, CSV, columns, a table of a page; as statistics.

A row counts where its columns name what it has: by a heading, by the filter that made it, or by a full topic name. What
no column has is unknown, and so is a list of consumers of which only the number is known, unless that is 0.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from engine.names import NAMELESS
from engine.reading.commands import LONGEST_COMMAND
from engine.reading.shapes import UNNAMED, is_subscription

_TOPIC, _SUBSCRIPTION, _COUNT = "topic", "subscription", "consumers"
_HEADINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("topic", "topicname", "topics", "name", "t", "partition"), _TOPIC),
    **dict.fromkeys(("subscription", "subscriptionname", "sub", "subname", "s"), _SUBSCRIPTION),
    **dict.fromkeys(("backlog", "msgbacklog", "waiting", "waits"), "msgBacklog"),
    **dict.fromkeys(("consumers", "consumercount", "consumerscount", "numconsumers", "connected"), _COUNT),
    **dict.fromkeys(("unacked", "unackedmessages", "unackedmsgs", "unack"), "unackedMessages"),
    **dict.fromkeys(("type", "subtype", "subscriptiontype"), "type"),
    **dict.fromkeys(("msgrateout", "rateout", "out", "outs", "outrate", "outratemsgs"), "msgRateOut"),
    **dict.fromkeys(("msgratein", "ratein", "in", "ins", "inrate", "inratemsgs"), "msgRateIn"),
    **dict.fromkeys(("blockedsubscriptiononunackedmsgs", "blocked"), "blockedSubscriptionOnUnackedMsgs"),
    "msgdelayed": "msgDelayed", "msginreplay": "msgInReplay", "msgrateredeliver": "msgRateRedeliver",
    "messageackrate": "messageAckRate", "consumername": "consumerName", "availablepermits": "availablePermits",
    "permits": "availablePermits",
}  # fmt: skip
_OF_TOPIC: Final = frozenset({"msgRateIn"})
_OF_CONSUMER: Final = frozenset({"consumerName", "availablePermits"})
_PROOF: Final = frozenset({"msgBacklog", "availablePermits", "unackedMessages"})
"""Without one of them a table may be of anything."""
_SURE: Final = 3
_NOT_LETTERS: Final = re.compile(r"[^a-z]")
_BORDER: Final = re.compile(r"[-+=|:\s│┌┐└┘├┤┬┴┼─╋━┃]+")
_FULL_NAME: Final = re.compile(r"(?:non-)?persistent://[^\s\"',|]{1,700}")
_LOCAL_NAME: Final = re.compile(r"[-=:.A-Za-z0-9_]{1,255}")
UNKNOWN_TYPE: Final = "unknown"
"""Brokers print "None" of a subscription that nobody is connected to, and a row that has no type does not say that."""
_NUMBER: Final = re.compile(r"-?\d{1,3}(?:,\d{3})+|-?\d{1,18}(?:\.\d{1,18})?(?:[eE][-+]?\d{1,3})?")
_FILTER: Final = re.compile(
    rf"\bjq\b[^'\"\n]{{0,200}}(?:'([^'\n]{{1,{LONGEST_COMMAND}}})'|\"([^\"\n]{{1,{LONGEST_COMMAND}}})\")"
)
_OF_FILTER: Final = re.compile(r"\.subscriptions\s*(?:\.\s*([A-Za-z_][\w-]*)|\.?\[?\s*\"([^\"]{1,255})\"\]?)")
_LISTED: Final = re.compile(r"\[((?:[^\[\]]|\[\])*)\]\s*\|\s*(?:@tsv|@csv|join\()")
_MADE: Final = re.compile(r"\{([^{}]*)\}")
_OUTSIDE: Final = re.compile(r",(?![^()]*\))")
_NO_HEADING: Final = re.compile(r"[\d=:]")
_PAIR: Final = re.compile(r"([A-Za-z_]\w{0,60})[ \t]{0,3}[=:][ \t]{0,3}(\S{1,700})")
_WORD: Final = re.compile(r"[A-Za-z]\w*")
_MOST_ROWS: Final = 100_000
_MOST_MOMENTS: Final = 200

Row = dict[str, Any]
"""Values by member; ``topic`` and ``subscription`` are names, ``consumers`` a number."""


@dataclass(frozen=True, slots=True)
class Made:
    """What the filter before a table says: the subscription, the members of a list in order, those behind names."""

    subscription: str = ""
    listed: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    """The member that the filter ends with, "" where it makes a list or an object."""


def made_by(text: str) -> Made:
    """What the first filter of jq in a text makes.

    >>> made_by("jq -r '.subscriptions.pay | [.msgBacklog, (.consumers|length)] | @tsv'").listed
    ('msgBacklog', 'consumers')
    """
    found = _FILTER.search(text)
    if found is None:
        return Made(subscription_of(text))
    chain = found[1] or found[2]
    listed, made = _LISTED.search(chain), _MADE.search(chain)
    names: dict[str, str] = {}
    for part in _OUTSIDE.split(made[1]) if made is not None else ():
        name, _, expression = part.partition(":")
        if expression.strip():
            names[name.strip(" \"'")] = _member(expression, chain)
    columns = tuple(_member(part, chain) for part in _OUTSIDE.split(listed[1])) if listed is not None else ()
    value = "" if listed is not None or made is not None else _member(chain, chain)
    return Made(subscription_of(chain), columns, names, value)


def subscription_of(text: str) -> str:
    """The subscription that the first filter in a text takes out of an answer; "" for none."""
    found = _OF_FILTER.search(text)
    return (found[1] or found[2]) if found is not None else ""


def _member(expression: str, chain: str) -> str:
    """The member that a column of a filter comes from; "" for one that is not known."""
    words = _WORD.findall(expression)
    if "length" in words and _COUNT in words:
        return _COUNT
    if words[-1:] in (["key"], ["k"]):
        return _SUBSCRIPTION if ".subscriptions" in chain else _TOPIC
    return next((member for word in reversed(words) if (member := _HEADINGS.get(_heading(word)))), "")


def _heading(text: object) -> str:
    return _NOT_LETTERS.sub("", str(text).lower())


def statistics_of_rows(
    text: str, values: Iterable[tuple[object, str]], topic: str = "", *, varies: bool = False
) -> tuple[list[dict[str, Any]], int]:
    """The statistics of topics in a text's tables or in its JSON, moment by moment, and how many rows there were.

    ``values`` have the topics that words before them name, ``topic`` is what the text is about where a row does not say
    it: "" is then the name. ``varies``: a loop printed the rows, so those without a topic are of one each. What comes
    again is of a later moment. O(length).

    >>> statistics_of_rows("TOPIC BACKLOG CONSUMERS\\npersistent://t/n/x 7 0", [])[0]
    [{'persistent://t/n/x': {'subscriptions': {'unnamed': {'msgBacklog': 7, 'consumers': []}}}}]
    """
    made = made_by(text)
    rows = [*islice(_of_values(values, made), _MOST_ROWS)]
    rows = rows or [*islice(_of_lines(text.splitlines(), made), _MOST_ROWS)]
    is_made = made != Made()
    rows = [row for row in rows if not _PROOF.isdisjoint(row) and (is_made or _is_sure(row))]
    moments: list[dict[str, Any]] = []
    seen: set[tuple[str, str, object]] = set()
    for number, row in enumerate(rows, 1):
        about = _full(row.pop(_TOPIC, "")) or topic or (f"persistent://{NAMELESS}/row-{number}" if varies else "")
        name = row.pop(_SUBSCRIPTION, "") or made.subscription or UNNAMED
        key = about, name, row.get("consumerName", len(seen) if "availablePermits" in row else "")
        if key in seen or not moments:
            moments.append({})
            seen.clear()
        seen.add(key)
        of_topic = moments[-1].setdefault(about, {})
        of_topic |= {member: row.pop(member) for member in _OF_TOPIC & row.keys()}
        members = of_topic.setdefault("subscriptions", {}).setdefault(name, {})
        if not _OF_CONSUMER.isdisjoint(row):
            members.setdefault("consumers", []).append(row)
        else:
            count = row.pop(_COUNT, None)
            members |= {**row, "consumers": []} if count in (0, []) else row
        if members.get("consumers") != []:
            members.setdefault("type", UNKNOWN_TYPE)
    return moments[-_MOST_MOMENTS:], len(rows)


def _is_sure(row: Row) -> bool:
    """Whether a row says by itself what it is about: two words that other things have too are not enough."""
    return len(row) >= _SURE or _SUBSCRIPTION in row or _FULL_NAME.search(str(row.get(_TOPIC, ""))) is not None


def _full(name: object) -> str:
    """The full name of a topic; of its last part alone the namespace is not known."""
    text = str(name).strip()
    found = _FULL_NAME.search(text)
    if found is not None:
        return found[0]
    if text.count("/") == 2:
        return f"persistent://{text}"
    return f"persistent://{NAMELESS}/{text}" if _LOCAL_NAME.fullmatch(text) else ""


# JSON


def _of_values(values: Iterable[tuple[object, str]], made: Made) -> Iterator[Row]:
    for value, topic in values:
        for one in value if isinstance(value, list) else (value,):
            for row in _of_object(one, made) if isinstance(one, Mapping) else ():
                yield {_TOPIC: topic, **row} if topic else row


def _of_object(one: Mapping[str, Any], made: Made) -> Iterator[Row]:
    inner = one.get("value")
    if isinstance(inner, Mapping) and is_subscription(inner) and isinstance(one.get("key"), str):
        yield {**inner, _SUBSCRIPTION: one["key"]}
    elif made.value and one and all(_is_number(value) for value in one.values()):
        yield from ({_SUBSCRIPTION: name, made.value: value} for name, value in one.items())
    else:
        whole = _row(one.items(), made.names)
        yield whole
        # What a filter makes of each subscription is below its name.
        for below in one.values():
            for name, members in below.items() if isinstance(below, Mapping) else ():
                if isinstance(members, Mapping):
                    about = {_TOPIC: whole[_TOPIC]} if _TOPIC in whole else {}
                    yield {**about, **_row(members.items(), made.names), _SUBSCRIPTION: name}


def _row(cells: Iterable[tuple[str, Any]], names: Mapping[str, str]) -> Row:
    row: Row = {}
    for name, value in cells:
        member = names.get(name) or _HEADINGS.get(_heading(name), "")
        if isinstance(value, str) and _FULL_NAME.fullmatch(value):
            member = _TOPIC
        if member in (_TOPIC, _SUBSCRIPTION, "type", "consumerName"):
            row |= {member: value} if isinstance(value, str) and value else {}
        elif member and isinstance(value, int | float | list) and (member == _COUNT or not isinstance(value, list)):
            row[member] = value
    return row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# lines


def _of_lines(lines: Sequence[str], made: Made) -> Iterator[Row]:
    heading: list[str] = []
    for line in lines:
        cells = _cells(line, len(heading))
        if _BORDER.fullmatch(line):
            continue
        known = [_HEADINGS.get(_heading(cell), "") for cell in cells]
        if sum(map(bool, known)) > 1 and not _PROOF.isdisjoint(known) and not _NO_HEADING.search(line):
            heading = cells
        elif heading and len(cells) == len(heading):
            yield _row(zip(heading, map(_value, cells), strict=True), made.names)
        elif made.listed and len(cells := _cells(line, len(made.listed))) == len(made.listed):
            yield _row(((member, _value(cell)) for member, cell in zip(made.listed, cells, strict=True)), {})
        elif len(pairs := _PAIR.findall(line)) > 1 and not heading:
            yield _row(((name, _value(value.rstrip(",;"))) for name, value in pairs), made.names)
        elif made.value and (named := re.fullmatch(r"\s*(\S{1,700}?):?\s+(-?\d{1,18})\s*", line)) is not None:
            yield _row(((_TOPIC, named[1]), (made.value, int(named[2]))), {})
        else:
            heading = []


def _cells(line: str, expected: int) -> list[str]:
    """The cells of a line, by what separates them; by single spaces where that gives the expected number."""
    text = line.strip(" \n")
    for border in ("│", "|", "┃"):
        if border in text:
            return [cell.strip() for cell in text.strip(border).split(border)]
    for separator in ("\t", ";", ","):
        if separator in text and text.count(separator) >= max(1, expected - 1):
            try:
                return [cell.strip() for cell in next(csv.reader([text], delimiter=separator))]
            except csv.Error:  # a cell longer than csv takes
                return [cell.strip() for cell in text.split(separator)]
    wide = re.split(r"\s{2,}", text)
    return wide if len(wide) == expected or (not expected and len(wide) > 2) else text.split()


def _number(text: str) -> float | int | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    plain = text.replace(",", "")
    return int(plain) if plain.lstrip("-").isdigit() else float(plain)


def _value(text: str) -> object:
    number = _number(text)
    if number is not None:
        return number
    return {"true": True, "false": False}.get(text.lower(), text.strip("\"'"))
