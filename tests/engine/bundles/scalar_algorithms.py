"""The split algorithms by topics, one topic after another: what ``engine.bundles.bulk_splits`` does in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from engine.bundles.algorithms import FlowLimits
from engine.bundles.loads import TopicLoad


def topic_count_equally_divide(topics: Sequence[TopicLoad] | None) -> tuple[int, ...] | None:
    """Between the two middle hashes, rounded down (#6241). None for fewer than two topics. O(n log n).

    Odd numbers leave the smaller half on the left. When the two hashes are equal or neighbours the cut is the lower
    hash itself, so that its topic goes right as well: a half can be empty, or the cut can be the bundle's own edge.
    """
    if topics is None or len(topics) <= 1:
        return None
    hashes = sorted(topic.hash for topic in topics)
    half = len(hashes) // 2
    below, above = hashes[max(half - 1, 0)], hashes[half]
    return (below + (above - below) // 2,)


def flow_or_qps_equally_divide(topics: Sequence[TopicLoad] | None, limits: FlowLimits) -> tuple[int, ...] | None:
    """Cuts that keep every piece within both limits, packing topics by ascending hash. O(n log n).

    None: fewer than two topics, fewer than two different hashes with traffic, or both totals below
    limit × (1 + threshold).
    ``()``: the gate was passed by equality and no piece exceeds a limit. Several cuts are usual, and odd ones occur:
    topics of equal hash all count with the numbers of the last, and no cut separates them; a cut can be repeated, or be
    the upper end of the bundle.
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
