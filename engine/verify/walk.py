"""Going through a recording answer by answer, with one set of rules, writing every fact into a ledger."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from engine.admin.facts import Decoded, TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
)
from engine.admin.naming import Naming, naming_of
from engine.admin.text import raw_object
from engine.admin.topics import (
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
)
from engine.bundles import BundleRange, TopicLoad, parse_range
from engine.errors import Problem, Rejection
from engine.hashing import crc32_hash
from engine.names import NON_PERSISTENT, PERSISTENT, partition_name
from engine.verify.actives import Court, compare_consumers, compare_delivery, compare_loaded_order, guess_levels
from engine.verify.bundles import (
    IN_RANGE_RULE,
    NamespaceBook,
    see_broker_stats,
    see_list,
    see_policies,
    see_positions,
    see_topic_list,
)
from engine.verify.judge import Judge
from engine.verify.moments import compare_moments
from engine.verify.notices import NoticeBook, compare_notices
from engine.verify.outside import ToldOutside
from engine.verify.recording import Answer, Recording
from engine.verify.report import FactKind, Ledger
from engine.verify.splits import Asked, Awaited, ask, needs_topics, with_rates_after

# ``ServiceConfiguration`` marks them as not dynamic, and so does a release that does not know them at all.
_NOT_DYNAMIC = ("activeConsumerFailoverConsistentHashing", "activeConsumerFailoverDelayTimeMillis")
T = TypeVar("T")
_UNKNOWN_NAMESPACE = "unknown/unknown"
_NOT_MODELLED = {
    AnswerKind.LOAD_REPORT: "load reports",
    AnswerKind.LOOKUP: "look-ups of owners",
    AnswerKind.OWNED_NAMESPACES: "lists of owned bundles",
    AnswerKind.INTERNAL_STATS: "internal statistics",
    AnswerKind.OTHER: "answers of other kinds",
    AnswerKind.NO_JSON: "answers that are no JSON",
    AnswerKind.ERROR: "refusals of requests that are not modelled",
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Decoded statistics of one answer. ``named`` False: the answer's topic had to be invented."""

    topics: Mapping[str, TopicFacts]
    named: bool = True


class Walk:
    """One pass over a recording; ``problems`` are what could not be read on the way."""

    def __init__(self, recording: Recording, judge: Judge) -> None:
        self.recording = recording
        self.judge = judge
        self.ledger = Ledger()
        self.problems: list[Problem] = []
        self._books: dict[str, NamespaceBook] = {}
        self._asked: list[Awaited] = []
        self._naming = _known_names(recording)
        self._automatic = bool(recording.automatic_splits) or (
            recording.named_settings.get("loadBalancerAutoBundleSplitEnabled", "").lower() == "true"
        )
        self._statistics = {id(answer): self._decode(answer) for step in recording.steps for answer in step.answers}
        everything = [t for found in self._statistics.values() if found for t in found.topics.values()]
        subscribed = frozenset(
            topic.name for topic in everything if any(s.name == recording.subscription for s in topic.subscriptions)
        )
        self._court = Court(recording, judge, self.ledger, guess_levels(judge, everything), subscribed)

    def go(self) -> None:
        """Compare everything; the results are in ``ledger`` and ``problems``."""
        self._about_settings()
        topics = self._topics_of_scenario()
        listens = any(step.notices for step in self.recording.steps) and _has_unique_ids(self.recording)
        notices = NoticeBook(self.recording, self.judge, topics if listens else [])
        connected: tuple[str, ...] | None = None
        for step in self.recording.steps:
            self.ledger.step, self.ledger.file = step.label, ""
            connected = step.connected if step.connected is not None else connected
            told = notices.go_on(step.connected) if listens and step.connected is not None else None
            for answer in step.answers:
                self.ledger.file = answer.file
                self._see(answer, connected)
            self.ledger.file = ""
            if told is not None:
                compare_notices(self.recording, self.ledger, step, told, topics)
            elif step.notices is not None:
                self.ledger.skip("notices without a list of who was connected", len(step.notices))
            if step.delivered is not None and connected is not None:
                compare_delivery(self._court, step, connected, topics)
        if not self.recording.has_scenario:
            compare_moments(self.recording, self._naming, self.ledger)
        self._about_changes()
        self._about_the_rest()

    def _decode(self, answer: Answer) -> Statistics | None:
        if answer.kind is AnswerKind.TOPIC_STATS:
            topic = answer.request.topic or self._naming.topic(answer.file)
            one = decode_topic_stats(answer.data, topic or _invented(answer), answer.file)
            self.problems += one.problems
            return Statistics({one.good.name: one.good} if one.good else {}, topic is not None)
        decoders: dict[AnswerKind, Callable[[bytes, str], Decoded[dict[str, TopicFacts]]]] = {
            AnswerKind.PARTITIONED_STATS: decode_partitioned_stats,
            AnswerKind.NAMED_STATS: decode_named_stats,
        }
        if answer.kind not in decoders:
            return None
        decoded = decoders[answer.kind](answer.data, answer.file)
        self.problems += decoded.problems
        return Statistics(decoded.good)

    def _see(self, answer: Answer, connected: tuple[str, ...] | None) -> None:
        request = answer.request
        if request.method == "PUT" and request.what == "split":
            self._split(answer)
        elif request.what == "topicHashPositions" and self._about_positions(answer):
            return
        elif request.setting in _NOT_DYNAMIC and answer.status is not None:
            rule = "the setting is not dynamic"
            self.ledger.compare(FactKind.REFUSAL_STATUS, request.setting, str(answer.status), "412", rule)
        elif answer.status is not None and answer.status >= 400:
            self.ledger.skip(_NOT_MODELLED[AnswerKind.ERROR])
        elif answer.data:
            self._see_content(answer, connected)

    def _see_content(self, answer: Answer, connected: tuple[str, ...] | None) -> None:
        statistics = self._statistics.get(id(answer))
        if answer.request.query.get("excludeConsumers", "").lower() == "true":
            connected = None
        if statistics is not None:
            for topic in statistics.topics.values():
                compare_consumers(self._court, topic, connected, name_known=statistics.named)
            if answer.kind is not AnswerKind.TOPIC_STATS:
                self.ledger.skip("aggregated statistics of partitioned topics")
            if answer.request.what == "partitioned-stats":
                missing = self.recording.partitions - len(statistics.topics)
                self.ledger.skip("partitions that statistics leave out: their broker gave no answer", max(missing, 0))
            return
        seers: dict[AnswerKind, Callable[[Answer], None]] = {
            AnswerKind.BROKER_STATS_TOPICS: self._see_broker_stats,
            AnswerKind.BUNDLES: self._see_bundles,
            AnswerKind.POLICIES: self._see_bundles,
            AnswerKind.HASH_POSITIONS: self._see_positions,
            AnswerKind.TOPIC_LIST: self._see_topic_list,
            AnswerKind.RUNTIME_CONFIGURATION: self._see_configuration,
        }
        seers.get(answer.kind, self._see_other)(answer)

    def _see_bundles(self, answer: Answer) -> None:
        policies = answer.kind is AnswerKind.POLICIES
        decoded = decode_policies(answer.data, answer.file) if policies else decode_bundles(answer.data, answer.file)
        found = self._keep(decoded)
        if found.boundaries:
            book = self._book_of(answer)
            see = see_policies if policies else see_list
            see(book, self.ledger, found, automatic=self._automatic and book.awaited is None)

    def _see_positions(self, answer: Answer) -> None:
        positions = self._keep(decode_hash_positions(answer.data, answer.file))
        if positions is not None:
            see_positions(self._book(positions.namespace), self.ledger, positions, answer.request.bundle)

    def _see_topic_list(self, answer: Answer) -> None:
        names = self._keep(decode_topic_list(answer.data, answer.file))
        # Parents of partitioned topics are in no bundle.
        if answer.request.what == "topic-list":
            see_topic_list(self._book(answer.request.namespace), self.ledger, names, answer.request.bundle)
        else:
            self.ledger.skip("lists of topics")

    def _see_broker_stats(self, answer: Answer) -> None:
        stats = self._keep(decode_broker_stats_topics(answer.data, answer.file))
        for place in stats.places.values():
            self._book(place.namespace)
        see_broker_stats(self._books, self.ledger, stats, automatic=self._automatic)
        for topic in stats.topics.values():
            compare_loaded_order(self._court, topic)
        for book in self._books.values():
            if book.awaited is not None:
                book.awaited = with_rates_after(book.awaited, book.rates)

    def _see_other(self, answer: Answer) -> None:
        request = answer.request
        text = answer.data.decode("utf-8", "replace").strip()
        bundle = parse_range(text) if request.what == "lookup-bundle" else None
        if isinstance(bundle, BundleRange):
            inside = text if bundle.includes(crc32_hash(request.topic)) else "outside"
            self.ledger.compare(FactKind.TOPIC_BUNDLE, request.topic, text, inside, IN_RANGE_RULE)
        elif answer.kind in _NOT_MODELLED:
            self.ledger.skip(_NOT_MODELLED[answer.kind])
            if answer.kind is AnswerKind.NO_JSON:
                self.problems += raw_object(answer.data, answer.file)[1]

    def _split(self, answer: Answer) -> None:
        request = answer.request
        book = self._book(request.namespace)
        before = book.bundles if book.awaited is None else book.awaited.list_after
        if before is None:
            self.ledger.skip("split requests whose bundle list at that moment was not recorded")
            return
        body = answer.body if isinstance(answer.body, list) else []
        asked = Asked(
            request.namespace,
            request.bundle,
            request.query.get("splitAlgorithmName", ""),
            tuple(position for position in body if isinstance(position, int)),
            request.query.get("unload", "") == "true",
            answer.status,
            answer.answered,
        )
        topics = _topics_for(book, request.bundle)
        if needs_topics(asked, self.judge) and not topics and not book.knows_topics_of(request.bundle):
            self.ledger.skip("splits of bundles whose topics were not recorded")
            book.forget_list()
            return
        awaited = ask(asked, self.judge, self.ledger, before, topics)
        if awaited is not None and (book.awaited is None or asked.status is None or asked.status < 400):
            book.all_listed = book.all_listed and (book.awaited is None or book.is_certain)
            book.awaited = awaited
            book.met(before)
        if awaited is not None:
            self._asked.append(awaited)
        if answer.data:
            self.ledger.skip("wording of refusals")

    def _about_positions(self, answer: Answer) -> bool:
        """Hold a request for hash positions against the model; True when it was, or should have been, refused."""
        if answer.status not in (200, 412):
            return False
        book = self._book(answer.request.namespace)
        place = parse_range(answer.request.bundle)
        refused = isinstance(place, Rejection) or (
            book.bundles is not None and not self._automatic and book.bundles.validate_bundle(place) is not None
        )
        if not refused and answer.status == 200:
            return False
        subject = f"{book.name}/{answer.request.bundle}"
        rule = "only a current bundle has hash positions"
        wanted = "412" if refused else "200"
        self.ledger.compare(FactKind.REFUSAL_STATUS, subject, str(answer.status), wanted, rule)
        return True

    def _see_configuration(self, answer: Answer) -> None:
        found = self._keep(decode_runtime_configuration(answer.data, answer.file))
        if found is None:
            return
        for setting in found.named:
            if setting in self.recording.named_settings:
                recorded, wanted = found.settings.text_of(setting), self.recording.settings.text_of(setting)
                self.ledger.compare(FactKind.SETTING_IN_FORCE, setting, recorded, wanted, "broker_settings")

    def _about_settings(self) -> None:
        behaviour, recording = self.judge.behaviour, self.recording
        name = "activeConsumerFailoverConsistentHashing"
        self.ledger.step = "settings"
        if recording.flag_known is not None:
            known = behaviour.knows_failover_consistent_hashing
            rule = f"PIP-392 and Pulsar {behaviour.label}"
            self.ledger.compare(FactKind.FLAG_KNOWN, name, recording.flag_known, known, rule)
        if recording.flag_in_configuration is not None:
            wanted = self.judge.settings.text_of(name) if behaviour.knows_failover_consistent_hashing else "no such"
            recorded = recording.flag_in_configuration[0] or "no such"
            self.ledger.compare(FactKind.SETTING_IN_FORCE, name, recorded, wanted, f"Pulsar {behaviour.label}")

    def _about_changes(self) -> None:
        """Splits that a scenario tells outside of its steps."""
        told = ToldOutside(self.recording, self.judge, self.ledger)
        requests = [answer.request for step in self.recording.steps for answer in step.answers]
        splits = sum(request.method == "PUT" and request.what == "split" for request in requests)
        told.compare_told(self._asked, complete=splits == len(self._asked))
        topics = {name: list(book.topics.values()) for name, book in self._books.items()}
        told.compare_changes(topics)

    def _about_the_rest(self) -> None:
        self.ledger.step = self.ledger.file = ""
        self.ledger.skip("files that are no admin answers, or that no step names", len(self.recording.passed_over))
        self.ledger.skip("splits that brokers made on their own", self.recording.automatic_splits)
        for name, count in self.recording.untold:
            self.ledger.skip(f"{name} (of Key_Shared, routing or clients)", count)
        for book in self._books.values():
            if book.awaited is not None and book.awaited.plan is not None:
                self.ledger.skip("split requests after which no bundle list was recorded")

    def _topics_of_scenario(self) -> list[str]:
        """Full names of the topics whose dispatchers the steps are about."""
        bases = [self.recording.topic] if self.recording.topic else []
        if not bases:
            asked = (
                answer.request
                for step in self.recording.steps
                for answer in step.answers
                if answer.request.what in ("stats", "partitioned-stats")
            )
            bases = list(dict.fromkeys(re.sub(r"-partition-\d+$", "", request.topic) for request in asked))
        if not self.recording.partitions:
            return bases
        return [partition_name(base, index) for base in bases for index in range(self.recording.partitions)]

    def _book(self, namespace: str) -> NamespaceBook:
        made_with = self.recording.bundle_count if namespace == self.recording.namespace else None
        return self._books.setdefault(namespace, NamespaceBook(namespace, made_with=made_with))

    def _book_of(self, answer: Answer) -> NamespaceBook:
        namespace = answer.request.namespace
        if not namespace and not self.recording.has_scenario:
            # Without steps nothing is known about what happened between two files.
            return NamespaceBook(self._naming.namespace(answer.file) or "")
        return self._book(namespace)

    def _keep(self, decoded: Decoded[T]) -> T:
        self.problems += decoded.problems
        return decoded.good


def _has_unique_ids(recording: Recording) -> bool:
    lists = [step.connected for step in recording.steps if step.connected is not None]
    return all(len(set(connected)) == len(connected) for connected in lists)


def _invented(answer: Answer) -> str:
    """A name for a topic that nothing names; its partition, if the file name has one, is kept for the modulo.

    Only statistics of non-persistent topics have a rate of dropped messages.
    """
    found = re.search(r"partition-(\d+)", answer.file)
    stem = re.sub(r"[/\s]", "_", answer.file)
    domain = NON_PERSISTENT if "msgDropRate" in raw_object(answer.data, answer.file)[0] else PERSISTENT
    return f"{domain}://{_UNKNOWN_NAMESPACE}/{stem}" + (f"-partition-{found[1]}" if found else "")


def _topics_for(book: NamespaceBook, bundle: str) -> list[TopicLoad]:
    """The namespace's topics with the latest rates; inside of ``bundle`` those that the broker listed for it."""
    listed = book.in_bundle.get(bundle)
    place = parse_range(bundle) if listed is not None else None
    chosen: list[TopicLoad] = []
    for name, known in book.topics.items():
        if isinstance(place, BundleRange) and listed is not None and place.includes(known.hash) and name not in listed:
            continue
        chosen.append(book.rates.get(name, replace(known, has_stats=False)))
    return chosen


def _known_names(recording: Recording) -> Naming:
    names: set[str] = set()
    if not recording.has_scenario:
        for step in recording.steps:
            for answer in step.answers:
                names |= _names_in(answer)
    return naming_of({}, names)


def _names_in(answer: Answer) -> set[str]:
    match answer.kind:
        case AnswerKind.PARTITIONED_STATS:
            return set(decode_partitioned_stats(answer.data).good)
        case AnswerKind.NAMED_STATS:
            return set(decode_named_stats(answer.data).good)
        case AnswerKind.BROKER_STATS_TOPICS:
            return set(decode_broker_stats_topics(answer.data).good.topics)
        case AnswerKind.HASH_POSITIONS:
            positions = decode_hash_positions(answer.data).good
            return set(positions.positions) if positions else set()
        case AnswerKind.TOPIC_LIST:
            return set(decode_topic_list(answer.data).good)
    return set()
