"""Which row of a list is selected while rows come, go and are stepped through. Rows are known by their ids."""

from __future__ import annotations

from collections.abc import Sequence

NOTHING_SELECTED = -1


def kept(ids: Sequence[int], selected: int) -> int:
    """Return the selected row, or the first one where that is gone.

    >>> kept([3, 5], 5), kept([3, 5], 4), kept([], 4)
    (5, 3, -1)
    """
    if selected in ids:
        return selected
    return ids[0] if ids else NOTHING_SELECTED


def stepped(ids: Sequence[int], selected: int, by: int) -> int:
    """Return the row ``by`` places further, around the end.

    >>> stepped([3, 5, 8], 8, 1), stepped([3, 5, 8], 3, -1), stepped([], -1, 1)
    (3, 8, -1)
    """
    if not ids:
        return selected
    at = ids.index(selected) if selected in ids else -1
    return ids[(at + by) % len(ids)]


def after_removing(ids: Sequence[int], removed: int) -> int:
    """Return the row to select once one is removed: the next one below, else the nearest above.

    >>> after_removing([3, 5, 8], 5), after_removing([3, 5, 8], 8), after_removing([3], 3)
    (8, 5, -1)
    """
    at = ids.index(removed) if removed in ids else 0
    others = [*ids[at + 1 :], *ids[:at][::-1]]
    return others[0] if others else NOTHING_SELECTED
