"""Names that take ring points from each other because name and number stand side by side in the text of a point."""

from __future__ import annotations

from collections.abc import Iterable


def colliding_names(names: Iterable[str]) -> dict[str, list[str]]:
    """Name -> the names that take points from it because their key texts are equal. O(n).

    A key is the name followed by a number from 0 to 99. So ``c-1`` + ``10`` .. ``19`` is ``c-11`` + ``0`` .. ``9``, and
    the longer name sorts later and owns the points: each digit from 1 to 9 that makes another name costs ten of the
    hundred. Equal names and points that meet by chance are no collision in this sense.

    >>> colliding_names(["c-1", "c-10", "c-11", "c-19", "c-2"])
    {'c-1': ['c-11', 'c-19']}
    """
    known = dict.fromkeys(names)
    losers: dict[str, list[str]] = {}
    for name in known:
        if name and name[-1] in "123456789" and name[:-1] in known:
            losers.setdefault(name[:-1], []).append(name)
    return losers
