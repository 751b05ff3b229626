"""What a forecast of shedding shows: cycle by cycle who sheds what to whom, and how even the brokers are then."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from engine.balance.brokers import BrokerLoad, weighted_usage
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.leadership.state import ClusterPolicies, LeaderState
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import TransferCycle
from engine.bundles.plan import LoadManager
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

Assumption = Literal[
    "traffic-stays",
    "usage-moves-with-traffic",
    "averages-from-one-report",  # so they are the reported rates
    "averages-from-reports",  # of the series given, which may not be all there were
    "history-empty",  # hits, usage averages and recent unloads live in the leader's memory only
    "policies-unknown",  # of no kind anything is known
    "isolation-unknown",
    "groups-unknown",
    "domains-unknown",
    "map-order-unknown",  # two names share a bucket, and their order decides
]
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class ShedStart:
    """Where a forecast begins: load reports in the order in which the leader met the brokers, and the rules.

    ``state`` is the leader's memory as far as it is known (modular), None to start from these reports alone.
    """

    loads: tuple[BrokerLoad, ...]
    settings: LoadSettings = field(default_factory=LoadSettings)
    rules: LoadRules = CURRENT_LOAD_RULES
    policies: ClusterPolicies | None = None
    load_manager: LoadManager = "modular"
    state: LeaderState | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class AheadMove:
    """One bundle unloaded: what it carries and interrupts, and every broker it may go to with its chance.

    ``returns``: to a broker that it had left in this forecast.
    """

    bundle: str
    source: str
    destination: str | None
    chances: Mapping[str, float]
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    returns: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """How evenly brokers are loaded: the highest over the mean, and the standard deviation over the mean."""

    max_over_mean: float
    deviation_over_mean: float


@dataclass(frozen=True, slots=True)
class Evenness:
    """The spread of weighted usage, of messages/s and of bytes/s over the brokers."""

    usage: Spread
    msgs: Spread
    bytes: Spread


@dataclass(frozen=True, slots=True)
class AheadCycle:
    """One cycle: what the shedder decided, the moves that follow, each broker's load and how even they are after it.

    ``otherwise``: bundles by broker that the same cycle may unload as well, where two names share a bucket of a Java
    map and its history is unknown.
    """

    number: int
    at_ms: int
    decision: SheddingCycle | TransferCycle
    moves: tuple[AheadMove, ...]
    loads: Mapping[str, BrokerLoad]
    evenness: Evenness
    otherwise: tuple[tuple[str, tuple[str, ...]], ...] | None = None


@dataclass(frozen=True, slots=True)
class ShedAhead:
    """A forecast of shedding: its cycles, and the evenness before the first."""

    start: ShedStart
    cycles: tuple[AheadCycle, ...]
    before: Evenness
    assumptions: tuple[Assumption, ...]

    @property
    def moves(self) -> tuple[AheadMove, ...]:
        return tuple(move for cycle in self.cycles for move in cycle.moves)

    @property
    def after(self) -> Evenness:
        return self.cycles[-1].evenness if self.cycles else self.before

    @property
    def quiet_after(self) -> int | None:
        """How many cycles it takes until nothing moves any more; None if the last one still moves something."""
        busy = [cycle.number for cycle in self.cycles if cycle.moves]
        if not busy:
            return 0
        return busy[-1] if busy[-1] < self.cycles[-1].number else None

    @property
    def unloads_per_hour(self) -> float:
        """Over the time of all cycles."""
        length = self.cycles[-1].at_ms if self.cycles else 0
        return len(self.moves) * HOUR_MS / length if length else 0.0


def evenness(loads: Sequence[BrokerLoad], settings: LoadSettings, rules: LoadRules) -> Evenness:
    """How even brokers are; NaN of brokers without any load."""
    return Evenness(
        _spread([weighted_usage(load, settings, rules, heap=True) for load in loads]),
        _spread([load.msgs_per_sec for load in loads]),
        _spread([load.bytes_per_sec for load in loads]),
    )


def _spread(values: Sequence[float]) -> Spread:
    known = [value for value in values if math.isfinite(value)]
    mean = sum(known) / len(known) if known else 0.0
    if not mean > 0:
        return Spread(math.nan, math.nan)
    variance = sum((value - mean) ** 2 for value in known) / len(known)
    return Spread(max(known) / mean, math.sqrt(variance) / mean)
