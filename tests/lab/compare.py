"""``compare_recording``: a recording, compared step by step with the rules of its release and settings."""

from __future__ import annotations

from typing import Final, TypeVar

from engine.admin.kinds import AnswerKind, is_scalar
from engine.admin.load_reports import decode_bundle_report
from engine.admin.namespaces import (
    decode_bundles,
    decode_hash_positions,
    decode_policies,
    decode_runtime_configuration,
    decode_topic_list,
)
from engine.admin.text import raw_object
from engine.admin.topics import decode_broker_stats_topics
from engine.balance.leadership.state import Leader
from engine.bundles.boundaries import BundleRange, parse_range
from engine.config import FLAG, BrokerSettings
from engine.errors import Decoded, Problem
from engine.hashing import crc32_hash
from engine.verify.bundles import IN_RANGE_RULE
from engine.verify.compare import NOT_MODELLED, Compared, best_report, candidates_for
from engine.verify.consumers import infer_levels, observed_actives
from engine.verify.report import FactKind, FlagSource, Ledger, Rules, VerifyReport
from engine.verify.statistics import (
    Statistics,
    compare_aggregate,
    compare_report,
    decode_aggregates,
    decode_statistics,
)
from tests.lab.balance.extensible import ExtensibleComparison
from tests.lab.balance.lists import ListHistory, compare_splits
from tests.lab.balance.modular import ModularComparison
from tests.lab.balance.owners import OwnersComparison
from tests.lab.balance.records import BalanceRecords
from tests.lab.balance.shedding_modular import SheddingComparison, load_settings
from tests.lab.balance.shedding_transfer import TransferComparison
from tests.lab.bundles.listed_splits import compare_listed_changes, compare_listed_splits
from tests.lab.bundles.namespaces import (
    Namespaces,
    compare_broker_stats,
    compare_bundle_list,
    compare_hash_positions,
    compare_policy_list,
    compare_topic_list,
)
from tests.lab.bundles.requests import REFUSALS_NOT_MODELLED, Requests, is_split
from tests.lab.consumers import Context, compare_consumers, compare_delivery, compare_loaded_order, overflows
from tests.lab.facts import KINDS
from tests.lab.folder import Folder, shared
from tests.lab.key_shared.compare import key_shared_comparison
from tests.lab.names import topics_of_steps
from tests.lab.notices import Dispatchers, compare_notices
from tests.lab.producers.compare import ProducersComparison
from tests.lab.scenario import Answer, Recording, Step, read_recording
from tests.lab.settings import compare_configuration, compare_named_settings

T = TypeVar("T")
_UNSETTLED: Final = "split requests after which no bundle list was recorded"
_bundles, _policies, _positions = shared(decode_bundles), shared(decode_policies), shared(decode_hash_positions)
_topic_list, _configuration = shared(decode_topic_list), shared(decode_runtime_configuration)
_broker_stats, _report = shared(decode_broker_stats_topics), shared(decode_bundle_report)
_statistics, _aggregates = shared(decode_statistics), shared(decode_aggregates)


def compare_folder(folder: Folder, pulsar_version: str | None = None) -> VerifyReport:
    """Compare the model with a recorded folder. Raises ``InputError`` when its scenario cannot be read.

    ``pulsar_version`` overrules what the folder says of its release. Where nothing names the release or the flag, each
    form of the rules is tried and the one with the fewest differences counts.
    """
    recording = read_recording(folder)
    settings, flag_source = _settings(recording)
    named = "load report" if recording.version_from_load_report else "scenario.json"
    candidates, version_source = candidates_for(
        pulsar_version, (recording.version, named), settings, tries_flag=flag_source == "tried"
    )

    def compare(rules: Rules) -> Compared:
        comparison = _Comparison(recording, rules)
        comparison.run()
        return comparison.ledger, tuple(dict.fromkeys((*recording.problems, *comparison.problems)))

    return best_report(recording.name, candidates, (version_source, flag_source), compare, kinds=KINDS)


def _settings(recording: Recording) -> tuple[BrokerSettings, FlagSource]:
    """The settings in force; a scenario names those that it changed, so that the flag has its default otherwise."""
    if FLAG not in recording.named_settings:
        for answer in recording.answers:
            if answer.kind is AnswerKind.RUNTIME_CONFIGURATION:
                configuration = _configuration(answer.data, answer.file).good
                if configuration is not None and FLAG in configuration.named:
                    return configuration.settings, "run-time configuration"
    return recording.settings, "scenario.json" if recording.named_settings else "tried"


class _Comparison:
    """One pass over a recording with one set of rules; ``problems`` are what could not be read on the way."""

    def __init__(self, recording: Recording, rules: Rules) -> None:
        self.rules = rules
        self.ledger = Ledger()
        self.problems: list[Problem] = []
        self._recording = recording
        self._decoded = {id(answer): self._statistics_of(answer) for answer in recording.answers}
        topics = [topic for one in self._decoded.values() if one for topic in one.topics.values()]
        subscribed = frozenset(
            topic.name for topic in topics if any(s.name == recording.subscription for s in topic.subscriptions)
        )
        levels = infer_levels(observed_actives(rules, topics))
        self._context = Context(recording, rules, self.ledger, levels, subscribed)
        self._history = ListHistory(recording.balance.series, self.ledger) if recording.balance is not None else None
        self._namespaces = Namespaces(recording)
        self._requests = Requests(recording, rules, self.ledger, self._namespaces)
        self._key_shared = key_shared_comparison(recording, rules, self.ledger, self.problems)
        self._producers = ProducersComparison(recording, rules, self.ledger, self.problems)
        splits = self._history.splits() if self._history is not None else ()
        self._owners = OwnersComparison(recording, self.ledger, self.problems, splits)

    def run(self) -> None:
        """Compare everything; the results are in ``ledger`` and ``problems``."""
        recording, ledger = self._recording, self.ledger
        compare_named_settings(recording, self.rules, ledger)
        topics = topics_of_steps(recording)
        dispatchers = Dispatchers(recording, self.rules, topics) if self._notices_are_comparable() else None
        connected: tuple[str, ...] | None = None
        for step in recording.steps:
            ledger.moment, ledger.file = step.label, ""
            connected = step.connected if step.connected is not None else connected
            self._go_on(step)
            for answer in step.answers:
                ledger.file = answer.file
                if not self._requests.compare(answer) and answer.data:
                    self._compare_content(answer, connected)
            self._owners.go_on(step)
            if dispatchers is not None and step.connected is not None:
                compare_notices(recording, ledger, step, dispatchers.go_on(step.connected), topics)
            elif step.notices is not None:
                ledger.skip("notices that need more than the steps say", len(step.notices))
            if step.delivered is not None and connected is not None:
                compare_delivery(self._context, step, connected, topics)
        self._compare_listed_splits()
        self._compare_balance()
        self._count_the_rest()

    def _notices_are_comparable(self) -> bool:
        """Whether the steps name who is connected by distinct ids, with levels that brokers compare as numbers."""
        recording = self._recording
        lists = [step.connected for step in recording.steps if step.connected is not None]
        distinct = all(len(set(connected)) == len(connected) for connected in lists)
        levels = [consumer.priority_level for consumer in recording.roster.values()]
        return distinct and not overflows(levels) and any(step.notices for step in recording.steps)

    def _go_on(self, step: Step) -> None:
        statistics = (self._decoded[id(answer)] for answer in step.answers)
        topics = [topic for statistic in statistics if statistic is not None for topic in statistic.topics.values()]
        if self._key_shared is not None:
            self._key_shared.go_on(step, topics)
        self._producers.go_on(step)

    def _statistics_of(self, answer: Answer) -> Statistics | None:
        decoded = _statistics(answer.data, answer.file, answer.kind, answer.request.topic or None)
        self.problems += decoded.problems if decoded is not None else ()
        return decoded

    def _compare_content(self, answer: Answer, connected: tuple[str, ...] | None) -> None:
        """Compare what an answer holds; ``connected`` are the scenario's ids at that step, None: unknown."""
        decoded = self._decoded[id(answer)]
        if decoded is not None:
            self._compare_statistics(answer, decoded, connected)
            return
        namespace = self._namespaces.of(answer.request.namespace) if answer.request.namespace else None
        match answer.kind:
            case AnswerKind.BROKER_STATS_TOPICS:
                self._compare_broker_stats(answer)
            case AnswerKind.BUNDLES | AnswerKind.POLICIES if namespace is not None:
                is_list = answer.kind is AnswerKind.BUNDLES
                bundles = self._keep((_bundles if is_list else _policies)(answer.data, answer.file))
                if bundles.boundaries:
                    automatic = self._namespaces.automatic and namespace.pending is None
                    compare = compare_bundle_list if is_list else compare_policy_list
                    compare(namespace, self.ledger, bundles, automatic=automatic)
            case AnswerKind.HASH_POSITIONS:
                positions = self._keep(_positions(answer.data, answer.file))
                if positions is not None:
                    of_answer = self._namespaces.of(positions.namespace)
                    compare_hash_positions(of_answer, self.ledger, positions, answer.request.bundle)
            case AnswerKind.TOPIC_LIST:
                names = self._keep(_topic_list(answer.data, answer.file))
                # Parents of partitioned topics are in no bundle.
                if answer.request.what == "topic-list" and namespace is not None:
                    compare_topic_list(namespace, self.ledger, names, answer.request.bundle)
                else:
                    self.ledger.skip("lists of topics")
            case AnswerKind.RUNTIME_CONFIGURATION:
                configuration = self._keep(_configuration(answer.data, answer.file))
                if configuration is not None:
                    compare_configuration(self._recording, self.ledger, configuration)
            case AnswerKind.LOAD_REPORT:
                self._compare_load_report(answer)
            case _:
                self._compare_other(answer)

    def _compare_statistics(self, answer: Answer, decoded: Statistics, connected: tuple[str, ...] | None) -> None:
        leaves_out = answer.request.query.get("excludeConsumers", "").lower() == "true"
        for topic in decoded.topics.values():
            compare_consumers(self._context, topic, None if leaves_out else connected, name_known=decoded.named)
            if self._key_shared is not None and not leaves_out:
                self._key_shared.compare(topic)
        self._producers.compare(answer)
        aggregates = _aggregates(answer.data, answer.file, answer.kind, answer.request.topic or None)
        for name, aggregate in self._keep(aggregates).items():
            compare_aggregate(self.ledger, name, aggregate, self.rules.behaviour)
        if answer.request.what == "partitioned-stats":
            missing = self._recording.partitions - len(decoded.topics)
            self.ledger.skip("partitions that statistics leave out: their broker gave no answer", max(missing, 0))

    def _compare_broker_stats(self, answer: Answer) -> None:
        stats = self._keep(_broker_stats(answer.data, answer.file))
        for place in stats.places.values():
            self._namespaces.of(place.namespace)
        namespaces = self._namespaces.by_name
        compare_broker_stats(namespaces, self.ledger, stats, automatic=self._namespaces.automatic)
        for topic in stats.topics.values():
            compare_loaded_order(self._context, topic)
        for namespace in namespaces.values():
            if namespace.pending is not None:
                namespace.pending = namespace.pending.with_rates_after(namespace.rates)

    def _compare_load_report(self, answer: Answer) -> None:
        """Of the modular load manager; other forms, and those of other releases, have no sums."""
        report = _report(answer.data, answer.file).good if b'"lastStats"' in answer.data else None
        if report is None:
            self.ledger.skip("load reports without sums over their bundles")
        else:
            compare_report(self.ledger, answer.broker or "the broker", report)

    def _compare_other(self, answer: Answer) -> None:
        request = answer.request
        text = answer.data.decode("utf-8", "replace").strip()
        bundle = parse_range(text) if request.what == "lookup-bundle" else None
        if isinstance(bundle, BundleRange):
            inside = text if bundle.includes(crc32_hash(request.topic)) else "outside"
            self.ledger.compare(FactKind.TOPIC_BUNDLE, request.topic, text, inside, IN_RANGE_RULE)
        elif self._owners.takes(answer):
            return
        elif answer.kind is AnswerKind.NO_JSON and not is_scalar(answer.data):
            self.ledger.skip(NOT_MODELLED[answer.kind])
            self.problems += raw_object(answer.data, answer.file)[1]
        elif answer.kind is AnswerKind.ERROR:
            self.ledger.skip(REFUSALS_NOT_MODELLED)
        else:
            self.ledger.skip(NOT_MODELLED.get(answer.kind, NOT_MODELLED[AnswerKind.OTHER]))

    def _compare_listed_splits(self) -> None:
        recording, requests = self._recording, self._requests.splits
        complete = sum(map(is_split, recording.answers)) == len(requests)
        compare_listed_splits(recording, self.rules, self.ledger, requests, complete=complete)
        topics = {name: list(namespace.topics.values()) for name, namespace in self._namespaces.by_name.items()}
        compare_listed_changes(recording, self.rules, self.ledger, topics)

    def _compare_balance(self) -> None:
        """Compare cuts of bundles, and the decisions of the load manager; splits on request are compared elsewhere."""
        records, history = self._recording.balance, self._history
        if records is None or history is None:
            return
        if self._namespaces.automatic and self.rules.settings.loadBalancerAutoBundleSplitEnabled:
            compare_splits(history, records, self.rules, self.ledger)
            if records.series.reports:
                ModularComparison(records, history, self.rules, self.ledger).compare()
            if records.cycles:
                ExtensibleComparison(records, history, self.rules, self.ledger).compare()
        self._compare_shedding(records)
        self.ledger.skip("lines of a series that no decision depends on", records.series.others)

    def _compare_shedding(self, records: BalanceRecords) -> None:
        """Compare what load managers unloaded and placed, where logs and reports are there."""
        recording, rules = self._recording, self.rules.behaviour.load
        settings = load_settings(dict(recording.named_settings), self.rules.behaviour)
        ids = {letter: addresses[0] for letter, addresses in recording.brokers.items() if addresses}
        if not records.has_logs or not ids or not settings.loadBalancerSheddingEnabled:
            return
        if recording.load_manager == "modular":
            SheddingComparison(records, Leader(settings, rules=rules), ids, self.ledger).compare()
        else:
            TransferComparison(records, settings, rules, ids, self.ledger).compare()

    def _count_the_rest(self) -> None:
        recording, ledger = self._recording, self.ledger
        ledger.moment = ledger.file = ""
        ledger.skip("files that are not answers, or that no step names", len(recording.passed_over))
        if recording.balance is None:
            ledger.skip("splits that brokers made on their own", recording.automatic_splits)
        for name, count in recording.unmodelled:
            ledger.skip(f"{name} (of routing or clients)", count)
        for namespace in self._namespaces.by_name.values():
            if namespace.pending is not None and namespace.pending.plan is not None:
                ledger.skip(_UNSETTLED)

    def _keep(self, decoded: Decoded[T]) -> T:
        self.problems += decoded.problems
        return decoded.good
