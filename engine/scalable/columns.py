"""The segments of many topics in columns, in which they are dealt and scaled; one topic is a case of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from engine.memo import Remembered
from engine.scalable.layout import merge_depths
from engine.scalable.model import Layout, by_place

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SegmentColumns:
    """All listed segments, topic by topic, by place within each; ``offsets`` has one entry more than there are topics.

    The last two columns are the edges of the family tree: positions of a child and of its listed parent. The knots of
    ``Layout.children`` have positions behind those of all segments.
    """

    offsets: Ints
    segment_ids: Ints
    starts: Ints
    ends: Ints
    buckets: Ints
    sealed: Bools
    merge_depths: Ints
    edge_children: Ints
    edge_parents: Ints

    @property
    def topics(self) -> int:
        return len(self.offsets) - 1

    def only(self, chosen: Bools) -> SegmentColumns:
        """The chosen segments, without the family tree."""
        none = np.empty(0, np.int64)
        return SegmentColumns(
            np.concatenate(([0], np.cumsum(chosen)))[self.offsets],
            self.segment_ids[chosen],
            self.starts[chosen],
            self.ends[chosen],
            self.buckets[chosen],
            self.sealed[chosen],
            self.merge_depths[chosen],
            none,
            none,
        )

    def topic_of_each(self) -> Ints:
        """For each segment the position of its topic."""
        return np.repeat(np.arange(self.topics), np.diff(self.offsets))


_columns: Remembered[SegmentColumns] = Remembered()


def columns_of(layouts: Sequence[Layout]) -> SegmentColumns:
    """The columns of these layouts. O(n log n) for n segments, without numpy's speed; of a single one remembered."""
    if len(layouts) == 1:
        return _columns.get((layouts[0],), (), lambda: _new_columns(layouts))
    return _new_columns(layouts)


def _new_columns(layouts: Sequence[Layout]) -> SegmentColumns:
    offsets = [0]
    rows: list[tuple[int, int, int, int, bool, int]] = []
    edges: list[tuple[int, int]] = []
    positions_behind = count(sum(len(layout.segments) for layout in layouts))
    for layout in layouts:
        segments = by_place(layout.segments.values())
        positions = {segment.segment_id: len(rows) + at for at, segment in enumerate(segments)}
        depths = merge_depths(layout)
        for segment in segments:
            piece = segment.hash_range
            depth = depths[segment.segment_id]
            rows.append((segment.segment_id, piece.start, piece.end, segment.buckets, not segment.active, depth))
        children = layout.children()
        positions |= {one: next(positions_behind) for one in children if one < 0}
        edges += [(positions[child], positions[parent]) for parent, below in children.items() for child in below]
        offsets.append(len(rows))
    ids, starts, ends, buckets, sealed, depth_of_each = np.array(rows, np.int64).reshape(-1, 6).T
    below, above = np.array(edges, np.int64).reshape(-1, 2).T
    return SegmentColumns(
        np.array(offsets, np.int64), ids, starts, ends, buckets, sealed.astype(bool), depth_of_each, below, above
    )


def sums(values: Ints, offsets: Ints) -> Ints:
    """The sum of a column over each topic, 0 over one without rows."""
    running = np.concatenate(([0], np.cumsum(values)))
    result: Ints = running[offsets[1:]] - running[offsets[:-1]]
    return result


def largest(values: Floats, offsets: Ints, empty: float) -> Floats:
    """The greatest value of a column over each topic, ``empty`` over one without rows."""
    result = np.full(len(offsets) - 1, empty)
    some = np.flatnonzero(np.diff(offsets))
    if some.size:
        result[some] = np.maximum.reduceat(values, offsets[some])
    return result
