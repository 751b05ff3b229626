"""The answers of brokers, compared with the rules that fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar

from engine.admin.earlier import EarlierAnswers, remembered
from engine.admin.facts import Snapshot, TopicFacts
from engine.admin.inference import InferredLevels, keeps_first_connected
from engine.admin.inferred_release import NOTHING_INFERRED, InferredRelease, inferred_release
from engine.admin.kinds import AnswerKind, is_scalar
from engine.admin.load_reports import decode_bundle_report
from engine.admin.namespaces import decode_bundles, decode_hash_positions, decode_owned, decode_policies
from engine.admin.release_signs import signs_in
from engine.admin.text import raw_object
from engine.admin.topics import broker_stats_of
from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import Decoded, InputError, Problem, Rejection
from engine.names import is_segment
from engine.verify.answers import Answer, Answers
from engine.verify.bundles import (
    compare_list,
    compare_moment,
    compare_owned,
    compare_places,
    compare_positions,
)
from engine.verify.consumers import (
    Actives,
    Group,
    as_listed,
    compare_key_ranges,
    compare_subscription,
    infer_levels,
    observed_actives,
)
from engine.verify.report import (
    Difference,
    FactKind,
    Fit,
    FlagSource,
    Ledger,
    Rules,
    RulesUsed,
    VerifyReport,
    VersionSource,
    with_reasons,
)
from engine.verify.scalable import KINDS, compare_scalable
from engine.verify.statistics import (
    Statistics,
    compare_aggregate,
    compare_report,
    decode_aggregates,
    decode_statistics,
)

NOT_MODELLED: Final = {
    AnswerKind.LOOKUP: "look-ups of owners",
    AnswerKind.INTERNAL_STATS: "internal statistics",
    AnswerKind.NAMED_INTERNAL_STATS: "internal statistics",
    AnswerKind.OTHER: "answers of other kinds",
    AnswerKind.NO_JSON: "answers that are not JSON",
    AnswerKind.ERROR: "refusals of requests that are not recorded",
    AnswerKind.TOPIC_LIST: "lists of topics",
    AnswerKind.RUNTIME_CONFIGURATION: "run-time configurations",
}
T = TypeVar("T")


def verify_answers(
    answers: Answers,
    pulsar_version: str | None = None,
    earlier: EarlierAnswers | None = None,
    is_explained: Callable[[Difference], bool] = lambda _: True,
) -> VerifyReport:
    """Compare answers of a folder or of a running cluster with the model.

    ``pulsar_version`` overrules what the folder says of its release. Where nothing names the release or the flag, each
    form of the rules is tried, and the one with the fewest differences counts.

    ``earlier``: answers of a running cluster that are the same as there are not compared again. Reasons are looked for
    where a difference ``is_explained``: that compares everything by other rules as well.
    """
    scalable, problems = compare_scalable(answers)

    def compare(rules: Rules) -> Compared:
        comparison = _Comparison(answers, rules, earlier)
        comparison.run()
        comparison.ledger.add(scalable)
        return comparison.ledger, (*answers.problems, *comparison.problems, *problems)

    candidates, source = candidates_for(
        pulsar_version,
        (answers.version, answers.version_source),
        answers.settings,
        tries_flag=answers.flag_source == "tried",
        inferred=_inferred(answers),
    )
    return best_report(answers.path, candidates, (source, answers.flag_source), compare, is_explained=is_explained)


Compared = tuple[Ledger, tuple[Problem, ...]]
"""The facts, and what could not be read."""


def best_report(
    path: str,
    candidates: Sequence[Rules],
    sources: tuple[VersionSource, FlagSource],
    compare: Callable[[Rules], Compared],
    *,
    kinds: Iterable[Enum] = FactKind,
    is_explained: Callable[[Difference], bool] = lambda _: False,
) -> VerifyReport:
    """The report by those rules that fit best; the fewer differences, inferred levels, and facts left out, the better.

    ``sources``: where release and flag are from. ``is_explained`` as for ``verify_answers``.
    """
    outcomes = sorted(((rules, *compare(rules)) for rules in candidates), key=lambda outcome: _misfit(outcome[1]))
    rules, ledger, problems = outcomes[0]
    differences = tuple(ledger.differences)
    if any(map(is_explained, differences)):
        differences = with_reasons(differences, rules, lambda other: compare(other)[0].differences)
    fits = tuple(
        Fit(tried.behaviour.nonpartitioned_failover, tried.consistent_hashing, len(found.differences))
        for tried, found, _ in outcomes
    )
    version_source, flag_source = sources
    return VerifyReport(
        path=path,
        rules=RulesUsed(
            rules.behaviour.label,
            version_source,
            rules.consistent_hashing,
            flag_source,
            fits if len(fits) > 1 else (),
        ),
        tallies=ledger.tallies(kinds),
        differences=differences,
        not_compared=dict(sorted(ledger.skipped.items())),
        problems=problems,
    )


def _misfit(ledger: Ledger) -> tuple[int, int, int]:
    inferred = ledger.compared[FactKind.ACTIVE_INFERRED_LEVELS]
    return len(ledger.differences), inferred, -sum(ledger.compared.values())


def candidates_for(
    asked: str | None,
    recorded: tuple[str | None, VersionSource],
    settings: BrokerSettings,
    *,
    tries_flag: bool,
    inferred: InferredRelease | None = None,
) -> tuple[list[Rules], VersionSource]:
    """The rules to try, and where the release is from. Raises ``InputError`` for a bad ``asked``."""
    behaviours, source = _behaviours_for(asked, recorded, inferred)
    rules = [Rules(behaviour, settings) for behaviour in behaviours]
    if not tries_flag:
        return rules, source
    return [
        given.with_flag(flag)
        for given in rules
        for flag in ((False, True) if given.behaviour.knows_failover_consistent_hashing else (False,))
    ], source


def _behaviours_for(
    asked: str | None, recorded: tuple[str | None, VersionSource], inferred: InferredRelease | None
) -> tuple[tuple[ReleaseBehaviour, ...], VersionSource]:
    if asked is not None:
        behaviour = behaviour_of(asked)
        if isinstance(behaviour, Rejection):
            raise InputError(behaviour.message)
        return (behaviour,), "asked for"
    behaviour = behaviour_of(recorded[0] or "")
    if not isinstance(behaviour, Rejection):
        return (behaviour,), recorded[1]
    shown = inferred or NOTHING_INFERRED
    older = shown.newest_with(keeps_first_connected)
    return (shown.behaviour, *((older,) if older not in (None, shown.behaviour) else ())), "tried"


def _inferred(answers: Answers) -> InferredRelease | None:
    """What the shapes of the answers show of a release that none of them names."""
    if answers.version is not None:
        return None
    signs = signs_in((answer.kind, answer.data) for answer in answers.answers)
    return inferred_release([Snapshot(answers.path, {}, signs=signs)])


@dataclass(slots=True)
class _Compared:
    """The result of comparing one answer by itself; valid while ``inputs`` are the same."""

    inputs: object = None
    ledger: Ledger = field(default_factory=Ledger)
    problems: tuple[Problem, ...] = ()

    def keep(self, decoded: Decoded[T]) -> T:
        """The decoded topics; parts that could not be read are added to the problems."""
        self.problems += tuple(decoded.problems)
        return decoded.good


class _ComparedTopics:
    """The results for the topics of one answer, kept although its bytes may change at the next reading."""

    def __init__(self) -> None:
        self._inputs: object = None
        self._before: dict[str, tuple[TopicFacts, Ledger]] = {}
        self._now: dict[str, tuple[TopicFacts, Ledger]] = {}

    def begin(self, inputs: object) -> None:
        """Begin another reading and forget results that belong to other inputs."""
        self._before, self._now = self._now if inputs == self._inputs else {}, {}
        self._inputs = inputs

    def get(self, topic: TopicFacts) -> Ledger | None:
        """The facts of a topic, if its statistics are those of the reading before."""
        known = self._before.get(topic.name)
        return known[1] if known is not None and known[0] is topic else None

    def keep(self, topic: TopicFacts, ledger: Ledger) -> None:
        self._now[topic.name] = topic, ledger


class _Comparison:
    """All answers of a folder, compared with one set of rules; ``problems`` are what could not be read on the way."""

    def __init__(self, answers: Answers, rules: Rules, earlier: EarlierAnswers | None) -> None:
        self.rules = rules
        self.ledger = Ledger()
        self.problems: list[Problem] = []
        self._answers = answers
        self._earlier = earlier
        self._purpose = f"{rules.behaviour.label}, flag {rules.consistent_hashing}"

    def run(self) -> None:
        """Compare each answer by itself, then the answers of each moment with each other."""
        statistics = [self._statistics(answer) for answer in self._answers.answers]
        actives: Actives = {}
        groups: list[tuple[Group, ...]] = []
        for answer, decoded in zip(self._answers.answers, statistics, strict=True):
            of_answer = self._actives(answer, decoded)
            groups.append(tuple(of_answer))
            for group, seen in of_answer.items():
                actives.setdefault(group, {}).update(seen)
        levels = infer_levels(actives)
        for answer, decoded, own_groups in zip(self._answers.answers, statistics, groups, strict=True):
            if decoded is None:
                self._add(self._compared_other(answer))
            else:
                self._add(self._compared(answer, decoded, {group: levels[group] for group in own_groups}))
        self._compare_moments()
        self.ledger.skip("files that are not answers", len(self._answers.passed_over))

    def _statistics(self, answer: Answer) -> Statistics | None:
        topic = self._answers.naming.topic(answer.file) if answer.kind is AnswerKind.TOPIC_STATS else None
        decoded = decode_statistics(answer.data, answer.file, answer.kind, topic, self._earlier)
        self.problems += decoded.problems if decoded is not None else ()
        return decoded

    def _actives(self, answer: Answer, decoded: Statistics | None) -> Actives:
        if decoded is None:
            return {}
        purpose = f"actives, {self._purpose}"
        topics = decoded.topics.values()
        return remembered(
            self._earlier, purpose, answer.file, answer.data, lambda _: observed_actives(self.rules, topics)
        )

    def _compared(self, answer: Answer, decoded: Statistics, levels: Mapping[Group, InferredLevels]) -> _Compared:
        """The comparison of one answer with statistics, taken from an earlier one where nothing differs."""
        compared = remembered(
            self._earlier, f"compared, {self._purpose}", answer.file, answer.data, lambda _: _Compared()
        )
        name = self._answers.naming.topic(answer.file)
        inputs = self.rules, name, levels
        if compared.inputs != inputs:
            compared.inputs = inputs
            compared.ledger = ledger = Ledger(answer.moment, answer.file)
            topics = remembered(
                self._earlier, f"topics, {self._purpose}", answer.file, b"", lambda _: _ComparedTopics()
            )
            topics.begin(inputs)
            for topic in decoded.topics.values():
                of_topic = topics.get(topic)
                if of_topic is None:
                    of_topic = Ledger(answer.moment, answer.file)
                    self._compare_topic(of_topic, topic, levels, name_known=decoded.named)
                topics.keep(topic, of_topic)
                ledger.add(of_topic)
            aggregates = decode_aggregates(answer.data, answer.file, answer.kind, name, self._earlier)
            compared.problems = aggregates.problems
            for topic_name, aggregate in aggregates.good.items():
                compare_aggregate(ledger, topic_name, aggregate, self.rules.behaviour)
        return compared

    def _compare_topic(
        self, ledger: Ledger, topic: TopicFacts, levels: Mapping[Group, InferredLevels], *, name_known: bool
    ) -> None:
        for subscription in topic.subscriptions:
            match subscription.type:
                case "Shared":
                    ledger.skip("Shared subscriptions: nobody is chosen")
                case "Key_Shared" if is_segment(topic.name):
                    ledger.skip("shared segments of scalable topics: their buckets are not printed")
                case "Key_Shared":
                    compare_key_ranges(ledger, topic, subscription)
                case "Failover" | "Exclusive" if subscription.consumers:
                    consumers, inferred = as_listed(self.rules, topic, subscription, levels)
                    compare_subscription(
                        self.rules,
                        ledger,
                        topic,
                        subscription,
                        consumers,
                        inferred=inferred,
                        name_known=name_known,
                    )

    def _add(self, compared: _Compared) -> None:
        self.problems += compared.problems
        self.ledger.add(compared.ledger)

    def _compared_other(self, answer: Answer) -> _Compared:
        """The comparison of one answer without statistics, taken from an earlier one with the same bytes."""
        purpose = f"others, {self._purpose}"
        return remembered(self._earlier, purpose, answer.file, answer.data, lambda _: self._compare_other(answer))

    def _compare_other(self, answer: Answer) -> _Compared:
        compared = _Compared(ledger=Ledger(answer.moment, answer.file))
        ledger = compared.ledger
        match answer.kind:
            case AnswerKind.BUNDLES | AnswerKind.POLICIES:
                is_list = answer.kind is AnswerKind.BUNDLES
                bundles = compared.keep((decode_bundles if is_list else decode_policies)(answer.data, answer.file))
                if bundles.boundaries:
                    namespace = self._answers.naming.namespace(answer.file) or ""
                    compare_list(ledger, namespace, bundles, counts=is_list)
            case AnswerKind.HASH_POSITIONS:
                positions = compared.keep(decode_hash_positions(answer.data, answer.file))
                if positions is not None:
                    compare_positions(ledger, positions.namespace, positions)
            case AnswerKind.BROKER_STATS_TOPICS:
                compare_places(ledger, compared.keep(broker_stats_of(answer.data, answer.file, self._earlier)))
            case AnswerKind.OWNED_NAMESPACES:
                owned = compared.keep(decode_owned(answer.data, answer.file))
                compare_owned(ledger, owned)
            case AnswerKind.LOAD_REPORT:
                _compare_load_report(ledger, answer)
            case AnswerKind.NO_JSON:
                _see_text(compared, answer)
            case _ if answer.kind not in KINDS:
                ledger.skip(NOT_MODELLED.get(answer.kind, NOT_MODELLED[AnswerKind.OTHER]))
        return compared

    def _compare_moments(self) -> None:
        for moment, answers in self._answers.by_moment().items():
            self.ledger.moment = moment
            compare_moment(self.ledger, self._answers.naming, answers, self._earlier)


def _see_text(compared: _Compared, answer: Answer) -> None:
    """A number or a word is a whole answer of some requests, and so is a range of a bundle; all else is damaged."""
    if is_scalar(answer.data):
        compared.ledger.skip(NOT_MODELLED[AnswerKind.OTHER])
    else:
        compared.ledger.skip(NOT_MODELLED[AnswerKind.NO_JSON])
        compared.problems += tuple(raw_object(answer.data, answer.file)[1])


def _compare_load_report(ledger: Ledger, answer: Answer) -> None:
    """Of the modular load manager; other forms, and those of other releases, have no sums."""
    report = decode_bundle_report(answer.data, answer.file).good if b'"lastStats"' in answer.data else None
    if report is None:
        ledger.skip("load reports without sums over their bundles")
    else:
        compare_report(ledger, "the broker", report)
