"""Consistent sticky ranges: each node computes the STICKY ranges it declares, and all agree without talking.

A **client-side technique**, not a mode of the broker: what it makes is declared like any sticky ranges. Ranges may not
overlap, so when the number of nodes changes all of them must stop before any starts with the new number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.model import RANGE_SIZE
from engine.ranges import HashRange

MAX_POINTS: Final = 10_000_000
"""Points of all nodes together beyond which a request is refused; 65536 slots are long full by then."""


def node_point(node: int, point: int) -> int:
    """The slot of one point: ``h(UTF-8("node-" + node + NUL + point)) mod 65536``, both numbers in decimal."""
    return murmur3_32(f"node-{node}\0{point}") % RANGE_SIZE


def node_ranges(points: int, node_count: int) -> tuple[tuple[HashRange, ...], ...] | Rejection:
    """The ranges of every node by index: disjoint, ascending, neighbours joined; each slot 0 .. 65535 in exactly one.

    A slot belongs to the first point at or after it, past the last one to the first; where points meet, the smallest
    node index keeps the slot. So one more node takes slots and moves none between the others. A node all of whose
    points stand on slots of others has no range and cannot join. O(points x node_count).

    Refused: fewer than 1 point or node, more than ``MAX_POINTS`` points in all.

    >>> [[str(piece) for piece in node] for node in node_ranges(1, 2)], node_point(0, 0), node_point(1, 0)
    ([['[12485,55131]'], ['[0,12484]', '[55132,65535]']], 55131, 12484)
    """
    refusal = _refusal(points, node_count)
    if refusal is not None:
        return refusal
    owners = _owners(points, node_count)
    ends = np.flatnonzero(np.append(owners[1:] != owners[:-1], True)).tolist()
    found: list[list[HashRange]] = [[] for _ in range(node_count)]
    start = 0
    for end in ends:
        found[int(owners[end])].append(HashRange(start, end))
        start = end + 1
    return tuple(tuple(pieces) for pieces in found)


def ranges_of_node(points: int, node_count: int, node: int) -> tuple[HashRange, ...] | Rejection:
    """What node ``node`` (from 0) of ``node_count`` declares; refused like ``node_ranges``, and outside the count."""
    every = node_ranges(points, node_count)
    if isinstance(every, Rejection):
        return every
    if not 0 <= node < node_count:
        message = f"there is no node {node} among {node_count}; indices go from 0 to {node_count - 1}"
        return Rejection("InvalidNodeIndex", message, field="node")
    return every[node]


def moved_slots(points: int, nodes_before: int, nodes_after: int) -> int | Rejection:
    """How many of the 65536 slots have another node after the count changed."""
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
def _owners(points: int, node_count: int) -> NDArray[np.int64]:
    """The node of each slot; shared, so read-only."""
    at = np.full(RANGE_SIZE, -1, dtype=np.int64)
    # The smallest index is written last, so it keeps a slot that several claim.
    for node in reversed(range(node_count)):
        at[[node_point(node, point) for point in range(points)]] = node
    taken = np.flatnonzero(at >= 0)
    following = np.searchsorted(taken, np.arange(RANGE_SIZE), side="left")
    following[following == len(taken)] = 0
    owners: NDArray[np.int64] = at[taken[following]]
    owners.setflags(write=False)
    return owners
