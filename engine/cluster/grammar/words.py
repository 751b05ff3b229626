"""Split a command line into words and read them in turn: blanks separate words, quotes make any text one word.

In double quotes a backslash begins ``\\"``, ``\\\\``, ``\\n``, ``\\r``, ``\\t``, ``\\uXXXX`` or ``\\UXXXXXXXX``; in
single quotes, and outside of quotes, it is an ordinary character.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Final, NoReturn, TypeVar

from msgspec import Struct

from engine.cluster.state import (
    ClusterState,
    consumers_of,
    find_producer_topic,
    producer_topic_names,
    producer_topics_meant,
    scalable_topic_names,
    subscription_keys,
)
from engine.errors import Rejection
from engine.names import TopicName, parse_topic_name

LINE_LIMIT_CHARS: Final = 1_000_000
"""A longer command line is refused; the longest name that is allowed fits with every character escaped."""

_ESCAPES: Final = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_WRITTEN: Final = {value: f"\\{letter}" for letter, value in _ESCAPES.items()}
_NUMBERED: Final = re.compile(r"u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})")


class Word(Struct, frozen=True):
    """One word; ``quoted`` when any part of it stood in quotes, ``column`` counts from 1."""

    text: str
    quoted: bool
    column: int


def split_words(line: str) -> tuple[Word, ...] | Rejection:
    """The words of a line. Refused: a quote that is not closed, an unknown escape, a line that is too long. O(n).

    >>> [word.text for word in split_words('add "my name" to billing')]
    ['add', 'my name', 'to', 'billing']
    """
    if len(line) > LINE_LIMIT_CHARS:
        return Rejection("CommandTooLong", f"a command has at most {LINE_LIMIT_CHARS} characters, this has {len(line)}")
    words: list[Word] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        start, quoted = at, False
        pieces: list[str] = []
        while at < len(line) and not line[at].isspace():
            if line[at] not in "\"'":
                pieces.append(line[at])
                at += 1
                continue
            piece = _quoted(line, at)
            if isinstance(piece, Rejection):
                return piece
            quoted = True
            pieces.append(piece[0])
            at = piece[1]
        words.append(Word("".join(pieces), quoted, start + 1))
    return tuple(words)


def quote(text: str, reserved: Collection[str] = ()) -> str:
    """The text as one printable word that reads back as the same text; in quotes when it must be or is ``reserved``.

    >>> quote("consumer-1"), quote("two words"), quote("to", ["to"]), quote("#3")
    ('consumer-1', '"two words"', '"to"', '"#3"')
    """
    plain = text.isprintable() and not any(char in " \"'\\" for char in text)
    if text and plain and not text.startswith("#") and text not in reserved:
        return text
    return '"' + "".join(map(_written, text)) + '"'


def _quoted(line: str, start: int) -> tuple[str, int] | Rejection:
    """The text of the quoted piece that begins at ``start``, and the place behind its closing quote."""
    mark = line[start]
    pieces: list[str] = []
    at = start + 1
    while at < len(line):
        char = line[at]
        if char == mark:
            return "".join(pieces), at + 1
        if char != "\\" or mark == "'":
            pieces.append(char)
            at += 1
            continue
        numbered = _NUMBERED.match(line, at + 1)
        if numbered is not None:
            pieces.append(chr(int(numbered[1] or numbered[2], 16)))
            at = numbered.end()
        elif line[at + 1 : at + 2] in _ESCAPES:
            pieces.append(_ESCAPES[line[at + 1]])
            at += 2
        else:
            wrong = line[at : at + 2]
            advice = 'write \\\\ for a backslash, or \\" \\n \\r \\t \\uXXXX \\UXXXXXXXX'
            return Rejection("SyntaxError", f"unknown escape {wrong!r} at column {at + 1}; {advice}", wrong)
    return Rejection("SyntaxError", f"the quote {mark} at column {start + 1} is not closed", line[start : start + 40])


def _written(char: str) -> str:
    if char in _WRITTEN:
        return _WRITTEN[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


V = TypeVar("V")

_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_DECIMAL: Final = re.compile(r"[0-9]{1,400}(?:\.[0-9]{1,400})?")
_RANGE: Final = re.compile(r"([+-]?[0-9]{1,10})-([+-]?[0-9]{1,10})")
_ID: Final = re.compile(r"#([0-9]{1,19})")


class RefusedLine(Exception):  # noqa: N818 - it never leaves the room; the grammar turns it into its value
    """The line cannot be read on; ``rejection`` says why."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.message)
        self.rejection = rejection


class LineReader:
    """The words behind the command word. Every method that takes a word raises ``RefusedLine`` when it does not fit."""

    def __init__(self, words: tuple[Word, ...], form: str, state: ClusterState, subscription_key: str | None) -> None:
        self.state = state
        self._words = words
        self._form = form
        self._at = 1
        self._subscription_key = subscription_key

    def at_end(self) -> bool:
        return self._at == len(self._words)

    def word(self, what: str) -> Word:
        """The next word; ``what`` names it in the refusal when there is none."""
        if self.at_end():
            self.refuse("SyntaxError", f"{what} is missing; write {self._form}", self._words[-1].text)
        self._at += 1
        return self._words[self._at - 1]

    def take(self, what: str) -> str:
        return self.word(what).text

    def rest(self, what: str) -> list[str]:
        """All words that are left, at least one."""
        words = [self.take(what)]
        while not self.at_end():
            words.append(self.take(what))
        return words

    def number(self, what: str) -> int:
        text = self.take(what)
        if not _WHOLE_NUMBER.fullmatch(text):
            self.refuse("SyntaxError", f"{text[:40]!r} is not a whole number; write {self._form}", text)
        return int(text)

    def decimal(self, what: str) -> float:
        text = self.take(what)
        if not _DECIMAL.fullmatch(text):
            self.refuse("SyntaxError", f"{text[:40]!r} is not a number such as 100 or 0.5; write {self._form}", text)
        return float(text)

    def option(self, *names: str) -> str | None:
        """The next word when it is one of these and not in quotes; else nothing is taken."""
        if self.at_end():
            return None
        word = self._words[self._at]
        if word.quoted or word.text not in names:
            return None
        self._at += 1
        return word.text

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """``0-99,200-299``; a dash is none at all. Whether they are possible is for the broker to say."""
        text = self.take("START-END,...")
        if text == "-":
            return ()
        ranges: list[tuple[int, int]] = []
        for piece in text.split(","):
            match = _RANGE.fullmatch(piece)
            if match is None:
                self.refuse("SyntaxError", f"{piece[:40]!r} is not a range; write 0-16383,32768-49151", piece)
            ranges.append((int(match[1]), int(match[2])))
        return tuple(ranges)

    def keyword(self, name: str) -> None:
        if self.option(name) is None:
            text = self._words[min(self._at, len(self._words) - 1)].text
            self.refuse("SyntaxError", f"the word {name!r} is missing before {text[:40]!r}; write {self._form}", text)

    def once(self, option: str, before: V | None, value: V) -> V:
        """The value of an option that may be given once."""
        if before is not None:
            self.refuse("SyntaxError", f"{option!r} is given twice; write {self._form}", option)
        return value

    def finish(self) -> None:
        """Refuses words that are left over."""
        if not self.at_end():
            word = self._words[self._at].text
            advice = "put a text with blanks in quotes"
            self.refuse("SyntaxError", f"{word[:40]!r} is too much; write {self._form} ({advice})", word)

    def subscription_option(self, name: str) -> str:
        return self.subscription(self.take("SUBSCRIPTION") if self.option(name) else None)

    def subscription(self, named: str | None) -> str:
        """The key that was named, else the one in view, else the sole one."""
        keys = subscription_keys(self.state)
        chosen = named if named is not None else self._subscription_key
        if chosen is None and len(keys) == 1:
            chosen = keys[0]
        if chosen is None:
            listed = ", ".join(map(repr, keys[:5])) + (", ..." if len(keys) > 5 else "")
            what = f"name one of {listed}" if keys else "there is none"
            self.refuse("SubscriptionNotFound", f"which subscription? {what}; write {self._form}", self._words[0].text)
        return chosen

    def consumer(self, who: Word, key: str) -> int:
        """The id that ``#ID`` spells, or that of the only consumer of that name in a subscription."""
        unknown = "UnknownConsumer", f"no consumer of {key} is named {who.text[:60]!r}"
        return self._number(who, consumers_of(self.state, key), f"consumers of {key}", "AmbiguousConsumer", unknown)

    def _number(
        self, who: Word, known: Sequence[tuple[int, str]], noun: str, ambiguous: str, unknown: tuple[str, str]
    ) -> int:
        spelt = None if who.quoted else _ID.fullmatch(who.text)
        if spelt is not None:
            return int(spelt[1])
        matches = [number for number, name in known if name == who.text]
        if len(matches) > 1:
            ids = ", ".join(f"#{number}" for number in matches[:8]) + (", ..." if len(matches) > 8 else "")
            message = f"{len(matches)} {noun} are named {who.text[:60]!r}; use one of {ids}"
            self.refuse(ambiguous, message, who.text)
        if not matches:
            self.refuse(*unknown, who.text, [name for _, name in known])
        return matches[0]

    def producer_topic(self, named: str | None) -> str:
        """The topic that was named, else the one in view, else the sole one with producers or with partitions."""
        if named is not None:
            return named
        if self._subscription_key is not None and self._subscription_key in producer_topic_names(self.state):
            return self._subscription_key
        topics = producer_topics_meant(self.state)
        if len(topics) != 1:
            listed = ", ".join(topics[:3]) + (", ..." if len(topics) > 3 else "")
            what = f"say on TOPIC, one of {listed}" if topics else "there is no partitioned topic"
            self.refuse("ProducersNotFound", f"producers of which topic? {what}", self._words[0].text)
        return topics[0]

    def scalable_topic(self, named: str | None) -> str:
        """The scalable topic that was named, in full or by its last part, else the one in view, else the sole one."""
        topics = scalable_topic_names(self.state)
        if named is not None:
            ends = [topic for topic in topics if topic.endswith(f"/{named}")]
            return ends[0] if len(ends) == 1 else named
        if self._subscription_key in topics:
            return self._subscription_key
        if len(topics) != 1:
            listed = ", ".join(topics[:3]) + (", ..." if len(topics) > 3 else "")
            what = f"say on TOPIC, one of {listed}" if topics else "there is none; topic add topic://T/N/X creates one"
            self.refuse("TopicNotFound", f"which scalable topic? {what}", self._words[0].text)
        return topics[0]

    def producer(self, who: Word, topic: str) -> int:
        """The number that ``#N`` spells, or that of the only producer of that name on a topic."""
        name = parse_topic_name(topic)
        known = find_producer_topic(self.state, name.complete if isinstance(name, TopicName) else topic)
        producers = known.producers.producers if known is not None else ()
        named = [(each.number, each.producer_name) for each in producers if each.producer_name is not None]
        unknown = "ProducerNotFound", f"no producer is named {who.text[:60]!r}; write #0, #1 ... for their numbers"
        return self._number(who, named, "producers", "AmbiguousProducer", unknown)

    def refuse(self, error: str, message: str, field: str, candidates: Iterable[str] = ()) -> NoReturn:
        near = get_close_matches(field[:100], [candidate for candidate in candidates if len(candidate) <= 200], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise RefusedLine(Rejection(error, message + hint, field))
