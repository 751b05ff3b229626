"""How topics spread over bundles and brokers: counted, and expected by chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final

import numpy as np

from engine.answer import about
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.columns import in_columns, includes
from engine.bundles.loads import TopicLoad
from engine.chance import equal_shares, expected_empty, fullest
from engine.errors import Rejection

_SURE: Final = 35.0
"""exp(-35) is below 1e-15."""


def occupied_below(balls: int, bins: int, limit: int) -> tuple[float, ...]:
    """P(exactly j of ``bins`` equal bins have a ball) for j = 0 ... limit - 1. O(limit^3 × log balls) where they count.

    Each ball either falls on a bin that has one, or on a new one: a chain of ``limit`` states and a last for the rest.
    Where fewer than ``limit`` bins are next to impossible, all chances are 0: bins that have a ball are negatively
    associated, so Bernstein's bound holds for their number.

    >>> [round(chance, 9) for chance in occupied_below(2, 4, 3)]
    [0.0, 0.25, 0.75]
    """
    if _seldom_below(balls, bins, limit):
        return (0.0,) * limit
    states = min(limit, bins + 1)
    chain = np.zeros((states + 1, states + 1))
    for occupied in range(states):
        chain[occupied, occupied] = occupied / bins
        chain[occupied, occupied + 1] = 1 - occupied / bins
    chain[states, states] = 1.0
    chances = np.linalg.matrix_power(chain, balls)[0, :states]
    return (*(float(chance) for chance in chances), *(0.0,) * (limit - states))


def _seldom_below(balls: int, bins: int, limit: int) -> bool:
    """Whether P(fewer than ``limit`` bins have a ball) is below 1e-15, by Bernstein's bound."""
    empty = (1.0 - 1.0 / bins) ** balls
    less = bins * (1.0 - empty) - (limit - 1)
    return less > 0 and less * less > 2 * _SURE * (bins * empty * (1.0 - empty) + less / 3)


MAX_TOPICS: Final = 2_000_000
MAX_BROKERS: Final = 1_024
MAX_BUNDLES_ASKED: Final = 65_536
"""Limits of this model, so that a user need not wait. With more topics the fullest of a few bundles is a sum over
thousands of terms with a Fourier transform each; with more brokers the expected idle ones are powers of a matrix of
that size."""


@dataclass(frozen=True, slots=True)
class ExpectedOccupancy:
    """Expectations for ``topics`` topics in ``bundles`` equal bundles on ``brokers`` brokers, by chance alone.

    ``idle_brokers``: brokers without a topic when only bundles with a topic are dealt out in turn, one per broker: no
    balancer does better. ``fullest_broker_dealt``: topics of the fullest broker when *all* bundles are dealt out in
    turn, whatever they hold. ``fullest_broker_packed``: a bound on it when each bundle goes to the broker with the
    fewest topics so far; mean + (1 - 1/brokers) × fullest bundle (Graham's bound for list scheduling).
    """

    topics: Annotated[int, about("How many topics.", 0)]
    bundles: Annotated[int, about("In how many equal bundles.", 1)]
    brokers: Annotated[int, about("On how many brokers.", 1)]
    empty_bundles: Annotated[float, about("Bundles without a topic.", 0)]
    fullest_bundle: Annotated[float, about("Topics in the fullest bundle.", 0)]
    idle_brokers: Annotated[float, about("Brokers without a topic, however well bundles are dealt out.", 0)]
    fullest_broker_dealt: Annotated[float, about("Topics of the fullest broker when bundles are dealt out in turn.", 0)]

    @property
    def mean_per_bundle(self) -> Annotated[float, about("Topics in a bundle, on average.", 0)]:
        return self.topics / self.bundles

    @property
    def mean_per_broker(self) -> Annotated[float, about("Topics on a broker, on average.", 0)]:
        return self.topics / self.brokers

    @property
    def fullest_broker_packed(
        self,
    ) -> Annotated[float, about("Topics of the fullest broker, at most, when each bundle goes to the emptiest.", 0)]:
        return packed_bound(self.topics, self.brokers, self.fullest_bundle)

    @property
    def empty_bundle_share(self) -> float:
        return self.empty_bundles / self.bundles

    @property
    def idle_broker_share(self) -> float:
        return self.idle_brokers / self.brokers

    @property
    def bundle_max_over_mean(self) -> Annotated[float, about("Fullest bundle over the mean; 1 without topics.", 0)]:
        return self.fullest_bundle / self.mean_per_bundle if self.topics else 1.0

    @property
    def dealt_max_over_mean(
        self,
    ) -> Annotated[float, about("fullest_broker_dealt over the mean; 1 without topics.", 0)]:
        return self.fullest_broker_dealt / self.mean_per_broker if self.topics else 1.0

    @property
    def packed_max_over_mean(
        self,
    ) -> Annotated[float, about("fullest_broker_packed over the mean; 1 without topics.", 0)]:
        return self.fullest_broker_packed / self.mean_per_broker if self.topics else 1.0


def packed_bound(topics: int, brokers: int, fullest_bundle: float) -> float:
    """A bound on the topics of the fullest broker when each bundle goes to the broker with the fewest topics.

    mean + (1 - 1/brokers) × fullest bundle.

    >>> packed_bound(8, 2, 3.0)
    5.5
    """
    return min(topics / brokers + (1 - 1 / brokers) * fullest_bundle, float(topics))


def expected_occupancy(topics: int, bundles: int, brokers: int) -> ExpectedOccupancy | Rejection:
    """Exact expectations of balls in bins for equal bundles. Refused: 0 bundles or brokers, and too large numbers.

    Four topics in four bundles on two brokers leave 4 × (3/4)^4 bundles empty:

    >>> found = expected_occupancy(4, 4, 2)
    >>> round(found.empty_bundles, 6), round(found.fullest_bundle, 6), round(found.idle_brokers, 6)
    (1.265625, 2.125, 0.015625)
    """
    for field, value, low, high in (
        ("topics", topics, 0, MAX_TOPICS),
        ("bundles", bundles, 1, MAX_BUNDLES_ASKED),
        ("brokers", brokers, 1, MAX_BROKERS),
    ):
        if not low <= value <= high:
            message = f"{value} {field}: a number from {low} to {high} is needed here"
            return Rejection("IllegalArgumentException", message, field=field)
    return occupancy_of(topics, bundles, brokers)


def occupancy_of(topics: int, bundles: int, brokers: int) -> ExpectedOccupancy:
    """The expectations of :func:`expected_occupancy` for numbers that are known to be in range."""
    used = min(brokers, bundles)
    # Dealt in turn, the first brokers have one bundle more; brokers beyond the bundles have none.
    dealt = tuple((bundles // used + (place < bundles % used)) / bundles for place in range(used))
    return ExpectedOccupancy(
        topics,
        bundles,
        brokers,
        expected_empty(topics, equal_shares(bundles)),
        fullest(topics, equal_shares(bundles)).expected,
        idle_brokers(topics, bundles, brokers),
        fullest(topics, dealt).expected,
    )


@lru_cache(maxsize=256)
def idle_brokers(topics: int, bundles: int, brokers: int) -> float:
    """The expected brokers without a topic, when only bundles with a topic are dealt out in turn; cached."""
    chances = occupied_below(topics, bundles, brokers)
    return math.fsum(chance * (brokers - occupied) for occupied, chance in enumerate(chances))


def _by_broker(counts: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    return dict(counts)


@dataclass(frozen=True, slots=True)
class CountedOccupancy:
    """Topics counted in bundles and on brokers, each in the order given.

    ``unplaced``: their hash is below the first boundary. ``expected`` is for as many *equal* bundles.
    """

    bundles: NamespaceBundles
    per_bundle: tuple[int, ...]
    per_broker: Annotated[tuple[tuple[str, int], ...], about("Topics by broker.", 0, form=_by_broker)]
    unplaced: Annotated[tuple[str, ...], about("Topics in no bundle.")]
    expected: Annotated[ExpectedOccupancy, about("What chance does with as many topics in equal bundles, on average.")]

    @property
    def topics(self) -> Annotated[int, about("Topics that are in a bundle.", 0)]:
        return sum(self.per_bundle)

    @property
    def by_range(self) -> Annotated[Mapping[str, int], about("Topics by range.", 0, key="per_bundle")]:
        return {str(bundle): count for bundle, count in zip(self.bundles, self.per_bundle, strict=True)}

    @property
    def empty_bundles(self) -> Annotated[int, about("Bundles without a topic.", 0)]:
        return self.per_bundle.count(0)

    @property
    def idle_brokers(self) -> Annotated[tuple[str, ...], about("Brokers without a topic.")]:
        return tuple(broker for broker, count in self.per_broker if not count)

    @property
    def fullest_bundle(self) -> Annotated[int, about("Topics in the fullest bundle.", 0)]:
        return max(self.per_bundle)

    @property
    def fullest_broker(self) -> Annotated[int, about("Topics of the fullest broker.", 0)]:
        return max(count for _, count in self.per_broker)


def count_occupancy(
    bundles: NamespaceBundles,
    topics: Sequence[TopicLoad],
    brokers: Sequence[str],
    owners: Mapping[str, str] | None = None,
) -> CountedOccupancy | Rejection:
    """Count topics in bundles and on brokers; ``owners`` by range text; bundles without one are dealt out in turn.

    Refused: no brokers, an owner that is not among them, more than the model's limits. O(topics × log bundles).

    >>> quarters = NamespaceBundles("t/n", (0, 2**30, 2**31, 3 * 2**30, 0xFFFFFFFF))
    >>> found = count_occupancy(quarters, [TopicLoad("a", 1), TopicLoad("b", 2)], ["b:1", "b:2"])
    >>> found.per_bundle, found.per_broker, found.idle_brokers
    ((2, 0, 0, 0), (('b:1', 2), ('b:2', 0)), ('b:2',))
    """
    strangers = sorted(set((owners or {}).values()) - set(brokers))
    if strangers and brokers:
        message = f"{strangers[0]} owns a bundle but is not among the brokers"
        return Rejection("UnknownBroker", message, field="owners")
    counts, unplaced = _counted(bundles, topics)
    expected = expected_occupancy(len(topics) - len(unplaced), len(bundles), len(brokers))
    if isinstance(expected, Rejection):
        return expected
    on_broker = dict.fromkeys(brokers, 0)
    for place, bundle in enumerate(bundles):
        broker = (owners or {}).get(str(bundle), brokers[place % len(brokers)])
        on_broker[broker] += counts[place]
    return CountedOccupancy(bundles, tuple(counts), tuple(on_broker.items()), unplaced, expected)


def _counted(bundles: NamespaceBundles, topics: Sequence[TopicLoad]) -> tuple[list[int], tuple[str, ...]]:
    """The number of topics in each bundle, and the names of topics in none."""
    loads = in_columns(topics)
    inside = [np.count_nonzero(includes(bundle, loads.hashes)) for bundle in bundles]
    below = np.flatnonzero(loads.hashes < bundles.boundaries[0])
    return [int(count) for count in inside], tuple(loads.names.take(below))
