"""Open a file of answers: the one place where its bytes become documents of known kinds.

A sound answer is recognised and handed on as it is. Only what fails there is searched for answers among other words, in
other spellings, in YAML, in lines of settings or of names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct, field, structs

from engine.admin.facts import ConsumerFacts, DrainingHashFacts, SubscriptionFacts
from engine.admin.files import AnswerFile
from engine.admin.kinds import AnswerKind, kind_by_beginning, sound_kind
from engine.admin.requests import (
    NAMESPACE_POLICIES,
    TOPIC_ANSWERS,
    AdminRequest,
    Naming,
    parse_request,
    request_of_path,
)
from engine.admin.text import WHOLE_CHECK_BYTES, plain_json, raw_object, unread_faults
from engine.errors import Problem, Rejection
from engine.input import DEEPEST_STRING, MAX_INPUT_BYTES
from engine.names import NAMELESS, parse_topic_name, partition_name
from engine.reading.others import named
from engine.reading.settings_text import as_answer, settings_of_lines, settings_of_values
from engine.reading.shapes import completed, spelt, without_unsure
from engine.text import counted, joined

if TYPE_CHECKING:  # imported where a text is not sound
    from engine.reading.commands import Command
    from engine.reading.lenient import Cut
    from engine.reading.paste import Document, Paste

_KNOWN_SPELLING: Final = (b'"msgRateIn"', b'"msgBacklog"', b'"entriesAddedCounter"')
_OTHER_SPELLING: Final = re.compile(
    rb'"(?:msg_rate_in|MsgRateIn|msg_backlog|MsgBacklog|entries_added_counter|EntriesAddedCounter|mark_delete_position)"'
)
_STATISTICS: Final = frozenset(
    {
        AnswerKind.TOPIC_STATS,
        AnswerKind.PARTITIONED_STATS,
        AnswerKind.NAMED_STATS,
        AnswerKind.BROKER_STATS_TOPICS,
        AnswerKind.INTERNAL_STATS,
        AnswerKind.NAMED_INTERNAL_STATS,
        AnswerKind.MANY,
        AnswerKind.OTHER,
    }
)
_SALVAGED: Final = (AnswerKind.BROKER_STATS_TOPICS, AnswerKind.NAMED_STATS, AnswerKind.PARTITIONED_STATS)
"""Kinds of which whole topics are kept by their own readers, although the end is missing."""
_KEPT_WHEN_CUT: Final = (
    AnswerKind.TOPIC_STATS,
    AnswerKind.NAMED_STATS,
    AnswerKind.PARTITIONED_STATS,
    AnswerKind.INTERNAL_STATS,
    AnswerKind.NAMED_INTERNAL_STATS,
    AnswerKind.RUNTIME_CONFIGURATION,
)
"""Kinds of which a part is true by itself; half a load report is another load."""
_SUMS: Final = "partitioned-stats"
"""The request that is answered by sums over partitions, and by the partitions only if it says so."""
_HALF_SAYS_NOTHING: Final = ("subscriptions", "cursors")
_BROKERS: Final = "brokers"
_ANY_FORM: Final = (*TOPIC_ANSWERS, *NAMESPACE_POLICIES, _BROKERS)
"""Requests whose answers only the request tells from other JSON."""
_NOT_ANSWERS: Final = (AnswerKind.OTHER, AnswerKind.NO_JSON)
_FOUND_LATER: Final = "#"
"""Before the number of an answer in a file with several of them, the first one excepted."""
OF_PARTITION: Final = "#partition-"
"""Before the number that the words before an answer have for its partition."""
_NOTES_SHOWN: Final = 6
_PLACED_EXACTLY: Final = 16
"""So many answers of a text have the lines of the file; to place each would take the square of their number."""
_SCALAR: Final = re.compile(r"\s*(?:-?\d{1,18}|true|false|null)\s*")
_FEWEST_LISTED: Final = 2
"""Topics in lines that no command asked for, and settings: one alone may be anything."""
_OF_SETTINGS: Final = (".conf", ".properties", ".env")
_UNREAD_MEMBERS: Final = ("partitions", "metadata", "ledgers", "isDurable", "isReplicated", "msgBacklogNoDelayed")
"""Members that no struct reads and that say what an answer is."""
QUERY, QUERY_WITHIN = b'"resultType"', 4096
"""The member by which an answer of Prometheus is known, and in how many bytes it comes."""
_NAME_AN_ANSWER: Final = "name a recorded answer of the admin interface"


class Answer(Struct, frozen=True):
    """One answer as plain JSON. ``name`` is its file, or its name inside an object or a text of several answers."""

    kind: AnswerKind
    name: str
    data: bytes


class OpenedFile(Struct, frozen=True):
    """The answers in a file, the requests that words around them name (by the names of answers), and problems.

    ``is_whole``: nothing is missing in the middle or at the end of an answer, as far as the text shows it.
    """

    answers: tuple[Answer, ...]
    problems: tuple[Problem, ...] = ()
    requests: Mapping[str, AdminRequest] = field(default_factory=dict)
    is_whole: bool = True


def opened_file(file: AnswerFile, limit_bytes: int = MAX_INPUT_BYTES) -> OpenedFile:
    """Return the answers in a file, in order. A file without any has one of a kind that is no answer. O(length)."""
    data, problems = plain_json(file.data, file.name, limit=limit_bytes)
    asked = {file.name: file.request} if file.request is not None else {}
    kind = sound_kind(file.name, data)
    if kind is not None:
        kind, data = as_brokers_spell(kind, file.name, data)
    if kind is AnswerKind.MANY:
        answers, more = _each(file.name, data)
        return OpenedFile(answers, problems + more, asked if answers and answers[0].name == file.name else {})
    if kind is not None and kind is not AnswerKind.OTHER:
        return OpenedFile((Answer(kind, file.name, data),), problems, asked)
    metrics = _of_metrics(file.name, kind, data)
    if metrics is not None:
        return OpenedFile((metrics,), problems)
    if kind is AnswerKind.OTHER and (listed := _listed_objects(file.name, data)):
        return OpenedFile(listed, problems)
    if kind is AnswerKind.OTHER:
        shaped, more = _shaped(file.name, data)
        if shaped.kind is not AnswerKind.OTHER:
            return OpenedFile((shaped,), problems + more, asked)
        is_placed = file.request is not None or request_of_path(file.name) is not None
        if not is_placed and (inside := _inside(file, _value(shaped.data))) is not None:
            return structs.replace(inside, problems=problems + inside.problems)
    elif b"jq" in data and (rows := _of_rows(file, data, of_filter=True)) is not None:
        return structs.replace(rows, problems=problems + rows.problems)
    elif (pasted := pasted_file(file, data)) is not None:
        return structs.replace(pasted, problems=problems + pasted.problems)
    if (rows := _of_rows(file, data)) is not None:
        return structs.replace(rows, problems=problems + rows.problems)
    return _as_it_is(file, data, kind, problems)


def _of_rows(file: AnswerFile, data: bytes, *, of_filter: bool = False) -> OpenedFile | None:
    """What the rows of a table say that somebody made of answers; None for a text without one.

    ``of_filter``: only where a filter gives members names of its own, which nothing else reads.
    """
    from engine.reading.paste import read_paste
    from engine.reading.rows import made_by, statistics_of_rows

    if len(data) > WHOLE_CHECK_BYTES or (of_filter and not made_by(data.decode("utf-8", "replace")).names):
        return None
    paste = read_paste(data)
    commands = [command for gap in paste.gaps for command in gap.commands]
    fixed = (parse_request(f"GET {one.path}") for one in commands if one.path and not one.varies)
    values = [(_value(one.data), one.topic or _topic_of(one.path)) for one in paste.documents]
    moments, count = statistics_of_rows(
        data.decode("utf-8", "replace"),
        values,
        next((one.topic for one in (*fixed, file.request) if one is not None and one.topic), ""),
        varies=any(command.varies or command.loop for command in commands),
    )
    if not moments:
        return None
    reason = f"is {counted(count, 'row')} made of answers: what they do not have is unknown"
    problems = (Problem(file.name, "$", reason, "give the whole answers"),)
    if "" in moments[-1]:
        return OpenedFile((Answer(AnswerKind.TOPIC_STATS, file.name, msgspec.json.encode(moments[-1][""])),), problems)
    if len(moments) == 1:
        return OpenedFile((Answer(AnswerKind.NAMED_STATS, file.name, msgspec.json.encode(moments[0])),), problems)
    answers: list[Answer] = []
    requests: dict[str, AdminRequest] = {}
    for topic, statistics in (item for moment in moments for item in moment.items()):
        name = f"{file.name}{_FOUND_LATER}{len(answers) + 1}" if answers else file.name
        answers.append(Answer(AnswerKind.TOPIC_STATS, name, msgspec.json.encode(statistics)))
        if (about := _about(topic)) is not None:
            requests[name] = structs.replace(about, what="stats")
    return OpenedFile(tuple(answers), problems, requests)


def _topic_of(path: str) -> str:
    return (parse_request(f"GET {path}").topic or "") if path else ""


def _inside(file: AnswerFile, value: object, depth: int = DEEPEST_STRING) -> OpenedFile | None:
    """The answers in the texts of JSON that is none, or settings in it; None where there are none.

    Their lines are not those of the file, so problems have none.
    """
    from engine.reading.paste import may_have_answers
    from engine.reading.texts import texts_in

    for answer, _ in _if_known(file.name, settings_of_values(value)):
        return OpenedFile((answer,))
    text = "\n".join(texts_in(value)).encode("utf-8", "replace")
    pasted = pasted_file(file, text, depth - 1) if depth and may_have_answers(text) else None
    if pasted is None:
        return None
    unplaced = tuple(structs.replace(problem, line=None) for problem in pasted.problems)
    return structs.replace(pasted, problems=unplaced)


def _of_metrics(name: str, kind: AnswerKind | None, data: bytes) -> Answer | None:
    """What metrics say of topics: the text of a broker, or an answer of Prometheus; None for anything else."""
    from engine.reading.metrics_text import is_exposition, query_of_table, statistics_of_query, statistics_of_text

    topics: dict[str, Any] | None = None
    if kind is None and (query := query_of_table(data)) is not None:
        topics = statistics_of_query(query)
    elif kind is None and is_exposition(data):
        topics = statistics_of_text(data.decode("utf-8", "replace"))
    elif kind is AnswerKind.OTHER and QUERY in data[:QUERY_WITHIN]:
        topics = statistics_of_query(data)
    return Answer(AnswerKind.METRICS, name, msgspec.json.encode(topics)) if topics else None


_NAMES_A_TOPIC: Final = re.compile(
    rb'\{[^{}\[\]]{0,2000}?"(?:topic(?:_?[nN]ame)?|name)"\s*:\s*"((?:non-)?persistent://[^"\\]{1,600})"'
)


def topic_inside(data: bytes) -> str | None:
    """The topic that a member beside an answer or its members names, as scripts of people write it."""
    match = _NAMES_A_TOPIC.match(data.lstrip())
    return match[1].decode("utf-8", "replace") if match is not None else None


def _each(name: str, data: bytes) -> tuple[tuple[Answer, ...], tuple[Problem, ...]]:
    """The answers in an object of several; the only one among other members, with the topic that one of them names."""
    members, problems = raw_object(data, name)
    answers = tuple(Answer(_kind(member, bytes(raw)), member, bytes(raw)) for member, raw in members.items())
    inside = [answer for answer in answers if answer.kind not in _NOT_ANSWERS and answer.data[:1] in b"{["]
    if len(inside) != 1 or "/" in inside[0].name or "." in inside[0].name:
        return answers, problems
    topic = next((topic for one in answers if (topic := topic_inside(b'{"topic":' + one.data)) is not None), "")
    data = b'{"%s":%s}' % (topic.encode(), inside[0].data) if topic else inside[0].data
    return (Answer(_kind(name, data), name, data),), problems


def _listed_objects(name: str, data: bytes) -> tuple[Answer, ...]:
    """The answers in a list of objects that name a topic each."""
    if data.lstrip()[:1] != b"[" or _NAMES_A_TOPIC.match(data.lstrip()[1:].lstrip()) is None:
        return ()
    found: list[Answer] = []
    for number, value in enumerate(items if isinstance(items := _value(data), list) else ()):
        if isinstance(value, dict):
            inside = opened_file(AnswerFile(f"{name}{_FOUND_LATER}{number + 1}", msgspec.json.encode(value)))
            found += inside.answers
    return tuple(answer for answer in found if answer.kind not in _NOT_ANSWERS)


def _kind(name: str, data: bytes) -> AnswerKind:
    return sound_kind(name, data) or kind_by_beginning(name, data)


def unreadable(answer: Answer) -> tuple[Problem, ...]:
    """Say what a text is that has no answer, where no request says that it may be anything."""
    data, name = answer.data, answer.name
    if answer.kind is not AnswerKind.NO_JSON or data.lstrip()[:1] in (b"", b"0"):
        return ()
    faults = raw_object(data, name)[1] if data.lstrip()[:1] == b"{" else ()
    what, advice = named(data) or _unknown_json(data) or ("is not JSON that could be understood", _NAME_AN_ANSWER)
    return faults or (Problem(name, "$", what, advice),)


def _unknown_json(data: bytes) -> tuple[str, str] | None:
    """What JSON in a text has that is no answer, as a filter makes it."""
    from engine.reading.paste import read_paste

    for document in read_paste(data).documents:
        value = _value(document.data)
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, dict) and first:
            few = joined([repr(name[:40]) for name in first], 5)
            return f"has JSON that is no answer, with {few}", "give the whole answer, without a filter"
    return None


def strange(answer: Answer) -> tuple[Problem, ...]:
    """Say what JSON is that no other answer was beside."""
    value = _value(answer.data)
    if isinstance(value, dict) and {"entries", "messages", "filterAcceptedEntries"} <= value.keys():
        what = (
            f"is what analyze-backlog prints: {value['messages']:,} messages in"
            f" {value['entries']:,} entries wait, whoever consumes"
        )
        return (Problem(answer.name, "$", what, "give the statistics of the topic, too"),)
    known = _unknown_json(answer.data)
    return (Problem(answer.name, "$", *known),) if known is not None else ()


def _as_it_is(file: AnswerFile, data: bytes, kind: AnswerKind | None, problems: tuple[Problem, ...]) -> OpenedFile:
    """A file in which no answer was found; whole topics may be salvaged from it."""
    kind = kind or kind_by_beginning(file.name, data)
    if kind is AnswerKind.OTHER:
        problems += unread_faults(data, file.name)
    asked = {file.name: file.request} if file.request is not None else {}
    return OpenedFile((Answer(kind, file.name, data),), problems, asked)


def has_answers(file: AnswerFile) -> bool:
    """Whether a file that is not named as an answer has one: a folder has other files too. O(length)."""
    from engine.reading.metrics_text import is_exposition
    from engine.reading.paste import may_have_answers

    data, _ = plain_json(file.data, file.name)
    worth = may_have_answers(data) or is_exposition(data)
    return worth and any(answer.kind not in _NOT_ANSWERS for answer in opened_file(file).answers)


def pasted_file(file: AnswerFile, data: bytes, depth: int = DEEPEST_STRING) -> OpenedFile | None:
    """Return the answers that are in a text among other words, or in lines; None where there is none.

    ``data`` is the plain text of the file; so many strings inside each other (``depth``) are looked into.
    """
    from engine.reading.paste import read_paste
    from engine.reading.texts import out_of_strings

    paste = read_paste(data)
    names = _Names(file)
    answers: list[Answer] = []
    problems: list[Problem] = []
    for number, document in enumerate(paste.documents):
        name = names.next(document)
        answer, more = _answer_of(_placed(document) if number < _PLACED_EXACTLY else document, name, file.name)
        if answer.kind in _NOT_ANSWERS and not names.is_asked(name):
            names.forget(name)
            continue
        if answer.kind is AnswerKind.TOPIC_STATS and names.asked_for(name) == _SUMS:
            answer = structs.replace(answer, kind=AnswerKind.PARTITIONED_STATS)
        each = _each(name, answer.data)[0] if answer.kind is AnswerKind.MANY else (answer,)
        answers += each
        problems += more
    if not answers:
        values = [_value(document.data) for document in paste.documents]
        if values and (inside := _inside(file, values, depth)) is not None:
            return inside
        text = out_of_strings(data.decode("utf-8", "replace")) if depth else None
        if text and (deeper := pasted_file(file, text.encode("utf-8", "replace"), depth - 1)) is not None:
            return deeper
    found = bool(answers)
    for answer, request in _of_lines(file.name, paste, data, alone=not found):
        answers.append(answer)
        if request is not None:
            names.requests[answer.name] = request
    if all(answer.kind in _NOT_ANSWERS and names.asked_for(answer.name) not in _ANY_FORM for answer in answers):
        return None
    passed = _passed_over(file.name, paste) if found else ()
    notes = tuple(Problem(file.name, "$", note.text, "check what is there", note.line) for note in paste.notes)
    is_whole = not any(document.cuts for document in paste.documents)
    return OpenedFile(tuple(answers), (*passed, *problems, *notes), names.requests, is_whole)


def _placed(document: Document) -> Document:
    """The document with line breaks before it, so that its faults are reported at their lines in the file."""
    breaks = b"\n" * (document.line - 1)
    return replace(document, data=breaks + document.data, written=breaks + document.written)


class _Names:
    """Gives each answer of a text a name, and the request that the words before it say."""

    def __init__(self, file: AnswerFile) -> None:
        self._file = file
        self._names: list[str] = []
        self._topic = Naming({}, ()).topic(file.name) or ""
        self.requests: dict[str, AdminRequest] = {}

    def next(self, document: Document) -> str:
        request = self._request(document)
        if document.partition is not None and (request is None or not request.topic):
            name = f"{self._file.name}{OF_PARTITION}{document.partition}"
        else:
            name = self._file.name
        if name in self._names or name in self.requests:
            name = f"{name}{_FOUND_LATER}{len(self._names) + 1}"
        self._names.append(name)
        if request is not None:
            self.requests[name] = request
        return name

    def forget(self, name: str) -> None:
        self._names.remove(name)
        self.requests.pop(name, None)

    def asked_for(self, name: str) -> str:
        request = self.requests.get(name)
        return request.what if request is not None else ""

    def is_asked(self, name: str) -> bool:
        """Whether something says what the answer is, as for the policies of a topic, which can have any form."""
        return bool(self.asked_for(name))

    def _request(self, document: Document) -> AdminRequest | None:
        if document.path:
            request = parse_request(f"GET {document.path}")
            about = self._file.request or _about(self._topic)
            if request.namespace == NAMELESS and about is not None and about.topic:
                request = structs.replace(request, topic=about.topic, namespace=about.namespace)
            if request.what:
                return request
        if document.topic:
            return _about(document.topic)
        if self._file.request is not None:
            return self._file.request
        if self._topic and document.partition is not None and "-partition-" not in self._topic:
            return _about(partition_name(self._topic, document.partition))
        return None


def _about(topic: str) -> AdminRequest | None:
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        return None
    return AdminRequest("GET", "", name.complete, name.namespace)


def _without_doubt(data: bytes) -> bytes:
    """Members without braces, without those that come again with another value: lines of ``grep`` do not say whose."""

    def certain(pairs: list[tuple[str, object]]) -> dict[str, object]:
        first: dict[str, object] = {}
        unsure = {name for name, value in pairs if first.setdefault(name, value) != value}
        return {name: value for name, value in first.items() if name not in unsure}

    try:
        return msgspec.json.encode(json.loads(data, object_pairs_hook=certain))
    except (ValueError, RecursionError):
        return data


def _answer_of(document: Document, name: str, source: str) -> tuple[Answer, list[Problem]]:
    """One answer of a text, with what was mended and what is missing in it."""
    from engine.reading.lenient import Mend

    problems: list[Problem] = []
    data = document.data if Mend.BRACES.value not in document.mended else _without_doubt(document.data)
    if document.mended:
        reason = f"was mended: {document.mended}"
        problems.append(Problem(source, "$", reason, "save it as the tool prints it", document.line))
    begins = kind_by_beginning(name, document.written)
    if document.cuts and begins in _SALVAGED:
        return Answer(begins, name, document.written), problems
    shaped, more = _shaped(name, data, document.cuts, document.subscription)
    if document.cuts and shaped.kind not in _KEPT_WHEN_CUT:
        return Answer(begins, name, document.written), problems
    return shaped, [*problems, *(structs.replace(problem, source=source, line=document.line) for problem in more)]


def _shaped(
    name: str, data: bytes, cuts: tuple[Cut, ...] = (), subscription: str = ""
) -> tuple[Answer, tuple[Problem, ...]]:
    """An answer in Pulsar's spelling, with what belongs around a part of one, and without what is not sure in it."""
    kind = sound_kind(name, data)
    if kind is None:
        return Answer(kind_by_beginning(name, data), name, data), ()
    kind, data = as_brokers_spell(kind, name, data)
    problems: list[Problem] = []
    members = _members(data) if kind is AnswerKind.OTHER or cuts else None
    part = completed(members, subscription) if members is not None and kind is AnswerKind.OTHER else None
    if part is not None:
        members, what = part
        advice = "give the whole answer, which has the topic's numbers too"
        problems.append(Problem(name, "$", f"is a part of an answer: {what}", advice))
    if cuts and members is not None:
        problems += _of_cuts(name, members, cuts)
    if members is not None and (part is not None or cuts):
        data = msgspec.json.encode(members)
        kind = sound_kind(name, data) or AnswerKind.OTHER
    return Answer(kind, name, data), tuple(problems)


def _of_cuts(name: str, members: dict[str, Any], cuts: tuple[Cut, ...]) -> Iterator[Problem]:
    """Remove what a cut makes unsure, and say what is missing, place by place."""
    verbs = {"begins" if cut.at_head else "stops" for cut in cuts if not cut.by_hand}
    through = {(below, name) for cut in cuts for below, name in pairwise(cut.path) if below in _HALF_SAYS_NOTHING}
    for topic in _topics(members):
        for lost in without_unsure(topic, sorted(through)):
            yield Problem(name, f"$.{lost}", "is cut; what it lacks is unknown", "record the answer again, whole")
    by_hand = Counter(cut.path[-1] if cut.path else "" for cut in cuts if cut.by_hand)
    if by_hand:
        missing = ", ".join(sorted(filter(None, by_hand))) or "something"
        yield Problem(name, "$", f"{missing} was cut by hand, and counts as unknown", "give the answer whole")
    for verb in sorted(verbs):
        yield Problem(name, "$", f"{verb} in the middle; what is whole is kept", "record the answer again, whole")


def _topics(members: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The statistics of topics in an answer: itself, its partitions, or topics by name."""
    if "subscriptions" in members or "cursors" in members:
        yield members
    inner = members.get("partitions")
    for value in (inner if isinstance(inner, dict) else members).values():
        if isinstance(value, dict) and ("subscriptions" in value or "cursors" in value):
            yield value


def _members(data: bytes) -> dict[str, Any] | None:
    value = _value(data)
    return value if isinstance(value, dict) else None


def _value(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def as_brokers_spell(kind: AnswerKind, name: str, data: bytes) -> tuple[AnswerKind, bytes]:
    """The answer in the spelling of brokers, where other clients printed it in theirs; else as it is."""
    if kind not in _STATISTICS or any(known in data for known in _KNOWN_SPELLING):
        return kind, data
    if _OTHER_SPELLING.search(data) is None:
        return kind, data
    members = _members(data)
    if members is None:
        return kind, data
    is_map = all("://" in member for member in members)
    try:
        data = msgspec.json.encode(spelt(members, _spellings(), is_map=is_map))
    except RecursionError:
        return kind, data
    return sound_kind(name, data) or kind, data


@cache
def _spellings() -> Mapping[str, str]:
    """The names of members as brokers print them, by their folded forms."""
    from engine.admin.ledgers import CURSOR_MEMBERS
    from engine.admin.publishers import PublisherFacts
    from engine.admin.topic_wire import TopicWire
    from engine.reading.shapes import folded

    structs = (TopicWire, SubscriptionFacts, ConsumerFacts, DrainingHashFacts, PublisherFacts)
    names = [member.encode_name for struct in structs for member in msgspec.structs.fields(struct)]
    more = (
        "partitions",
        "metadata",
        "ledgers",
        "keyHashRangeArrays",
        "isDurable",
        "isReplicated",
        "msgBacklogNoDelayed",
    )
    return {folded(name): name for name in (*names, *more, *CURSOR_MEMBERS)}


def _of_lines(source: str, paste: Paste, data: bytes, *, alone: bool) -> Iterator[tuple[Answer, AdminRequest | None]]:
    """Answers that tools print in lines: lists of topics, look-ups, brokers, settings; and YAML.

    ``alone``: the text has no other answer, so all of it may be settings.
    """
    settings = settings_of_lines(data.decode("utf-8", "replace")) if alone else {}
    if len(settings) >= _FEWEST_LISTED or (settings and source.endswith(_OF_SETTINGS)):
        yield from _if_known(source, settings)
        return
    number = 0
    for gap in paste.gaps:
        for command, text in gap.sections:
            if not text.strip():
                continue
            request = parse_request(f"GET {command.path}") if command is not None and command.path else None
            number += 1
            name = source if number == 1 and alone else f"{source}{_FOUND_LATER}lines-{number}"
            yield from _listed(name, text, command, request)
            yield from _of_yaml(name, text, request)


def _listed(
    name: str, text: str, command: Command | None, request: AdminRequest | None
) -> Iterator[tuple[Answer, AdminRequest | None]]:
    from engine.reading.lines import address, as_json, listed_brokers, listed_topics, listed_words

    url = address(text) if request is not None and request.what == "lookup" else ""
    if url:
        yield Answer(AnswerKind.LOOKUP, name, as_json({"brokerUrl": url})), request
        return
    if request is not None and request.what in _ANY_FORM and _SCALAR.fullmatch(text):
        yield Answer(AnswerKind.OTHER, name, text.strip().encode()), request
        return
    if request is not None and request.what == "subscriptions" and (words := listed_words(text)):
        yield Answer(AnswerKind.OTHER, name, as_json(words)), request
        return
    topics = listed_topics(text)
    owners = {topic: url for topic, url in topics.items() if url}
    if owners:
        yield Answer(AnswerKind.NAMED_LOOKUPS, name, as_json(owners)), None
    elif len(topics) >= _FEWEST_LISTED or (topics and command is not None):
        yield Answer(AnswerKind.TOPIC_LIST, name, as_json(list(topics))), request
    elif command is not None and "/brokers/" in command.path and (brokers := listed_brokers(text)):
        yield Answer(AnswerKind.OTHER, f"{name}-brokers", as_json(brokers)), AdminRequest("GET", _BROKERS)


def _of_yaml(source: str, text: str, request: AdminRequest | None) -> Iterator[tuple[Answer, AdminRequest | None]]:
    """Answers in YAML, and run-time settings in the values of a chart."""
    from engine.reading.yaml_text import json_of_yaml, yaml_block

    block = yaml_block(text)
    documents = json_of_yaml(block) if block else []
    for number, document in enumerate(documents if not isinstance(documents, Rejection) else (), 1):
        name = source if number == 1 else f"{source}{_FOUND_LATER}{number}"
        answer, _ = _shaped(name, document.encode("utf-8", "replace"))
        values = _members(answer.data) if answer.kind in (AnswerKind.OTHER, AnswerKind.MANY) else None
        settings = [*_if_known(name, settings_of_values(values))] if values is not None else []
        if settings:
            yield from settings
        elif answer.kind is not AnswerKind.OTHER:
            for one in _each(name, answer.data)[0] if answer.kind is AnswerKind.MANY else (answer,):
                yield one, request


def _if_known(source: str, settings: Mapping[str, str]) -> Iterator[tuple[Answer, AdminRequest | None]]:
    data = as_answer(settings)
    if sound_kind(source, data) is AnswerKind.RUNTIME_CONFIGURATION:
        yield Answer(AnswerKind.RUNTIME_CONFIGURATION, source, data), None


def _passed_over(source: str, paste: Paste) -> tuple[Problem, ...]:
    """One line for each place with other words, the first ones; the rest is counted."""
    from engine.reading.paste import described

    gaps = paste.gaps
    shown = [
        Problem(source, "$", f"passed over: {described(gap)}", "the answers around it are read", gap.line)
        for gap in gaps[:_NOTES_SHOWN]
    ]
    if len(gaps) > _NOTES_SHOWN:
        reason = f"passed over: other words at {len(gaps) - _NOTES_SHOWN:,} more places"
        shown.append(Problem(source, "$", reason, "the answers around them are read", gaps[_NOTES_SHOWN].line))
    return tuple(shown)
