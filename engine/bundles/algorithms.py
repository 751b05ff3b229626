"""The split algorithms that look at no topic, the limits of those by flow, and the choice of one by name.

After ``NamespaceBundleSplitAlgorithm`` and its implementations; ``engine.bundles.bulk_splits`` has the others. Every
algorithm returns boundaries, or None for "nothing to split" (Java's null). Positions are hash values and unchecked
here: ``engine.bundles.split`` judges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.bundles.boundaries import BundleRange
from engine.bundles.loads import TopicLoad
from engine.config import RANGE_EQUALLY_DIVIDE, SPLIT_ALGORITHMS, BrokerSettings
from engine.errors import Rejection


def resolve_algorithm(requested: str | None, default: str, known: Sequence[str] = SPLIT_ALGORITHMS) -> str:
    """The algorithm a broker uses: the requested one, else its default, else ``range_equally_divide``.

    Unknown names count as not given; the REST layer refuses unknown requested names earlier.

    >>> resolve_algorithm(None, "flow_count_equally_divide")
    'range_equally_divide'
    """
    return next((name for name in (requested, default) if name is not None and name in known), RANGE_EQUALLY_DIVIDE)


def range_equally_divide(lower: int, upper: int) -> tuple[int, ...]:
    """The middle of a range, rounded down. A range of width 1 gives its own lower end, which the split then refuses.

    >>> [hex(cut) for cut in range_equally_divide(0x00000000, 0xFFFFFFFF)]
    ['0x7fffffff']
    """
    return (lower + (upper - lower) // 2,)


def specified_positions_divide(
    bundle: BundleRange, topics: Sequence[TopicLoad] | None, positions: Sequence[int] | None, *, force: bool = False
) -> tuple[int, ...] | Rejection | None:
    """The given positions that lie strictly inside the bundle, ascending, duplicates kept (PIP-143).

    None when none does, or for fewer than two topics unless forced (the extensible load manager forces when it replays
    a split). Refused without positions (IllegalArgumentException).

    >>> two = [TopicLoad("a", 1), TopicLoad("b", 2)]
    >>> specified_positions_divide(BundleRange(0, 100), two, [70, 100, 30, 30, 0])
    (30, 30, 70)
    """
    if not positions:
        return Rejection(
            "IllegalArgumentException",
            "specified_positions_divide needs split boundaries: give one or more hash values",
            field="positions",
            status=412,
        )
    if not force and (topics is None or len(topics) <= 1):
        return None
    inside = tuple(position for position in sorted(positions) if bundle.lower < position < bundle.upper)
    return inside or None


BYTES_PER_MBYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class FlowLimits:
    """The limits of one bundle, and by how many percent its total must exceed one before the algorithm acts."""

    max_msgs_per_sec: int
    max_bytes_per_sec: int
    difference_threshold_percentage: int

    @property
    def gate_factor(self) -> float:
        return 1 + self.difference_threshold_percentage / 100.0


def flow_limits(settings: BrokerSettings) -> FlowLimits:
    """The limits of a broker; the bandwidth is multiplied in 64 bits, so it cannot overflow here."""
    return FlowLimits(
        settings.loadBalancerNamespaceBundleMaxMsgRate,
        settings.loadBalancerNamespaceBundleMaxBandwidthMbytes * BYTES_PER_MBYTE,
        settings.flowOrQpsDifferenceThresholdPercentage,
    )
