"""Read a folder of answers of any kinds into one moment of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from engine.admin.documents import Answer, OpenedFile, opened_file, strange, topic_inside, unreadable
from engine.admin.earlier import EarlierAnswers, remembered
from engine.admin.facts import BundleList, Counts, LedgerFacts, PartitionSums, Snapshot, TopicFacts, WrittenLoad
from engine.admin.files import STANDARD_INPUT, AnswerFile
from engine.admin.folders import FilesRead, read_files
from engine.admin.kinds import SCALABLE_KINDS, AnswerKind
from engine.admin.measured_loads import METRICS, MeasuredLoads
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_lookup,
    decode_named_lookups,
    decode_owned,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
    living_brokers,
)
from engine.admin.ownership_policies import OwnershipPolicies
from engine.admin.partitions import bounded
from engine.admin.requests import (
    NAMESPACE_POLICIES,
    SCENARIO_NAME,
    TOPIC_ANSWERS,
    AdminRequest,
    Naming,
    configuration_of,
    nameless_topic,
    release_text,
    request_of_path,
    scenario_facts,
)
from engine.admin.text import malformed, plain_json, raw_object, unread_faults
from engine.admin.topics import (
    broker_stats_of,
    decode_named_stats,
    decode_partition_sums,
    partitioned_stats_of,
    topic_stats_of,
)
from engine.config import CURRENT, BrokerSettings, behaviour_of, rebased
from engine.errors import Decoded, InputError, Problem, Rejection
from engine.input import MAX_INPUT_BYTES, Intake
from engine.names import NAMELESS, namespace_of

if TYPE_CHECKING:
    from engine.admin.scalable import ScalableAnswer, ScalableFacts


def read_answers(*sources: str | Path | bytes | AnswerFile, limit_bytes: int = MAX_INPUT_BYTES) -> Snapshot:
    """Read folders, files and answers in memory into one ``Snapshot``; of two answers about one thing the later counts.

    Later means later in the arguments, then in the natural order of file names (``9-…`` before ``10-…``); statistics
    of a topic always win over broker-stats, which lacks the active consumer. Bad input never loses good input: faults
    are in ``problems``, also a file beyond ``limit_bytes`` in all. Raises ``InputError`` when nothing can be read, or
    nothing is a broker's answer. O(bytes).
    """
    collector = AnswerCollector(limit_bytes)
    intake = Intake(limit_bytes)
    titles: list[str] = []
    for source in sources:
        if isinstance(source, bytes | AnswerFile):
            file = source if isinstance(source, AnswerFile) else AnswerFile(STANDARD_INPUT, source)
            titles.append(file.name)
            collector.add(FilesRead((file,), (), ()))
        else:
            titles.append(str(source))
            collector.add(read_files(Path(source), intake))
    title = ", ".join(titles)
    if not collector.understood:
        problems, read = tuple(collector.problems), collector.files_read
        in_folder = any(isinstance(source, str | Path) and Path(source).is_dir() for source in sources)
        raise no_answer_error(title, read, problems, in_folder=in_folder, answer=collector.last_answer)
    return collector.snapshot(title)


def no_answer_error(
    title: str, read: int, problems: tuple[Problem, ...], *, in_folder: bool, answer: Answer | None = None
) -> InputError:
    """Return the error for input without a single answer; of one file it says what ``answer`` is in its place."""
    if read == 1 and not in_folder:
        problems = problems or (strange(answer) if answer is not None else ())
        return InputError(f"{title}: this is not an answer of a broker", problems)
    return InputError(f"{title}: none of {read:,} file{'' if read == 1 else 's'} is an answer of a broker", problems)


class AnswerCollector:
    """Collects facts file by file, in two passes over a folder: some answers name the topics of others."""

    def __init__(
        self, limit_bytes: int, *, keeps_nameless: bool = False, earlier: EarlierAnswers | None = None
    ) -> None:
        self._limit_bytes = limit_bytes
        self._earlier = earlier
        self._keeps_nameless = keeps_nameless
        self.problems: list[Problem] = []
        self.stats: dict[str, TopicFacts] = {}
        self.loaded: dict[str, TopicFacts] = {}
        self.bundle_of_topic: dict[str, str] = {}
        self.bundles: dict[str, BundleList] = {}
        self.known_names: set[str] = set()
        self.settings: BrokerSettings | None = None
        self.version: str | None = None
        self.ledgers: dict[str, LedgerFacts] = {}
        self.topic_policies: dict[str, dict[str, object]] = {}
        self.namespace_policies: dict[str, Mapping[str, object]] = {}
        self.configuration: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        self.sums: dict[str, PartitionSums] = {}
        self.summed: list[tuple[str, bytes]] = []
        self.broker_loads: dict[str, WrittenLoad] = {}
        self.ownership = OwnershipPolicies()
        self.written_loads: list[tuple[str, WrittenLoad]] = []
        self.measured = MeasuredLoads()
        self.read: list[Answer] = []
        self.metered: dict[str, TopicFacts] = {}
        self.living: tuple[str, frozenset[str]] | None = None
        self.scalable: list[ScalableAnswer] = []
        self.asked_loaded = self.configured = False
        self.files_read = self.bytes_read = self.set_aside = self.superseded = self.understood = 0
        self.last_answer: Answer | None = None
        self.passed_over = 0

    def add(self, read: FilesRead) -> None:
        self.problems += read.problems
        self.passed_over += len(read.passed_over)
        self.files_read += len(read.files)
        self.bytes_read += sum(len(file.data) for file in read.files)
        scenario = next(((file.name, file.data) for file in read.files if is_scenario(file)), ("", b""))
        facts = scenario_facts(scenario[1], scenario[0])
        requests = dict(facts.requests)
        answers: list[Answer] = []
        for file in read.files:
            mirrored = request_of_path(file.name)
            if mirrored is not None:
                requests[file.name] = mirrored
                if mirrored.fault:
                    self.problems.append(Problem(file.name, "$", mirrored.fault, "what it answered is set aside"))
            if mirrored is not None and self._take_by_place(mirrored, file):
                continue
            if not (self.ownership.take(file.name, file.data) or self._is_policy(requests.get(file.name), file)):
                opened = self._opened(file)
                answers += opened.answers
                requests |= opened.requests
        if not scenario[0]:
            inner = ((answer.name, answer.data) for answer in answers if answer.kind is AnswerKind.SCENARIO)
            scenario = next(inner, ("", b""))
            facts = scenario_facts(scenario[1], scenario[0])
            requests = {**facts.requests, **requests}
        self.problems += facts.problems
        self.version = facts.version or self.version
        self.settings = facts.settings or self.settings
        self.configuration |= configuration_of(scenario[1])
        # Of two answers about a topic the later one counts, so the less complete one comes first.
        answers.sort(key=lambda answer: answer.name in requests and _says_less(requests[answer.name]), reverse=True)
        self.read += answers
        unnamed: list[Answer] = []
        for answer in [each for each in answers if not self._is_policy_in_text(each, requests)]:
            kind, name, data = answer.kind, answer.name, answer.data
            listed = living_brokers(name, data) if kind in _LISTS else None
            self.living = (name, listed) if listed is not None else self.living
            is_known = kind not in (AnswerKind.OTHER, AnswerKind.NO_JSON, AnswerKind.MANY)
            self.understood += is_known or listed is not None
            if kind in SCALABLE_KINDS:
                self.scalable.append((kind, name, data, requests.get(name)))
            elif kind in _NAMELESS:
                unnamed.append(answer)
            elif kind in (AnswerKind.LOOKUP, AnswerKind.OWNED_NAMESPACES):
                self._take_owners(kind, name, data, requests.get(name))
            else:
                self._take(kind, name, data)
        known = self.known_names | self.stats.keys() | self.loaded.keys()
        naming = Naming(requests, known)
        self._take_sums(naming)
        # Internal statistics without a name are those of the statistics with the same subscriptions.
        for answer in sorted(unnamed, key=lambda answer: answer.kind is AnswerKind.INTERNAL_STATS):
            self._take_nameless(answer.kind, answer.name, answer.data, naming)

    @property
    def refusals(self) -> tuple[Problem, ...]:
        """What the admin interface said in place of answers."""
        return tuple(
            Problem(answer.name, "$.reason", f"is an error of the admin interface: {reason}", _ASK_AGAIN)
            for answer in self.read
            if answer.kind is AnswerKind.ERROR and (reason := _members(answer.data).get("reason"))
        )

    @property
    def is_refused(self) -> bool:
        """Whether there is nothing but refusals."""
        return 0 < self.understood == len(self.refusals)

    def _take_sums(self, naming: Naming) -> None:
        for name, data in self.summed:
            topic = naming.topic(name) or nameless_topic(name)
            sums = decode_partition_sums(data, topic, name)
            self.sums |= {topic: sums} if sums is not None else {}
        self.summed.clear()

    def _opened(self, file: AnswerFile) -> OpenedFile:
        """The answers in a file with their kinds."""
        opened = remembered(
            self._earlier, "opened", file.name, file.data, lambda _: opened_file(file, self._limit_bytes)
        )
        self.problems += opened.problems
        for answer in opened.answers:
            self.problems += unreadable(answer)
            self.last_answer = answer
        return opened

    def _take_by_place(self, request: AdminRequest, file: AnswerFile) -> bool:
        """Take an answer that is recognised by its place in a mirror of the admin API; False for any other."""
        if request.what == "version":
            self.version = release_text(file.data) or self.version
        elif request.what == METRICS and self._measures(file):
            self.understood += 1
        else:
            return bool(request.fault) or request.what in _PLAIN_TEXT
        return True

    def _measures(self, file: AnswerFile) -> bool:
        return self.measured.take_metrics(file.name, plain_json(file.data, file.name, limit=self._limit_bytes)[0])

    def _is_policy(self, request: AdminRequest | None, file: AnswerFile) -> bool:
        """Take the answer about one policy of a topic or a namespace, which can be a bare number or empty."""
        if request is None or request.what not in (*(TOPIC_ANSWERS if request.topic else ()), *NAMESPACE_POLICIES):
            return False
        data, _ = plain_json(file.data, file.name, limit=self._limit_bytes)
        try:
            value: object = msgspec.json.decode(data) if data.strip() else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            self.problems.append(malformed(data, file.name, fault))
        else:
            self.understood += 1
            if request.topic:
                self.topic_policies.setdefault(request.topic, {})[request.what] = value
            else:
                known = self.namespace_policies.get(request.namespace, {})
                self.namespace_policies[request.namespace] = {**known, NAMESPACE_POLICIES[request.what]: value}
        return True

    def _is_policy_in_text(self, answer: Answer, requests: Mapping[str, AdminRequest]) -> bool:
        file = AnswerFile(answer.name, answer.data)
        return answer.kind in _ANY_FORM and self._is_policy(requests.get(answer.name), file)

    def _take(self, kind: AnswerKind, name: str, data: bytes) -> None:
        match kind:
            case AnswerKind.NAMED_INTERNAL_STATS:
                from engine.admin.ledgers import decode_named_internal_stats

                ledgers = decode_named_internal_stats(data, name)
                self.problems += ledgers.problems
                self.ledgers.update(ledgers.good)
            case AnswerKind.PARTITIONED_STATS:
                decoded = partitioned_stats_of(data, name, self._earlier)
                self._topics(decoded)
                if not decoded.good:
                    self.summed.append((name, data))
            case AnswerKind.METRICS:
                decoded = decode_named_stats(data, name)
                self.problems += decoded.problems
                self.metered.update(decoded.good)
            case AnswerKind.NAMED_STATS:
                self._topics(decode_named_stats(data, name))
            case AnswerKind.BROKER_STATS_TOPICS:
                loaded = broker_stats_of(data, name, self._earlier)
                self.problems += loaded.problems
                self.set_aside += loaded.set_aside
                self.asked_loaded |= bool(loaded.good.topics)
                self.loaded.update(loaded.good.topics)
                self.bundle_of_topic.update((topic, place.bundle) for topic, place in loaded.good.places.items())
                self.measured.take_loaded(name, lambda: Decoded(loaded.good))
            case AnswerKind.NAMED_LOOKUPS:
                looked_up = decode_named_lookups(data, name)
                self.problems += looked_up.problems
                self.set_aside += looked_up.set_aside
                self.known_names |= looked_up.good.keys()
                self.owners.update(looked_up.good)
            case AnswerKind.HASH_POSITIONS:
                positions = decode_hash_positions(data, name)
                self.problems += positions.problems
                self.known_names |= positions.good.positions.keys() if positions.good else set()
            case AnswerKind.TOPIC_LIST:
                listed = decode_topic_list(data, name)
                self.problems += listed.problems
                self.known_names |= set(listed.good)
            case AnswerKind.RUNTIME_CONFIGURATION:
                configured = decode_runtime_configuration(data, name)
                self.problems += configured.problems
                if configured.good:
                    self.settings, self.configured = configured.good.settings, True
                self.configuration.update(scalar_texts(data))
            case AnswerKind.LOAD_REPORT:
                self._take_load_report(name, data)

    def _take_load_report(self, name: str, data: bytes) -> None:
        from engine.admin.load_reports import decode_broker_load, decode_load_report

        decoded = decode_broker_load(data, name) if b'"lastStats"' in data else None
        written = decoded.good if decoded is not None else None
        version = written.load.version if written is not None else None
        if written is not None:
            self._take_load(name, written)
        if written is None or decoded is None or decoded.problems:
            report, faults = decode_load_report(data, name), decoded.problems if decoded is not None else ()
            named = {problem.path for problem in faults}
            self.problems += (*faults, *(problem for problem in report.problems if problem.path not in named))
            version = report.good.broker_version if report.good is not None else version
        self.version = self.version or version or None

    def _take_load(self, name: str, written: WrittenLoad) -> None:
        from engine.admin.load_reports import all_bundles

        load = written.load
        self.written_loads.append((name, written))
        known = self.broker_loads.get(load.broker)
        if load.load_average is None or known is None or known.updated_at_ms <= written.updated_at_ms:
            # Of reports the later file counts; metrics are taken after all of them.
            self.broker_loads[load.broker] = written
            self.owners.update(dict.fromkeys(all_bundles(load), load.broker))

    def _take_owners(self, kind: AnswerKind, name: str, data: bytes, request: AdminRequest | None) -> None:
        """Take the owner of a topic from a look-up, or of bundles from a broker's list, as the request says whose it
        is."""
        if request is None:
            return
        if kind is AnswerKind.OWNED_NAMESPACES and request.broker:
            owned = decode_owned(data).good
            self.owners.update(dict.fromkeys(owned, request.broker))
            self.measured.take_owned(name, request.broker, owned)
        looked_up = decode_lookup(data).good if kind is AnswerKind.LOOKUP and request.topic else None
        if looked_up is not None and looked_up.broker_url:
            self.owners[request.topic] = looked_up.broker_url

    def _topics(self, decoded: Decoded[dict[str, TopicFacts]]) -> None:
        self.problems += decoded.problems
        self.set_aside += decoded.set_aside
        self.superseded += len(self.stats.keys() & decoded.good.keys())
        self.stats.update(decoded.good)

    def _kept(self, topic: str | None) -> str | None:
        """A topic, None for one with an invented name where such are not kept."""
        is_invented = topic is not None and namespace_of(topic) == NAMELESS
        return None if is_invented and not self._keeps_nameless else topic

    def _take_nameless(self, kind: AnswerKind, name: str, data: bytes, naming: Naming) -> None:
        if kind is AnswerKind.TOPIC_STATS:
            topic = self._kept(naming.topic(name)) or topic_inside(data)
            if topic is None:
                advice = "name the file like persistent%3A%2F%2Ft%2Fn%2Fx.json, give --topic, or write {topic: answer}"
                self.problems.append(Problem(name, "$", WITHOUT_TOPIC, advice))
                if not self._keeps_nameless:
                    self.problems += raw_object(data, name)[1] or unread_faults(data, name)
                    self.set_aside += 1
                    return
                topic = nameless_topic(name)
            decoded_topic = topic_stats_of(data, topic, name, self._earlier)
            self.problems += decoded_topic.problems
            self.set_aside += decoded_topic.set_aside
            if decoded_topic.good is not None:
                self.superseded += topic in self.stats
                self.stats[topic] = decoded_topic.good
            return
        if kind is AnswerKind.INTERNAL_STATS:
            self._take_ledger(self._kept(naming.topic(name)), name, data)
            return
        if kind is AnswerKind.POLICIES and (namespace := naming.namespace(name)) is not None:
            self.namespace_policies[namespace] = {**self.namespace_policies.get(namespace, {}), **_members(data)}
        decoded = decode_bundles(data, name) if kind is AnswerKind.BUNDLES else decode_policies(data, name)
        self.problems += decoded.problems
        if not decoded.good.boundaries:
            return
        namespace = naming.namespace(name)
        if namespace is None:
            advice = "keep it beside statistics of one namespace, or put the namespace into the file name"
            self.problems.append(Problem(name, "$", "the answer does not say which namespace it is about", advice))
        else:
            self.bundles[namespace] = decoded.good

    def _take_ledger(self, topic: str | None, name: str, data: bytes) -> None:
        """Take internal statistics: those without a name belong to the nameless topic with the same subscriptions."""
        from engine.admin.ledgers import decode_internal_stats

        if topic is None and not self._keeps_nameless:
            self.problems += unread_faults(data, name)
            return
        ledger = decode_internal_stats(data, name)
        self.problems += ledger.problems
        if ledger.good is None:
            return
        if topic is None:
            nameless = [facts for facts in self.stats.values() if facts.namespace == NAMELESS]
            like_it = [
                facts.name
                for facts in nameless
                if {sub.name for sub in facts.subscriptions} <= ledger.good.cursors.keys()
                and facts.name not in self.ledgers
            ]
            topic = like_it[0] if like_it else nameless_topic(name)
        self.ledgers[topic] = ledger.good

    def _settings(self) -> BrokerSettings | None:
        """What was reported; a setting that was not has the default of the brokers' release."""
        behaviour = behaviour_of(self.version or CURRENT.label)
        if self.settings is None or isinstance(behaviour, Rejection):
            return self.settings
        return rebased(self.settings, CURRENT, behaviour, self.configuration)

    def _signs(self) -> frozenset[str]:
        """The signs of a release that no answer names."""
        if self.version is not None:
            return frozenset()
        from engine.admin.release_signs import signs_in

        return signs_in((answer.kind, answer.data) for answer in self.read)

    def _scalable(self) -> Decoded[dict[str, ScalableFacts]]:
        if not self.scalable:
            return Decoded({})
        from engine.admin.scalable import read_scalable

        return read_scalable(self.scalable)

    def snapshot(self, title: str) -> Snapshot:
        scalable = self._scalable()
        measured = self.measured.written(self.written_loads)
        for name, written in measured.good:
            self._take_load(name, written)
        topics: Mapping[str, TopicFacts] = self.loaded | self.stats
        counts = Counts(
            self.files_read, self.passed_over, self.bytes_read, len(topics), self.set_aside, self.superseded
        )
        snapshot = Snapshot(
            title,
            topics,
            self.bundles,
            self.bundle_of_topic,
            frozenset(self.known_names),
            self._settings(),
            self.version,
            (*self.problems, *self.ownership.problems, *measured.problems, *scalable.problems),
            counts,
            self.ledgers,
            self.topic_policies,
            self.namespace_policies,
            self.configuration,
            frozenset(self.loaded) if self.asked_loaded else None,
            self.owners,
            self.broker_loads,
            self.ownership.gathered,
            tuple(self.written_loads),
            self.living,
            self.sums,
            scalable.good,
            self._signs(),
            self.metered,
        )
        return bounded(snapshot)


WITHOUT_TOPIC: Final = "the answer does not say which topic it is about"
_ASK_AGAIN: Final = "mend what it names, and ask again"
_LISTS: Final = (AnswerKind.OTHER, AnswerKind.TOPIC_LIST)
"""Kinds as which a list of brokers may be recognised: only its name says what it is."""
_ANY_FORM: Final = (AnswerKind.OTHER, AnswerKind.MANY)
"""Kinds of an answer about one policy, which only its request tells from others."""
_PLAIN_TEXT: Final = ("lookup-bundle",)
"""Answers in plain text, whose content is known from other answers."""
_NAMELESS: Final = (AnswerKind.TOPIC_STATS, AnswerKind.BUNDLES, AnswerKind.POLICIES, AnswerKind.INTERNAL_STATS)


def is_scenario(file: AnswerFile) -> bool:
    """Whether a file lists the recorded requests, by its name; others of that form are recognised by their content."""
    return file.name.rpartition("/")[2].removesuffix(".gz") == SCENARIO_NAME


def _says_less(request: AdminRequest) -> bool:
    """Whether a more complete answer about the same wins: the request excluded consumers or publishers, or asked only
    for changed settings."""
    return request.what == "dynamic-values" or request.leaves_out


def _members(data: bytes) -> Mapping[str, object]:
    """Return the members of an object; none of a text that is not JSON, whose decoder reports it."""
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def scalar_texts(data: bytes) -> dict[str, str]:
    """Return the scalar members of an object as texts, as run-time settings are printed."""
    written = {True: "true", False: "false"}
    return {
        name: written[value] if isinstance(value, bool) else str(value)
        for name, value in _members(data).items()
        if isinstance(value, str | int | float)
    }
