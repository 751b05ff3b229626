"""Consumer lists before and after a change, for many subscriptions at once.

A *unit* is one subscription name of one namespace with one list of consumers in one group of brokers: every topic of
it sees the same consumers and is under the same rules. Units have numbers; the consumers of all units are numbered one
after the other as *slots*, and the last slot of each unit means nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Key = tuple[str, str, int, str]
"""Namespace, subscription, number of the list of consumers, and the group of brokers."""


@dataclass(frozen=True)
class ConsumerList:
    """Names in the dispatcher's (or connect) order and the priority level of each."""

    names: tuple[str, ...]
    levels: tuple[int, ...]


@dataclass(frozen=True)
class Changes:
    """What is asked for: consumers that join or leave every subscription, or whole lists by subscription.

    ``lists`` go by (namespace, subscription); an empty namespace means any.
    """

    add: tuple[str, ...] = ()
    kill: tuple[str, ...] = ()
    lists: Mapping[tuple[str, str], ConsumerList] = field(default_factory=dict)

    def after(self, key: Key, before: ConsumerList) -> ConsumerList:
        """The list of one unit after the change: those who leave first, then those who join, on the leading level."""
        namespace, subscription, _, _ = key
        given = self.lists.get((namespace, subscription)) or self.lists.get(("", subscription)) or before
        kept = [(name, level) for name, level in zip(given.names, given.levels, strict=True) if name not in self.kill]
        leading = min((level for _, level in kept), default=0)
        kept += [(name, leading) for name in self.add]
        return ConsumerList(tuple(name for name, _ in kept), tuple(level for _, level in kept))

    @property
    def nothing(self) -> bool:
        return not (self.add or self.kill or self.lists)


@dataclass(frozen=True)
class Slots:
    """Where the consumers of each unit stand. ``start``: (units + 1,); unit i has ``start[i + 1] - start[i] - 1``
    consumers, and slot ``start[i + 1] - 1`` is nobody."""

    start: NDArray[np.int64]

    @property
    def nobody(self) -> NDArray[np.int64]:
        """(units,): the slot of nobody."""
        return self.start[1:] - 1

    def of(self, unit: NDArray[np.int64], place: NDArray[np.integer]) -> NDArray[np.int64]:
        """The slot of a place in a unit's list, a negative place being nobody."""
        return np.where(place < 0, self.nobody[unit], self.start[unit] + place)


def slots_of(lists: Sequence[ConsumerList]) -> Slots:
    """Slots for the consumers of so many lists, one more each for nobody."""
    sizes = np.fromiter((len(each.names) + 1 for each in lists), dtype=np.int64, count=len(lists))
    return Slots(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes))))


def carried_over(before: Sequence[ConsumerList], after: Sequence[ConsumerList]) -> NDArray[np.int64]:
    """For each slot before, the slot after of the same consumer; nobody's where it is gone.

    Of equal names the first stays the first, the second the second: nothing else tells them apart.

    >>> one = [ConsumerList(("a", "a", "b"), (0, 0, 0))], [ConsumerList(("b", "a"), (0, 0))]
    >>> carried_over(*one).tolist()
    [1, 2, 0, 2]
    """
    found: list[int] = []
    base = 0
    for old, new in zip(before, after, strict=True):
        places = {name: base + place for place, name in enumerate(numbered(new.names))}
        nobody = base + len(new.names)
        found += [places.get(name, nobody) for name in numbered(old.names)]
        found.append(nobody)
        base = nobody + 1
    return np.array(found, dtype=np.int64)


def numbered(names: Sequence[str]) -> list[tuple[str, int]]:
    """Each name with how many equal ones stand before it."""
    seen: dict[str, int] = {}
    found: list[tuple[str, int]] = []
    for name in names:
        number = seen.get(name, 0)
        seen[name] = number + 1
        found.append((name, number))
    return found
