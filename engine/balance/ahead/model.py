"""What a forecast of shedding shows: cycle by cycle who sheds what to whom, and how even the brokers are then.

Traffic moves with its bundle. So does the use of cpu, direct memory and bandwidth, by the share of its broker's bytes
that the bundle has, while heap memory stays: a model, since no report says what a bundle costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Literal

from engine.answer import about
from engine.balance.brokers import (
    BrokerLoad,
    ReportFigures,
    ResourceUsage,
    figures_of,
    overload_usage,
    report_needed,
    weighted_usage,
)
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.leadership.state import Leader, LeaderState
from engine.balance.limits import BundleStats
from engine.balance.placement.strategies import in_force
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import TransferCycle
from engine.bundles.plan import LoadManager
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

Assumption = Literal[
    "traffic-stays",
    "usage-moves-with-traffic",
    "averages-from-one-report",  # so they are the reported rates
    "averages-from-reports",  # of the series given, which may not be all there were
    "loads-unknown",  # usage or rates that a report lacks count as 0
    "loads-from-metrics",  # the load of a broker was read from its metrics, its traffic from loaded topics
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
    ``from_metrics``: the load of a broker was read from its metrics. ``lacking``: by broker "usage", "rates" or both,
    where its report lacks them and has 0.
    """

    loads: tuple[BrokerLoad, ...]
    settings: LoadSettings = field(default_factory=LoadSettings)
    rules: LoadRules = CURRENT_LOAD_RULES
    policies: ClusterPolicies | None = None
    load_manager: LoadManager = "modular"
    state: LeaderState | None = None
    seed: int = 0
    from_metrics: bool = False
    lacking: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def leader(self) -> Leader:
        """What the modular leader works by; a placement that the release replaces is replaced."""
        return Leader(in_force(self.settings, self.rules), self.policies or ClusterPolicies(), self.rules)

    @property
    def placement(self) -> str | None:
        """The placement in force; None for the extensible manager, which has one only."""
        return self.leader.settings.loadBalancerLoadPlacementStrategy if self.load_manager == "modular" else None


@dataclass(frozen=True, slots=True)
class Candidate:
    broker: Annotated[str, about("Its id.")]
    chance: Annotated[float, about("How likely it is.", 0, 1.000001)]


Candidates = Annotated[list[Candidate], about("Every broker that it may go to.")]


@dataclass(frozen=True, slots=True)
class AheadMove:
    """One bundle unloaded: what it carries and interrupts, and every broker it may go to with its chance."""

    bundle: Annotated[str, about("Its full name.")]
    source: Annotated[str, about("The broker it leaves.", key="from")]
    destination: Annotated[
        str | None, about("The broker it goes to in this forecast; null if no broker may have it.", key="to")
    ]
    chances: Mapping[str, float]
    topics: Annotated[int, about("Topics interrupted.", 0)]
    msgs_per_sec: Annotated[float, about("Its messages/s, in plus out. Null where it is not a number.", nan=True)]
    bytes_per_sec: Annotated[float, about("Its bytes/s, in plus out. Null where it is not a number.", nan=True)]
    returns: Annotated[bool, about("Whether it goes back to a broker that it had left in this forecast.")]
    producers: Annotated[int, about("Producers that connect again, by the load report.", 0)]
    consumers: Annotated[int, about("Consumers that connect again, by the load report.", 0)]

    @property
    def candidates(self) -> Candidates:
        return [Candidate(broker, chance) for broker, chance in self.chances.items()]


def move_of(
    stats: BundleStats, source: str, destination: str | None, chances: Mapping[str, float], *, returns: bool
) -> AheadMove:
    """The unload of a bundle that ``source`` reports with these figures."""
    return AheadMove(
        stats.bundle, source, destination, chances, stats.topics, stats.msgs_per_sec, stats.bytes_per_sec, returns,
        stats.producers, stats.consumers,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spread:
    """How evenly brokers are loaded: the highest over the mean, and the standard deviation over the mean."""

    max_over_mean: Annotated[float, about("The highest over the mean; null while no broker has any.", nan=True)]
    deviation_over_mean: Annotated[
        float, about("The standard deviation over the mean; null while no broker has any.", nan=True)
    ]


@dataclass(frozen=True, slots=True)
class Evenness:
    """The spread of weighted usage, of messages/s and of bytes/s over the brokers."""

    usage: Annotated[Spread, about("Of the weighted usage of resources.")]
    msgs: Annotated[Spread, about("Of messages/s, in plus out.", key="msgs_per_sec")]
    bytes: Annotated[Spread, about("Of bytes/s, in plus out.", key="bytes_per_sec")]


@dataclass(frozen=True, slots=True)
class OtherUnloads:
    broker: Annotated[str, about("Its id.")]
    bundles: Annotated[tuple[str, ...], about("Bundles in order.")]


@dataclass(frozen=True, slots=True)
class AheadCycle:
    """One cycle: what the shedder decided, the moves that follow, each broker's load and how even they are after it."""

    number: Annotated[int, about("Counted from 1.", 1)]
    at_ms: Annotated[int, about("Milliseconds after the leader's election or the last report.", 0)]
    decision: SheddingCycle | TransferCycle
    moves: tuple[AheadMove, ...]
    loads: Mapping[str, BrokerLoad]
    evenness: Annotated[Evenness, about("How even the brokers are after it.")]
    otherwise: Annotated[
        tuple[OtherUnloads, ...] | None,
        about(
            "What the same cycle may unload instead, where names share a bucket of a Java map of unknown history;"
            " null where that changes nothing."
        ),
    ] = None


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
        """How many cycles it takes until nothing moves any more.

        None where that is not seen: fewer cycles are quiet at the end than between two that move something.
        """
        busy = [cycle.number for cycle in self.cycles if cycle.moves]
        if not busy:
            return 0
        longest = max((later - earlier for earlier, later in pairwise(busy)), default=1)
        return busy[-1] if self.cycles[-1].number - busy[-1] >= longest else None

    @property
    def unloads_per_hour(self) -> float:
        """Over the time of all cycles."""
        return len(self.moves) * HOUR_MS / self.cycles[-1].at_ms if self.cycles else 0.0


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


_NO_STATS = BundleStats("")


@dataclass(frozen=True, slots=True)
class LoadWorld:
    """What every broker would report now, by id."""

    loads: Mapping[str, BrokerLoad]

    @classmethod
    def of(cls, loads: Iterable[BrokerLoad]) -> LoadWorld:
        return cls({load.broker: load for load in loads})

    def stats_of(self, bundle: str, broker: str) -> BundleStats:
        """What a broker reports of a bundle; no traffic where it reports nothing."""
        found = (stats for stats in self.loads[broker].stats if stats.bundle == bundle)
        return next(found, replace(_NO_STATS, bundle=bundle))

    def owner_of(self, bundle: str, reported_by: str) -> str:
        """Who has a bundle: a broker may still report one that it has lost. O(bundles) for one that it has lost."""
        if bundle in self.loads[reported_by].bundles:
            return reported_by
        owners = (broker for broker, load in self.loads.items() if bundle in load.bundles)
        return next(owners, reported_by)

    def moved(self, bundle: str, source: str, target: str) -> LoadWorld:
        """The brokers after a bundle has moved. What one loses the other gains. O(bundles of both).

        >>> stats = BundleStats("t/n/0x00000000_0xffffffff", topics=3, msg_rate_in=5.0)
        >>> full = BrokerLoad("b:1", msg_rate_in=5.0, bundles=(stats.bundle,), stats=(stats,), topics=3)
        >>> after = LoadWorld.of([full, BrokerLoad("b:2")]).moved(stats.bundle, "b:1", "b:2").loads
        >>> [(load.msg_rate_in, load.topics) for load in after.values()]
        [(0.0, 0), (5.0, 3)]
        """
        if source == target or target not in self.loads:
            return self
        giver, taker = self.loads[source], self.loads[target]
        stats = self.stats_of(bundle, source)
        both = share_of(stats.bytes_per_sec, giver.bytes_per_sec)
        inward = share_of(stats.throughput_in_bytes_per_sec, giver.throughput_in_bytes_per_sec)
        outward = share_of(stats.throughput_out_bytes_per_sec, giver.throughput_out_bytes_per_sec)
        shares = {"cpu": both, "direct_memory": both, "bandwidth_in": inward, "bandwidth_out": outward}
        gave = _with(giver, stats, -1.0, {name: -share * _usage(giver, name) for name, share in shares.items()})
        took = _with(taker, stats, 1.0, {name: share * _usage(giver, name) for name, share in shares.items()})
        kept = replace(
            gave,
            bundles=tuple(name for name in giver.bundles if name != bundle),
            stats=tuple(other for other in giver.stats if other.bundle != bundle),
        )
        grown = replace(took, bundles=(*taker.bundles, bundle), stats=(*taker.stats, stats))
        return LoadWorld({**self.loads, source: kept, target: grown})


@dataclass(slots=True)
class WrittenReports:
    """The report that each broker wrote ``last``, and when. They write one once their load has changed enough."""

    settings: LoadSettings
    rules: LoadRules
    last: dict[str, BrokerLoad]
    _written_ms: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._written_ms = dict.fromkeys(self.last, 0)

    def write(self, loads: Mapping[str, BrokerLoad], at_ms: int) -> int:
        """Let every broker write the report that is due at its load of now. Returns how many did."""
        written = 0
        for broker, load in loads.items():
            if load is self.last[broker]:
                continue
            before, now = self._figures(self.last[broker]), self._figures(load)
            if report_needed(before, now, at_ms - self._written_ms[broker], self.settings) is not None:
                self.last[broker] = load
                self._written_ms[broker] = at_ms
                written += 1
        return written

    def _figures(self, load: BrokerLoad) -> ReportFigures:
        return figures_of(load, overload_usage(load, self.settings, self.rules))


def share_of(part: float, whole: float) -> float:
    """At most 1; 0 of nothing."""
    return min(part / whole, 1.0) if whole > 0 else 0.0


def _usage(load: BrokerLoad, name: str) -> float:
    resource: ResourceUsage = getattr(load, name)
    return resource.usage


def _with(load: BrokerLoad, stats: BundleStats, sign: float, used: Mapping[str, float]) -> BrokerLoad:
    def resource(name: str) -> ResourceUsage:
        old: ResourceUsage = getattr(load, name)
        return ResourceUsage(max(old.usage + used[name], 0.0), old.limit)

    return replace(
        load,
        cpu=resource("cpu"),
        direct_memory=resource("direct_memory"),
        bandwidth_in=resource("bandwidth_in"),
        bandwidth_out=resource("bandwidth_out"),
        msg_rate_in=max(load.msg_rate_in + sign * stats.msg_rate_in, 0.0),
        msg_rate_out=max(load.msg_rate_out + sign * stats.msg_rate_out, 0.0),
        throughput_in_bytes_per_sec=max(
            load.throughput_in_bytes_per_sec + sign * stats.throughput_in_bytes_per_sec, 0.0
        ),
        throughput_out_bytes_per_sec=max(
            load.throughput_out_bytes_per_sec + sign * stats.throughput_out_bytes_per_sec, 0.0
        ),
        topics=max(load.topics + round(sign) * stats.topics, 0),
        load_average=None,  # a broker that gains or loses a bundle forgets it
    )


@dataclass(slots=True)
class Trail:
    """Where bundles have been in a forecast, so that one that comes back is known."""

    left: dict[str, set[str]] = field(default_factory=dict)

    def goes(self, bundle: str, source: str, destination: str | None) -> bool:
        """Note a move; whether it is back to a broker the bundle had left."""
        left = self.left.setdefault(bundle, set())
        left.add(source)
        return destination in left
