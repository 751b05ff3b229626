"""What a ring or hash map is drawn from, plain numbers and a few words, and the frame that it is drawn in."""

from __future__ import annotations

from enum import Enum
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from themes.palettes import Palette, consumer_tag
from tui.drawing.arcs import Arcs
from tui.drawing.canvas import Canvas
from tui.drawing.colour import NO_COLOUR, pack
from tui.drawing.glyphs import Glyphs
from tui.drawing.ring_geometry import RingGeometry

SETTLED_S: Final = 0.7
"""A change stands out for so long."""
GHOST_S: Final = 3.0
"""The ring before it stays outside for so long."""


class RingMode(Enum):
    """What the colours mean."""

    LIT = "lit"
    """Consistent hashing rules: every arc has its owner's colour."""
    MUTED = "muted"
    """The ring does not rule (partition index modulo consumers does): arcs fade, dots carry the colours."""
    FOCUS = "focus"
    """One consumer is lit, the others fade."""


def _no_dots() -> npt.NDArray[np.uint32]:
    return np.zeros(0, dtype=np.uint32)


def _no_owners() -> npt.NDArray[np.int32]:
    return np.zeros(0, dtype=np.int32)


class Dots(Struct, frozen=True, eq=False):
    """Topics on the ring, in any order."""

    hashes: npt.NDArray[np.uint32] = field(default_factory=_no_dots)
    owners: npt.NDArray[np.int32] = field(default_factory=_no_owners)
    """Index of the active consumer per topic; -1 for none."""
    highlighted: int | None = None
    """The highlighted topic, if any."""
    waiting: npt.NDArray[np.bool_] | None = None
    """Which ones have messages that wait, marked with an exclamation mark; None for none."""
    marks: npt.NDArray[np.uint32] = field(default_factory=_no_dots)
    """Hashes that are marked so although no topic or key of theirs is known."""

    def __post_init__(self) -> None:
        assert self.hashes.shape == self.owners.shape, "one owner per topic"
        assert self.waiting is None or self.waiting.shape == self.hashes.shape, "one flag per topic"
        assert self.highlighted is None or 0 <= self.highlighted < len(self.hashes), "the highlighted topic exists"


class TwoSides(Struct, frozen=True, eq=False):
    """Owners of the same pieces of the hash space by the model and as reported, where the two differ somewhere."""

    modelled: Arcs
    reported: Arcs
    differs: npt.NDArray[np.bool_]
    """Which pieces are hatched, a mask over the points of both."""

    def __post_init__(self) -> None:
        assert np.array_equal(self.modelled.points, self.reported.points), "both sides are cut alike"
        assert self.differs.shape == self.modelled.points.shape, "one flag per piece"


class RingPicture(Struct, frozen=True, eq=False):
    """One state of a ring, as numbers."""

    arcs: Arcs
    dots: Dots = field(default_factory=Dots)
    mode: RingMode = RingMode.LIT
    focus: int | None = None
    """Index of the consumer lit in ``FOCUS``."""
    centre: tuple[str, ...] = ()
    """Up to five lines for the middle; the first is the headline."""
    few: tuple[str, ...] = ()
    """Fewer and shorter words for a middle that those do not fit."""
    shares: npt.NDArray[np.float64] | None = None
    """Weights of the inner band per consumer; None sums up the arcs. With modulo: topics per consumer."""
    tags: tuple[str, ...] | None = None
    """Letter tag per consumer; None names them A, B, ... by index."""
    band: bool | None = None
    """Whether to draw the inner band; None draws it when arcs are too narrow to read."""
    sides: TwoSides | None = None
    """Where some were reported otherwise than by the model: the model's on the ring, those reported on the band."""

    def tag(self, owner: int) -> str:
        """The letter tag of a consumer."""
        if self.tags is not None and 0 <= owner < len(self.tags):
            return self.tags[owner]
        return consumer_tag(owner)


def freshness(elapsed_s: float) -> float:
    """The intensity of a change so long ago.

    >>> freshness(0.0), freshness(0.35), freshness(5.0)
    (1.0, 0.5, 0.0)
    """
    return max(0.0, 1.0 - elapsed_s / SETTLED_S)


def ghost_strength(elapsed_s: float) -> float:
    """How strong the ring before is drawn so long after a change, in few steps: each is a paint.

    >>> [ghost_strength(s) for s in (0.0, 2.0, 2.3, 2.6, 3.0, 9.0)]
    [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]
    """
    return min(4, max(0, ceil(4 * (GHOST_S - elapsed_s)))) / 4


class Flash(Struct, frozen=True, eq=False):
    """What changed, and how fresh that is: at 1 the old colour shows, at 0 the new one.

    No clock is read here: the caller asks ``freshness`` and ``ghost_strength``.
    """

    intensity: float
    """0..1."""
    before: RingPicture | None = None
    """The picture before the change: places whose owner differs blend from the old colour to the new."""
    ghost: float = 0.0
    """How strong the ring before is outside of the ring, 0..1."""
    sent: Dots | None = None
    """Messages on their way: the slots of their keys, and who gets them."""
    dots: npt.NDArray[np.bool_] | None = None
    """Topics that flash in the text colour, a mask over the picture's dots; None takes those whose owner differs
    from ``before``, as long as the topics are the same."""

    def __post_init__(self) -> None:
        assert 0.0 <= self.intensity <= 1.0, "intensity is within 0..1"


def changed_dots(picture: RingPicture, flash: Flash | None) -> npt.NDArray[np.bool_]:
    """Which topics flash: those of the mask, or those that got another owner since the picture before."""
    dots = picture.dots
    if flash is not None and flash.intensity > 0.0:
        if flash.dots is not None:
            assert flash.dots.shape == dots.hashes.shape, "one flag per topic"
            return flash.dots
        if flash.before is not None and np.array_equal(flash.before.dots.hashes, dots.hashes):
            return np.asarray(flash.before.dots.owners != dots.owners, dtype=np.bool_)
    return np.zeros(len(dots.hashes), dtype=np.bool_)


class RingFrame(Struct, frozen=True, eq=False):
    """One drawing in progress."""

    canvas: Canvas
    picture: RingPicture
    geometry: RingGeometry
    palette: Palette
    glyphs: Glyphs
    flash: Flash | None

    @property
    def text(self) -> int:
        """Packed colour of text."""
        return NO_COLOUR if self.palette.mono else pack(self.palette.text)

    @property
    def dim(self) -> int:
        """Packed colour of muted text."""
        return NO_COLOUR if self.palette.mono else pack(self.palette.dim)


class MapFrame(Struct, frozen=True, eq=False):
    """One hash map in progress."""

    canvas: Canvas
    picture: RingPicture
    palette: Palette
    glyphs: Glyphs
    flash: Flash | None
    left: int
    """Column of the first cell; labels are before it."""

    @property
    def columns(self) -> int:
        """Cells per row."""
        return self.canvas.width - self.left
