"""The outcome of comparing the model with brokers' answers, with the release and settings compared against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, ClassVar, Final, Literal

from msgspec import structs

from engine.answer import about
from engine.config import CURRENT, FLAG, LINES, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.errors import Problem, Rejection
from engine.failover.choose import Rule, rule_in_force


class FactKind(Enum):
    """The kinds of facts in answers of one moment; each kind is counted separately."""

    ACTIVE_PARTITION = "active consumer of a partition"
    ACTIVE_NONPARTITIONED = "active consumer of a topic without partitions"
    ACTIVE_INFERRED_LEVELS = "active consumer, explained by inferred priority levels"
    ACTIVE_EXCLUSIVE = "active consumer of an Exclusive subscription"
    NO_ACTIVE_NAME = "no active consumer named by a non-persistent topic"
    ORDER = "dispatcher order"
    STANDBYS = "standby list"
    KEY_RANGES_COMPLETE = "hash ranges that leave no slot out"
    KEY_RANGES_DISJOINT = "hash ranges that do not overlap"
    DRAINING_COUNT = "count of draining hashes"
    TOPIC_BUNDLE = "bundle of a topic"
    LISTED_IN_BUNDLE = "topic listed in a bundle"
    HASH_POSITION = "hash position"
    VALID_LIST = "valid bundle list"
    BUNDLE_IN_LIST = "bundle with topics is in the bundle list"
    POLICIES = "bundles in the policies"
    PARTITIONED_SUM = "sums of a partitioned topic"
    PARTITIONED_AVERAGE = "average message size of a partitioned topic"
    PUBLISHER_ENTRIES = "publisher list of a partitioned topic"
    PUBLISHER_SUM = "rates of a publisher entry"
    PUBLISHER_AVERAGE = "average message size of a publisher entry"
    SUBSCRIPTION_SUM = "sums of a subscription over partitions"
    CONSUMER_ENTRIES = "consumer list over partitions"
    OWNED_DISJOINT = "owned bundles that do not overlap"
    REPORT_TOTALS = "totals of a load report"
    REPORT_ORDER = "order of bundles in a load report"
    SEGMENT_TILES = "active segments that tile the ring"
    SEGMENT_DESCENT = "segments by those they were made of"
    BUCKET_BORDERS = "borders of a segment's buckets"
    SEGMENT_LISTED = "segment in statistics as in its record"
    SEGMENTS_DEALT = "segments of a consumer"
    SEGMENTS_ATTACHED = "segments of a QUEUE consumer"
    SEGMENTS_WAIT = "segments that wait for others"
    SEGMENT_OWNERS = "consumers attached to a segment"


ReasonCode = Literal["flag", "release", "old-statistics", "mixed-statistics"]


@dataclass(frozen=True, slots=True)
class LikelyReason:
    """A possible reason of a difference: a code for programs, and a sentence."""

    code: Annotated[ReasonCode, about("The kind of reason.")]
    text: Annotated[str, about("The reason as a sentence.")]


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact on which the answers and the model differ."""

    kind: Annotated[Enum, about("What is compared.", form=FactKind)]
    moment: Annotated[str, about("The number or time that the file names of one moment begin with; empty without one.")]
    file: Annotated[str, about("The file.")]
    subject: Annotated[str, about("What it is about.")]
    recorded: Annotated[str, about("What the broker answered.")]
    modelled: Annotated[str, about("What the model says.", key="model")]
    rule: Annotated[str, about("The rule that says it.")]
    likely: Annotated[
        LikelyReason | None,
        about("The likeliest reason; null where none of the known ones fits.", key="likely_reason"),
    ] = None


@dataclass(frozen=True, slots=True)
class Tally:
    kind: Annotated[Enum, about("What is compared.", form=FactKind)]
    compared: Annotated[int, about("Facts.", 0)]
    agree: Annotated[int, about("Those that agree.", 0)]


@dataclass(frozen=True, slots=True)
class Fit:
    """How one form of the rules fits answers that name no release or no flag: the fewer differences, the better."""

    nonpartitioned: Annotated[
        Literal["ring", "first-connected"], about("For topics without partitions.", key="nonpartitioned_failover")
    ]
    consistent_hashing: Annotated[bool, about("For partitions.")]
    differences: Annotated[int, about("Differences with it.", 0)]


VersionSource = Literal["asked for", "scenario.json", "broker", "load report", "tried"]
FlagSource = Literal["asked for", "scenario.json", "run-time configuration", "tried"]


@dataclass(frozen=True, slots=True)
class RulesUsed:
    """What was modelled. Where release or flag had to be tried, the facts are compared by the first of ``fits``."""

    release: Annotated[str, about("The release whose rules were used.")]
    release_source: Annotated[VersionSource, about("Where it is from.")]
    consistent_hashing: Annotated[bool, about("The value of activeConsumerFailoverConsistentHashing that was used.")]
    flag_source: Annotated[FlagSource, about("Where it is from.")]
    fits: Annotated[tuple[Fit, ...], about("Rules that were tried, best first; empty where nothing was.")]

    @property
    def undecided(self) -> Annotated[bool, about("Whether several fit equally well.")]:
        return len({fit.differences for fit in self.fits[:2]}) == 1 and len(self.fits) > 1


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Facts of kinds that are not modelled, or that cannot be decided from what was recorded."""

    what: Annotated[str, about("What, and why.")]
    count: Annotated[int, about("How many.", 1)]


def _not_compared(counts: Mapping[str, int]) -> list[NotCompared]:
    return [NotCompared(*row) for row in counts.items()]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `ringside verify --json` prints: how far the model agrees with what brokers answered."""

    FORMAT: ClassVar = "ringside.verify/1"

    path: Annotated[str, about("The folder.")]
    rules: Annotated[RulesUsed, about("What was modelled.")]
    tallies: Annotated[tuple[Tally, ...], about("Facts by kind.", key="facts")]
    differences: Annotated[tuple[Difference, ...], about("Facts that do not agree.")]
    not_compared: Annotated[Mapping[str, int], about("What was left out.", form=_not_compared)]
    problems: Annotated[tuple[Problem, ...], about("Parts of the input that could not be used.")]

    @property
    def compared(self) -> Annotated[int, about("Facts that were compared.", 0)]:
        return sum(tally.compared for tally in self.tallies)

    @property
    def agree(self) -> Annotated[int, about("Facts that agree.", 0)]:
        return sum(tally.agree for tally in self.tallies)

    @property
    def agrees(self) -> bool:
        """Whether something was compared, and nothing differs."""
        return bool(self.compared) and not self.differences

    @property
    def exit_code(self) -> Annotated[Literal[0, 1, 2], about("How the command ends.")]:
        """0 all facts agree, 1 some differ, 2 nothing could be compared."""
        return 2 if not self.compared else 1 if self.differences else 0


@dataclass(slots=True)
class Ledger:
    """Collects facts while answers are compared; ``moment`` and ``file`` are the place of the current answer."""

    moment: str = ""
    file: str = ""
    compared: Counter[Enum] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def compare(self, kind: Enum, subject: str, recorded: object, modelled: object, rule: str) -> bool:
        """Count one fact and say whether it agrees; a difference is kept with both sides."""
        self.compared[kind] += 1
        if recorded == modelled:
            return True
        sides = _text(recorded), _text(modelled)
        self.differences.append(Difference(kind, self.moment, self.file, subject, *sides, rule))
        return False

    def skip(self, reason: str, count: int = 1) -> None:
        """Count facts that are not compared."""
        if count:
            self.skipped[reason] += count

    def add(self, other: Ledger) -> None:
        """Add the facts that another collector has."""
        # ``Counter.update`` takes several times as long for few kinds, and there is a ledger for each topic.
        for kind, count in other.compared.items():
            self.compared[kind] += count
        self.differences += other.differences
        for reason, count in other.skipped.items():
            self.skipped[reason] += count

    def tallies(self, kinds: Iterable[Enum] = FactKind) -> tuple[Tally, ...]:
        """The counts by kind, in the order of ``kinds``."""
        missed = Counter(difference.kind for difference in self.differences)
        return tuple(
            Tally(kind, self.compared[kind], self.compared[kind] - missed[kind])
            for kind in kinds
            if self.compared[kind]
        )


def _text(value: object) -> str:
    if value is None:
        return "nobody"
    if isinstance(value, tuple | list):
        return ", ".join(_text(item) for item in value) if value else "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True, slots=True)
class Rules:
    """The assumptions under which facts are compared."""

    behaviour: ReleaseBehaviour
    settings: BrokerSettings

    @property
    def consistent_hashing(self) -> bool:
        return self.settings.activeConsumerFailoverConsistentHashing

    def in_force(self, partition_index: int) -> Rule:
        """The rule that picks the active consumer; a negative index means that the topic is not partitioned."""
        return rule_in_force(partition_index, consistent_hashing=self.consistent_hashing, behaviour=self.behaviour)

    def described(self, partition_index: int) -> str:
        """The rule in force in words, for a difference."""
        rule = self.in_force(partition_index)
        if partition_index < 0:
            return f"{rule.value} (no partition, Pulsar {self.behaviour.label})"
        flag = "true" if self.consistent_hashing else "false"
        known = "" if self.behaviour.knows_failover_consistent_hashing else ", which this release does not know"
        return f"{rule.value} ({FLAG}={flag}{known}, Pulsar {self.behaviour.label})"

    def with_flag(self, flag: bool) -> Rules:
        return replace(self, settings=structs.replace(self.settings, activeConsumerFailoverConsistentHashing=flag))


def defaults_of(version: str | None) -> BrokerSettings:
    """The settings of a broker of that version that sets none; those of the current release where it is unknown."""
    behaviour = behaviour_of(version) if version is not None else CURRENT
    return default_settings(CURRENT if isinstance(behaviour, Rejection) else behaviour)


OTHER_FLAG: Final = "flag"
OTHER_RELEASE: Final = "release"
OLD_STATISTICS: Final = "old-statistics"
MIXED_STATISTICS: Final = "mixed-statistics"
_WRITTEN_ONCE_AN_INTERVAL: Final = frozenset(
    {FactKind.TOPIC_BUNDLE, FactKind.BUNDLE_IN_LIST, FactKind.REPORT_TOTALS, FactKind.REPORT_ORDER}
)
_ADDED_UP: Final = frozenset(
    {
        FactKind.PARTITIONED_SUM,
        FactKind.PARTITIONED_AVERAGE,
        FactKind.PUBLISHER_ENTRIES,
        FactKind.PUBLISHER_SUM,
        FactKind.PUBLISHER_AVERAGE,
        FactKind.SUBSCRIPTION_SUM,
        FactKind.CONSUMER_ENTRIES,
        FactKind.DRAINING_COUNT,
        FactKind.SEGMENTS_DEALT,
        FactKind.SEGMENTS_ATTACHED,
        FactKind.SEGMENT_OWNERS,
    }
)
Place = tuple[str, str, str]


def with_reasons(
    differences: Sequence[Difference], rules: Rules, compare: Callable[[Rules], Sequence[Difference]]
) -> tuple[Difference, ...]:
    """The differences, each with its likeliest reason where one fits.

    ``compare`` gives the differences under other rules. Rules are the reason if all in all they differ less, and leave
    no difference at that place. Of several the ones that differ least count, the flag before a release.
    """
    if not differences:
        return ()
    tried = [(reason, compare(other)) for reason, other in _other_rules(rules)]
    better = sorted((len(left), at, reason, {_place(one) for one in left}) for at, (reason, left) in enumerate(tried)
                    if len(left) < len(differences))  # fmt: skip

    def likely(difference: Difference) -> LikelyReason | None:
        for _, _, reason, left in better:
            if _place(difference) not in left:
                return reason
        return _of_time(difference)

    return tuple(replace(difference, likely=likely(difference)) for difference in differences)


def _other_rules(rules: Rules) -> Iterator[tuple[LikelyReason, Rules]]:
    """The other value of the flag, and the releases that have different rules for these facts."""
    if rules.behaviour.knows_failover_consistent_hashing:
        flag = not rules.consistent_hashing
        text = f"{FLAG} is {str(flag).lower()} at the broker, not {str(not flag).lower()}"
        yield LikelyReason(OTHER_FLAG, text), rules.with_flag(flag)
    tried = {(rules.behaviour.nonpartitioned_failover, rules.behaviour.unnamed_publishers)}
    for major, minor in reversed(LINES):
        behaviour = behaviour_of(f"{major}.{minor}")
        if isinstance(behaviour, Rejection):
            continue
        form = (behaviour.nonpartitioned_failover, behaviour.unnamed_publishers)
        if form not in tried:
            tried.add(form)
            text = f"the broker is of another release than {rules.behaviour.label}, such as {behaviour.label}"
            yield LikelyReason(OTHER_RELEASE, text), Rules(behaviour, rules.settings)


def _of_time(difference: Difference) -> LikelyReason | None:
    if difference.kind in _WRITTEN_ONCE_AN_INTERVAL:
        return LikelyReason(OLD_STATISTICS, "brokers write these statistics once an interval, so they may be old")
    if difference.kind in _ADDED_UP:
        return LikelyReason(MIXED_STATISTICS, "the broker added up while clients came, went or sent")
    return None


def _place(difference: Difference) -> Place:
    return difference.moment, difference.file, difference.subject
