"""How many bundles a given number of topics needs for brokers to be evenly loaded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from engine.answer import about
from engine.bundles.occupancy import (
    MAX_BUNDLES_ASKED,
    ExpectedOccupancy,
    expected_occupancy,
    idle_brokers,
    occupancy_of,
    packed_bound,
)
from engine.chance import equal_shares, fullest
from engine.errors import Rejection

EVEN_ENOUGH: Final = 1.5
"""How many times the mean the fullest broker may have, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class BundlesNeeded:
    """The smallest number of equal bundles that satisfies both bounds, and its expectations.

    ``table``: powers of two up to the first that also satisfies the bounds, and the answer itself.
    """

    FORMAT: ClassVar = "ringside.bundles-needed/1"

    bundles: Annotated[int, about("The smallest number.", 1)]
    expected: Annotated[ExpectedOccupancy, about("What chance does with it, on average.")]
    max_over_mean: Annotated[float, about("What the fullest broker may have over the mean.")]
    idle_share: Annotated[float, about("The share of brokers that may be without a topic.", 0, 1)]
    governed_by: Annotated[
        Literal["max_over_mean", "idle_share", "nothing"], about("The bound that one bundle fewer would break.")
    ]
    table: Annotated[tuple[ExpectedOccupancy, ...], about("Other numbers of bundles and this one, ascending.")]
    within_maximum: Annotated[bool, about("Whether automatic splitting could get there.")]

    @property
    def explanation(self) -> Annotated[tuple[str, ...], about("The meaning of the numbers, in sentences.")]:
        expected = self.expected
        sentences = [
            f"{expected.topics} topics on {expected.brokers} brokers:"
            f" {expected.mean_per_broker:.1f} topics each if all is even",
            f"{self.bundles} bundles hold {expected.mean_per_bundle:.2f} topics on average,"
            f" {expected.fullest_bundle:.2f} the fullest, and {expected.empty_bundles:.2f} stay empty",
            f"bundles with topics dealt out evenly leave {expected.idle_brokers:.3f} brokers idle"
            f" ({expected.idle_broker_share:.2%}, allowed {self.idle_share:.2%})",
            f"a bundle moves as a whole, so the fullest broker has at most {expected.fullest_broker_packed:.1f} topics"
            f" if each bundle goes to the emptiest broker: {expected.packed_max_over_mean:.3f} times the mean"
            f" (allowed {self.max_over_mean:.3f}); dealt out without a look at them"
            f" {expected.dealt_max_over_mean:.3f} times",
        ]
        if self.governed_by != "nothing":
            sentences.append(f"one bundle fewer would break {self.governed_by}")
        if not self.within_maximum:
            sentences.append("this is above loadBalancerNamespaceMaximumBundles: create the namespace with them")
        return tuple(sentences)


def bundles_needed(
    topics: int,
    brokers: int,
    *,
    max_over_mean: float = EVEN_ENOUGH,
    idle_share: float = 0.01,
    maximum_bundles: int = 128,
) -> BundlesNeeded | Rejection:
    """The fewest bundles with which chance keeps the brokers even, on average.

    ``max_over_mean``: the fullest broker may have this many times the mean, when each bundle goes to the broker with
    the fewest topics (``ExpectedOccupancy.packed_max_over_mean``, a bound). ``idle_share``: the share of brokers that
    may be without a topic. Both fall as bundles are added, so a binary search finds the number. Refused: no topics or
    brokers, bounds that are not numbers or out of range, and bounds that no number of bundles satisfies (with the best
    possible values).

    Eight topics on three brokers need 4 bundles for twice the mean, 18 for one and a half:

    >>> bundles_needed(8, 3, max_over_mean=2.0).bundles, bundles_needed(8, 3).bundles, bundles_needed(8, 1).bundles
    (4, 18, 1)
    """
    refusal = _refuse_bounds(topics, brokers, max_over_mean, idle_share)
    if refusal is not None:
        return refusal

    def breaks(count: int) -> Literal["max_over_mean", "idle_share"] | None:
        packed = packed_bound(topics, brokers, fullest(topics, equal_shares(count)).expected)
        if packed * brokers / topics > max_over_mean:
            return "max_over_mean"
        return "idle_share" if idle_brokers(topics, count, brokers) / brokers > idle_share else None

    high = 1
    while breaks(high) is not None:
        if high >= MAX_BUNDLES_ASKED:
            best = occupancy_of(topics, high, brokers)
            broken = breaks(high) or ""
            value = best.packed_max_over_mean if broken == "max_over_mean" else best.idle_broker_share
            message = (
                f"no number of bundles up to {MAX_BUNDLES_ASKED} keeps {broken} with {topics} topics on {brokers}"
                f" brokers: {value:.4f} is what is left; ask for more than that"
            )
            return Rejection("Unattainable", message, field=broken)
        high *= 2
    low, top = high // 2, high
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (middle, top) if breaks(middle) is not None else (low, middle)
    counts = sorted({*(1 << power for power in range(high.bit_length())), top})
    return BundlesNeeded(
        top,
        occupancy_of(topics, top, brokers),
        max_over_mean,
        idle_share,
        "nothing" if top == 1 else breaks(top - 1) or "nothing",
        tuple(occupancy_of(topics, count, brokers) for count in counts),
        top <= maximum_bundles,
    )


def _refuse_bounds(topics: int, brokers: int, max_over_mean: float, idle_share: float) -> Rejection | None:
    sizes = expected_occupancy(max(topics, 0), 1, brokers)
    if isinstance(sizes, Rejection):
        return sizes
    if topics < 1:
        message = f"{topics} topics need no bundles: give 1 or more"
        return Rejection("IllegalArgumentException", message, field="topics")
    if not (math.isfinite(max_over_mean) and max_over_mean >= 1):
        message = f"the fullest broker has {max_over_mean} times the mean? It has to be a finite number, 1 or above"
        return Rejection("IllegalArgumentException", message, field="max_over_mean")
    if not 0 <= idle_share <= 1:
        message = f"{idle_share} is not a share: 0 is no broker idle, 1 is all"
        return Rejection("IllegalArgumentException", message, field="idle_share")
    return None
