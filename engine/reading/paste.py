"""Find the answers in a text that somebody copied: from a terminal, a page, a chat, a log, a mail.

A sound answer in it is taken byte for byte; one that is damaged is read as far as it can be. What is around them names
what they are about, and is otherwise passed over, with a note of where. Linear in the text; nothing is trusted with a
size or a depth.
"""

from __future__ import annotations

import bisect
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from engine.reading.commands import Command, command_in, partition_in, topic_in
from engine.reading.lenient import DEEPEST, NARROWEST, Cut, Mend, Read, Reader
from engine.reading.margins import without_margins
from engine.reading.rows import subscription_of
from engine.text import joined

MAX_PASTE_BYTES: Final = 32 * 1024**2
"""Larger texts are no pastes: they are JSON, or they are not read."""
_DECODER: Final = json.JSONDecoder(parse_int=len, parse_float=len)
"""Checks JSON and finds its end. Numbers are not parsed: Python refuses those of thousands of digits."""
_GAP: Final = r"(?:[^\S\n]|\n(?:[>|│]+|[+](?=[ \t]))?)*"
"""Space before a token, with what a mail, a table or a comparison puts before a line."""
_OPENS: Final = "“”„‟«»‘’‚‛"
"""Quotes of other keyboards, any of which may open a name."""
_BEGINS: Final = re.compile(
    rf"\{{(?={_GAP}(?:[\"'{_OPENS}}}]|:?[A-Za-z_$][\w$.-]{{0,100}}\s*[:=]|(?:non-)?persistent://|//|#|/\*|\.\.|…))"
    rf"|\[(?={_GAP}[\"'{_OPENS}{{\[])"
    r"|[A-Z][A-Za-z0-9_]{0,80}\((?=[a-z_]\w{0,100}=)"
    r"|(?<=\n)[ \t>|]*(?=(?:\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|'[^'\n]{1,600}')[ \t]*:[ \t]*[\"'“‘{\[\-\dtfnTFN])"
)
_MARGIN: Final = re.compile(r"[ \t>|│+]*")
_LINE_NUMBER: Final = re.compile(r"^[ \t]*(\d{1,7})(?:[:|\t│]|[ ](?=[ {}\[\]\"]))", re.MULTILINE)
_FEWEST_NUMBERED: Final = 3
"""So many lines with consecutive numbers are numbered by a tool, and not by chance."""
_COLOURS: Final = re.compile(
    r"(?:\x1b|\^\[|␛|\\e|\\033|\\x1b|\\u001b)(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[()][A-Z0-9]|[=>])"
    r"|(?<![\w\"])\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m"
)
_TYPED: Final = re.compile(r"[^\n\x08]\x08")
_COMMAND_MAYBE: Final = re.compile(
    r"pulsar-admin|pulsarctl|pulsar-shell|admin>|/admin/v2/|/lookup/v2/|/metrics"
    r"|\b(?:topics?|(?:non-)?persistent|namespaces|brokers|broker-stats|topicPolicies)[ \t]+[a-z]"
)
_SIGNS: Final = re.compile(
    r"[mM]sg_?[rR]ate_?[iI]n|[mM]sg_?[bB]acklog|subscriptions|[eE]ntries_?[aA]dded|[mM]ark_?[dD]elete|boundaries"
    r"|persistent://|0x[0-9a-f]{8}_0x|[bB]roker_?[uU]rl|[sS]ervice_?[uU]rl|lastStats|loadBalancer|brk_|someConsumers"
)
"""Names that an answer has, in any spelling."""
_REST_OF_COMMAND: Final = re.compile(r"\n([\w.:/%-]{1,400})\n\s*")
"""The end of a name that a terminal broke, directly before an answer."""
_WIDTHS: Final = (80, 100, 120, 132, 160, 200, 240)
"""Of terminals whose lines are taken to go on: what is below a line of another length is another line."""
_CHUNK: Final = re.compile(r"\r\n[0-9a-fA-F]{1,8}\r\n")
"""The length of a piece, as HTTP sends it between the pieces of a long answer."""
_JOINED: Final = re.compile(r";|&&|\|\|")
_WIDEST_MARGIN: Final = 200
_MOST_DOCUMENTS: Final = 50_000
_MOST_STRICT: Final = 256
"""So often JSON may fail: Python's reader counts the lines of the whole text for each error."""
_MOST_MENDED: Final = 16 * 1024**2
_COST_OF_A_START: Final = 100
"""Characters that are read and mended in all; to begin costs as much as to read some."""
_MOST_UNWRAPPED: Final = 64
"""So often lines of one width are tried as one line."""
_WORDS_LOOKED_AT: Final = 4_000
_LINES_LOOKED_AT: Final = 4
"""How many lines before an answer may name its topic or its partition, the nearest first."""


@dataclass(frozen=True, slots=True)
class Document:
    """One answer in a text, as JSON. ``line`` is where it begins, from 1.

    ``path`` is what was asked for it by the command or the address before it, ``topic`` a full name in the words before
    it, ``partition`` a number there, ``subscription`` the one that a filter takes; "" and None where nothing says so.
    ``cuts`` are the places where something is missing, ``mended`` what was changed to make it JSON, in words.
    """

    data: bytes
    line: int
    path: str = ""
    topic: str = ""
    partition: int | None = None
    cuts: tuple[Cut, ...] = ()
    mended: str = ""
    written: bytes = b""
    """The text itself, of an answer with cuts."""
    subscription: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that was passed over or mended, with its line from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Paste:
    """What is in a text: answers in order, the words between them (with their first lines), and notes."""

    documents: tuple[Document, ...] = ()
    notes: tuple[Note, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """Words before, between or behind answers; ``line`` is the number of the first one that is not blank."""

    text: str
    line: int
    commands: tuple[Command, ...] = ()

    @property
    def sections(self) -> Iterator[tuple[Command | None, str]]:
        """What was printed without JSON, with the command before it; prompts are left out."""
        command: Command | None = None
        lines: list[str] = []
        for line in self.text.splitlines():
            asked = command_in(line) if _COMMAND_MAYBE.search(line) is not None else None
            if asked is not None:
                yield command, "\n".join(lines)
                command, lines = asked, []
            elif not _PROMPT.search(line):
                lines.append(line)
        yield command, "\n".join(lines)


def read_paste(data: bytes) -> Paste:
    """Return the answers in a text. Bytes that are not text have none. O(length)."""
    if len(data) > MAX_PASTE_BYTES or b"\0" in data[:4096]:
        return Paste()
    text = _plain(data.decode("utf-8", "surrogateescape"))
    return _Scan(text).paste()


_ANY_SIGN: Final = re.compile(
    rb"[mM]sg_?[rR]ate_?[iI]n|[mM]sg_?[bB]acklog|[eE]ntries_?[aA]dded|[mM]ark_?[dD]elete|boundaries|subscriptions"
    rb"|persistent://[^\n]{0,600}pulsar(?:\+ssl)?://|^persistent://|pulsar-admin|/admin/v2/|0x[0-9a-f]{8}_0x|[bB]roker_?[uU]rl|configData|[aA]vailable_?[pP]ermits"
    rb"|PULSAR_PREFIX_|^loadBalancer\w+\s*=|^loadManagerClassName\s*=|lastStats",
    re.MULTILINE,
)


def may_have_answers(data: bytes) -> bool:
    """Whether a text is worth opening: False only for one without any name that answers have. O(length)."""
    return b"\0" not in data[:4096] and _ANY_SIGN.search(data) is not None


def _plain(text: str) -> str:
    """The text without what a terminal or a page added; every line keeps its number."""
    if "\x1b" in text or "[0" in text or "[1" in text or "[3" in text or "m{" in text:
        text = _COLOURS.sub("", text)
    if "\x08" in text:
        text = _TYPED.sub("", text)
    if "\u2028" in text or "\u2029" in text:
        text = text.replace("\u2028", " ").replace("\u2029", " ")
    if "ransfer-Encoding: chunked" in text:
        text = _CHUNK.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", " ")
    return _without_numbers(without_margins(text))


def _without_numbers(text: str) -> str:
    """The text without the numbers that ``cat -n``, ``grep -n`` or a pager put before consecutive lines."""
    runs: list[list[re.Match[str]]] = []
    for match in _LINE_NUMBER.finditer(text):
        before = runs[-1][-1] if runs else None
        is_next = before is not None and int(match[1]) == int(before[1]) + 1
        if is_next and before is not None and text.find("\n", before.end()) + 1 == match.start():
            runs[-1].append(match)
        else:
            runs.append([match])
    parts: list[str] = []
    at = 0
    for match in (match for run in runs if len(run) >= _FEWEST_NUMBERED for match in run):
        parts.append(text[at : match.start()])
        at = match.end()
    return "".join((*parts, text[at:])) if parts else text


class _Scan:
    def __init__(self, text: str) -> None:
        # A line break in front makes the first line like any other.
        self._text = "\n" + text
        self._breaks = [match.start() for match in re.finditer("\n", self._text)]
        self._documents: list[Document] = []
        self._notes: list[Note] = []
        self._gaps: list[Gap] = []
        self._queue: list[Command] = []
        self._turn = 0
        self._turns: tuple[str, ...] = ()
        self._subscription = ""
        """What the filter of the last command takes out of answers."""
        self._unwrapping = _MOST_UNWRAPPED
        self._strict = _MOST_STRICT
        self._room = _MOST_MENDED
        self._words = ""
        """What stands between the last answer and this one."""

    def paste(self) -> Paste:
        at = gap_from = 0
        while match := _BEGINS.search(self._text, at):
            is_member = match[0].strip(" \t>|") == ""
            start = match.end() if is_member else match.start()
            read, verbatim = self._read(start, is_member=is_member)
            if read.too_deep is not None:
                self._note(read.too_deep, f"nested more than {DEEPEST} levels deep; nothing is read from here on")
                break
            if self._room < 0 or len(self._documents) >= _MOST_DOCUMENTS:
                self._note(start, "has more pieces or more to mend than is read; nothing is read from here on")
                break
            at = max(read.end, match.end() + (match.end() == match.start()))
            if not read.text or not self._counts(start, read):
                continue
            try:
                encoded = (verbatim or read.text).encode()
            except UnicodeEncodeError:
                self._note(start, "has bytes that are not UTF-8; it is set aside")
                continue
            self._gap(gap_from, start)
            gap_from = at
            written = self._text[start : read.end].encode("utf-8", "replace") if read.cuts else b""
            document = Document(
                encoded,
                self._line(start),
                cuts=tuple(read.cuts),
                mended=_mended(read),
                written=written,
                subscription=self._subscription,
            )
            self._documents.append(self._named(document))
        self._gap(gap_from, len(self._text))
        return Paste(tuple(self._documents), tuple(self._notes), tuple(self._gaps))

    def _read(self, start: int, *, is_member: bool) -> tuple[Read, str]:
        """Read the value that begins here; a sound one is returned as it is written, too."""
        if not is_member and self._strict:
            try:
                _, end = _DECODER.raw_decode(self._text, start)
            except (ValueError, RecursionError):
                self._strict -= 1
                unwrapped = self._unwrapped(start)
                if unwrapped is not None:
                    return unwrapped, ""
            else:
                verbatim = self._text[start:end]
                return Read(end, verbatim), verbatim
        reader = Reader(self._text, start, _is_command)
        read = reader.members() if is_member else reader.value()
        self._room -= read.end - start + _COST_OF_A_START
        return read, ""

    def _unwrapped(self, start: int) -> Read | None:
        """Read a sound value that a terminal broke into lines of one width; None for anything else."""
        first = bisect.bisect_right(self._breaks, start) - 1
        if self._unwrapping == 0 or first + 2 >= len(self._breaks):
            return None
        width = self._breaks[first + 1] - self._breaks[first]
        if width <= NARROWEST or self._breaks[first + 2] - self._breaks[first + 1] > width:
            return None
        last = first + 1
        while last < len(self._breaks) and self._breaks[last] - self._breaks[last - 1] == width:
            last += 1
        end = self._breaks[last] if last < len(self._breaks) else len(self._text)
        self._unwrapping -= 1
        text = self._text[start:end].replace("\n", "")
        try:
            _, length = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return None
        # Of the breaks, those before the value's end were taken out.
        at, left = start, length
        for place in self._breaks[first + 1 : last]:
            if place - at > left:
                break
            left -= place - at
            at = place + 1
        return Read(at + left, text[:length], Counter({Mend.WRAPPED: 1}))

    def _counts(self, start: int, read: Read) -> bool:
        """Whether a value may be an answer: what a log or a sentence has in its lines is none, unless its names are."""
        line = self._text.rfind("\n", max(0, start - _WIDEST_MARGIN), start)
        is_first = line >= 0 and _MARGIN.fullmatch(self._text, line + 1, start) is not None
        if is_first and self._text[start] in "{[":
            return True
        return _SIGNS.search(read.text) is not None

    def _gap(self, start: int, end: int) -> None:
        """Keep the words between two answers, and the commands in them: the last line with some counts."""
        text = self._text[start:end]
        self._words = text
        if not text.strip():
            return
        first = start + len(text) - len(text.lstrip())
        commands = _commands(text)
        if commands:
            self._queue, self._turn = list(commands), 0
            self._subscription = subscription_of(text[-_WORDS_LOOKED_AT:])
        self._gaps.append(Gap(text, self._line(first), commands))

    def _named(self, document: Document) -> Document:
        """The document with what the words before it say that it is about."""
        lines = self._words[-_WORDS_LOOKED_AT:].splitlines()
        nearest = [line for line in lines if line.strip()][-_LINES_LOOKED_AT:][::-1]
        said = [line for line in nearest if not _is_command(line)]
        topic = next((name for line in said if (name := topic_in(line))), "")
        # Before an answer without its first lines are numbers of its own.
        partitions = () if any(cut.at_head for cut in document.cuts) else map(partition_in, said)
        partition = next((number for number in partitions if number is not None), None)
        if not self._queue:
            return replace(document, topic=topic, partition=partition)
        command = self._queue[0]
        if not command.varies:
            del self._queue[0]
            return replace(document, path=command.path, topic="" if command.path else topic, partition=None)
        if not self._turn:
            self._turns = command.turns
        turn = self._turns[self._turn] if self._turn < len(self._turns) else ""
        self._turn += 1
        value = str(partition) if partition is not None else turn
        path = command.path.replace("{}", value) if value and command.path else ""
        if not path and "://" in turn and not topic:
            topic = topic_in(turn)
        return replace(document, path="" if topic else path, topic=topic, partition=partition)

    def _line(self, at: int) -> int:
        return bisect.bisect_right(self._breaks, at)

    def _note(self, at: int, text: str) -> None:
        self._notes.append(Note(self._line(at), text))


def _is_command(line: str) -> bool:
    return _COMMAND_MAYBE.search(line) is not None and command_in(line) is not None


def _commands(text: str) -> tuple[Command, ...]:
    """The commands in the last line of a text that has some."""
    places = [match.start() for match in _COMMAND_MAYBE.finditer(text)]
    seen = len(text)
    for place in reversed(places):
        if place >= seen:
            continue
        seen = text.rfind("\n", 0, place) + 1
        end = text.find("\n", place)
        line = text[seen : len(text) if end < 0 else end]
        wrapped = _REST_OF_COMMAND.fullmatch(text, seen + len(line)) if len(line) in _WIDTHS else None
        if wrapped is not None:
            line += wrapped[1]
        whole = command_in(line)
        if whole is None:
            continue
        if whole.loop or whole.varies:
            return (whole,)
        return tuple(command for part in _JOINED.split(line) if (command := command_in(part)) is not None) or (whole,)
    return ()


def _mended(read: Read) -> str:
    """What was mended in one value, in words; "" for nothing."""
    return joined([mend.value for mend in read.mended])


_PROMPT: Final = re.compile(r"[$#%>❯]\s*$|^\S*@\S+[:~\s].*[$#%]")
_KINDS_OF_LINES: Final = (
    ("a code fence", re.compile(r"^\s*(?:```|~~~)")),
    ("a line of kubectl", re.compile(r"^(?:Default(?:ed|ing) container|Unable to use a TTY|command terminated)")),
    ("a warning of the JVM", re.compile(r"^(?:OpenJDK|Java HotSpot|WARNING: |Picked up |SLF4J)|^\[[\d.]+s\]\[")),
    ("a message of pip", re.compile(r"^(?:DEPRECATION:|\[notice\]|Requirement already|Collecting )")),
    (
        "a line of a log",
        re.compile(r"^\S{0,40}\s?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\d\d:\d\d:\d\d[.,]\d|^\[?(?:INFO|WARN|ERROR|DEBUG)\b"),
    ),
    ("a header of HTTP", re.compile(r"^[<>*] |^HTTP/\d|^[A-Za-z-]+: [^{\[]*$")),
    ("a shell prompt", _PROMPT),
)  # fmt: skip


def described(gap: Gap) -> str:
    """Name what is in the words around an answer, as a list of kinds with their numbers of lines."""
    counts: dict[str, int] = {}
    for line in _nonblank(gap.text.splitlines()):
        shown = line[:400]
        kind = (
            "a command"
            if _is_command(line)
            else next((name for name, pattern in _KINDS_OF_LINES if pattern.search(shown)), "a line of something else")
        )
        counts[kind] = counts.get(kind, 0) + 1
    return joined([kind if count == 1 else _many(kind, count) for kind, count in counts.items()])


_MANY: Final = {
    "a code fence": "code fences", "a command": "commands", "a shell prompt": "shell prompts",
    "a line of something else": "lines of something else", "a line of a log": "lines of a log",
    "a line of kubectl": "lines of kubectl", "a warning of the JVM": "warnings of the JVM",
    "a message of pip": "messages of pip", "a header of HTTP": "headers of HTTP",
}  # fmt: skip


def _many(kind: str, count: int) -> str:
    return f"{count:,} {_MANY[kind]}"


def _nonblank(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.strip())
