"""The split algorithms that need no statistics, and how a name becomes an algorithm.

After ``NamespaceBundleSplitAlgorithm`` and its implementations. Every algorithm answers boundaries, or None for
"nothing to split" (Java's null); positions are hash values and stay unsafe here: ``split_bundles`` judges them.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.bundles.boundaries import BundleRange
from engine.bundles.loads import TopicLoad
from engine.config import RANGE_EQUALLY_DIVIDE, SPLIT_ALGORITHMS
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
