"""What of a ring or a hash map is in a cell: the way back from a place on the screen to a hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tui.drawing.arcs import Arcs, IntArray
from tui.drawing.hashmap import label_width
from tui.drawing.ring import band_arcs, layout_of
from tui.drawing.ring_dots import dot_lanes
from tui.drawing.ring_picture import RingPicture

_RIM: float = 1.0
"""Units around a ring that still count as it: cells at its edges are in part outside."""


@dataclass(frozen=True, slots=True, eq=False)
class Pointed:
    """A hash of the ring of arcs; or a consumer of the band of sums; or dots, by their places in the picture."""

    at: int | None = None
    owner: int | None = None
    dots: IntArray | None = None


def pointed(
    picture: RingPicture, size: tuple[int, int], cell: tuple[int, int], *, mono: bool, as_map: bool
) -> Pointed | None:
    """What is in a cell (column, row) of a drawing of this size (width, height); None for the ground. O(dots)."""
    (width, height), (column, row) = size, cell
    geometry = None if as_map else layout_of(picture, width, height, mono=mono)
    space = picture.arcs.size
    if geometry is None:
        left = label_width(space, width) if as_map else 0
        place = row * (width - left) + column - left
        return None if column < left else Pointed(at=(2 * place + 1) * space // (2 * (width - left) * height))
    x, y = column + 0.5 - width / 2, 2 * row + 1.0 - height
    radius, angle = float(np.hypot(x, y)), float(np.mod(np.arctan2(x, -y) / (2 * np.pi), 1.0))
    at = min(int(angle * space), space - 1)
    if geometry.outer[0] - _RIM / 2 <= radius <= geometry.outer[1] + _RIM:
        return Pointed(at=at)
    if geometry.band is not None and geometry.band[0] - _RIM / 2 <= radius <= geometry.band[1] + _RIM / 2:
        owner = owner_at(band_arcs(picture) if picture.sides is None else picture.sides.reported, at)
        return Pointed(owner=owner) if owner >= 0 else None
    lanes = dot_lanes(geometry)
    _, slots = np.nonzero((lanes.rows == row) & (lanes.columns == column))
    of_dots = np.searchsorted(lanes.starts, picture.dots.hashes / space, side="right") - 1
    dots = np.flatnonzero(np.isin(of_dots, slots))
    return Pointed(dots=dots) if len(dots) else None


def arc_at(points: IntArray, at: int) -> int:
    """The place of the point whose arc a hash is in: the first at or after it, and the first of all past the last.

    >>> [arc_at(np.array([10, 20]), at) for at in (10, 11, 20, 21)]
    [0, 1, 1, 0]
    """
    return int(np.searchsorted(points, at, side="left")) % len(points)


def owner_at(arcs: Arcs, at: int) -> int:
    """Who owns a hash; -1 for nobody."""
    return int(arcs.owners[arc_at(arcs.points.astype(np.int64), at)]) if len(arcs.points) else -1
