"""Which bundles a broker with the extensible load manager chooses to split by itself (PIP-192).

After ``DefaultNamespaceBundleSplitStrategyImpl``. Every broker runs it for its own bundles, every
``loadBalancerSplitIntervalMinutes``, over **current** rates. What it keeps between two cycles is how often in a row
each bundle was above a limit. Names are taken to be the broker's own: tenant, namespace, slash, range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.balance.limits import BundleStats, SplitReason, exceeded_limit
from engine.bundles.algorithms import resolve_algorithm
from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, parse_range
from engine.bundles.columns import topics_in
from engine.bundles.loads import TopicLoad
from engine.bundles.split import choose_cuts
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection

CycleOutcome = Literal[
    "chosen",
    "too-few-topics",
    "not-owner",
    "cannot-split",
    "below-limits",
    "counting",
    "bundle-count-unreadable",
    "namespace-full",
    "neighbour-splitting",
    "algorithm-failed",
    "no-boundary",
    "not-one-boundary",
    "threw",
    "not-looked-at",
]
FAILURES: frozenset[CycleOutcome] = frozenset(
    {"cannot-split", "bundle-count-unreadable", "algorithm-failed", "no-boundary", "not-one-boundary"}
)
"""The outcomes Pulsar counts as ``SplitDecision.Label.Failure``; only a warning in the log tells them apart."""


@dataclass(frozen=True, slots=True)
class CycleLimits:
    """Settings of this load manager only, with their defaults.

    ``max_splits_per_cycle`` is ``loadBalancerMaxNumberOfBundlesToSplitPerCycle``, for each broker; 0 or less is no
    limit, because Pulsar compares for equality after each choice. ``hit_count_threshold`` is
    ``loadBalancerNamespaceBundleSplitConditionHitCountThreshold``; a bundle needs one hit more than this in a row, and
    below 0 every bundle is taken, for the reason "Unknown".
    """

    max_splits_per_cycle: int = 10
    hit_count_threshold: int = 3

    @classmethod
    def of(cls, settings: BrokerSettings) -> CycleLimits:
        """The two as a broker's settings have them."""
        return cls(
            settings.loadBalancerMaxNumberOfBundlesToSplitPerCycle,
            settings.loadBalancerNamespaceBundleSplitConditionHitCountThreshold,
        )


@dataclass(frozen=True, slots=True)
class SplitMemory:
    """What one broker keeps between cycles: bundle and hits in a row, sorted by bundle. A fresh broker has none."""

    hits: tuple[tuple[str, int], ...] = ()

    def hits_of(self, bundle: str) -> int:
        """Hits in a row of a bundle, by full name; 0 when there is no entry. O(bundles)."""
        return dict(self.hits).get(bundle, 0)


@dataclass(frozen=True, slots=True)
class CycleObservation:
    """What one broker sees in one cycle.

    ``bundles``: its current statistics in visiting order, each bundle once. ``bundle_counts`` by namespace, a missing
    one cannot be read. ``topics`` by namespace, in listing order, for the algorithm. ``splitting``: full names of all
    bundles in state Splitting, anybody's. ``not_owned``: reported bundles the state channel says are not this broker's.
    """

    bundles: tuple[BundleStats, ...]
    bundle_counts: Mapping[str, int]
    topics: Mapping[str, Sequence[TopicLoad]] = field(default_factory=dict)
    splitting: tuple[str, ...] = ()
    not_owned: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CycleVerdict:
    """What became of one bundle in a cycle.

    ``hits``: its count when it was judged, before a choice clears it. ``boundaries``: what the algorithm answered.
    ``children``: of a chosen bundle, lower one first. ``detail``: of a failure or an exception, why.
    """

    bundle: str
    outcome: CycleOutcome
    reason: SplitReason = "Unknown"
    hits: int = 0
    boundaries: tuple[int, ...] | None = None
    children: tuple[BundleRange, ...] = ()
    detail: Rejection | None = None


@dataclass(frozen=True, slots=True)
class CycleDecision:
    """One verdict for each bundle, in visiting order; ``thrown`` is the exception that ended the cycle, if one did."""

    verdicts: tuple[CycleVerdict, ...]
    thrown: Rejection | None = None

    @property
    def chosen(self) -> tuple[CycleVerdict, ...]:
        """The bundles that will be split: none at all when the cycle threw."""
        return () if self.thrown is not None else self._picked

    @property
    def lost(self) -> tuple[CycleVerdict, ...]:
        """The bundles picked before the cycle threw: not split, and their hits are gone all the same."""
        return self._picked if self.thrown is not None else ()

    @property
    def _picked(self) -> tuple[CycleVerdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "chosen")

    @property
    def failures(self) -> int:
        """How far the failure counter rose; an exception out of the cycle is no failure."""
        return sum(verdict.outcome in FAILURES for verdict in self.verdicts)

    @property
    def full_namespaces(self) -> tuple[str, ...]:
        """The namespaces whose cap kept a bundle from being split, each once however many bundles it has there."""
        full = (verdict.bundle for verdict in self.verdicts if verdict.outcome == "namespace-full")
        return tuple(dict.fromkeys(bundle.rpartition("/")[0] for bundle in full))


def cycle(
    memory: SplitMemory,
    observation: CycleObservation,
    settings: BrokerSettings,
    limits: CycleLimits | None = None,
    behaviour: ReleaseBehaviour = CURRENT,
) -> tuple[SplitMemory, CycleDecision]:
    """One cycle of one broker: the memory for the next one, and what was decided. O(bundles × topics log topics).

    Hits of bundles no longer reported are forgotten first. A bundle above a limit gets a hit, one below loses all; one
    with fewer than two topics or another owner keeps its count. Above the threshold it is chosen unless its namespace
    is full, a bundle with the same start or end is being split, or the default algorithm gives anything but exactly one
    boundary (#22254); its hits stay then, so the same happens in every cycle. A choice clears them. Once
    ``max_splits_per_cycle`` are chosen the rest is not looked at and gets no hits.

    A boundary on the edge of the bundle (``topic_count_equally_divide``) throws out of the cycle: no choice of it
    survives, those before the exception included, while the changes of the memory do.

    >>> busy = BundleStats("t/n/0x00000000_0xffffffff", topics=2, msg_rate_in=30001)
    >>> seen, memory = CycleObservation((busy,), {"t/n": 1}), SplitMemory()
    >>> for _ in range(4):
    ...     memory, decision = cycle(memory, seen, BrokerSettings())
    ...     print([verdict.outcome for verdict in decision.verdicts], memory.hits_of(busy.bundle))
    ['counting'] 1
    ['counting'] 2
    ['counting'] 3
    ['chosen'] 0
    >>> [str(child) for child in decision.chosen[0].children]
    ['0x00000000_0x7fffffff', '0x7fffffff_0xffffffff']
    """
    run = _Cycle(memory, observation, settings, limits or CycleLimits.of(settings), behaviour)
    thrown: Rejection | None = None
    stopped = False
    for stats in observation.bundles:
        verdict = CycleVerdict(stats.bundle, "not-looked-at") if stopped else run.judge(stats)
        run.verdicts.append(verdict)
        if verdict.outcome == "threw":
            thrown = verdict.detail
        if verdict.outcome == "chosen":
            run.choose(stats)
        stopped = stopped or thrown is not None or (verdict.outcome == "chosen" and run.at_maximum)
    return SplitMemory(tuple(sorted(run.hits.items()))), CycleDecision(tuple(run.verdicts), thrown)


@dataclass(slots=True)
class _Cycle:
    """The workings of one cycle; lives no longer than the call."""

    memory: SplitMemory
    observation: CycleObservation
    settings: BrokerSettings
    limits: CycleLimits
    behaviour: ReleaseBehaviour
    hits: dict[str, int] = field(init=False)
    extra: dict[str, int] = field(default_factory=dict)
    verdicts: list[CycleVerdict] = field(default_factory=list)

    def __post_init__(self) -> None:
        reported = {stats.bundle for stats in self.observation.bundles}
        self.hits = {bundle: count for bundle, count in self.memory.hits if bundle in reported}

    @property
    def at_maximum(self) -> bool:
        return sum(self.extra.values()) == self.limits.max_splits_per_cycle

    def choose(self, stats: BundleStats) -> None:
        self.extra[stats.namespace] = self.extra.get(stats.namespace, 0) + 1
        self.hits.pop(stats.bundle, None)

    def judge(self, stats: BundleStats) -> CycleVerdict:
        if stats.topics < 2:
            return CycleVerdict(stats.bundle, "too-few-topics", hits=self.hits.get(stats.bundle, 0))
        if stats.bundle in self.observation.not_owned:
            return CycleVerdict(stats.bundle, "not-owner", hits=self.hits.get(stats.bundle, 0))
        bundle = parse_range(stats.range_text)
        if isinstance(bundle, Rejection):
            return CycleVerdict(stats.bundle, "threw", detail=bundle)
        if not bundle.can_split:
            return CycleVerdict(stats.bundle, "cannot-split", hits=self.hits.get(stats.bundle, 0))
        reason = exceeded_limit(stats, stats.msgs_per_sec, stats.bytes_per_sec, self.settings)
        hits = self._count(stats.bundle, reason)
        outcome = self._reason_to_wait(stats, reason, hits)
        if outcome is not None:
            return CycleVerdict(stats.bundle, outcome, reason, hits)
        return self._cut(stats, bundle, reason, hits)

    def _count(self, bundle: str, reason: SplitReason) -> int:
        if reason == "Unknown":
            self.hits.pop(bundle, None)
            return 0
        self.hits[bundle] = self.hits.get(bundle, 0) + 1
        return self.hits[bundle]

    def _reason_to_wait(self, stats: BundleStats, reason: SplitReason, hits: int) -> CycleOutcome | None:
        if hits <= self.limits.hit_count_threshold:
            return "below-limits" if reason == "Unknown" else "counting"
        count = self.observation.bundle_counts.get(stats.namespace)
        if count is None:
            return "bundle-count-unreadable"
        if count + self.extra.get(stats.namespace, 0) >= self.settings.loadBalancerNamespaceMaximumBundles:
            return "namespace-full"
        return "neighbour-splitting" if blocked_by_split(stats, self.observation.splitting) is not None else None

    def _cut(self, stats: BundleStats, bundle: BundleRange, reason: SplitReason, hits: int) -> CycleVerdict:
        default = self.settings.defaultNamespaceBundleSplitAlgorithm
        algorithm = resolve_algorithm(None, default, self.behaviour.split_algorithms)
        inside = topics_in(bundle, self.observation.topics.get(stats.namespace, ()))
        cuts = choose_cuts(bundle, algorithm, None, inside, self.settings, behaviour=self.behaviour)
        if isinstance(cuts, Rejection):
            return CycleVerdict(stats.bundle, "algorithm-failed", reason, hits, detail=cuts)
        if cuts is None:
            return CycleVerdict(stats.bundle, "no-boundary", reason, hits)
        if len(cuts) != 1:
            return CycleVerdict(stats.bundle, "not-one-boundary", reason, hits, cuts)
        children = _children(bundle, cuts[0])
        if isinstance(children, Rejection):
            return CycleVerdict(stats.bundle, "threw", reason, hits, cuts, detail=children)
        return CycleVerdict(stats.bundle, "chosen", reason, hits, cuts, children)


def blocked_by_split(stats: BundleStats, splitting: Sequence[str]) -> str | None:
    """The bundle in state Splitting that keeps this one from being split, None for none.

    Meant is a parent whose child this is. Compared are texts: the other's full name must begin with this namespace, so
    ``t/n1`` is stopped by ``t/n11`` as well; its range must begin with this start or finish with this end, letter for
    letter, so ``0x40000000`` and ``0X40000000`` differ. Neighbours that only touch do not stop each other.

    >>> child = BundleStats("t/n1/0x00000000_0x40000000")
    >>> blocked_by_split(child, ["t/n1/0x40000000_0x80000000", "t/n11/0x00000000_0x80000000"])
    't/n11/0x00000000_0x80000000'
    """
    start, _, rest = stats.range_text.partition("_")
    end = rest.partition("_")[0]
    for other in splitting:
        if not other.startswith(stats.namespace):
            continue
        other_range = other.rpartition("/")[2]
        if other_range.startswith(start) or other_range.endswith(end):
            return other
    return None


def _children(parent: BundleRange, boundary: int) -> tuple[BundleRange, ...] | Rejection:
    """Both sides of a boundary; refused (IllegalArgumentException) when one would be empty and not the closed top."""
    children = (BundleRange(parent.lower, boundary), BundleRange(boundary, parent.upper))
    for child in children:
        if child.lower > child.upper or (child.lower == child.upper != FULL_UPPER_BOUND):
            message = f"boundary {boundary:#010x} leaves an empty side of {parent}"
            return Rejection("IllegalArgumentException", message, field="boundary")
    return children
