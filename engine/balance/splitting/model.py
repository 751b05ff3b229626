"""What a simulation of balancing shows of each cycle: loads, decisions with reasons, attempts, moves, the bundles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.balance.limits import BundleStats, LimitMeasure, SplitReason
from engine.balance.splitting.extensible import CycleOutcome
from engine.balance.splitting.modular import ModularOutcome, NoRun
from engine.balance.splitting.start import BalanceStart
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.errors import Rejection

AttemptOutcome = Literal[
    "split",
    "no-change",  # answered 204, nothing to split: tried again at the next report
    "gone",  # chosen from a report older than the bundle's split
    "too-narrow",  # canSplit is false
    "refused",  # the split call is refused
    "never-answered",  # equal boundaries: the call is never answered
]


@dataclass(frozen=True, slots=True)
class BundleLoad:
    """One bundle as a decider sees it in a cycle.

    ``msgs_per_sec`` and ``bytes_per_sec`` are what it compares: the long-term average (modular) or the current rate
    (extensible), in plus out. ``samples``: of that average. ``measures``: beside each limit, in the decider's order.
    """

    bundle: BundleRange
    broker: str
    stats: BundleStats
    msgs_per_sec: float
    bytes_per_sec: float
    samples: int
    measures: tuple[LimitMeasure, ...]

    @property
    def nearest_limit(self) -> LimitMeasure:
        """The measure with the largest share of its limit; of equals the first."""
        return max(self.measures, key=lambda measure: measure.share_of_limit)


@dataclass(frozen=True, slots=True)
class BalanceVerdict:
    """What a decider made of one bundle, by full name, and the measure that counted (None: below all limits)."""

    bundle: str
    broker: str
    outcome: ModularOutcome | CycleOutcome
    reason: SplitReason
    measure: LimitMeasure | None
    hits: int = 0
    detail: Rejection | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One split that a decider asked for.

    ``echo``: the bundle is a child of a split so recent that its first rates were all the decider had.
    """

    bundle: str
    broker: str
    outcome: AttemptOutcome
    reason: SplitReason
    measure: LimitMeasure | None
    cuts: tuple[int, ...] = ()
    children: tuple[BundleRange, ...] = ()
    echo: bool = False
    detail: Rejection | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A bundle unloaded and owned again: by another broker, or by the same one, which interrupted it for nothing.

    ``topics``: those interrupted, in listing order.
    """

    bundle: str
    from_broker: str
    to_broker: str
    topics: Sequence[str] = ()

    @property
    def came_back(self) -> bool:
        return self.from_broker == self.to_broker


@dataclass(frozen=True, slots=True)
class BalanceRun:
    """One decision: of the leader after a broker's report (modular), or of a broker about its own (extensible).

    ``no_run``: why nothing was decided at all, None when it was.
    """

    broker: str
    verdicts: tuple[BalanceVerdict, ...]
    attempts: tuple[Attempt, ...]
    full_namespaces: tuple[str, ...] = ()
    no_run: NoRun | None = None
    thrown: Rejection | None = None


@dataclass(frozen=True, slots=True)
class BalanceCycle:
    """One cycle: ``number`` from 1, ``at_ms`` after the start, ``interval``: full intervals of traffic gone by.

    ``early``: reports written before their time because much had changed (modular). ``loads`` are those before the
    decisions, ``bundles`` and ``owners`` (broker by range) those after them.
    """

    number: int
    at_ms: int
    interval: int
    early: bool
    loads: tuple[BundleLoad, ...]
    runs: tuple[BalanceRun, ...]
    moves: tuple[Move, ...]
    bundles: NamespaceBundles
    owners: tuple[tuple[BundleRange, str], ...]

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Those of all runs, in order."""
        return tuple(attempt for run in self.runs for attempt in run.attempts)

    @property
    def splits(self) -> tuple[Attempt, ...]:
        """The attempts that changed the bundles."""
        return tuple(attempt for attempt in self.attempts if attempt.outcome == "split")


@dataclass(frozen=True, slots=True)
class Balance:
    """A simulation: where it began, its cycles, and what was wrong or odd about the input."""

    start: BalanceStart
    cycles: tuple[BalanceCycle, ...]

    @property
    def problems(self) -> tuple[Rejection, ...]:
        return self.start.problems

    @property
    def bundles(self) -> NamespaceBundles:
        """The namespace after the last cycle."""
        return self.cycles[-1].bundles if self.cycles else self.start.bundles

    @property
    def splits(self) -> tuple[tuple[int, Attempt], ...]:
        """Cycle number and attempt of each real split."""
        return tuple((cycle.number, attempt) for cycle in self.cycles for attempt in cycle.splits)
