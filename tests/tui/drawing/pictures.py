"""Pictures the drawing tests share, and ways to read strips."""

from __future__ import annotations

import numpy as np
from rich.color_triplet import ColorTriplet
from textual.strip import Strip

from tui.drawing.arcs import HASH_SPACE, Arcs, arcs_of
from tui.drawing.ring_picture import Dots, RingMode, RingPicture

SIZES = [(0, 0), (1, 1), (3, 1), (1, 5), (10, 5), (11, 7), (20, 9), (38, 18), (64, 36), (37, 40), (120, 12)]


def random_arcs(consumers: int, replicas: int, seed: int = 1) -> Arcs:
    """Points spread by a seeded generator; every consumer has as many."""
    points = np.sort(np.random.default_rng(seed).integers(0, HASH_SPACE, consumers * replicas))
    owners = np.random.default_rng(seed + 1).permutation(np.repeat(np.arange(consumers), replicas))
    return arcs_of(points, owners, consumers)


def random_picture(
    consumers: int, replicas: int, topics: int, mode: RingMode = RingMode.LIT, focus: int | None = None
) -> RingPicture:
    """A ring with topics whose active consumer is their number modulo the consumers."""
    hashes = np.random.default_rng(7).integers(0, HASH_SPACE, topics).astype(np.uint32)
    owners = (np.arange(topics) % max(1, consumers) - (consumers == 0)).astype(np.int32)
    dots = Dots(hashes, owners, 0 if topics else None)
    return RingPicture(random_arcs(consumers, replicas), dots, mode, focus, ("middle", "second line", "third"))


def texts(strips: list[Strip]) -> list[str]:
    """The characters of each strip."""
    return ["".join(segment.text for segment in strip) for strip in strips]


def ground_at(strips: list[Strip], row: int, column: int) -> ColorTriplet | None:
    """The background colour of one cell."""
    at = 0
    for segment in strips[row]:
        at += len(segment.text)
        if column < at:
            return segment.style.bgcolor.get_truecolor() if segment.style and segment.style.bgcolor else None
    raise AssertionError(f"row {row} has no column {column}")


def colours_in(strips: list[Strip]) -> set[tuple[int, int, int]]:
    """All colours of glyphs that show, and of grounds."""
    result: set[tuple[int, int, int]] = set()
    for strip in strips:
        for segment in strip:
            style = segment.style
            if style is None:
                continue
            shown = (style.color if segment.text.strip() else None, style.bgcolor)
            triplets = [colour.get_truecolor() for colour in shown if colour is not None]
            result |= {(triplet.red, triplet.green, triplet.blue) for triplet in triplets}
    return result
