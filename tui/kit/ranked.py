"""Words for a line that is never long enough: what is left out first, and what stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tui.kit.plain_text import plain

Part = tuple[str, str]
"""Text and style."""
Ranked = tuple[int, str, str]
"""How soon a part may go (the highest number first), its text and its style."""
KEPT: Final = 3
"""What may go later than the length of the subscription's name."""
NAME_CELLS: Final = (30, 20, 12, 8)
"""How long that name may be, tried in this order."""


def fitted_parts(parts_with: Callable[[int], list[Ranked]], width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells, in the order they stand.

    ``parts_with`` makes all parts with a name of at most so many cells; it is shortened before what ranks ``KEPT`` or
    less goes.
    """
    shown = parts_with(NAME_CELLS[0])
    for cells in NAME_CELLS:
        shown = parts_with(cells)
        while any(importance > KEPT for importance, _, _ in shown) and _cells(shown) > width:
            shown.remove(max(shown, key=lambda part: part[0]))
        if _cells(shown) <= width:
            break
    while len(shown) > 1 and _cells(shown) > width:
        shown.remove(max(shown, key=lambda part: part[0]))
    return [(text, style) for _, text, style in shown]


def _cells(parts: list[Ranked]) -> int:
    return plain("".join(text for _, text, _ in parts)).cell_length
