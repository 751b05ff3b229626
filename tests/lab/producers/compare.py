"""Producers of a partitioned topic, step by step: who is at which partition, and where clients send messages."""

from __future__ import annotations

from collections.abc import Mapping

from engine.admin.kinds import AnswerKind
from engine.admin.publishers import PublishedPartitions, PublishedTopic, decode_publishers
from engine.errors import Problem, Rejection
from engine.names import partition_index
from engine.routing.keys import HashingScheme, Message, partition_of_key
from engine.routing.routers import Router, round_robin, route
from tests.lab.judge import Judge
from tests.lab.producers.model import GIVEN_NAME, ProducersBook, Recorded
from tests.lab.producers.steps import ACCEPTED, ProducersTold
from tests.lab.recording import Answer, Recording, Step
from tests.lab.report import FactKind, Ledger

_UNTOLD = "partitions that lazy producers opened for messages the scenario does not tell, or by the clock"


class ProducersWalk:
    """Compares what steps tell of producers; without such a scenario it does nothing."""

    def __init__(self, recording: Recording, judge: Judge, ledger: Ledger, problems: list[Problem]) -> None:
        scenario = recording.producers
        self._recording = recording
        self._judge = judge
        self._ledger = ledger
        self._problems = problems
        self._client = scenario.client if scenario is not None else None
        self._on = scenario is not None and recording.partitions > 0
        self._book: ProducersBook | None = None
        self._highest_given = -1
        if self._on and self._client is not None:
            self._book = ProducersBook(judge, self._client, recording.partitions)
        self._knows_producers = False
        self._hashing: HashingScheme | None = None

    def go_on(self, step: Step) -> None:
        """Do what a step does and compare what it tells, with the first statistics of the topic it has."""
        told = step.producers
        if not self._on or told is None:
            return
        answer = next((each for each in step.answers if self._is_of_topic(each)), None)
        found: PublishedPartitions | None = None
        if answer is not None:
            decoded = decode_publishers(answer.data, answer.file)
            found = decoded.good
            self._problems += decoded.problems
            self._ledger.file = answer.file
        self._go_on(told, found)
        self._ledger.file = ""

    def see(self, answer: Answer) -> None:
        """Statistics of one partition by themselves."""
        at = partition_index(answer.request.topic)
        of_topic = answer.request.topic == f"{self._recording.topic}-partition-{at}"
        known = self._book is not None and self._knows_producers and at < self._recording.partitions
        if answer.kind is AnswerKind.TOPIC_STATS and of_topic and known:
            topic = decode_publishers(answer.data, answer.file).good.aggregate
            if topic is not None and self._book is not None:
                self._compare_partition(at, topic, self._book)

    def _is_of_topic(self, answer: Answer) -> bool:
        return answer.kind is AnswerKind.PARTITIONED_STATS and answer.request.topic == self._recording.topic

    def _go_on(self, told: ProducersTold, found: PublishedPartitions | None) -> None:
        self._hashing = told.hashing or self._hashing
        self._compare_keys(told)
        self._compare_order(told)
        if self._book is None:
            facts = len(told.starts) + bool(told.id_partition is not None) + bool(told.result)
            self._ledger.skip("producers of a client that is not modelled, or not told", facts)
            return
        partitions = _by_index(found, self._recording.partitions)
        recorded: Recorded = {
            at: tuple(each.producer_name or "" for each in topic.publishers) for at, topic in partitions.items()
        }
        self._start(told, recorded, self._book)
        self._send(told, self._book)
        if found is None:
            return
        adopted = self._book.adopt(recorded, everybody=not told.silent)
        self._ledger.skip(_UNTOLD, adopted)
        if self._knows_producers:
            for at, topic in partitions.items():
                self._compare_partition(at, topic, self._book)
        if self._book.sent is not None:
            rule = "messages sent by the steps so far"
            for at, topic in partitions.items():
                subject = f"{self._recording.topic}-partition-{at}"
                wanted = self._book.sent[at]
                self._ledger.compare(FactKind.PARTITION_MESSAGES, subject, topic.stats.msg_in_counter, wanted, rule)

    def _start(self, told: ProducersTold, recorded: Recorded, book: ProducersBook) -> None:
        if not told.starts:
            return
        self._knows_producers = True
        if recorded:
            anew = [start.name for start in told.starts if start.name is not None and told.result is None]
            book.close_absent(recorded, anew)
        for start in told.starts:
            name, refused = book.start(start, recorded)
            self._compare_answer(told, name, refused)
        claimed = book.claim_names(recorded)
        self._compare_given(claimed)
        alone = next(iter(book.producers)) if book.producers and len(told.starts) == 1 else None
        if told.producer_name is not None and alone is not None:
            shown = book.renamed(book.producers[max(book.producers)]).producer_name
            rule = "the name of the partition started first"
            self._ledger.compare(FactKind.PRODUCER_NAME, self._recording.topic, told.producer_name, shown, rule)

    def _compare_answer(self, told: ProducersTold, name: str, refused: Rejection | None) -> None:
        recorded = ACCEPTED if told.result is None else told.result.partition(":")[0]
        modelled = ACCEPTED if refused is None else refused.error
        rule = "AbstractTopic.addProducer" if refused is None else refused.message
        self._ledger.compare(FactKind.PRODUCER_ANSWER, name, recorded, modelled, rule)

    def _compare_given(self, claimed: tuple[tuple[str, ...], ...]) -> None:
        """Names that brokers made come from one counter: none comes twice, and none of before comes again."""
        before = self._highest_given
        for name in (name for names in claimed for name in names):
            match = GIVEN_NAME.fullmatch(name)
            number = int(match[2]) if match is not None else -1
            wanted = "a new name" if number > before else "a name given before"
            rule = "brokers count the names they give"
            self._ledger.compare(FactKind.PRODUCER_NAME, name, "a new name", wanted, rule)
            self._highest_given = max(self._highest_given, number)

    def _send(self, told: ProducersTold, book: ProducersBook) -> None:
        went: tuple[int, ...] = ()
        if not self._knows_producers and book.sent is not None:
            self._count_by_key(told, book)
            return
        for send in told.sends:
            went = book.send(send)
        if not told.silent:
            book.sent = None
        if told.id_partition is not None and went:
            rule = "the router's next turn: lazy start took one"
            self._ledger.compare(
                FactKind.KEYLESS_PARTITION,
                f"the message of step {self._ledger.step}",
                told.id_partition,
                went[-1],
                rule,
            )

    def _count_by_key(self, told: ProducersTold, book: ProducersBook) -> None:
        """Without a producer that the scenario introduces: every message went where its key was told to go."""
        sent = book.sent
        if sent is None:
            return
        if not told.silent or any(set(send.keys) - set(told.key_to_partition) for send in told.sends):
            book.sent = None
        elif told.sends:
            for at in told.key_to_partition.values():
                if 0 <= at < len(sent):
                    sent[at] += 1

    def _compare_partition(self, at: int, topic: PublishedTopic, book: ProducersBook) -> None:
        subject = f"{self._recording.topic}-partition-{at}"
        recorded = tuple(each.producer_name for each in topic.publishers)
        listed = book.listed(at)
        modelled = tuple(each.producer_name for each in listed)
        rule = "what each producer has opened by now; without the flag first, then by name"
        if not self._ledger.compare(FactKind.PRODUCER_PARTITIONS, subject, recorded, modelled, rule):
            return
        for one, other in zip(topic.publishers, listed, strict=True):
            who = f"{subject} / {one.producer_name}"
            if one.access_mode is not None:
                mode = book.access_mode(at, other.producer_name)
                self._ledger.compare(FactKind.PRODUCER_ACCESS_MODE, who, one.access_mode, mode, "as its step asked for")
            if one.supports_partial_producer is not None:
                rule = "aggregatePublisherStatsByProducerName and the client's feature flag"
                flags = (one.supports_partial_producer, other.supports_partial_producer)
                self._ledger.compare(FactKind.PRODUCER_FLAG, who, *flags, rule)

    def _compare_keys(self, told: ProducersTold) -> None:
        if told.key_to_partition and self._client is None:
            self._ledger.skip("keys of a client that is not modelled, or not told", len(told.key_to_partition))
            return
        for key, at in told.key_to_partition.items():
            assert self._client is not None
            hashing = self._hashing or self._client.hashings[0]
            if not Message(key).has_key(hashing):
                self._ledger.skip("empty keys, which this client takes for no key: its router began at random")
                continue
            wanted = partition_of_key(key, hashing, self._recording.partitions)
            rule = f"{hashing} of the {self._client.name} client, {self._recording.partitions} partitions"
            self._ledger.compare(FactKind.KEY_PARTITION, f"key {key!r}", at, wanted, rule)

    def _compare_order(self, told: ProducersTold) -> None:
        """Messages without key, one by one; where the first goes is drawn at random, the others follow from it."""
        if not told.in_order:
            return
        batching = told.batching
        if batching is None and self._client is not None:
            batching = self._client.batching
        if batching is not False or self._recording.partitions < 1:
            self._ledger.skip("messages without key of a client that batches", len(told.in_order))
            return
        self._ledger.skip("where round robin begins: drawn at random")
        state: Router = round_robin(told.in_order[0], batching=False)
        for number, at in enumerate(told.in_order):
            state, wanted = route(state, Message(), self._recording.partitions, 0)
            if number:
                subject = f"message {number + 1} without key"
                self._ledger.compare(FactKind.KEYLESS_PARTITION, subject, at, wanted, "round robin, batching off")


def _by_index(found: PublishedPartitions | None, partitions: int) -> Mapping[int, PublishedTopic]:
    if found is None:
        return {}
    by_index = {partition_index(name): topic for name, topic in found.partitions.items()}
    return {at: topic for at, topic in by_index.items() if at < partitions}
