"""The doctor's rules, the cases they judge, and their findings, all as values.

A case is one subscription, one key space, one namespace (with the splits that a load manager would attempt at the
current rates) or the brokers' settings. It holds everything its rules need, so it can be built from a state, from a
list of names or from a row of a table. A finding says what is wrong, where, how bad in numbers, and what to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Final, Generic, Literal, TypeVar, get_args

from engine.answer import about
from engine.balance.limits import BundleStats, SplitReason, exceeded_limit
from engine.balance.settings import LOAD_SETTING_DEFAULTS, default_load_settings
from engine.bundles.algorithms import resolve_algorithm
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.columns import in_columns
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import LoadManager
from engine.bundles.split import choose_cuts
from engine.config import CURRENT, DEFAULTS, BrokerSettings, ReleaseBehaviour, default_settings
from engine.errors import Rejection
from engine.failover.choose import Rule as DispatchRule
from engine.failover.choose import cohort, rule_in_force, sort_consumers
from engine.failover.model import Consumer
from engine.keyshared.model import Consumer as KeyConsumer
from engine.keyshared.model import Selector
from engine.lint.topics import places_by_bundle, sessions_at, traffic_of
from engine.names import namespace_of
from engine.producer_limit import NO_LIMIT, ProducerLimit
from engine.releases import SETTINGS
from engine.scalable.model import Kind as SubscriptionKind
from engine.scalable.model import Layout
from engine.scalable.settings import AutoScaleSettings

Case = TypeVar("Case")
_ALL_OF_A_BROKER: Final = 300
"""No release has fewer settings than this, and nobody writes so many."""


SeverityLabel = Literal["info", "warning", "error"]


class Severity(IntEnum):
    """How much a finding matters; a higher number is worse.

    ERROR: somebody gets nothing, messages reach nobody, or a mechanism cannot work. WARNING: uneven, wasted or
    repeated in vain. INFO: right as it is, but not what one might think.
    """

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> SeverityLabel:
        labels: tuple[SeverityLabel, ...] = get_args(SeverityLabel)
        return labels[self - 1]


def label_of(severity: Severity) -> SeverityLabel:
    return severity.label


def severity_of(label: str) -> Severity:
    """The severity of a label; the labels are those of ``Severity.label``.

    >>> severity_of("warning") > severity_of("info")
    True
    """
    return Severity[label.upper()]


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """The place of a finding; empty texts where a part does not apply, all of them for the brokers' settings.

    Of a subscription, ``topic`` is the first of its ``topics`` topics by name: two subscriptions of one name with
    different consumers are distinguished by it. ``consumer`` and ``topic`` are names, ``bundle`` is a range text.
    """

    namespace: Annotated[str, about("tenant/namespace.")] = ""
    subscription: Annotated[str, about("The subscription.")] = ""
    bundle: Annotated[str, about("A bundle's range.")] = ""
    topic: Annotated[str, about("A full topic name; of a subscription its first one.")] = ""
    consumer: Annotated[str, about("A consumer's name.")] = ""
    topics: Annotated[int, about("How many topics it is about.", 0)] = 0


Numbers = tuple[tuple[str, float], ...]
"""(Name with its unit, value): how bad it is."""


def _by_name(numbers: Numbers) -> Mapping[str, float]:
    return dict(numbers)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing. ``what`` and ``advice`` are sentences without a full stop."""

    rule: Annotated[str, about("The id of the rule, see `ringside lint --list`.")]
    severity: Annotated[Severity, about("How bad.", form=label_of)]
    what: Annotated[str, about("What is wrong, in a sentence.")]
    where: Annotated[Where, about("Where; empty where a part does not apply, all of them for the brokers' settings.")]
    numbers: Annotated[Numbers, about("How bad, by name with unit.", form=_by_name)]
    advice: Annotated[str, about("What to change.")]

    def number(self, name: str) -> float:
        """One of ``numbers`` by its name; it must be there."""
        return dict(self.numbers)[name]


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then by rule and place: an order that does not depend on that of the answers."""
    return tuple(sorted(findings, key=lambda finding: (-finding.severity, finding.rule, finding.where, finding.what)))


@dataclass(frozen=True, slots=True)
class Rule(Generic[Case]):
    """``worst`` is the highest severity it gives; ``source`` are Pulsar's threads or classes it comes from."""

    id: str
    about: str
    worst: Severity
    source: str
    check: Callable[[Case], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class World:
    """What holds for all brokers: settings, release, and the load manager where it is known.

    ``shedder`` and ``placement`` are the strategies of the modular one by their class names, "" where no answer says.
    ``configuration`` are the settings that answers or files name, as texts. ``has_topics`` is False where settings
    are all that is judged. ``has_scalable_topics``: some topic's load records matter.
    """

    settings: BrokerSettings = field(default_factory=BrokerSettings)
    behaviour: ReleaseBehaviour = CURRENT
    load_manager: LoadManager | None = None
    shedder: str = ""
    placement: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    has_topics: bool = True
    has_scalable_topics: bool = False

    @property
    def names_are_chosen(self) -> bool:
        """Whether somebody wrote the settings: a broker that is asked prints all that it has."""
        return len(self.configuration) < _ALL_OF_A_BROKER

    @property
    def chosen(self) -> Mapping[str, str]:
        """The settings that are not at their defaults: brokers print all, and broker.conf lists them."""
        return {name: text for name, text in self.configuration.items() if self._is_changed(name, text)}

    @staticmethod
    def has_default(name: str) -> bool:
        """Whether the default of a setting is known here."""
        return name in DEFAULTS or name in LOAD_SETTING_DEFAULTS

    def _is_changed(self, name: str, text: str) -> bool:
        """Whether a setting that is known here has a value that no release has as its default.

        Brokers print defaults, and which release they are is often assumed.
        """
        if any(since.default.text == text for since in SETTINGS.get(name, ())):
            return False
        for defaults in (default_settings(self.behaviour), default_load_settings(self.behaviour)):
            changed = defaults.with_setting(name, text)
            if not isinstance(changed, Rejection):
                return bool(changed != defaults)
        return False

    @property
    def flag_in_force(self) -> bool:
        """``activeConsumerFailoverConsistentHashing``, as far as the release knows it."""
        return (
            self.settings.activeConsumerFailoverConsistentHashing and self.behaviour.knows_failover_consistent_hashing
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """One bundle above a limit, with all its topics, and the cuts of the default algorithm.

    ``cuts`` None: the algorithm has nothing to split. ``refusal``: it cannot work at all. ``full``: the namespace has
    as many bundles as it may, so that the algorithm is not even asked. Rates are in plus out.
    """

    bundle: BundleRange
    topics: Sequence[TopicLoad]
    reason: SplitReason
    msgs_per_sec: float
    bytes_per_sec: float
    algorithm: str
    cuts: tuple[int, ...] | None
    refusal: Rejection | None = None
    full: bool = False

    @property
    def children(self) -> tuple[BundleRange, ...]:
        """The bundles after it; empty when the cuts cannot be carried out."""
        ends = (self.bundle.lower, *(self.cuts or ()), self.bundle.upper)
        if not self.cuts or any(low >= high for low, high in pairwise(ends)):
            return ()
        return tuple(BundleRange(low, high) for low, high in pairwise(ends))


@dataclass(frozen=True, slots=True)
class Inside:
    """The topics in one bundle, in list order, and the producers + consumers of those with statistics."""

    bundle: BundleRange
    topics: Sequence[TopicLoad]
    sessions: int


def attempts(world: World, bundles: NamespaceBundles, by_bundle: Iterable[Inside]) -> Iterator[Attempt]:
    """The splits that are due, by bundle. O(t), and O(k log k) for k topics of a bundle above a limit.

    As in both load managers only bundles with two or more loaded topics count, and only while
    ``loadBalancerAutoBundleSplitEnabled``. Rates are those of now, which the modular one averages over time.
    """
    settings = world.settings
    if not settings.loadBalancerAutoBundleSplitEnabled:
        return
    full = len(bundles) >= settings.loadBalancerNamespaceMaximumBundles
    for inside in by_bundle:
        bundle, topics, traffic = inside.bundle, inside.topics, traffic_of(inside.topics)
        if traffic.topics < 2 or not bundle.can_split:
            continue
        rate, throughput = traffic.msgs_per_sec, traffic.bytes_per_sec
        # Only their sum is compared, so it does not matter that all of them are given as producers.
        stats = BundleStats(f"{bundles.namespace}/{bundle}", topics=traffic.topics, producers=inside.sessions)
        reason = exceeded_limit(stats, rate, throughput, settings)
        if reason != "Unknown":
            algorithm, cuts, refusal = (algorithm_of(world), None, None) if full else cuts_of(world, bundle, topics)
            yield Attempt(bundle, topics, reason, rate, throughput, algorithm, cuts, refusal, full)


def cuts_of(
    world: World, bundle: BundleRange, topics: Sequence[TopicLoad]
) -> tuple[str, tuple[int, ...] | None, Rejection | None]:
    """The default algorithm's exact name, its cuts for these topics, and why there can be none."""
    algorithm = algorithm_of(world)
    cuts = choose_cuts(bundle, algorithm, None, topics, world.settings, behaviour=world.behaviour)
    return (algorithm, None, cuts) if isinstance(cuts, Rejection) else (algorithm, cuts, None)


def algorithm_of(world: World) -> str:
    """The exact name of the algorithm of automatic splits."""
    default = world.settings.defaultNamespaceBundleSplitAlgorithm
    return resolve_algorithm(None, default, world.behaviour.split_algorithms)


# The cases are not slotted: what several rules need is computed on first use and kept with the fields.
@dataclass(frozen=True)
class SubscriptionCase:
    """One Failover subscription over topics with the same consumers (in connect order).

    ``partitioned`` and ``unpartitioned`` count its topics with and without partitions; ``topic`` is the first by name,
    "" where there is none to speak of (a list of names).
    """

    world: World
    namespace: str
    name: str
    topic: str
    consumers: tuple[Consumer, ...]
    partitioned: int
    unpartitioned: int

    @property
    def where(self) -> Where:
        topics = self.partitioned + self.unpartitioned if self.topic else 0
        return Where(self.namespace, self.name, topic=self.topic, topics=topics)

    def where_of(self, consumer: str) -> Where:
        """The place of one of its consumers."""
        return replace(self.where, consumer=consumer)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that can be active at all, in the dispatcher's order: those of the best priority level."""
        return tuple(consumer.name for consumer in cohort(sort_consumers(self.consumers)))

    @property
    def ring_topics(self) -> int:
        """How many topics the ring decides."""
        return sum(
            count
            for index, count in ((0, self.partitioned), (-1, self.unpartitioned))
            if count and self.rule(index) is DispatchRule.RING
        )

    def rule(self, partition_index: int) -> DispatchRule:
        """The rule in force for a partition, or for a topic without partitions (-1)."""
        flag = self.world.settings.activeConsumerFailoverConsistentHashing
        return rule_in_force(partition_index, consistent_hashing=flag, behaviour=self.world.behaviour)


@dataclass(frozen=True)
class KeyCase:
    """One Key_Shared subscription over topics with the same consumers (in the order of joining).

    ``selector`` is None where only what clients declare or brokers report is known, and no selector that gives it.
    ``known_keys``: sticky key -> number of its messages. ``partitions``: of each topic, 0 where there are none or where
    that is not known.
    """

    world: World
    namespace: str
    name: str
    topic: str
    topics: int
    consumers: tuple[KeyConsumer, ...]
    selector: Selector | None = None
    known_keys: Mapping[bytes, int] = field(default_factory=dict)
    partitions: int = 0

    @property
    def where(self) -> Where:
        return Where(self.namespace, self.name, topic=self.topic, topics=self.topics)

    def where_of(self, consumer: str) -> Where:
        """The place of one of its consumers."""
        return replace(self.where, consumer=consumer)


@dataclass(frozen=True, slots=True)
class ProducedTopic:
    """A topic by its name without partition suffix, and the client versions of its producers as brokers print them.

    ``producers`` are how many are connected to each partition (to the topic, where it has none) that has statistics,
    ``limit`` how many may be.
    """

    topic: str
    partitions: int
    client_versions: frozenset[str]
    producers: tuple[int, ...] = ()
    limit: ProducerLimit = NO_LIMIT


@dataclass(frozen=True)
class NamespaceCase:
    """One namespace: its bundles, all topics and partitions with their traffic, and who produces to them.

    ``known_bundles`` are the range texts that answers
    list, None when they list all of ``bundles``: a finding must not speak of a bundle that was only assumed.
    ``sessions`` are the producers + consumers of each of ``topics``; empty where no answer has them. ``produced`` may
    leave out topics whose producers all have one client version.
    """

    world: World
    bundles: NamespaceBundles
    topics: Sequence[TopicLoad]
    known_bundles: frozenset[str] | None = None
    sessions: Sequence[int] = ()
    produced: tuple[ProducedTopic, ...] = ()

    @property
    def namespace(self) -> str:
        return self.bundles.namespace

    def where(self, bundle: str = "", topic: str = "") -> Where:
        """A place in the namespace."""
        return Where(self.namespace, bundle=bundle, topic=topic)

    @cached_property
    def by_bundle(self) -> tuple[Inside, ...]:
        """The listed bundles that hold topics, ascending. O(t log b)."""
        loads = in_columns(self.topics)
        return tuple(
            Inside(
                bundle,
                loads.take(places),
                sessions_at(loads, self.sessions, places) if len(self.sessions) else 0,
            )
            for bundle, places in places_by_bundle(self.bundles, loads)
            if self.lists(bundle)
        )

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """The splits a load manager would try by the numbers of now."""
        return tuple(attempts(self.world, self.bundles, self.by_bundle))

    def lists(self, bundle: BundleRange) -> bool:
        """Whether an answer lists exactly this bundle."""
        return self.known_bundles is None or str(bundle) in self.known_bundles

    def bundle_text(self, topic_hash: int) -> str:
        """The range text of the bundle that holds a hash, "" where no answer lists it."""
        at = self.bundles.index_of(topic_hash)
        return str(self.bundles[at]) if at >= 0 and self.lists(self.bundles[at]) else ""


@dataclass(frozen=True, slots=True)
class OneBucket:
    """A segment that consumers of a subscription share, where messages went only to ``consumer``, which has bucket 0.

    ``msgs_per_sec`` are those; ``consumers`` counts all that have buckets of it.
    """

    subscription: str
    segment_id: int
    consumer: str
    consumers: int
    msgs_per_sec: float


@dataclass(frozen=True, slots=True)
class ScalableCase:
    """One scalable topic: its layout, the settings of automatic scaling in force, and who is registered.

    ``subscriptions`` has kind and number of consumers of each. ``retention_minutes`` is None where no answer has the
    policies of the namespace; negative keeps everything.
    """

    world: World
    topic: str
    layout: Layout
    settings: AutoScaleSettings
    subscriptions: Mapping[str, tuple[SubscriptionKind, int]] = field(default_factory=dict)
    retention_minutes: int | None = None
    one_bucket: tuple[OneBucket, ...] = ()

    def where(self, subscription: str = "", consumer: str = "") -> Where:
        """A place in the topic."""
        return Where(namespace_of(self.topic), subscription, topic=self.topic, consumer=consumer, topics=1)
