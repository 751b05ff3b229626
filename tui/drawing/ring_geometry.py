"""The place of every quadrant of every cell on the ring, computed once per size.

A unit is the width of a cell; a cell is one unit wide and two units high. Angles are fractions of a turn, clockwise
from the top, so a hash h of a space of n is at h / n.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tui.drawing.canvas import LEVELS

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
MIN_RADIUS = 4.0
"""Below this a circle looks like a blot."""


class RingGeometry(Struct, frozen=True, eq=False):
    """Places of one ring picture of ``width`` x ``height`` cells."""

    width: int
    height: int
    outer: tuple[float, float]
    """Inner and outer radius of the ring of arcs, in units."""
    band: tuple[float, float] | None
    """Inner and outer radius of the band of shares, if there is one."""
    edges: FloatArray
    """Edges of the angular bins, 0..1, shape (bins + 1,); a bin is about one quadrant wide on the outer rim."""
    rows: IntArray
    """Row of each touched cell, shape (cells,)."""
    columns: IntArray
    """Column of each touched cell."""
    bins: IntArray
    """Bin of each quadrant, shape (cells, 4): upper left, upper right, lower left, lower right."""
    in_band: npt.NDArray[np.bool_]
    """Whether a quadrant belongs to the band rather than to the ring of arcs."""
    levels: IntArray
    """Coverage of each quadrant, 0..LEVELS."""
    cell_number: IntArray
    """Position in the arrays above per (row, column), -1 where the ring does not reach; shape (height, width)."""
    air: float
    """Units between ring, band and dots."""

    @property
    def inside(self) -> float:
        """Radius of the free disc in the middle."""
        return (self.band or self.outer)[0]

    def position(self, angle: float, radius: float) -> tuple[int, int]:
        """Row and column of the cell at an angle (fraction of a turn) and a radius (units)."""
        turn = 2 * np.pi * angle
        column = self.width / 2 + radius * np.sin(turn)
        row = (self.height - radius * np.cos(turn)) / 2
        return int(np.floor(row)), int(np.floor(column))


@lru_cache(maxsize=32)
def ring_geometry(width: int, height: int, banded: bool, air: float = 1.0) -> RingGeometry | None:
    """The geometry of a size; None when the size is too small for a circle. O(width * height), once per size.

    Args:
        banded: whether there is a band of shares inside the ring of arcs.
        air: units left free between the two, and between the inner one and the dots.
    """
    # Room outside for a tick: one column left and right, one row above and below.
    radius = float(np.floor(min(width / 2 - 1.0, height - 2.0)))
    if radius < MIN_RADIUS:
        return None
    outer, band = _radii(radius, banded, air)
    x, y = _quadrant_centres(width, height)
    distance = np.hypot(x, y)
    angle = np.mod(np.arctan2(x, -y) / (2 * np.pi), 1.0)
    # A quadrant is half a unit wide and one unit high; seen along the radius its depth lies between the two.
    depth = (0.5 * np.abs(x) + 1.0 * np.abs(y)) / np.maximum(distance, 1e-9)
    outer_cover = _cover(distance, depth, outer)
    band_cover = _cover(distance, depth, band) if band else np.zeros_like(outer_cover)
    in_band = band_cover > outer_cover
    levels = np.rint(np.maximum(outer_cover, band_cover) * LEVELS).astype(np.int64)
    edges = _bin_edges(radius)
    bins = np.clip(np.searchsorted(edges, angle, side="right") - 1, 0, len(edges) - 2)
    touched = levels.reshape(height, width, 4).any(axis=2)
    rows, columns = np.nonzero(touched)
    cell_number = np.full((height, width), -1, dtype=np.int64)
    cell_number[rows, columns] = np.arange(len(rows))
    return RingGeometry(
        width=width,
        height=height,
        outer=outer,
        band=band,
        edges=edges,
        rows=rows,
        columns=columns,
        bins=bins.reshape(height, width, 4)[rows, columns],
        in_band=in_band.reshape(height, width, 4)[rows, columns],
        levels=levels.reshape(height, width, 4)[rows, columns],
        cell_number=cell_number,
        air=air,
    )


class Track(Struct, frozen=True, eq=False):
    """Cells along a circle, in the order of their angles: a place for dots, ticks and letters."""

    rows: IntArray
    columns: IntArray
    starts: FloatArray
    """Angle (fraction of a turn) at which the circle enters each cell; the first is 0."""
    middles: FloatArray
    """Angle of the middle of each cell's piece of the circle."""


@lru_cache(maxsize=64)
def track(width: int, height: int, radius: float) -> Track:
    """The cells a circle passes through. O(radius), once per size."""
    samples = max(64, int(radius * 2 * np.pi * 8))
    angles = np.arange(samples) / samples
    columns = np.floor(width / 2 + radius * np.sin(2 * np.pi * angles)).astype(np.int64)
    rows = np.floor((height - radius * np.cos(2 * np.pi * angles)) / 2).astype(np.int64)
    new = np.flatnonzero((np.diff(rows, prepend=-9) != 0) | (np.diff(columns, prepend=-9) != 0))
    starts = angles[new]
    return Track(rows[new], columns[new], starts, (starts + np.append(starts[1:], 1.0)) / 2)


def _radii(radius: float, banded: bool, air: float) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """Radii of ring and band: whole units, so that rims are sharp at the top and at the sides."""
    if not banded:
        return (radius - _thickness(0.19, radius), radius), None
    inner = radius - _thickness(0.15, radius)
    return (inner, radius), (inner - air - _thickness(0.16, radius), inner - air)


def _thickness(part: float, radius: float) -> float:
    return float(np.clip(np.rint(part * radius), 2.0, 9.0))


def _quadrant_centres(width: int, height: int) -> tuple[FloatArray, FloatArray]:
    """Centre of each quadrant relative to the centre of the picture, flat in (row, column, quadrant) order."""
    rows, columns, quadrant = np.meshgrid(np.arange(height), np.arange(width), np.arange(4), indexing="ij")
    x = columns + 0.25 + 0.5 * (quadrant % 2) - width / 2
    y = 2 * rows + 0.5 + 1.0 * (quadrant // 2) - height
    return x.ravel().astype(np.float64), y.ravel().astype(np.float64)


def _cover(distance: FloatArray, depth: FloatArray, radii: tuple[float, float]) -> FloatArray:
    """How much of a quadrant a ring covers, 0..1, taking the rim as straight inside one quadrant."""
    outward = np.clip((radii[1] - distance) / depth + 0.5, 0.0, 1.0)
    inward = np.clip((distance - radii[0]) / depth + 0.5, 0.0, 1.0)
    return np.asarray(np.minimum(outward, inward), dtype=np.float64)


def _bin_edges(radius: float) -> FloatArray:
    """Edges of bins that are as wide as a quadrant there: half a unit at the top, one at the sides."""
    fine = np.linspace(0.0, 1.0, 2049)
    middle = 2 * np.pi * (fine[1:] + fine[:-1]) / 2
    width = np.maximum(0.5 * np.abs(np.cos(middle)), 1.0 * np.abs(np.sin(middle)))
    passed = np.concatenate(([0.0], np.cumsum(2 * np.pi * radius / 2048 / width)))
    count = max(8, int(passed[-1]))
    edges = np.interp(np.linspace(0.0, passed[-1], count + 1), passed, fine)
    edges[0], edges[-1] = 0.0, 1.0
    return np.asarray(edges, dtype=np.float64)
