"""Pulsar's four split algorithms, each as a function from a bundle's topics to boundaries, and the choice by name.

After ``NamespaceBundleSplitAlgorithm`` and its implementations. Every algorithm returns boundaries, or None for
"nothing to split" (Java's null). Positions are hash values and unchecked here: ``engine.bundles.split`` judges them.

The algorithm by flow exists as Pulsar merged it (PIP-169, #16557) and as it was first proposed (#16782), and the two
differ. The merged rule packs topics into pieces within both limits and cuts one above the middle of two hashes; the
proposed one halves the traffic once. Rates are messages per second, throughput is bytes per second, in plus out; sums
are plain IEEE doubles in the order of the list, as in Java.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

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


def topic_count_equally_divide(topics: Sequence[TopicLoad] | None) -> tuple[int, ...] | None:
    """Between the two middle hashes, rounded down (#6241). None for fewer than two topics. O(n log n).

    Odd numbers leave the smaller half on the left. When the two hashes are equal or neighbours the cut is the lower
    hash itself, so that its topic goes right as well: a half can be empty, or the cut can be the bundle's own edge.

    >>> topic_count_equally_divide([TopicLoad("a", 10), TopicLoad("b", 30), TopicLoad("c", 50)])
    (20,)
    >>> topic_count_equally_divide([TopicLoad("a", 10), TopicLoad("b", 11)])
    (10,)
    """
    if topics is None or len(topics) <= 1:
        return None
    hashes = sorted(topic.hash for topic in topics)
    half = len(hashes) // 2
    below, above = hashes[max(half - 1, 0)], hashes[half]
    return (below + (above - below) // 2,)


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


def flow_or_qps_equally_divide(topics: Sequence[TopicLoad] | None, limits: FlowLimits) -> tuple[int, ...] | None:
    """Cuts that keep every piece within both limits, packing topics by ascending hash. O(n log n).

    None: fewer than two topics, fewer than two different hashes with traffic, or both totals below
    limit × (1 + threshold).
    ``()``: the gate was passed by equality and no piece exceeds a limit. Several cuts are usual, and odd ones occur:
    topics of equal hash all count with the numbers of the last, and no cut separates them; a cut can be repeated, or be
    the upper end of the bundle.

    >>> hashes_and_rates = ((10, 100), (20, 200), (80, 300), (90, 400), (100, 500), (110, 2000))
    >>> topics = [TopicLoad(f"t{h}", h, rate) for h, rate in hashes_and_rates]
    >>> flow_or_qps_equally_divide(topics, FlowLimits(1750, 100 * BYTES_PER_MBYTE, 0))
    (106,)
    """
    if topics is None or len(topics) <= 1:
        return None
    hashes: list[int] = []
    load_at: dict[int, tuple[float, float]] = {}
    total_rate = total_bytes = 0.0
    for topic in topics:
        rate, throughput = topic.msgs_per_sec, topic.bytes_per_sec
        if not topic.has_stats or (rate <= 0 and throughput <= 0):
            continue
        hashes.append(topic.hash)
        # Pulsar keeps one entry per hash: the last topic of a hash counts, though the totals include all.
        load_at[topic.hash] = (rate, throughput)
        total_rate += rate
        total_bytes += throughput
    if len(load_at) < 2:
        return None
    factor = limits.gate_factor
    if total_rate < limits.max_msgs_per_sec * factor and total_bytes < limits.max_bytes_per_sec * factor:
        return None
    hashes.sort()
    piece_rate, piece_bytes = load_at[hashes[0]]
    cuts: list[int] = []
    for before, here in pairwise(hashes):
        rate, throughput = load_at[here]
        if piece_rate + rate > limits.max_msgs_per_sec or piece_bytes + throughput > limits.max_bytes_per_sec:
            cuts.append(before + (here - before) // 2 + 1)
            piece_rate, piece_bytes = rate, throughput
        else:
            piece_rate += rate
            piece_bytes += throughput
    return tuple(cuts)


def flow_or_qps_as_proposed(topics: Sequence[TopicLoad] | None) -> tuple[int, ...]:
    """The rule in the proposal's original text, which no release has: one cut where half of the traffic is passed.

    It has no limits and no guard for few topics, can cut left of everything or outside the bundle, and gives a cut one
    lower than the merged rule. The proposal's own example:

    >>> hashes_and_rates = ((10, 100), (20, 200), (80, 300), (90, 400), (100, 500), (110, 2000))
    >>> flow_or_qps_as_proposed([TopicLoad(f"t{h}", h, rate) for h, rate in hashes_and_rates])
    (105,)
    """
    hashes: list[int] = []
    load_at: dict[int, tuple[float, float]] = {}
    total_rate = total_bytes = 0.0
    for topic in topics or ():
        if topic.has_stats:
            hashes.append(topic.hash)
            # One entry per hash here too: the last topic of a hash counts, though the totals include all.
            load_at[topic.hash] = (topic.msgs_per_sec, topic.bytes_per_sec)
            total_rate += topic.msgs_per_sec
            total_bytes += topic.bytes_per_sec
    passed_rate = passed_bytes = 0.0
    before = 0
    for here in sorted(hashes):
        passed_rate += load_at[here][0]
        passed_bytes += load_at[here][1]
        if passed_rate > total_rate / 2 or passed_bytes > total_bytes / 2:
            return (before + (here - before) // 2,)
        before = here
    return ()
