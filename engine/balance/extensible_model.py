"""The values of the extensible load manager's automatic splitting: what it sees, decides and remembers (PIP-192).

After ``DefaultNamespaceBundleSplitStrategyImpl`` and ``SplitDecision``. ``engine.balance.extensible.cycle`` decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.balance.limits import BundleStats, SplitReason
from engine.bundles.boundaries import BundleRange
from engine.bundles.loads import TopicLoad
from engine.config import BrokerSettings
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
