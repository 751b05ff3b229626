"""One topic at a time on one ring, as fast as plain Python goes: for a few look-ups numpy's calls cost too much."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import mmh3
import numpy as np

from engine.bulk_hashing import HASH_BITS
from engine.failover.bulk_ring import Rings
from engine.hashing import HASH_SPACE_SIZE, utf8


def single_look_up(rings: Rings, ring_no: int = 0) -> Callable[[str | bytes], int]:
    """A function from a topic's full name to its owner (a position in the ring's given list).

    The hash space is cut into two to four slices a point. A slice without a point in it has one owner, and most have;
    in the others the search begins at the slice's first point: O(1) on average. It holds 16 to 24 bytes a point of its
    own. A ring without points is not for it: use ``Rings.look_up``.

    >>> from engine.failover.bulk_ring import build_rings
    >>> owner_of = single_look_up(build_rings([["a", "b"]]))
    >>> owner_of("persistent://t/n/x")
    1
    """
    points, owners = rings.points_of(ring_no), rings.owners_of(ring_no)
    assert len(points), f"ring {ring_no} has no points"
    mask = HASH_SPACE_SIZE - 1
    bits = min(len(points).bit_length() + 1, HASH_BITS)
    shift = HASH_BITS - bits
    edges = np.searchsorted(points, np.arange((1 << bits) + 1, dtype=np.int64) << shift)
    # Past the last point comes the first one's owner; the end of the space stops the search there.
    point = array("i", np.append(points, mask).astype(np.int32).tobytes())
    owner = array("i", np.append(owners, owners[0]).astype(np.int32).tobytes())
    first, end = edges[:-1], edges[1:]
    # An owner, or (negative) the complement of the place where the search begins.
    entries = np.where(first == end, np.append(owners, owners[0])[first], ~first)
    entry = array("i", entries.astype(np.int32).tobytes())
    murmur3 = mmh3.hash

    def owner_of(topic: str | bytes) -> int:
        # mmh3 does not look whether a text can be encoded: a surrogate without its partner ends the process.
        if not topic.isascii() and isinstance(topic, str):
            topic = utf8(topic)
        hash_value = murmur3(topic)
        # The sign is the bit Pulsar clears: a negative index, counted from the end, is the slice of the cleared hash.
        at = entry[hash_value >> shift]
        if at >= 0:
            return at
        at = ~at
        hash_value &= mask
        while point[at] < hash_value:
            at += 1
        return owner[at]

    return owner_of
