"""Which arrangement of the main screen suits a terminal size; a pure decision, so that every size can be tested."""

from __future__ import annotations

from enum import Enum
from typing import Final

MIN_WIDTH: Final = 60
MIN_HEIGHT: Final = 18


class Layout(Enum):
    """The arrangements; the value is the class that the stylesheet knows."""

    TOO_SMALL = "-too-small"
    COMPACT = "-compact"
    MEDIUM = "-medium"
    LARGE = "-large"


def layout_for(width: int, height: int) -> Layout:
    """The arrangement for a terminal of ``width`` x ``height`` characters.

    >>> [layout_for(*size).name for size in ((80, 24), (120, 40), (200, 60), (59, 24))]
    ['COMPACT', 'MEDIUM', 'LARGE', 'TOO_SMALL']
    """
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Layout.TOO_SMALL
    if width < 100 or height < 32:
        return Layout.COMPACT
    if width < 170 or height < 48:
        return Layout.MEDIUM
    return Layout.LARGE


def too_small(width: int, height: int) -> str:
    """What to do about a terminal that is too small."""
    return (
        f"Ringside needs {MIN_WIDTH}x{MIN_HEIGHT} characters; this terminal has {width}x{height}. "
        "Enlarge it, or press q to quit. ringside --once prints the same facts as text."
    )
