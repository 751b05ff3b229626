"""What answers hold, one seer per kind of answer: statistics, bundle lists, policies, positions, topics, settings.

Owns which comparison a kind of answer is for, and which kinds are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from engine.admin.facts import Decoded
from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
)
from engine.admin.publishers import PublishedPartitions, decode_named_publishers, decode_publishers
from engine.admin.text import raw_object
from engine.admin.topics import decode_broker_stats_topics
from engine.bundles import BundleRange, parse_range
from engine.errors import Problem
from engine.hashing import crc32_hash
from engine.names import PARTITION_SUFFIX
from tests.lab.balance.modular import compare_report
from tests.lab.balance.owners import Owners
from tests.lab.balance.series import WrittenReport, decode_report
from tests.lab.books import Books
from tests.lab.bundles.namespaces import (
    IN_RANGE_RULE,
    see_broker_stats,
    see_list,
    see_policies,
    see_positions,
    see_topic_list,
)
from tests.lab.bundles.requests import REFUSALS_NOT_MODELLED
from tests.lab.bundles.splits import with_rates_after
from tests.lab.consumers import Court, compare_consumers, compare_loaded_order
from tests.lab.key_shared.compare import KeySharedWalk
from tests.lab.producers.compare import ProducersWalk
from tests.lab.producers_statistics import compare_aggregate
from tests.lab.recording import Answer
from tests.lab.report import FactKind
from tests.lab.settings import compare_configuration
from tests.lab.statistics import Statistics

T = TypeVar("T")
_NOT_MODELLED = {
    AnswerKind.LOOKUP: "look-ups of owners",
    AnswerKind.OWNED_NAMESPACES: "lists of owned bundles",
    AnswerKind.INTERNAL_STATS: "internal statistics",
    AnswerKind.OTHER: "answers of other kinds",
    AnswerKind.NO_JSON: "answers that are no JSON",
    AnswerKind.ERROR: REFUSALS_NOT_MODELLED,
}


class Contents:
    """Compares what answers hold; what cannot be read is added to ``problems``.

    ``statistics``: ``id`` of an answer -> what was decoded of it.
    """

    def __init__(
        self,
        court: Court,
        books: Books,
        statistics: Mapping[int, Statistics | None],
        problems: list[Problem],
        *,
        key_shared: KeySharedWalk,
        producers: ProducersWalk,
        owners: Owners,
    ) -> None:
        self._court = court
        self._recording = court.recording
        self._ledger = court.ledger
        self._books = books
        self._statistics = statistics
        self._problems = problems
        self._key_shared = key_shared
        self._producers = producers
        self._owners = owners

    def see(self, answer: Answer, connected: tuple[str, ...] | None) -> None:
        """Compare one answer; ``connected`` are the scenario's ids at that step, None where it does not tell them."""
        statistics = self._statistics.get(id(answer))
        leaves_out = answer.request.query.get("excludeConsumers", "").lower() == "true"
        if leaves_out:
            connected = None
        if statistics is not None:
            for topic in statistics.topics.values():
                compare_consumers(self._court, topic, connected, name_known=statistics.named)
                if not leaves_out:
                    self._key_shared.see(topic, statistics.key_shared.get(topic.name, {}))
            self._producers.see(answer)
            self._see_aggregates(answer)
            if answer.request.what == "partitioned-stats":
                missing = self._recording.partitions - len(statistics.topics)
                self._ledger.skip("partitions that statistics leave out: their broker gave no answer", max(missing, 0))
            return
        seers: dict[AnswerKind, Callable[[Answer], None]] = {
            AnswerKind.BROKER_STATS_TOPICS: self._see_broker_stats,
            AnswerKind.BUNDLES: self._see_bundles,
            AnswerKind.POLICIES: self._see_bundles,
            AnswerKind.HASH_POSITIONS: self._see_positions,
            AnswerKind.TOPIC_LIST: self._see_topic_list,
            AnswerKind.RUNTIME_CONFIGURATION: self._see_configuration,
            AnswerKind.LOAD_REPORT: self._see_load_report,
        }
        seers.get(answer.kind, self._see_other)(answer)

    def _see_aggregates(self, answer: Answer) -> None:
        if answer.kind is AnswerKind.TOPIC_STATS:
            return
        found: Mapping[str, PublishedPartitions]
        if answer.kind is AnswerKind.PARTITIONED_STATS:
            one = decode_publishers(answer.data, answer.file).good
            names = [name.rpartition(PARTITION_SUFFIX)[0] for name in one.partitions]
            found = {answer.request.topic or next(iter(names), answer.file): one}
        else:
            found = decode_named_publishers(answer.data, answer.file).good
        for topic, published in found.items():
            compare_aggregate(topic, published, self._court.judge.behaviour, self._ledger)

    def _see_bundles(self, answer: Answer) -> None:
        policies = answer.kind is AnswerKind.POLICIES
        decoded = decode_policies(answer.data, answer.file) if policies else decode_bundles(answer.data, answer.file)
        found = self._keep(decoded)
        if found.boundaries:
            book = self._books.of_list(answer)
            see = see_policies if policies else see_list
            see(book, self._ledger, found, automatic=self._books.automatic and book.awaited is None)

    def _see_positions(self, answer: Answer) -> None:
        positions = self._keep(decode_hash_positions(answer.data, answer.file))
        if positions is not None:
            see_positions(self._books.of(positions.namespace), self._ledger, positions, answer.request.bundle)

    def _see_topic_list(self, answer: Answer) -> None:
        names = self._keep(decode_topic_list(answer.data, answer.file))
        # Parents of partitioned topics are in no bundle.
        if answer.request.what == "topic-list":
            see_topic_list(self._books.of(answer.request.namespace), self._ledger, names, answer.request.bundle)
        else:
            self._ledger.skip("lists of topics")

    def _see_broker_stats(self, answer: Answer) -> None:
        stats = self._keep(decode_broker_stats_topics(answer.data, answer.file))
        for place in stats.places.values():
            self._books.of(place.namespace)
        see_broker_stats(self._books.by_namespace, self._ledger, stats, automatic=self._books.automatic)
        for topic in stats.topics.values():
            compare_loaded_order(self._court, topic)
        for book in self._books.by_namespace.values():
            if book.awaited is not None:
                book.awaited = with_rates_after(book.awaited, book.rates)

    def _see_configuration(self, answer: Answer) -> None:
        found = self._keep(decode_runtime_configuration(answer.data, answer.file))
        if found is not None:
            compare_configuration(self._recording, self._ledger, found)

    def _see_load_report(self, answer: Answer) -> None:
        """Of the modular load manager; other forms, and those of other releases, tell no sums."""
        found = decode_report(answer.data, answer.file).good if b'"lastStats"' in answer.data else None
        if found is None:
            self._ledger.skip("load reports without sums over their bundles")
        else:
            compare_report(WrittenReport(0, 0, answer.broker or "the broker", *found), self._ledger)

    def _see_other(self, answer: Answer) -> None:
        request = answer.request
        text = answer.data.decode("utf-8", "replace").strip()
        bundle = parse_range(text) if request.what == "lookup-bundle" else None
        if isinstance(bundle, BundleRange):
            inside = text if bundle.includes(crc32_hash(request.topic)) else "outside"
            self._ledger.compare(FactKind.TOPIC_BUNDLE, request.topic, text, inside, IN_RANGE_RULE)
        elif answer.kind in _NOT_MODELLED and not self._owners.takes(answer):
            self._ledger.skip(_NOT_MODELLED[answer.kind])
            if answer.kind is AnswerKind.NO_JSON:
                self._problems += raw_object(answer.data, answer.file)[1]

    def _keep(self, decoded: Decoded[T]) -> T:
        self._problems += decoded.problems
        return decoded.good
