"""Single slots of known keys: each node declares the slots of its share of a list, and the other slots are nobody's.

A **client-side technique** for a small, fixed set of keys: ``KnownKeysStickyRange`` of the same author as
``RangeForm.ARTICLE``. All nodes need one list in one order, one size and one count, and no key outside the list is ever
consumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.keyshared.consistent_sticky import MAX_POINTS
from engine.keyshared.model import RANGE_SIZE
from engine.ranges import HashRange


@dataclass(frozen=True, slots=True)
class SharedSlot:
    """A slot that two nodes declare: ``other`` comes second, so the broker refuses it if both run."""

    slot: int
    node: int
    other: int


@dataclass(frozen=True, slots=True)
class KnownKeyRanges:
    """What each node declares, one range of one slot for each of its keys, in the order of the list.

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
    """What nodes declare that share ``keys``: node i has those from i x size on, ``size`` of them, or what is left.

    Without a ``size`` it is as small as it can be. A key that is listed again does not count. O(keys + nodes).

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
