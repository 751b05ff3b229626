"""STICKY ranges that nodes compute for themselves: consistent ranges over all slots, or single slots of known keys.

**Client-side techniques**, not modes of the broker: the ranges are declared like any sticky ranges, and all nodes agree
without communicating. Ranges may not overlap, so when the number of nodes changes, all of them must stop before any
starts with the new number. Known keys suit a small, fixed set: all nodes need the same list in the same order, the same
size and count, and no key outside the list is ever consumed.

The technique is from Ankush Khanna's article "Apache Pulsar Key Shared Mode: Sticky Consistent Hashing" (2020):
``node_ranges`` gives what his class ``ConsistentHashingStickyRanges`` gives (github.com/AnkushKhanna/
pulsar-key-subscription), ``known_key_ranges`` what his ``KnownKeysStickyRange`` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.model import RANGE_SIZE
from engine.ranges import HashRange

MAX_POINTS: Final = 10_000_000
"""More points of all nodes together are refused; all 65536 slots are claimed long before."""


def node_point(node: int, point: int) -> int:
    """The slot of one point: h mod 65536 of the text ``point_node``, both numbers decimal."""
    return murmur3_32(f"{point}_{node}") % RANGE_SIZE


def node_ranges(points: int, node_count: int) -> tuple[tuple[HashRange, ...], ...] | Rejection:
    """The ranges of every node by index: disjoint, ascending; each slot 0 .. 65535 in exactly one.

    A slot belongs to the first point at or after it, those above the last point to the node with the last index. Points
    are taken point by point, in each node by node, and the later one keeps a slot that several claim. Each point
    declares a range of its own. A node that owns none of its points has no range and cannot join. An added node only
    takes slots; none move between the other nodes. O(points x node_count).

    Refused: fewer than 1 point or node, more than ``MAX_POINTS`` points in all.

    >>> [[str(piece) for piece in node] for node in node_ranges(1, 2)], node_point(0, 0), node_point(1, 0)
    ([['[0,12707]'], ['[12708,37848]', '[37849,65535]']], 12707, 37848)
    """
    refusal = _refusal(points, node_count)
    if refusal is not None:
        return refusal
    holders = _holders(points, node_count)
    pieces: list[list[HashRange]] = [[] for _ in range(node_count)]
    start = 0
    for end in np.flatnonzero(holders >= 0).tolist():
        pieces[int(holders[end])].append(HashRange(start, end))
        start = end + 1
    return tuple(tuple(node) for node in pieces)


def ranges_of_node(points: int, node_count: int, node: int) -> tuple[HashRange, ...] | Rejection:
    """The ranges that one node (from 0) of ``node_count`` declares; refused like ``node_ranges``."""
    every = node_ranges(points, node_count)
    if isinstance(every, Rejection):
        return every
    if not 0 <= node < node_count:
        message = f"there is no node {node} among {node_count}; indices go from 0 to {node_count - 1}"
        return Rejection("InvalidNodeIndex", message, field="node")
    return every[node]


def moved_slots(points: int, nodes_before: int, nodes_after: int) -> int | Rejection:
    """How many of the 65536 slots change their node when the count changes."""
    refusal = _refusal(points, nodes_before) or _refusal(points, nodes_after)
    if refusal is not None:
        return refusal
    return int(np.count_nonzero(_owners(points, nodes_before) != _owners(points, nodes_after)))


def _refusal(points: int, node_count: int) -> Rejection | None:
    if points < 1:
        return Rejection("InvalidPoints", f"a node needs 1 point or more, not {points}", field="points")
    if node_count < 1:
        return Rejection("InvalidNodeCount", f"there must be 1 node or more, not {node_count}", field="nodes")
    if points * node_count > MAX_POINTS:
        message = f"{points} points for each of {node_count} nodes are more than {MAX_POINTS} in all; take fewer points"
        return Rejection("InvalidPoints", message, field="points")
    return None


@lru_cache(maxsize=8)
def _holders(points: int, node_count: int) -> NDArray[np.int64]:
    """The node of each slot at which a range ends, -1 for the others; shared, so read-only."""
    holders = np.full(RANGE_SIZE, -1, dtype=np.int64)
    for point in range(points):
        for node in range(node_count):
            holders[node_point(node, point)] = node
    if holders[-1] < 0:
        holders[-1] = node_count - 1
    holders.setflags(write=False)
    return holders


@lru_cache(maxsize=8)
def _owners(points: int, node_count: int) -> NDArray[np.int64]:
    """The node of each slot; shared, so read-only."""
    holders = _holders(points, node_count)
    taken = np.flatnonzero(holders >= 0)
    owners: NDArray[np.int64] = holders[taken[np.searchsorted(taken, np.arange(RANGE_SIZE), side="left")]]
    owners.setflags(write=False)
    return owners


class SharedSlot(Struct, frozen=True):
    """A slot that two nodes declare: ``other`` comes second, so the broker refuses it if both run."""

    slot: int
    node: int
    other: int


class KnownKeyRanges(Struct, frozen=True):
    """The one-slot ranges that each node declares for its keys, in the order of the list.

    Keys of one node that have one slot declare it once. ``keys`` are each node's, ``ranges`` their ranges;
    ``shared`` are the slots that keys of different nodes have.
    """

    size: int
    keys: tuple[tuple[bytes, ...], ...]
    ranges: tuple[tuple[HashRange, ...], ...]
    shared: tuple[SharedSlot, ...]

    @property
    def slots(self) -> int:
        """How many slots are declared."""
        return len({piece.start for pieces in self.ranges for piece in pieces})


def known_key_slot(key: bytes) -> int:
    """h mod 65536, as the author's class has it. Brokers from 4.0 on look for slot 1 where this is 0."""
    return murmur3_32(key) % RANGE_SIZE


def known_key_ranges(keys: Sequence[bytes], node_count: int, size: int | None = None) -> KnownKeyRanges | Rejection:
    """The ranges of nodes that share ``keys``: node i has ``size`` keys from i x size on, the last node the rest.

    ``size`` defaults to the smallest possible. Repeated keys are ignored. O(keys + nodes).

    Refused, by the names ``keys``, ``nodes`` and ``size``: no key at all; fewer than 1 node or more than ``MAX_POINTS``
    of them; a size below 1, or so small that nodes x size is below the number of keys.

    >>> split = known_key_ranges([b"Berlin", b"Hyderabad", b"SF"], 2)
    >>> split.size, [[str(piece) for piece in node] for node in split.ranges]
    (2, [['[52727,52727]', '[55100,55100]'], ['[11889,11889]']])
    """
    distinct = tuple(dict.fromkeys(keys))
    if not distinct:
        return Rejection("NoKeys", "there is no known key to share", field="keys")
    if not 1 <= node_count <= MAX_POINTS:
        message = f"there must be 1 node or more, and at most {MAX_POINTS}, not {node_count}"
        return Rejection("InvalidNodeCount", message, field="nodes")
    share = -(-len(distinct) // node_count) if size is None else size
    if share < 1:
        return Rejection("InvalidSize", f"a node takes 1 key or more, not {share}", field="size")
    if node_count * share < len(distinct):
        message = (
            f"{node_count} nodes with {share} keys each take {node_count * share} of {len(distinct)} keys; the others"
            " would have no consumer"
        )
        return Rejection("TooFewNodes", message, field="size")
    shares = tuple(distinct[node * share : (node + 1) * share] for node in range(node_count))
    ranges = tuple(tuple(HashRange(slot, slot) for slot in dict.fromkeys(map(known_key_slot, mine))) for mine in shares)
    return KnownKeyRanges(share, shares, ranges, _shared(ranges))


def _shared(ranges: Sequence[Sequence[HashRange]]) -> tuple[SharedSlot, ...]:
    holders: dict[int, int] = {}
    shared: list[SharedSlot] = []
    for node, pieces in enumerate(ranges):
        for piece in pieces:
            holder = holders.setdefault(piece.start, node)
            if holder != node:
                shared.append(SharedSlot(piece.start, holder, node))
    return tuple(shared)
