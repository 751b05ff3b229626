"""What the modular manager's shedders look at and answer, and how bundles are taken off one broker."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from engine.answer import about
from engine.balance.averages import BundleData
from engine.balance.brokers import BrokerLoad
from engine.balance.java_maps import MapOrder

BrokerOutcome = Literal[
    "sheds",
    "below-threshold",
    "too-few-bundles",
    "below-minimum-traffic",  # what it would offload is less than is worth an unload
    "nothing-to-take",  # all its bundles were unloaded recently, are unknown or too large
    "not-the-busiest",
    "hits-too-few",  # above the threshold, not often enough in a row
]
BundleOutcome = Literal[
    "unloaded",
    "recently-unloaded",
    "no-averages",  # no report had it yet, or it is not shed at all (heartbeats)
    "enough-taken",
    "too-large",  # more than what is left to move
    "idle",
    "maximum-reached",
]


TrafficMeasure = Literal["messages", "bytes"]
Comparison = Literal[
    "usage",  # weighted usages, as shares
    "usage-average",  # their averages over cycles
    "lower-boundary",  # the same average of the fullest broker, which sheds since another one is below the limit
    "msgs-difference",  # how many percent more messages/s the busiest broker has than the idlest
    "bytes-ratio",  # how many times the bytes/s of the idlest broker the busiest has
    "usage-difference",  # percentage points of usage between the brokers of a pair
    "low-hits",  # cycles in a row in which a pair was further apart than the low threshold
    "high-hits",
]
"""What a shedder compares with a limit."""


class RankedAverages(Mapping[str, BundleData]):
    """The averages of bundles in the order of the leader's map of all."""

    __slots__ = ("_data", "_ranks")

    def __init__(self, data: Mapping[str, BundleData]) -> None:
        self._data = data
        self._ranks = {bundle: rank for rank, bundle in enumerate(data)}

    def __getitem__(self, bundle: str) -> BundleData:
        return self._data[bundle]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def in_order(self, bundles: Iterable[str]) -> list[str]:
        """Some of the bundles in the order of all."""
        return sorted(bundles, key=self._ranks.__getitem__)

    def short_term(self, bundles: Iterable[str], measure: TrafficMeasure) -> list[float]:
        """Their short-term traffic: messages/s or bytes/s."""
        averages = (self._data[bundle].short_term for bundle in bundles)
        if measure == "messages":
            return [average.msgs_per_sec for average in averages]
        return [average.bytes_per_sec for average in averages]

    def reordered(self, bundles: Iterable[str]) -> RankedAverages:
        """The same bundles in another order."""
        return RankedAverages({bundle: self._data[bundle] for bundle in bundles})


@dataclass(frozen=True, slots=True)
class ShedView:
    """What the leader knows at the moment of a cycle.

    ``brokers`` in the order of its ``ConcurrentHashMap``; ``bundles`` without those of heartbeats, in the order of the
    ``HashMap`` the shedder gets; ``recently_unloaded``: within the grace period.
    """

    brokers: tuple[BrokerLoad, ...]
    bundles: RankedAverages
    recently_unloaded: Collection[str] = ()

    @classmethod
    def of(
        cls, brokers: Iterable[BrokerLoad], bundles: Mapping[str, BundleData], recently_unloaded: Collection[str] = ()
    ) -> ShedView:
        return cls(tuple(brokers), RankedAverages(bundles), recently_unloaded)


@dataclass(frozen=True, slots=True)
class BundleVerdict:
    """What became of one bundle, and the short-term traffic it was judged by: messages/s or bytes/s."""

    bundle: Annotated[str, about("Its full name.")]
    outcome: Annotated[BundleOutcome, about("What became of it.")]
    value: Annotated[float, about("Its short-term messages/s or bytes/s.", nan=True)] = 0.0


@dataclass(frozen=True, slots=True)
class BrokerVerdict:
    """What became of one broker.

    ``figure`` is compared with ``limit``, both of ``measure``; ``need`` is the traffic it should lose, in messages/s or
    bytes/s as ``need_measure`` says, 0.0 where it did not come to that. Less than ``least`` is not worth an unload, 0.0
    where the shedder has no such limit. ``bundles`` in the order of the decisions.
    """

    broker: Annotated[str, about("Its id.")]
    outcome: Annotated[BrokerOutcome, about("What became of it.")]
    figure: Annotated[float, about("What is compared with the limit.", nan=True)]
    limit: Annotated[float, about("The limit.", nan=True)]
    need: Annotated[float, about("The messages/s or bytes/s that it should lose.", nan=True)] = 0.0
    bundles: Annotated[
        tuple[BundleVerdict, ...], about("Its bundles in the order of the decision, where it came to that.")
    ] = ()
    measure: Annotated[Comparison, about("What figure and limit are.")] = "usage"
    need_measure: Annotated[TrafficMeasure, about("Of which the need and the least are.")] = "bytes"
    least: Annotated[float, about("Less is not worth an unload; 0 without such a limit.", nan=True)] = 0.0

    @property
    def unloaded(self) -> tuple[str, ...]:
        return tuple(bundle.bundle for bundle in self.bundles if bundle.outcome == "unloaded")


@dataclass(frozen=True, slots=True)
class ShedPlan:
    """Which bundles leave which broker, brokers and bundles in the order in which they are unloaded.

    ``destinations``: where the shedder itself wants a bundle to go (``AvgShedder`` only).
    """

    unloads: tuple[tuple[str, tuple[str, ...]], ...] = ()
    verdicts: tuple[BrokerVerdict, ...] = ()
    destinations: Mapping[str, str] = field(default_factory=dict)


def planned(
    table: MapOrder, verdicts: Sequence[BrokerVerdict], destinations: Mapping[str, str] | None = None
) -> tuple[MapOrder, ShedPlan]:
    """The plan that follows from verdicts in the order they were reached, and its map for the next cycle."""
    unloads: dict[str, tuple[str, ...]] = {}
    for verdict in verdicts:
        if verdict.unloaded:
            unloads[verdict.broker] = unloads.get(verdict.broker, ()) + verdict.unloaded
    filled = table.cleared().updated(unloads)
    plan = ShedPlan(tuple((broker, unloads[broker]) for broker in filled), tuple(verdicts), destinations or {})
    return filled.cleared(), plan


def double_key(value: float) -> tuple[bool, float, float]:
    """A sort key of ``Double.compare``: -0.0 before 0.0, NaN after everything."""
    if math.isnan(value):
        return (True, 0.0, 0.0)
    return (False, value, math.copysign(1.0, value))


def falling(
    view: ShedView, load: BrokerLoad, measure: TrafficMeasure
) -> tuple[list[tuple[str, float]], list[BundleVerdict]]:
    """The bundles of a broker that may be unloaded with their values, the largest first; then why others may not.

    Equal values come in the order of the map of all bundles. O(n log n) in the broker's bundles.
    """
    allowed: list[str] = []
    passed: list[BundleVerdict] = []
    for bundle in dict.fromkeys(load.bundles):
        if bundle not in view.bundles:
            passed.append(BundleVerdict(bundle, "no-averages"))
        elif bundle in view.recently_unloaded:
            passed.append(BundleVerdict(bundle, "recently-unloaded", *view.bundles.short_term([bundle], measure)))
        else:
            allowed.append(bundle)
    allowed = view.bundles.in_order(allowed)
    values = list(zip(allowed, view.bundles.short_term(allowed, measure), strict=True))
    values.sort(key=lambda pair: double_key(pair[1]), reverse=True)
    return values, passed


def take_bytes(view: ShedView, load: BrokerLoad, need: float) -> tuple[BundleVerdict, ...]:
    """Bundles by falling short-term bytes/s until ``need`` is reached, the first one in any case.

    What is taken may be far more than the need. A NaN is taken first, and ends it.
    """
    candidates, passed = falling(view, load, "bytes")
    taken = 0.0
    verdicts: list[BundleVerdict] = []
    for bundle, value in candidates:
        if taken < need or not verdicts:
            taken += value
            verdicts.append(BundleVerdict(bundle, "unloaded", value))
        else:
            verdicts.append(BundleVerdict(bundle, "enough-taken", value))
    return (*verdicts, *passed)


def with_bundles(verdict: BrokerVerdict, bundles: Iterable[BundleVerdict]) -> BrokerVerdict:
    """The verdict on a broker that should lose traffic, from what became of its bundles."""
    judged = tuple(bundles)
    sheds = any(bundle.outcome == "unloaded" for bundle in judged)
    return replace(verdict, outcome="sheds" if sheds else "nothing-to-take", bundles=judged)
