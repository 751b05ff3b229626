"""``TransferShedder`` of the extensible manager: the fullest brokers hand bundles to the emptiest, pair by pair.

Times are milliseconds of one clock. Which broker is how full goes by the averages that brokers publish
(:class:`engine.balance.brokers.BrokerLoadAverage`), how much moves by the throughput they measured last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from engine.answer import about
from engine.balance.brokers import divided
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import double_key
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

UnloadReason = Literal["Overloaded", "Underloaded"]
SkipReason = Literal["CoolDown", "HitCount", "NoBrokers", "NoBundles", "NoLoadData", "OutDatedData"]
UnevenSign = Literal["deviation", "underloaded", "overloaded"]
"""Loads far from their mean, the emptiest broker far below the others, or the fullest above its limit."""
TopBundleOutcome = Literal[
    "moved",
    "swapped",  # back from the emptier broker, to make room
    "not-owned",
    "excluded-namespace",
    "recently-unloaded",
    "not-movable",
    "last-one",  # one of the reported bundles always stays
    "idle",
    "too-large",  # more than half the difference, and no swap makes up for it
    "not-looked-at",
]
PairOutcome = Literal[
    "moves", "no-load-data", "no-bundles-reported", "one-bundle", "nothing-to-move", "only-idle-bundles"
]
SWAP_SHARE = 0.75
"""A swap stands only if it leaves the fuller broker less than this part of its throughput."""
_NO_THROUGHPUT: Final = 1.0
"""In bytes/s: before #22321 a broker with less is underloaded."""


@dataclass(frozen=True, slots=True)
class PublishedLoad:
    """What a broker has published of itself: averages, the throughput of its last measurement, and when."""

    broker: str
    load: float
    throughput_average: float
    throughput_in_bytes_per_sec: float
    throughput_out_bytes_per_sec: float
    updated_at_ms: int = 0

    @property
    def bytes_per_sec(self) -> float:
        return self.throughput_in_bytes_per_sec + self.throughput_out_bytes_per_sec


Movable = Callable[[str, str, str], bool]
"""Whether a bundle may go from one broker to another: policies allow it, and the target passes all filters."""


@dataclass(frozen=True, slots=True)
class TransferView:
    """What the leader knows at the moment of a cycle.

    ``loads`` in the order of the ``ConcurrentHashMap``; ``registered`` brokers; ``top``: the bundles each broker
    reported, smallest first. ``vanished``: brokers whose load was there when the cycle began and is gone when they are
    asked. ``not_owned``: bundles a broker reported and does not own any more.
    """

    loads: tuple[PublishedLoad, ...]
    registered: tuple[str, ...]
    top: Mapping[str, tuple[BundleStats, ...]]
    now_ms: int = 0
    vanished: Collection[str] = ()
    not_owned: Collection[tuple[str, str]] = ()
    movable: Movable = lambda bundle, source, target: True


@dataclass(frozen=True, slots=True)
class TransferMemory:
    """What the leader keeps from cycle to cycle: how many in a row were uneven, the last mean and deviation, and when
    bundles and brokers were last part of an unload. All of it is lost when the leader changes.
    """

    hits: int = 0
    mean: float = 0.0
    deviation: float = 0.0
    recent_bundles: Mapping[str, int] = field(default_factory=dict)
    recent_brokers: Mapping[str, int] = field(default_factory=dict)

    def within_grace(self, now_ms: int, settings: LoadSettings) -> TransferMemory:
        """The memory without bundles unloaded longer ago than the grace period; exactly that old stays."""
        since = now_ms - settings.loadBalancerSheddingGracePeriodMinutes * 60_000
        kept = {bundle: time for bundle, time in self.recent_bundles.items() if time >= since}
        return replace(self, recent_bundles=kept)

    def after_unload(self, decision: TransferDecision, at_ms: int) -> TransferMemory:
        """The memory once a decision was carried out."""
        return replace(
            self,
            recent_bundles={**self.recent_bundles, decision.bundle: at_ms},
            recent_brokers={**self.recent_brokers, decision.source: at_ms},
        )


@dataclass(frozen=True, slots=True)
class TransferDecision:
    """One bundle leaves a broker, for another one or (``target`` None) for whoever is chosen at the next look-up."""

    bundle: str
    source: str
    target: str | None
    reason: UnloadReason


@dataclass(frozen=True, slots=True)
class TopBundleVerdict:
    """What became of one reported bundle of a pair, in bytes/s."""

    bundle: Annotated[str, about("Its full name.")]
    outcome: Annotated[TopBundleOutcome, about("What became of it.")]
    bytes_per_sec: Annotated[float, about("Its bytes/s, in plus out. Null where it is no number.", nan=True)]


@dataclass(frozen=True, slots=True)
class TransferPair:
    """The fuller and the emptier broker of a pair, how many bytes/s should move, and what became of it."""

    fuller: Annotated[str, about("Its id.")]
    emptier: Annotated[str, about("Its id.")]
    outcome: Annotated[PairOutcome, about("What became of the pair.")]
    reason: Annotated[UnloadReason, about("Why they should exchange bundles.")]
    fuller_load: Annotated[float, about("The average usage of the fuller one.", nan=True)] = math.nan
    emptier_load: Annotated[float, about("The average usage of the emptier one.", nan=True)] = math.nan
    wanted_bytes_per_sec: Annotated[float, about("The bytes/s that should move; null for no limit.", nan=True)] = 0.0
    bundles: Annotated[tuple[TopBundleVerdict, ...], about("The bundles that were looked at.")] = ()


@dataclass(frozen=True, slots=True)
class TransferCycle:
    """One cycle: decisions in the order they were reached (they are published in another one), or why it was skipped.

    ``blamed``: the broker a skip is about. ``hits``: how many cycles in a row, this one included, were uneven, and
    ``sign``: which sign of it this one shows; both None without statistics, ``sign`` also for even brokers.
    ``deviation``: that of the loads, NaN without statistics.
    ``no_run``: why the scheduler did not even ask.
    """

    decisions: tuple[TransferDecision, ...] = ()
    skip: SkipReason | None = None
    pairs: tuple[TransferPair, ...] = ()
    blamed: str | None = None
    hits: int | None = None
    deviation: float = math.nan
    sign: UnevenSign | None = None
    no_run: Literal["switched-off", "one-broker"] | None = None


def shed_transfer(
    memory: TransferMemory, view: TransferView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[TransferMemory, TransferCycle]:
    """One cycle. It acts once the brokers were uneven in more cycles in a row than the hit count threshold.

    A broker whose data is too old is left out of mean and deviation, and can be chosen all the same (bug pattern S05).
    """
    statistics = _statistics(memory, view, settings)
    if isinstance(statistics, _Skipped):
        return replace(memory, recent_brokers=statistics.recent_brokers), TransferCycle(
            skip=statistics.reason, blamed=statistics.broker
        )
    run = _Cycle(view, settings, rules, memory, statistics)
    sign, deviation = run.sign, statistics.deviation  # the pairs change that of the statistics
    hits = memory.hits + 1 if sign is not None else 0
    memory = replace(
        memory, hits=hits, mean=statistics.mean, deviation=deviation, recent_brokers=statistics.recent_brokers
    )
    if hits <= settings.loadBalancerSheddingConditionHitCountThreshold:
        blamed = None if sign is None or sign == "deviation" else run.order[0 if sign == "underloaded" else -1]
        return memory, TransferCycle(skip="HitCount", blamed=blamed, hits=hits, deviation=deviation, sign=sign)
    run.go_through_pairs()
    decisions = tuple(dict.fromkeys(run.decisions))
    if decisions:
        memory = replace(memory, hits=0)
    skip = None if decisions else run.why_nothing
    return memory, TransferCycle(
        decisions, skip=skip, pairs=tuple(run.pairs), hits=hits, deviation=deviation, sign=sign
    )


@dataclass(slots=True)
class _Statistics:
    mean: float
    deviation: float
    squares: float
    counted: int
    recent_brokers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Skipped:
    reason: SkipReason
    recent_brokers: Mapping[str, int]
    broker: str | None = None


def _statistics(memory: TransferMemory, view: TransferView, settings: LoadSettings) -> _Statistics | _Skipped:
    recent = dict(memory.recent_brokers)
    total = squares = 0.0
    counted, stale = 0, None
    for load in view.loads:
        if view.now_ms - load.updated_at_ms > settings.loadBalancerBrokerLoadDataTTLInSeconds * 1000:
            stale = stale or load.broker
            continue
        since = recent.get(load.broker)
        if since is not None:
            if load.updated_at_ms - since < settings.loadBalanceSheddingDelayInSeconds * 1000:
                return _Skipped("CoolDown", recent, load.broker)
            del recent[load.broker]
        total += load.load
        squares += load.load * load.load
        counted += 1
    if not counted:
        return _Skipped("OutDatedData" if stale else "NoBrokers", recent, stale)
    known = {load.broker for load in view.loads}
    missing = next((broker for broker in view.registered if broker not in known), None)
    if missing is not None:
        return _Skipped("NoLoadData", recent, missing)
    mean = total / counted
    return _Statistics(mean, _root(squares / counted - mean * mean), squares, counted, recent)


def _root(value: float) -> float:
    # Equal loads may give a tiny negative number by rounding; Java's root of it is NaN.
    return math.sqrt(value) if value >= 0 else math.nan


@dataclass(slots=True)
class _Cycle:
    """The workings of one cycle that acts; lives no longer than the call."""

    view: TransferView
    settings: LoadSettings
    rules: LoadRules
    memory: TransferMemory
    statistics: _Statistics
    known: dict[str, PublishedLoad] = field(init=False)
    order: list[str] = field(init=False)
    first: int = 0
    some_empty: bool = False
    some_few: bool = False
    decisions: list[TransferDecision] = field(default_factory=list)
    pairs: list[TransferPair] = field(default_factory=list)

    def __post_init__(self) -> None:
        by_load = sorted(self.view.loads, key=lambda load: double_key(load.load))
        self.order = [load.broker for load in by_load]
        self.known = {load.broker: load for load in self.view.loads if load.broker not in self.view.vanished}

    @property
    def sign(self) -> UnevenSign | None:
        """By what the brokers that are left are uneven, None where they are even."""
        if self.statistics.deviation > self.settings.loadBalancerBrokerLoadTargetStd:
            return "deviation"
        if self.underloaded(self.order[self.first]):
            return "underloaded"
        return "overloaded" if self.overloaded(self.order[-1]) else None

    def underloaded(self, broker: str) -> bool:
        """Whether a broker's load is far below the mean, or its throughput far below that of the fullest.

        Before #22321 the throughput of the fullest does not matter: a broker with less than 1 byte/s is underloaded.
        """
        load, fullest = self.known.get(broker), self.known.get(self.order[-1])
        if load is None:
            return False
        share = min(0.5, max(0.0, self.settings.loadBalancerBrokerLoadTargetStd / 2))
        if load.load < self.statistics.mean * share:
            return True
        if not self.rules.underloaded_by_throughput:
            return load.throughput_average < _NO_THROUGHPUT
        return fullest is not None and load.throughput_average < fullest.throughput_average * share

    def overloaded(self, broker: str) -> bool:
        """Whether a broker is above the overload limit and clearly above the mean as well."""
        load = self.known.get(broker)
        if load is None or not load.load > self.settings.overload_limit:
            return False
        return load.load > self.statistics.mean + self.settings.loadBalancerBrokerLoadTargetStd

    @property
    def reason(self) -> UnloadReason | None:
        """Why the present pair should exchange bundles."""
        sign = self.sign
        if sign is None:
            return None
        return "Underloaded" if sign == "underloaded" else "Overloaded"

    @property
    def why_nothing(self) -> SkipReason:
        if self.some_empty:
            return "NoLoadData"
        return "NoBundles" if self.some_few else "HitCount"

    def go_through_pairs(self) -> None:
        used = 0
        maximum = self.settings.loadBalancerMaxNumberOfBrokerSheddingPerCycle
        while used < maximum and self.first < len(self.order) - 1:
            reason = self.reason
            if reason is None:
                break
            fuller, emptier = self.order.pop(), self.order[self.first]
            pair = self.judge(fuller, emptier, reason)
            self.pairs.append(pair)
            if pair.outcome in ("no-load-data", "no-bundles-reported"):
                self.some_empty = True
            elif pair.outcome == "moves":
                used += 1
                self.first += 1
            else:
                self.some_few = True

    def judge(self, fuller: str, emptier: str, reason: UnloadReason) -> TransferPair:
        most, least = self.known.get(fuller), self.known.get(emptier)
        if most is None or least is None:
            return TransferPair(fuller, emptier, "no-load-data", reason)
        offload = (most.load - least.load) / 2
        wanted = divided(most.bytes_per_sec * offload, most.load)
        bundles = self.view.top.get(fuller, ())

        def pair(outcome: PairOutcome, verdicts: Sequence[TopBundleVerdict] = ()) -> TransferPair:
            loads = (most.load, least.load)
            return TransferPair(fuller, emptier, outcome, reason, *loads, wanted, tuple(verdicts))

        if not bundles:
            return pair("no-bundles-reported")
        if len(bundles) == 1:
            return pair("one-bundle")
        exchange = _Exchange(self, most, least, wanted, reason)
        exchange.go_through(bundles)
        self.decisions += exchange.decisions
        if not exchange.offloaded > 0:
            # Where idle bundles are shed, they go even so, and the pair counts as one that found nothing.
            return pair("only-idle-bundles" if exchange.decisions else "nothing-to-move", exchange.verdicts)
        moved = divided((exchange.offloaded - exchange.gained) * most.load, most.bytes_per_sec)
        self.correct_statistics(most.load, least.load, moved)
        return pair("moves", exchange.verdicts)

    def correct_statistics(self, most: float, least: float, moved: float) -> None:
        """The deviation as if the loads had moved; the mean stays."""
        statistics = self.statistics
        statistics.squares -= most * most + least * least
        after_most = max(0.0, most - moved)  # NaN would be NaN in Java, as the sum below is then
        after_least = least + moved
        statistics.squares += after_most * after_most + after_least * after_least
        difference = statistics.squares / statistics.counted - statistics.mean * statistics.mean
        statistics.deviation = _root(abs(difference))


@dataclass(slots=True)
class _Exchange:
    """The bundles of one pair, the fuller broker's one after the other; lives no longer than that."""

    cycle: _Cycle
    most: PublishedLoad
    least: PublishedLoad
    wanted: float
    reason: UnloadReason
    offloaded: float = 0.0
    gained: float = 0.0
    decisions: list[TransferDecision] = field(default_factory=list)
    verdicts: list[TopBundleVerdict] = field(default_factory=list)
    next_swap: int = 0

    def go_through(self, bundles: Sequence[BundleStats]) -> None:
        settings, left = self.cycle.settings, len(bundles)
        for place, stats in enumerate(bundles):
            traffic = stats.bytes_per_sec
            kept = self.why_kept(stats)
            if kept is not None:
                self.verdicts.append(TopBundleVerdict(stats.bundle, kept, traffic))
                continue
            if left <= 1:
                self.stop(bundles[place:], "last-one")
                return
            if traffic == 0 and not self.cycle.rules.shed_idle_bundles:
                self.verdicts.append(TopBundleVerdict(stats.bundle, "idle", traffic))
                continue
            swapped: list[BundleStats] = []
            if self.offloaded - self.gained + traffic > self.wanted:
                found = self.swap_for(traffic) if settings.loadBalancerTransferEnabled else None
                if found is None:
                    self.stop(bundles[place:], "too-large")
                    return
                swapped = found
            self.decide(stats, swapped)
            self.offloaded += traffic
            left -= 1
            if settings.loadBalancerDebugModeEnabled:  # bug pattern S04: only then what comes back counts
                self.gained += _sum(swapped)

    def stop(self, bundles: Sequence[BundleStats], outcome: TopBundleOutcome) -> None:
        first, *rest = bundles
        self.verdicts.append(TopBundleVerdict(first.bundle, outcome, first.bytes_per_sec))
        self.verdicts += [TopBundleVerdict(stats.bundle, "not-looked-at", stats.bytes_per_sec) for stats in rest]

    def why_kept(self, stats: BundleStats) -> TopBundleOutcome | None:
        cycle, source, target = self.cycle, self.most.broker, self.least.broker
        if (stats.bundle, source) in cycle.view.not_owned:
            return "not-owned"
        excluded = cycle.settings.loadBalancerSheddingExcludedNamespaces
        if cycle.rules.excluded_namespaces and stats.namespace in excluded:
            return "excluded-namespace"
        if stats.bundle in cycle.memory.recent_bundles:
            return "recently-unloaded"
        # The target must be permitted even where nothing is transferred (bug pattern S11).
        return None if cycle.view.movable(stats.bundle, source, target) else "not-movable"

    def swap_for(self, traffic: float) -> list[BundleStats] | None:
        """Bundles of the emptier broker to take in exchange, None when none make up for it.

        The emptier broker's bundles are gone through once for all bundles of the pair, so what one try has passed over
        is lost to the next.
        """
        cycle, top = self.cycle, self.cycle.view.top.get(self.least.broker)
        if top is None:
            return None
        limit = self.most.bytes_per_sec
        most = limit - self.offloaded + self.gained - traffic
        least = self.least.bytes_per_sec + self.offloaded - self.gained + traffic
        marked: list[BundleStats] = []
        while self.next_swap < len(top):
            stats = top[self.next_swap]
            self.next_swap += 1
            if not cycle.view.movable(stats.bundle, self.least.broker, self.most.broker):
                continue
            back = stats.bytes_per_sec
            if back == 0 and not cycle.rules.shed_idle_bundles:
                continue
            if most + back < limit and least - back < limit:
                marked.append(stats)
                most, least = most + back, least - back
                if least <= most < limit * SWAP_SHARE:
                    return marked
        return None

    def decide(self, stats: BundleStats, swapped: Sequence[BundleStats]) -> None:
        source, target = self.most.broker, self.least.broker
        for back in swapped:
            self.decisions.append(TransferDecision(back.bundle, target, source, self.reason))
            self.verdicts.append(TopBundleVerdict(back.bundle, "swapped", back.bytes_per_sec))
        to = target if self.cycle.settings.loadBalancerTransferEnabled else None
        self.decisions.append(TransferDecision(stats.bundle, source, to, self.reason))
        self.verdicts.append(TopBundleVerdict(stats.bundle, "moved", stats.bytes_per_sec))


def _sum(bundles: Sequence[BundleStats]) -> float:
    total = 0.0
    for stats in bundles:
        total += stats.bytes_per_sec
    return total
