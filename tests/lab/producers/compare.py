"""Producers of a partitioned topic, step by step: who is at which partition, and where clients send messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.admin.kinds import AnswerKind
from engine.admin.publishers import PublishedPartitions, PublishedTopic, decode_publishers
from engine.errors import Problem, Rejection
from engine.names import partition_index
from engine.routing.clients import KeyRouting, Message, partition_of
from engine.routing.routers import Router, round_robin, route
from engine.verify.report import Ledger, Rules
from tests.lab.client_errors import error_stem
from tests.lab.facts import StepFact
from tests.lab.folder import shared
from tests.lab.producers.model import GIVEN_NAME, Evidence, Listed, ModelledProducers, Sent
from tests.lab.producers.steps import ACCEPTED, ProducerStep
from tests.lab.scenario import Answer, Recording, Step

_ADOPTED: Final = "partitions that lazy producers opened for messages the scenario does not name, or by the clock"
_DRAWN: Final = "where a router begins: drawn at random, and inferred"
_OWN_ROUTER: Final = "messages of a router of the user's own"
_decode = shared(decode_publishers)


class ProducersComparison:
    """Compares what steps say of producers; does nothing for a recording that says nothing of them."""

    def __init__(self, recording: Recording, rules: Rules, ledger: Ledger, problems: list[Problem]) -> None:
        self._recording = recording
        self._ledger = ledger
        self._problems = problems
        self._client = recording.producers.client if recording.producers is not None else None
        self._on = recording.producers is not None and recording.partitions > 0
        self._model: ModelledProducers | None = None
        if self._on and self._client is not None:
            self._model = ModelledProducers(rules, self._client, recording.partitions)
        self._highest_given = -1
        self._has_started = False
        self._hashing: str | None = None

    def go_on(self, step: Step) -> None:
        """Do what a step does and compare what it says, with the first statistics of the topic in it."""
        if not self._on or step.producers is None:
            return
        answer = next((answer for answer in step.answers if self._is_of_topic(answer)), None)
        shown: PublishedPartitions | None = None
        if answer is not None:
            decoded = _decode(answer.data, answer.file)
            shown = decoded.good
            self._problems += decoded.problems
            self._ledger.file = answer.file
        self._go_on(step, step.producers, shown)
        self._ledger.file = ""

    def compare(self, answer: Answer) -> None:
        """Compare statistics of one partition by itself."""
        at = partition_index(answer.request.topic)
        of_topic = answer.request.topic == f"{self._recording.topic}-partition-{at}"
        if self._model is None or not self._has_started or at >= self._recording.partitions or not of_topic:
            return
        if answer.kind is AnswerKind.TOPIC_STATS:
            topic = _decode(answer.data, answer.file).good.aggregate
            if topic is not None:
                self._compare_partition(at, topic, self._model)

    def _is_of_topic(self, answer: Answer) -> bool:
        return answer.kind is AnswerKind.PARTITIONED_STATS and answer.request.topic == self._recording.topic

    def _go_on(self, step: Step, now: ProducerStep, shown: PublishedPartitions | None) -> None:
        self._hashing = now.hashing or self._hashing
        if self._model is None:
            self._compare_messages(now, None)
            facts = len(now.starts) + bool(now.id_partition is not None) + bool(now.result)
            self._ledger.skip("producers of a client that is not modelled, or not named", facts)
            return
        partitions = _by_index(shown, self._recording.partitions)
        listed: Listed = {
            at: tuple(publisher.producer_name or "" for publisher in topic.publishers)
            for at, topic in partitions.items()
        }
        if now.eager_close:
            self._model.close_eager()
        self._start(step, now, listed, self._model)
        self._compare_messages(now, self._send(now, self._model))
        if shown is None:
            return
        self._ledger.skip(_ADOPTED, self._model.adopt(listed, everybody=not now.complete))
        if self._has_started:
            for at, topic in partitions.items():
                self._compare_partition(at, topic, self._model)
        if self._model.sent is not None:
            rule = "messages sent by the steps so far"
            for at, topic in partitions.items():
                subject = f"{self._recording.topic}-partition-{at}"
                sides = topic.stats.msg_in_counter, self._model.sent[at]
                self._ledger.compare(StepFact.PARTITION_MESSAGES, subject, *sides, rule)

    def _start(self, step: Step, now: ProducerStep, listed: Listed, model: ModelledProducers) -> None:
        if not now.starts:
            return
        self._has_started = True
        if listed:
            model.close_absent(
                listed, [start.name for start in now.starts if start.name is not None and now.result is None]
            )
        evidence = self._evidence(step, now, listed)
        for start in now.starts:
            name, refused = model.start(start, evidence)
            self._compare_answer(now, name, refused)
        self._compare_given(model.claim_names(listed))
        if now.producer_name is not None and len(now.starts) == 1 and model.shown_name() is not None:
            rule = "the name of the partition started first"
            sides = now.producer_name, model.shown_name()
            self._ledger.compare(StepFact.PRODUCER_NAME, self._recording.topic, *sides, rule)

    def _evidence(self, step: Step, now: ProducerStep, listed: Listed) -> Evidence:
        """What this step and those up to the next start show of the one producer that starts in it."""
        if len(now.starts) != 1:
            return Evidence(listed)
        following: list[ProducerStep] = []
        for later in self._recording.steps[self._recording.steps.index(step) + 1 :]:
            if later.producers is None or later.producers.starts:
                break
            following.append(later.producers)
        return Evidence(
            listed,
            now.producer_name,
            tuple(partition for later in following for partition in later.keyless_partitions),
            tuple(partition for later in following for partition in later.all_partitions),
        )

    def _compare_answer(self, now: ProducerStep, name: str, refused: Rejection | None) -> None:
        recorded = ACCEPTED if now.result is None else error_stem(now.result)
        modelled = ACCEPTED if refused is None else error_stem(refused.error)
        rule = "AbstractTopic.addProducer" if refused is None else refused.message
        self._ledger.compare(StepFact.PRODUCER_ANSWER, name, recorded, modelled, rule)

    def _compare_given(self, claimed: tuple[tuple[str, ...], ...]) -> None:
        """Names that brokers gave come from one counter: none comes twice, and none of an earlier step comes again."""
        before = self._highest_given
        for name in (name for names in claimed for name in names):
            match = GIVEN_NAME.fullmatch(name)
            number = int(match[2]) if match is not None else -1
            expected = "a new name" if number > before else "a name given before"
            rule = "brokers count the names they give"
            self._ledger.compare(StepFact.PRODUCER_NAME, name, "a new name", expected, rule)
            self._highest_given = max(self._highest_given, number)

    def _send(self, now: ProducerStep, model: ModelledProducers) -> Sent | None:
        """Send what the step sends; where the last of its sendings went, None where the sender is not known."""
        if not self._has_started and model.sent is not None:
            self._count_by_key(now, model)
            return None
        sent: Sent | None = None
        for sending in now.sendings:
            sent = model.send(sending)
        if not now.complete:
            model.sent = None
        return sent

    def _count_by_key(self, now: ProducerStep, model: ModelledProducers) -> None:
        """Without a producer that the scenario introduces: every message went where its key was recorded to go."""
        counts = model.sent
        if counts is None:
            return
        if not now.complete or any(set(sending.keys) - set(now.key_to_partition) for sending in now.sendings):
            model.sent = None
        elif now.sendings:
            for at in now.key_to_partition.values():
                if 0 <= at < len(counts):
                    counts[at] += 1

    def _compare_messages(self, now: ProducerStep, sent: Sent | None) -> None:
        """Compare where messages went, by their keys or by the router's turns."""
        if sent is not None and not sent.by_keys:
            self._compare_turns(now, sent)
            return
        self._compare_keys(now)
        if sent is not None and sent.certain and now.keyless_partitions:
            recorded = now.keyless_partitions
            self._ledger.skip(_DRAWN, sent.inferred_from)
            # A step that names one id names that of its last message.
            skipped = len(sent.partitions) - len(recorded)
            pairs = list(zip(recorded, sent.partitions[max(skipped, 0) :], strict=False))
            for number, (at, modelled) in enumerate(pairs[sent.inferred_from :], sent.inferred_from + 1):
                self._compare_keyless(number, at, modelled, "the router's next turn: lazy start took one")
        else:
            self._compare_order(now)

    def _compare_turns(self, now: ProducerStep, sent: Sent) -> None:
        """Compare a partial round robin, which ignores keys; nothing is known of a router of the user's own."""
        recorded = now.all_partitions
        if not sent.certain or len(recorded) != len(sent.partitions):
            self._ledger.skip(_OWN_ROUTER, len(recorded))
            return
        self._ledger.skip(_DRAWN, sent.inferred_from)
        pairs = list(zip(recorded, sent.partitions, strict=True))
        for number, (at, modelled) in enumerate(pairs[sent.inferred_from :], sent.inferred_from + 1):
            self._compare_keyless(number, at, modelled, "partial round robin: its list in turn, keys are ignored")

    def _compare_keyless(self, number: int, recorded: int, modelled: int, rule: str) -> None:
        subject = f"message {number} of step {self._ledger.moment}"
        self._ledger.compare(StepFact.KEYLESS_PARTITION, subject, recorded, modelled, rule)

    def _compare_keys(self, now: ProducerStep) -> None:
        if now.key_to_partition and self._client is None:
            self._ledger.skip("keys of a client that is not modelled, or not named", len(now.key_to_partition))
            return
        for key, at in now.key_to_partition.items():
            assert self._client is not None
            keys = KeyRouting(self._client.word, self._hashing or self._client.family.default.scheme)
            if keys.undecided(key):
                self._ledger.skip("empty keys, which this client takes for no key: its router began at random")
                continue
            modelled = partition_of(key, keys, self._recording.partitions)
            rule = f"{keys.hashing} of the {self._client.name} client, {self._recording.partitions} partitions"
            self._ledger.compare(StepFact.KEY_PARTITION, f"key {key!r}", at, modelled, rule)

    def _compare_order(self, now: ProducerStep) -> None:
        """Compare messages without key of an unknown sender, one by one; where the first goes is drawn at random."""
        if not now.in_order:
            return
        batching = now.batching
        if batching is None and self._client is not None:
            batching = self._client.batching
        if batching is not False or self._recording.partitions < 1:
            self._ledger.skip("messages without key of a client that batches", len(now.in_order))
            return
        self._ledger.skip(_DRAWN)
        state: Router = round_robin(now.in_order[0], batching=False)
        for number, at in enumerate(now.in_order, 1):
            state, modelled = route(state, Message(), self._recording.partitions, 0)
            if number > 1:
                self._compare_keyless(number, at, modelled, "round robin, batching off")

    def _compare_partition(self, at: int, topic: PublishedTopic, model: ModelledProducers) -> None:
        subject = f"{self._recording.topic}-partition-{at}"
        modelled = model.publishers(at)
        names = (
            tuple(publisher.producer_name for publisher in topic.publishers),
            tuple(one.producer_name for one in modelled),
        )
        rule = "what each producer has opened by now; without the flag first, then by name"
        if not self._ledger.compare(StepFact.PRODUCER_PARTITIONS, subject, *names, rule):
            return
        for one, other in zip(topic.publishers, modelled, strict=True):
            who = f"{subject} / {one.producer_name}"
            if one.access_mode is not None:
                mode = model.access_mode(at, other.producer_name)
                rule = "as its step asked for"
                self._ledger.compare(StepFact.PRODUCER_ACCESS_MODE, who, one.access_mode, mode, rule)
            if one.supports_partial_producer is not None:
                rule = "aggregatePublisherStatsByProducerName and the client's feature flag"
                flags = one.supports_partial_producer, other.supports_partial_producer
                self._ledger.compare(StepFact.PRODUCER_FLAG, who, *flags, rule)


def _by_index(shown: PublishedPartitions | None, partitions: int) -> Mapping[int, PublishedTopic]:
    if shown is None:
        return {}
    by_index = {partition_index(name): topic for name, topic in shown.partitions.items()}
    return {at: topic for at, topic in by_index.items() if 0 <= at < partitions}
