"""Ways to pick the active consumer that **no Pulsar has**, to hold Pulsar's own rules against.

Each takes the partitions of one subscription in the order of their names, and members by position; ``-1`` is nobody.
Nothing here depends on history but ``fewest_moves``, which is about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.fleet.hashing import murmur3_bulk

RING_POINTS: Final = 1000
"""Points of each consumer on the what-if ring, where Pulsar has 100."""
LOAD_FACTOR: Final = 1.25
"""Under ``bounded_load`` nobody gets more than this many times the mean, rounded up."""
NOBODY: Final = -1

Places = NDArray[np.int64]


def member_hashes(names: Sequence[str]) -> Places:
    """One hash a member; of equal names the second and later ones are told apart by their number.

    >>> first, second = member_hashes(["a", "a"]).tolist()
    >>> first == second
    False
    """
    seen: dict[str, int] = {}
    told: list[str] = []
    for name in names:
        number = seen[name] = seen.get(name, -1) + 1
        told.append(f"{name}\x00{number}" if number else name)
    return murmur3_bulk(told)


def rendezvous(topic_hashes: Places, members: Places) -> Places:
    """Highest random weight: each topic goes to the member with the highest mixed hash of both; ties to the first.

    A member that leaves gives up only its own topics. O(topics × members), in the memory of the topics.

    >>> topics = murmur3_bulk([f"t{i}" for i in range(1000)])
    >>> counts = np.bincount(rendezvous(topics, member_hashes(["a", "b", "c", "d"])))
    >>> bool(counts.min() > 200)
    True
    """
    best = np.full(len(topic_hashes), NOBODY, dtype=np.int64)
    highest = np.zeros(len(topic_hashes), dtype=np.uint64)
    shifted = topic_hashes.astype(np.uint64) << np.uint64(32)
    for place, member in enumerate(members.tolist()):
        weight = _mixed(shifted | np.uint64(member))
        better = (weight > highest) | (best == NOBODY)
        best[better] = place
        highest[better] = weight[better]
    return best


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every bit of the input reaches every bit of the result."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def capacity(topics: int, members: int) -> int:
    """The most one member may hold under ``bounded_load``: the mean times ``LOAD_FACTOR``, rounded up.

    >>> capacity(10, 4), capacity(1, 4)
    (4, 1)
    """
    return -int(-topics * LOAD_FACTOR // members)


def bounded_load(topic_hashes: Places, points: Places, owners: Places, most: int) -> Places:
    """Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam): walk on past members that are full.

    Topics come in their order, each to the first member from its place on the ring on that holds fewer than ``most``.
    ``points`` ascend, ``owners`` beside them. Here all topics ask at once and each member keeps the earliest of those
    that asked: the same outcome, since all members prefer earlier topics. O(topics × rounds).

    >>> bounded_load(np.array([5, 5, 5]), np.array([10, 20]), np.array([1, 0]), 2).tolist()
    [1, 1, 0]
    """
    count = len(topic_hashes)
    found = np.full(count, NOBODY, dtype=np.int64)
    if not len(points):
        return found
    at = np.searchsorted(points, topic_hashes, side="left") % len(points)
    asking = np.arange(count)
    while len(asking):
        found[asking] = owners[at[asking]]
        # Rows by member, then by their order: what stands at ``most`` or later in a member's run has to walk on.
        order = np.argsort(found, kind="stable")
        sizes = np.bincount(found)
        first = np.cumsum(sizes) - sizes
        rank = np.arange(count) - first[found[order]]
        asking = order[rank >= most]
        at[asking] = _next_of_another(at[asking], owners, found[asking])
    return found


def _next_of_another(at: Places, owners: Places, refused_by: Places) -> Places:
    """The next point of each row that does not belong to the member that refused it."""
    moved = (at + 1) % len(owners)
    while (same := owners[moved] == refused_by).any():
        moved[same] = (moved[same] + 1) % len(owners)
    return moved


def fewest_moves(before: Places, members: int) -> Places:
    """Even numbers (they differ by one at most) at the least number of moves from where the topics are now.

    ``before``: the member each topic is at, ``NOBODY`` for one whose consumer is gone. Who holds most may keep one
    more; what is given up are the latest topics, and they go to whoever lacks some, in order. O(topics log topics).

    >>> fewest_moves(np.array([0, 0, 0, 0, -1, 1]), 3).tolist()
    [0, 0, 1, 2, 2, 1]
    """
    after = before.copy()
    if not members:
        return np.full(len(before), NOBODY, dtype=np.int64)
    have = np.bincount(before[before >= 0], minlength=members)
    quota = np.full(members, len(before) // members, dtype=np.int64)
    quota[np.argsort(-have, kind="stable")[: len(before) % members]] += 1
    placed = np.flatnonzero(before >= 0)
    order = placed[np.argsort(before[placed], kind="stable")]
    first = np.cumsum(have) - have
    rank = np.arange(len(order)) - first[before[order]]
    after[order[rank >= quota[before[order]]]] = NOBODY
    kept = np.bincount(after[after >= 0], minlength=members)
    after[after < 0] = np.repeat(np.arange(members), quota - kept)
    return after
