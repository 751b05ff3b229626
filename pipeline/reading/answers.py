"""Turn one file into rows: recognise its kind, find out what it is about, decode it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from engine.admin.client_facts import load_manager_class
from engine.admin.documents import OpenedFile, as_brokers_spell, has_answers, opened_file, pasted_file
from engine.admin.files import AnswerFile
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.load_reports import decode_load_report
from engine.admin.measured_loads import METRICS, decode_usage, dump_and_broker, moment_of_dump
from engine.admin.mended_reports import quoted_numbers
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
    living_brokers,
)
from engine.admin.ownership_policies import OwnershipPolicies
from engine.admin.requests import ANTI_AFFINITY, TOPIC_ANSWERS, AdminRequest, Naming, scenario_facts
from engine.admin.text import SET_ASIDE, WHOLE_CHECK_BYTES, raw_list, raw_object
from engine.bundles.boundaries import namespace_bundles
from engine.config import DEFAULTS, BrokerSettings
from engine.errors import Problem, Rejection
from engine.input import MAX_INPUT_BYTES
from engine.names import parse_topic_name
from pipeline.reading.files import may_be_paste, read_answer
from pipeline.reading.kept_answers import keep_answer
from pipeline.reading.rows import BAD, Rows, quarantine_row
from pipeline.reading.topics import take_broker_stats, take_named, take_one
from pipeline.stamps import time_of
from pipeline.storage import Place

LOAD_MANAGER: Final = "loadManagerClassName"
"""An extra key in the table of settings, beside those of ``BrokerSettings``; absent where no file names the class."""
READ: Final = "read"
OF_NO_USE: Final = "of no use here"
QUARANTINED: Final = "quarantined"
WAITING: Final = "waiting for a name"
_NAMELESS: Final = (AnswerKind.TOPIC_STATS, AnswerKind.BUNDLES, AnswerKind.POLICIES)
_BY_TOPIC: Final = {
    AnswerKind.TOPIC_STATS: AnswerKind.NAMED_STATS,
    AnswerKind.INTERNAL_STATS: AnswerKind.NAMED_INTERNAL_STATS,
}
"""Kinds that do not name their topic, and those that do."""
_NOT_ANSWERS: Final = (AnswerKind.NO_JSON, AnswerKind.OTHER)
_WITHOUT_FORM: Final = (*TOPIC_ANSWERS, ANTI_AFFINITY, "lookup-bundle", "version")
"""Answers that can be a bare number, a text or empty, and that no table uses."""
_RULES_OF_SHEDDING: Final = (AnswerKind.RUNTIME_CONFIGURATION, AnswerKind.SCENARIO)
_WITH_METRICS: Final = (AnswerKind.BROKER_STATS_TOPICS, AnswerKind.OWNED_NAMESPACES)
"""What brokers say of their bundles that give metrics in place of load reports."""
_BROKER_STATS_HEAD: Final = re.compile(rb'\s*\{\s*"[^"/:]+/[^"/:]+"\s*:\s*\{\s*"0x[0-9a-f]{8}_0x')


@dataclass(frozen=True, slots=True)
class FileContext:
    """What is known about a file besides its content: its broker's name, its topic or namespace (``about``), and the
    request that it answers.

    ``cluster``: that of its folder; ``concerned``: those for which it holds if it is about no single broker.
    ``broker_by_name``: no load report names the broker, so the file's own name stands for it. ``with_metrics``: some
    brokers of the same moment gave metrics.
    """

    broker: str = ""
    about: str = ""
    request: AdminRequest | None = None
    broker_by_name: bool = False
    with_metrics: bool = False
    cluster: str = ""
    concerned: tuple[str, ...] = ("",)


class Outcome(msgspec.Struct):
    """What became of one file. ``namespaces`` are those its content names."""

    kind: str
    outcome: str
    size_bytes: int
    namespaces: list[str] = []


def take_file(
    rows: Rows, path: Place, name: str, context: FileContext, *, limit_bytes: int = MAX_INPUT_BYTES
) -> Outcome:
    """Read one file; good rows are kept even if other parts of it are bad. O(length)."""
    data, problems = read_answer(path, name, limit_bytes=limit_bytes)
    what = context.request.what if context.request is not None else ""
    has_form = what not in _WITHOUT_FORM
    if data is None or (has_form and not data.strip()):
        rows.counts["files"] += 1
        rows.set_aside("files", problems or (Problem(name, "$", "the file is empty", "record it again"),), 1, name)
        return Outcome(AnswerKind.NO_JSON.value, QUARANTINED, 0)
    quarantined_before = len(rows.quarantine)
    if data.strip():  # an empty answer is a valid answer about a policy
        rows.quarantine += [quarantine_row(problem, "files") for problem in problems]
    before = len(rows.topics), len(rows.listed), len(rows.bundle_reports)
    kind, outcome = AnswerKind.OTHER, OF_NO_USE
    if has_form:
        kind = _kind_of(name, data)
        if kind is AnswerKind.NO_JSON:
            data = quoted_numbers(data)
            kind = _kind_of(name, data)
        kind, data = as_brokers_spell(kind, name, data)
        opened = _pasted(kind, name, data) if kind in _NOT_ANSWERS else None
        if opened is not None:
            outcome = _take_pasted(rows, opened, name, context)
        elif kind in _NOT_ANSWERS and may_be_paste(name.rpartition("/")[2]):
            # Folders have notes and logs too; only a part of an answer is a fault.
            outcome = QUARANTINED if has_answers(AnswerFile(name, data)) else OF_NO_USE
        else:
            outcome = _take(rows, kind, data, name, context)
    if outcome == WAITING:
        # It is read again once its name is known, and its problems are reported then.
        del rows.quarantine[quarantined_before:]
    else:
        rows.counts["files"] += 1
    if outcome == QUARANTINED:
        rows.set_aside("files", _why_no_answer(data, name), 1, name)
    elif (
        kind in _RULES_OF_SHEDDING
        or _rules_ownership(name, data)
        or (context.with_metrics and (kind in _WITH_METRICS or what == "version"))
    ):
        rows.keep_load_answer("", data, name)
    topics, listed, reports = before
    namespaces = {*rows.topics.namespaces[topics:]} | {row[2] for row in rows.listed[listed:]}
    namespaces |= {row[1] for row in rows.bundle_reports[reports:]}
    if outcome != WAITING:
        keep_answer(rows, kind, data, name, context.request, about=context.about, named=namespaces)
    return Outcome(kind.value, outcome, len(data), sorted(namespaces))


def _rules_ownership(name: str, data: bytes) -> bool:
    return OwnershipPolicies().take(name, data) or living_brokers(name, data) is not None


def _kind_of(name: str, data: bytes) -> AnswerKind:
    # Recognising a document takes as long as reading it, so the largest ones are recognised by how they begin.
    if len(data) > WHOLE_CHECK_BYTES and _BROKER_STATS_HEAD.match(data):
        return AnswerKind.BROKER_STATS_TOPICS
    return recognise(name, data)


def _take(rows: Rows, kind: AnswerKind, data: bytes, name: str, context: FileContext) -> str:
    if kind is AnswerKind.MANY:
        return _take_members(rows, data, name, context)
    if kind in _NAMELESS:
        return _take_nameless(rows, kind, data, name, context)
    if context.request is not None and context.request.what == METRICS:
        return _take_metrics(rows, kind, data, name, context)
    match kind:
        case AnswerKind.BROKER_STATS_TOPICS:
            take_broker_stats(rows, data, name, context.broker, by_name=context.broker_by_name)
        case AnswerKind.PARTITIONED_STATS | AnswerKind.NAMED_STATS:
            take_named(rows, kind, data, name)
        case AnswerKind.LOAD_REPORT:
            _take_load_report(rows, data, name)
        case AnswerKind.TOPIC_LIST | AnswerKind.HASH_POSITIONS:
            _take_names(rows, kind, data, name, context)
        case AnswerKind.RUNTIME_CONFIGURATION:
            _take_settings(rows, data, name)
        case AnswerKind.SCENARIO:
            _take_scenario(rows, data, name)
        case AnswerKind.NO_JSON if data.lstrip()[:1] != b"0":  # a bundle's range is a plain text
            return QUARANTINED
        case AnswerKind.OTHER if raw_list(data, name)[1] and data.lstrip()[:1] == b"[":
            return QUARANTINED
        case _:
            return OF_NO_USE
    return READ


def _pasted(kind: AnswerKind, name: str, data: bytes) -> OpenedFile | None:
    """The answers among other words, or in another form; None without any, or where a part of one is missing."""
    file = AnswerFile(name, data)
    opened = pasted_file(file, data) if kind is AnswerKind.NO_JSON else opened_file(file)
    if opened is None or not opened.is_whole or all(answer.kind in _NOT_ANSWERS for answer in opened.answers):
        return None
    return opened


def _take_pasted(rows: Rows, opened: OpenedFile, name: str, context: FileContext) -> str:
    """Take the answers in a text, each with the request that the words before it name."""
    rows.quarantine += [quarantine_row(problem, "files") for problem in opened.problems]
    for answer in opened.answers:
        request = opened.requests.get(answer.name) or context.request
        about = context.about
        if request is not None:
            about = request.topic if answer.kind is AnswerKind.TOPIC_STATS else request.namespace
        of_answer = replace(context, request=request, about=about or context.about)
        if _take(rows, answer.kind, answer.data, answer.name, of_answer) == WAITING:
            refuse_nameless(rows, answer.kind.value, answer.name)
        named = _BY_TOPIC.get(answer.kind)
        if named is not None and request is not None and request.topic:
            # The words that named its topic are not kept, so the answer has to say it.
            body = b"{%s:%s}" % (msgspec.json.encode(request.topic), answer.data)
            keep_answer(rows, named, body, answer.name, None, about="", named=())
        else:
            keep_answer(rows, answer.kind, answer.data, answer.name, request, about=about, named=())
    return READ


def _why_no_answer(data: bytes, name: str) -> tuple[Problem, ...]:
    start = data.lstrip()[:1]
    faults = raw_object(data, name)[1] if start == b"{" else raw_list(data, name)[1] if start == b"[" else ()
    reason = "is not JSON that could be understood"
    return faults or (Problem(name, "$", reason, "put recorded answers of the admin interface there"),)


def _take_members(rows: Rows, data: bytes, name: str, context: FileContext) -> str:
    members, problems = raw_object(data, name)
    rows.quarantine += [quarantine_row(problem, "files") for problem in problems]
    kinds = {member: recognise(member, bytes(raw)) for member, raw in members.items()}
    for member, raw in members.items():
        if kinds[member] not in _NAMELESS:
            _take(rows, kinds[member], bytes(raw), f"{name}: {member}", replace(context, request=None))
    naming = Naming({}, [*rows.topics.names, *(row[0] for row in rows.listed)])
    for member, raw in members.items():
        if kinds[member] in _NAMELESS:
            about = naming_of_kind(naming, kinds[member], member)
            if about is None:
                refuse_nameless(rows, kinds[member].value, f"{name}: {member}")
            else:
                _take_nameless(rows, kinds[member], bytes(raw), f"{name}: {member}", FileContext(about=about))
    return READ


def naming_of_kind(naming: Naming, kind: AnswerKind, name: str) -> str | None:
    """The topic or the namespace that a nameless answer of this kind is about."""
    return naming.topic(name) if kind is AnswerKind.TOPIC_STATS else naming.namespace(name)


def refuse_nameless(rows: Rows, kind: str, name: str) -> None:
    """Set aside an answer whose topic or namespace is unknown."""
    topic = kind == AnswerKind.TOPIC_STATS.value
    reason = f"the answer does not say which {'topic' if topic else 'namespace'} it is about"
    advice = "name the file like persistent%3A%2F%2Ft%2Fn%2Fx.json" if topic else "put the namespace into its name"
    table = "topics" if topic else "boundary_lists"
    rows.counts[table] += 1
    rows.quarantine.append(quarantine_row(Problem(name, "$", reason, advice), table, 1, BAD))


def _take_nameless(rows: Rows, kind: AnswerKind, data: bytes, name: str, context: FileContext) -> str:
    """Take statistics of one topic or a boundary list, which do not name what they are about."""
    if not context.about:
        if context.request is None or not context.request.fault:
            return WAITING
        # The request was for a name that no broker accepts; the files beside it know no better one.
        refuse_nameless(rows, kind.value, name)
        return READ
    if kind is AnswerKind.TOPIC_STATS:
        take_one(rows, data, context.about, name)
        return READ
    decoded = decode_bundles(data, name) if kind is AnswerKind.BUNDLES else decode_policies(data, name)
    rows.counts["boundary_lists"] += 1
    good = namespace_bundles(context.about, decoded.good.boundaries)
    if isinstance(good, Rejection):
        problems = decoded.problems or (Problem(name, "$", good.message, "record the answer again"),)
        rows.set_aside("boundary_lists", problems, 1, name)
    else:
        rows.set_aside("boundary_lists", decoded.problems, 0, name)
        rows.boundary_lists.append((context.about, list(good.boundaries), name))
    return READ


def _take_names(rows: Rows, kind: AnswerKind, data: bytes, name: str, context: FileContext) -> None:
    if kind is AnswerKind.HASH_POSITIONS:
        positions = decode_hash_positions(data, name)
        names: Iterable[str] = positions.good.positions if positions.good else ()
        problems, lost = positions.problems, positions.set_aside
    else:
        listed = decode_topic_list(data, name)
        names, problems = listed.good, listed.problems
        # A list that is cut short is lost as a whole, and its length is unknown.
        lost = max(listed.set_aside, int(any(problem.line is not None for problem in problems)))
    is_parent = _lists_parents(name, context)
    rows.counts["listed"] += lost
    rows.set_aside("listed", problems, lost, name)
    for text in dict.fromkeys(names):
        rows.counts["listed"] += 1
        parsed = parse_topic_name(text)
        if isinstance(parsed, Rejection) or "://" not in text:
            reason = parsed.message if isinstance(parsed, Rejection) else f"{text!r} is no full topic name"
            problem = Problem(name, "$", reason, SET_ASIDE)
            rows.quarantine.append(quarantine_row(problem, "listed", 1, BAD))
        else:
            rows.listed.append((text, parsed.domain, parsed.namespace, is_parent, name))


def _lists_parents(name: str, context: FileContext) -> bool:
    if context.request is not None and context.request.what:
        return context.request.what == "partitioned-list"
    return "partitioned" in name.rpartition("/")[2]


def _take_load_report(rows: Rows, data: bytes, name: str) -> None:
    decoded = decode_load_report(data, name)
    report = decoded.good
    rows.counts["brokers"] += 1
    if report is None:
        rows.set_aside("brokers", decoded.problems, 1, name)
        return
    broker = report.broker or name
    rows.keep_load_answer(broker, data, name)
    bundles = len(report.bundles) + decoded.set_aside
    rows.brokers.append((broker, report.broker_version, time_of(report.updated_at_ms), bundles, name))
    rows.counts["bundle_reports"] += bundles
    rows.set_aside("bundle_reports", decoded.problems, decoded.set_aside, name)
    rows.bundle_reports += [
        (bundle.bundle, bundle.namespace, bundle.bundle.rpartition("/")[2], broker, position, bundle.topics,
         bundle.producers, bundle.consumers, bundle.msg_rate_in, bundle.msg_rate_out,
         bundle.throughput_in_bytes_per_sec, bundle.throughput_out_bytes_per_sec, name)
        for position, bundle in enumerate(report.bundles)
    ]  # fmt: skip


def _take_metrics(rows: Rows, kind: AnswerKind, data: bytes, name: str, context: FileContext) -> str:
    """Keep the metrics of a broker that gives no load report; its traffic is that of its loaded topics."""
    data = quoted_numbers(data)
    decoded = decode_usage(data, name)
    if decoded.good is None and not decoded.problems:
        # They are of another load manager, or a text that names no usage because it is cut or is something else.
        is_cut = data.lstrip()[:1] == b"[" and raw_list(data, name)[1]
        return QUARANTINED if is_cut or kind is AnswerKind.NO_JSON else OF_NO_USE
    rows.counts["brokers"] += 1
    if decoded.good is None:
        rows.set_aside("brokers", decoded.problems, 1, name)
        return READ
    broker = context.broker or name
    rows.keep_load_answer(broker, data, name)
    rows.brokers.append((broker, "", time_of(moment_of_dump(dump_and_broker(name)[0])), 0, name))
    return READ


def _take_settings(rows: Rows, data: bytes, name: str) -> None:
    decoded = decode_runtime_configuration(data, name)
    rows.quarantine += [quarantine_row(problem, "settings", 0, BAD) for problem in decoded.problems]
    if decoded.good is not None:
        settings = decoded.good.settings
        rows.settings += [(key, settings.text_of(key), name) for key in decoded.good.named]
    _take_load_manager(rows, AnswerKind.RUNTIME_CONFIGURATION, data, name)


def _take_scenario(rows: Rows, data: bytes, name: str) -> None:
    facts = scenario_facts(data, name)
    rows.quarantine += [quarantine_row(problem, "files", 0, BAD) for problem in facts.problems]
    settings = facts.settings or BrokerSettings()
    rows.settings += [
        (key, settings.text_of(key), name) for key, default in DEFAULTS.items() if getattr(settings, key) != default
    ]
    _take_load_manager(rows, AnswerKind.SCENARIO, data, name)


def _take_load_manager(rows: Rows, kind: AnswerKind, data: bytes, name: str) -> None:
    # The class decides which splits are tried; settings without it mean the default.
    class_name = load_manager_class(kind, data)
    if class_name is not None:
        rows.settings.append((LOAD_MANAGER, class_name, name))
