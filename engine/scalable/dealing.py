"""The controller's deal: which consumer of a STREAM or CHECKPOINT subscription gets which segments.

After ``SubscriptionCoordinator`` of Pulsar 5.0.1. Neither load nor the earlier deal counts, so one more name early in
the order moves nearly every segment. Messages of a child wait until all of its ancestors are drained.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import numpy as np
from msgspec import Struct

from engine.hashing import utf16_order
from engine.memo import Remembered
from engine.scalable.columns import Bools, Ints, SegmentColumns, columns_of, sums
from engine.scalable.model import Layout

GENERATIONS_TOGETHER: Final = 64
"""Generations that are gone through in columns; real family trees have fewer."""


def waiting(columns: SegmentColumns, drained: Bools) -> Bools:
    """Which segments have a listed ancestor that is not known to be drained.

    Goes down the family trees from the segments that are not drained, generation by generation, each segment once.
    """
    count = len(columns.segment_ids)
    nodes = 1 + int(columns.edge_children.max(initial=count - 1))
    by_parent = np.argsort(columns.edge_parents, kind="stable")
    children = columns.edge_children[by_parent]
    first_child = np.searchsorted(columns.edge_parents[by_parent], np.arange(nodes + 1))
    waits = np.zeros(nodes, bool)
    passed = np.concatenate((~drained, np.zeros(nodes - count, bool)))
    generation = np.flatnonzero(passed)
    for _ in range(GENERATIONS_TOGETHER):
        if not generation.size:
            return waits[:count]
        low, high = first_child[generation], first_child[generation + 1]
        sizes = high - low
        # The positions of all children: each run low .. high, one after another.
        runs = np.arange(sizes.sum()) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
        waits[children[runs]] = True
        generation = np.unique(children[runs][~passed[children[runs]]])
        passed[generation] = True
    # A line of descent as long as this is followed one by one.
    rest = generation.tolist()
    low, high = first_child.tolist(), children.tolist()
    for one in rest:  # grows on the way
        for child in high[low[one] : low[one + 1]]:
            waits[child] = True
            if not passed[child]:
                passed[child] = True
                rest.append(child)
    return waits[:count]


def assignable(columns: SegmentColumns, drained: Bools, drain_rule: Bools) -> Bools:
    """Which segments are dealt; ``drain_rule`` says of each topic whether its rule holds, ``drained`` is by segment.

    With the rule those that neither wait for an ancestor nor are sealed and drained, without it all that are listed.
    """
    open_ones: Bools = ~(columns.sealed & drained) & ~waiting(columns, drained)
    return open_ones | ~drain_rule[columns.topic_of_each()]


def owners_in_columns(offsets: Ints, buckets: Ints, consumers: Ints, whole: Bools) -> tuple[Ints, Ints]:
    """For each segment the position of its first owner among the names of its topic, and how many own it.

    The segments are those that are dealt, by place. ``consumers`` and ``whole`` are by topic; ``whole`` means that its
    segments are never shared. Names by UTF-16 order: with no more of them than segments they take turns and own
    segments whole, with more each segment gets one owner, and the rest go round the segments that have buckets left;
    then the names are handed out in order.
    """
    sizes = np.diff(offsets)
    topic = np.repeat(np.arange(len(sizes)), sizes)
    at = np.arange(len(topic)) - offsets[topic]
    first = at % np.maximum(consumers, 1)[topic]
    owners = (consumers > 0).astype(np.int64)[topic]
    shared = (consumers > sizes) & (sizes > 0) & ~whole
    if shared.any():
        dealt = np.minimum(consumers, sums(buckets, offsets))
        # As many full rounds as there are names for, found by halving; every round gives a segment at most one owner.
        rounds = np.ones(len(sizes), np.int64)
        most = np.full(len(sizes), int(buckets.max()), np.int64)
        while (rounds < most).any():
            middle = (rounds + most + 1) // 2
            enough = sums(np.minimum(buckets, middle[topic]), offsets) <= dealt
            rounds, most = np.where(enough, middle, rounds), np.where(enough, most, middle - 1)
        full = np.minimum(buckets, rounds[topic])
        left = dealt - sums(full, offsets)
        takes = (buckets > rounds[topic]).astype(np.int64)
        turn = np.cumsum(takes) - takes
        turn -= turn[np.minimum(offsets[:-1], len(turn) - 1)][topic]
        many = full + (takes & (turn < left[topic]))
        begin = np.cumsum(many) - many
        begin -= begin[np.minimum(offsets[:-1], len(begin) - 1)][topic]
        first, owners = np.where(shared[topic], begin, first), np.where(shared[topic], many, owners)
    return first, owners


class Grant(Struct, frozen=True):
    """One segment of a consumer. ``buckets`` is how many the owners of a shared one divide, 0 for a whole segment."""

    segment_id: int
    buckets: int = 0


class Deal(Struct, frozen=True):
    """What a subscription's consumers were given, names in order, and the segments that wait for an ancestor."""

    grants: dict[str, tuple[Grant, ...]]
    waiting: tuple[int, ...]
    dealt: tuple[int, ...]

    def owners(self, segment_id: int) -> tuple[str, ...]:
        return tuple(
            name for name, grants in self.grants.items() if any(grant.segment_id == segment_id for grant in grants)
        )


_deals: Remembered[Deal] = Remembered()


def deal(
    layout: Layout,
    names: Iterable[str],
    drained: Collection[int] = (),
    *,
    drain_rule: bool = True,
    checkpoint: bool = False,
) -> Deal:
    """The deal of one subscription. ``drained`` are the sealed segments it is known to have read to their end.

    Remembered: what was dealt is looked at again when it is shown.

    >>> from engine.scalable.layout import first_layout
    >>> {name: [one.segment_id for one in grants] for name, grants in deal(first_layout(3), "ba").grants.items()}
    {'a': [0, 2], 'b': [1]}
    """
    consumers, gone = tuple(names), frozenset(drained)
    small = (consumers, gone, drain_rule, checkpoint)
    return _deals.get((layout,), small, lambda: _new_deal(layout, consumers, gone, drain_rule, checkpoint))


def _new_deal(
    layout: Layout, names: tuple[str, ...], drained: frozenset[int], drain_rule: bool, checkpoint: bool
) -> Deal:
    order = sorted(names, key=utf16_order)
    columns = columns_of([layout])
    known = columns.sealed & np.isin(columns.segment_ids, list(drained))
    given = assignable(columns, known, np.array([drain_rule]))
    at = np.flatnonzero(given)
    first, owners = owners_in_columns(
        np.array([0, len(at)]), columns.buckets[at], np.array([len(order)]), np.array([checkpoint])
    )
    grants: dict[str, list[Grant]] = {name: [] for name in order}
    rows = zip(
        columns.segment_ids[at].tolist(), columns.buckets[at].tolist(), first.tolist(), owners.tolist(), strict=True
    )
    for segment_id, buckets, begin, many in rows:
        for name in order[begin : begin + many]:
            grants[name].append(Grant(segment_id, buckets if many > 1 else 0))
    waits = columns.segment_ids[waiting(columns, known) & ~known]
    return Deal(
        {name: tuple(each) for name, each in grants.items()},
        tuple(sorted(waits.tolist())),
        tuple(columns.segment_ids[at].tolist()),
    )
