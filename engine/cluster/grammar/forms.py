"""Forms of commands: a text such as ``kill {consumer_id:NAME|#ID} [of {subscription:SUBSCRIPTION}]`` reads and writes.

A part in braces is a member of the command with what people are shown for it, which also says how it is read. Parts in
brackets are options, in any order; ``[lazy {lazy:}]`` is a switch, ``[to|of {...}]`` an option with two words, and
``[{hashing:HASHING}]`` a word that may be missing. A member that may be ``all`` is None then, and of ``KEY...`` there
are any number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, NamedTuple

from msgspec.structs import fields

from engine.cluster.grammar.words import LineReader, Word, quote
from engine.cluster.state import ClusterState, consumers_of, find_producer_topic, producers_named

_PART: Final = re.compile(r"\[(?:(?P<words>[a-z|]+) ?)?(?:\{(?P<of>\w+):(?P<shown>[^}]*)\})\]|\{(\w+):([^}]+)\}|(\S+)")
_NUMBERS: Final = frozenset({"N", "ID", "ID|all", "BUCKETS", "BYTES", "MILLISECONDS", "MS"})
CONSUMER, PRODUCER, SUBSCRIPTION, TOPIC = "NAME|#ID", "NAME|#N", "SUBSCRIPTION", "TOPIC"
RANGES: Final = "START-END,..."
SWITCH: Final = "on|off"
Values = dict[str, Any]


class Part(NamedTuple):
    """``words`` are those before the value; without ``member`` it is a word that has to be there."""

    words: tuple[str, ...]
    member: str
    shown: str

    @property
    def is_flag(self) -> bool:
        return not self.shown

    @property
    def takes_all(self) -> bool:
        return self.shown.endswith("|all")

    @property
    def takes_many(self) -> bool:
        return "..." in self.shown and self.shown != RANGES


class Scope(NamedTuple):
    """What a command is about: the member for it, the names there are, and how the one that is meant is found.

    A sole name is not written.
    """

    member: str
    names: Callable[[ClusterState], list[str]]
    find: Callable[[LineReader, Values], None]


class Form:
    """How one command is written.

    ``made`` turns what was read into the members of the command, and ``taken`` a command into what is written;
    ``usual`` is not written. ``fixed`` are members that the form itself decides.
    """

    def __init__(
        self,
        kind: type[Any],
        text: str,
        scope: Scope | None = None,
        *,
        made: Callable[[LineReader, Values], Values] | None = None,
        taken: Callable[[Any], Values] | None = None,
        usual: Values | None = None,
        **fixed: Any,
    ) -> None:
        self.kind, self.fixed = kind, fixed
        self._text, self._scope, self._made, self._taken = text, scope, made, taken
        self._usual = usual or {field.name: field.default for field in fields(kind)}

    @cached_property
    def lead(self) -> str:
        """The words it begins with."""
        return self._text.partition(" {")[0].partition(" [")[0]

    @cached_property
    def help(self) -> str:
        return re.sub(r" ?\{\w+:([^}]*)\}", lambda part: f" {part[1]}" if part[1] else "", self._text).replace(
            "[ ", "["
        )

    @cached_property
    def _parts(self) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
        needed, options = [], []
        for part in _PART.finditer(self._text[len(self.lead) :]):
            if part["of"]:
                options.append(
                    Part(tuple(part["words"].split("|")) if part["words"] else (), part["of"], part["shown"])
                )
            else:
                needed.append(Part((part[6],), "", "") if part[6] else Part((), part[4], part[5]))
        return tuple(needed), tuple(options)

    def read(self, line: LineReader) -> Any:
        """The command that the words behind the lead say. Raises ``RefusedLine``."""
        needed, options = self._parts
        values: Values = {}
        for part in needed:
            if part.member:
                values[part.member] = _value(line, part)
            else:
                line.keyword(part.words[0])
        self._read_options(line, options, needed[-1] if needed and needed[-1].takes_many else None, values)
        if self._scope is not None:
            self._scope.find(line, values)
        for part in needed:
            if isinstance(values.get(part.member), Word):
                who = values[part.member]
                consumers = part.shown.startswith(CONSUMER)
                values[part.member] = (
                    line.consumer(who, values["subscription"]) if consumers else line.producer(who, values["topic"])
                )
        return self.kind(**(values if self._made is None else self._made(line, values)), **self.fixed)

    def _read_options(self, line: LineReader, options: Sequence[Part], many: Part | None, values: Values) -> None:
        of_word = {word: part for part in options for word in part.words}
        bare = next((part for part in options if not part.words), None)
        listed = values.get(many.member) if many is not None else None
        while not ((listed or bare) and line.at_end()):
            option = line.option(*of_word)
            if option is not None:
                part = of_word[option]
                value = option if part.is_flag else _value(line, part)
                values[part.member] = line.once(option, values.get(part.member), value)
            elif many is not None and listed:
                listed.append(line.take(many.shown))
            elif bare is not None:
                values[bare.member] = line.once(bare.shown, values.get(bare.member), _value(line, bare))
            else:
                break
        for part in options:
            if part.is_flag and len(part.words) == 1 and part.member in values:
                values[part.member] = True
        if many is not None and listed is not None:
            values[many.member] = tuple(listed)

    def writes(self, command: Any) -> bool:
        return type(command) is self.kind and all(getattr(command, name) == of for name, of in self.fixed.items())

    def text(self, command: Any, state: ClusterState | None) -> str:
        """One line that reads back as the same command; members that are as by default are left out."""
        needed, options = self._parts
        reserved = {word for part in (*needed, *options) for word in (*part.words, *part.shown.split("|"))}
        values = members_of(command) if self._taken is None else self._taken(command)
        if self._scope is not None and state is not None and self._scope.names(state) == [values[self._scope.member]]:
            values[self._scope.member] = None
        words = [self.lead]
        words += [
            _text(part, values[part.member], command, state, reserved) if part.member else part.words[0]
            for part in needed
        ]
        for part in options:
            value = values[part.member]
            if value is None or value == self._usual.get(part.member):
                continue
            if part.is_flag:
                words.append(part.words[0] if len(part.words) == 1 else str(value).lower())
            else:
                words += [*part.words[:1], _text(part, value, command, state, () if part.words else reserved)]
        return " ".join(words)


def members_of(command: Any) -> Values:
    return {name: getattr(command, name) for name in command.__struct_fields__}


def _value(line: LineReader, part: Part) -> Any:
    if part.takes_all and line.option("all"):
        return None
    if part.takes_many:
        return [] if part.shown.endswith("|keyless") and line.option("keyless") else [line.take(part.shown)]
    if part.shown.startswith("NAME|#"):
        return line.word(part.shown)
    if part.shown in _NUMBERS:
        return line.number(part.shown)
    if part.shown == "MSGS":
        return line.decimal(part.shown)
    if part.shown == RANGES:
        return line.ranges()
    text = line.take(part.shown)
    if part.shown != SWITCH:
        return text
    if text not in ("on", "off"):
        line.refuse("SyntaxError", f"{part.words[0]} is on or off, not {text[:40]!r}", text)
    return text == "on"


def _text(part: Part, value: Any, command: Any, state: ClusterState | None, reserved: Collection[str]) -> str:
    if value is None:
        return "all"
    if part.takes_many:
        return " ".join(quote(text, reserved) for text in value) or "keyless"
    if part.shown.startswith(CONSUMER):
        return _consumer(command.subscription, value, state, reserved)
    if part.shown.startswith(PRODUCER):
        return _producer(command.topic, value, state, reserved)
    if part.shown == RANGES:
        return ranges_text(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return quote(value, reserved) if isinstance(value, str) else _decimal(value)


def ranges_text(ranges: Sequence[tuple[int, int]]) -> str:
    """Ranges as one word; none at all is a dash.

    >>> ranges_text([(0, 99), (200, 299)]), ranges_text([])
    ('0-99,200-299', '-')
    """
    return ",".join(f"{start}-{end}" for start, end in ranges) or "-"


def _decimal(number: float) -> str:
    """The shortest digits that read back as the same number, without an exponent.

    >>> _decimal(100.0), _decimal(0.1), _decimal(1e-7)
    ('100', '0.1', '0.0000001')
    """
    return format(Decimal(repr(number)), "f").removesuffix(".0")


def _consumer(key: str, consumer_id: int, state: ClusterState | None, reserved: Collection[str]) -> str:
    if state is not None:
        consumers = consumers_of(state, key)
        names = [name for number, name in consumers if number == consumer_id]
        if len(names) == 1 and sum(name == names[0] for _, name in consumers) == 1:
            return quote(names[0], reserved)
    return f"#{consumer_id}"


def _producer(topic: str, number: int, state: ClusterState | None, reserved: Collection[str]) -> str:
    known = find_producer_topic(state, topic) if state is not None else None
    if known is not None and 0 <= number < len(known.producers.producers):
        name = known.producers.producers[number].producer_name
        if name is not None and producers_named(known, name) == [number]:
            return quote(name, reserved)
    return f"#{number}"
