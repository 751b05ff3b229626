"""Name indices of namesakes on a Key_Shared ring, read off the ranges that a broker reported.

Since #23327 namesakes have points of their own by a name index, the smallest that is free when they join. Statistics do
not show it: after one of them left, the one that stays keeps a higher index than its order suggests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.keyshared.model import Consumer
from engine.keyshared.ring import RingMember, RingSelector
from engine.ranges import HashRange

MAX_INDICES: Final = 64
"""The most namesakes of a consumer that are considered."""


def name_indices(ring: RingSelector, reported: Sequence[tuple[str, tuple[HashRange, ...]]]) -> tuple[int, ...]:
    """The name index of each consumer, given in the order of joining as (name, ranges); ``ring`` is empty.

    Ranges end at points of their owner, except the range that reaches the end of the space. A consumer gets the
    smallest free index of its name whose points include all its range ends, else the smallest free index. O(n p) for n
    consumers of p points, times the indices tried.

    >>> from engine.keyshared.ring import ring_selector
    >>> ring = ring_selector(points=3)
    >>> three = ring.join(Consumer(1, "c")).join(Consumer(2, "c")).join(Consumer(3, "d"))
    >>> left = three.leave(1).ranges()
    >>> name_indices(ring, [("c", left[2]), ("d", left[3])])
    (1, 0)
    """
    used: dict[str, set[int]] = {}
    indices: list[int] = []
    last = {ring.slots.high, ring.slots.high - 1}
    for name, ranges in reported:
        taken = used.setdefault(name, set())
        free = [index for index in range(MAX_INDICES + len(taken)) if index not in taken]
        ends = {piece.end for piece in ranges} - last
        fits = (index for index in free if ring.form.tracks_names and ends <= _points(ring, name, index))
        indices.append(next(fits, free[0]) if ends else free[0])
        taken.add(indices[-1])
    return tuple(indices)


def with_namesakes_gone(
    ring: RingSelector, consumers: Sequence[Consumer], reported: Sequence[tuple[HashRange, ...]]
) -> RingSelector:
    """The ring after these consumers joined in this order and the namesakes implied by ``name_indices`` left again.

    O(n^2) for n consumers.
    """
    indices = name_indices(
        ring, [(consumer.name, pieces) for consumer, pieces in zip(consumers, reported, strict=True)]
    )
    for step in joins_and_leaves(consumers, indices):
        ring = ring.leave(step) if isinstance(step, int) else ring.join(step)
    return ring


def joins_and_leaves(consumers: Sequence[Consumer], indices: Sequence[int]) -> Iterator[Consumer | int]:
    """A history that gives every consumer its name index: consumers that join, and ids of namesakes that leave again.

    Namesakes that leave get ids after all others.

    >>> [getattr(step, "consumer_id", step) for step in joins_and_leaves([Consumer(1, "c")], [1])]
    [2, 1, 2]
    """
    next_id = max((known.consumer_id for known in consumers), default=0) + 1
    held: dict[tuple[str, int], int | None] = {}
    for consumer, index in zip(consumers, indices, strict=True):
        for lower in range(index):
            if (consumer.name, lower) not in held:
                held[consumer.name, lower] = next_id
                yield Consumer(next_id, consumer.name)
                next_id += 1
        stranger = held.get((consumer.name, index))
        if stranger is not None:
            yield stranger
        held[consumer.name, index] = None
        yield consumer
    yield from (left for left in held.values() if left is not None)


def _points(ring: RingSelector, name: str, index: int) -> frozenset[int]:
    return frozenset(ring.points_of(RingMember(Consumer(0, name), index)))
