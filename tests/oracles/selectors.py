"""The selectors of Key_Shared, as changeable objects in the words of the description: join, leave, owner of a slot."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

from tests.oracles.hashes import java_units, utf8

Murmur = Callable[[bytes], int]
Declared = tuple[tuple[int, int], ...]


class Selector(Protocol):
    """``low`` .. ``high`` are the slots."""

    low: int
    high: int

    def join(self, number: int, name: str, declared: Declared | None) -> bool: ...

    def leave(self, number: int) -> None: ...

    def owner(self, slot: int) -> int | None: ...

    def slot(self, key: bytes) -> int: ...


class Ring:
    """The ring since 4.0: the first claimant of a point keeps it, the others wait in order of arrival."""

    def __init__(self, points: int, murmur: Murmur, *, high: int = 65_535) -> None:
        self.low, self.high, self.points, self.murmur = 1, high, points, murmur
        self.lists: dict[int, list[int]] = {}
        self.names: dict[int, tuple[str, int]] = {}

    def slot(self, key: bytes) -> int:
        return self.murmur(key) % self.high + 1

    def _points_of(self, number: int) -> list[int]:
        name, index = self.names[number]
        text = utf8(name) + f"\0{index}\0".encode()
        return [self.slot(text + str(replica).encode()) for replica in range(self.points)]

    def join(self, number: int, name: str, declared: Declared | None) -> bool:
        used = [index for other, index in self.names.values() if other == name]
        self.names[number] = (name, min(set(range(len(used) + 1)) - set(used)))
        for point in self._points_of(number):
            self.lists.setdefault(point, []).append(number)
        return True

    def leave(self, number: int) -> None:
        for point in self._points_of(number):
            waiting = self.lists.get(point, [])
            if waiting and waiting[0] == number:
                del waiting[0]
            else:
                waiting[:] = [each for each in waiting if each != number]
            if not waiting:
                self.lists.pop(point, None)
        del self.names[number]

    def owner(self, slot: int) -> int | None:
        if not self.lists:
            return None
        points = sorted(self.lists)
        at = bisect_left(points, slot)
        return self.lists[points[at % len(points)]][0]

    def tiles(self) -> list[tuple[int, int, int]]:
        """(first slot, last slot, owner) in order; together all slots."""
        result, start = [], self.low
        for point in sorted(self.lists):
            result.append((start, point, self.lists[point][0]))
            start = point + 1
        if result and start <= self.high:
            result.append((start, self.high, result[0][2]))
        return result


class OldRing:
    """The two oldest forms: all claimants of a point share it, sorted by name, by the hash modulo their number."""

    def __init__(self, points: int, murmur: Murmur, separator: str) -> None:
        self.low, self.high, self.points, self.murmur, self.separator = 0, 2**31 - 1, points, murmur, separator
        self.joined: list[tuple[int, str]] = []

    def slot(self, key: bytes) -> int:
        return self.murmur(key)

    def join(self, number: int, name: str, declared: Declared | None) -> bool:
        self.joined.append((number, name))
        return True

    def leave(self, number: int) -> None:
        self.joined = [each for each in self.joined if each[0] != number]

    def claims(self) -> dict[int, list[tuple[int, str]]]:
        """Every point with all who have it."""
        results: dict[int, list[tuple[int, str]]] = {}
        for number, name in self.joined:
            text = utf8(name + self.separator)
            for point in {self.murmur(text + str(replica).encode()) for replica in range(self.points)}:
                results.setdefault(point, []).append((number, name))
        return results

    def owner(self, slot: int) -> int | None:
        claims = self.claims()
        if not claims:
            return None
        after = [point for point in claims if point >= slot]
        there = sorted(claims[min(after) if after else min(claims)], key=lambda each: java_units(each[1]))
        return there[slot % len(there)][0]


class ReplacingRing:
    """3.0.7 and 3.3.2 on: namesakes have an index, and a newcomer takes a point from its owner for good."""

    def __init__(self, points: int, murmur: Murmur) -> None:
        self.low, self.high, self.points, self.murmur = 0, 2**31 - 1, points, murmur
        self.owners: dict[int, int] = {}
        self.names: dict[int, tuple[str, int]] = {}

    def slot(self, key: bytes) -> int:
        return self.murmur(key)

    def _points_of(self, number: int) -> set[int]:
        name, index = self.names[number]
        text = utf8(name) + f"\0{index}\0".encode()
        return {self.murmur(text + str(replica).encode()) for replica in range(self.points)}

    def join(self, number: int, name: str, declared: Declared | None) -> bool:
        # Who holds no point any more has lost its name index.
        holding = set(self.owners.values())
        used = {index for each, (other, index) in self.names.items() if other == name and each in holding}
        self.names[number] = (name, min(set(range(len(used) + 1)) - used))
        for point in self._points_of(number):
            self.owners[point] = number
        return True

    def leave(self, number: int) -> None:
        self.owners = {point: owner for point, owner in self.owners.items() if owner != number}
        del self.names[number]

    def owner(self, slot: int) -> int | None:
        if not self.owners:
            return None
        after = [point for point in self.owners if point >= slot]
        return self.owners[min(after) if after else min(self.owners)]

    def tiles(self) -> list[tuple[int, int, int]]:
        """(first slot, last slot, owner) in order; together all slots."""
        result, start = [], 0
        for point in sorted(self.owners):
            result.append((start, point, self.owners[point]))
            start = point + 1
        if result and start <= self.high:
            result.append((start, self.high, result[0][2]))
        return result


class AutoSplit:
    """The newcomer takes the lower half of the widest interval, the lowest of equals."""

    def __init__(self, murmur: Murmur, *, folds_zero: bool, size: int = 65_536) -> None:
        self.low, self.high, self.size, self.murmur, self.folds_zero = 0, size - 1, size, murmur, folds_zero
        self.uppers: dict[int, int] = {}

    def slot(self, key: bytes) -> int:
        slot = self.murmur(key) % self.size
        return 1 if slot == 0 and self.folds_zero else slot

    def join(self, number: int, name: str, declared: Declared | None) -> bool:
        if not self.uppers:
            self.uppers[self.size] = number
            return True
        before, widest, at = 0, 0, 0
        for upper in sorted(self.uppers):
            if upper - before > widest:
                widest, at = upper - before, upper
            before = upper
        if widest <= 1:
            return False
        self.uppers[at - widest // 2] = number
        return True

    def leave(self, number: int) -> None:
        mine = next(upper for upper, owner in self.uppers.items() if owner == number)
        del self.uppers[mine]
        if mine == self.size and self.uppers:
            below = max(self.uppers)
            self.uppers[self.size] = self.uppers.pop(below)

    def owner(self, slot: int) -> int | None:
        return next((self.uppers[upper] for upper in sorted(self.uppers) if upper >= slot), None)

    def tiles(self) -> list[tuple[int, int, int]]:
        """(first slot, last slot, owner); the last ends one behind the last slot."""
        result, start = [], 0
        for upper in sorted(self.uppers):
            result.append((start, upper, self.uppers[upper]))
            start = upper + 1
        return result


class Sticky:
    """Declared ranges since 24730: a slot belongs to the range that holds it."""

    def __init__(self, murmur: Murmur) -> None:
        self.low, self.high, self.murmur = 0, 65_535, murmur
        self.ranges: dict[int, Declared] = {}

    def slot(self, key: bytes) -> int:
        return self.murmur(key) % 65_536 or 1

    def join(self, number: int, name: str, declared: Declared | None) -> bool:
        if not declared or any(start > end for start, end in declared) or _overlaps(declared):
            return False
        others = [each for ranges in self.ranges.values() for each in ranges]
        if any(
            start <= other_end and other_start <= end for start, end in declared for other_start, other_end in others
        ):
            return False
        self.ranges[number] = declared
        return True

    def leave(self, number: int) -> None:
        del self.ranges[number]

    def owner(self, slot: int) -> int | None:
        for number, ranges in self.ranges.items():
            if any(start <= slot <= end for start, end in ranges):
                return number
        return None


class OldSticky:
    """Before 24730 only end points were kept, so a gap between two ranges of one consumer is served by it."""

    def __init__(self, murmur: Murmur, *, folds_zero: bool) -> None:
        self.low, self.high, self.murmur, self.folds_zero = 0, 65_535, murmur, folds_zero
        self.ends: dict[int, int] = {}
        self.ranges: dict[int, Declared] = {}

    def slot(self, key: bytes) -> int:
        slot = self.murmur(key) % 65_536
        return 1 if slot == 0 and self.folds_zero else slot

    def join(self, number: int, name: str, declared: Declared | None) -> bool:
        if not declared:
            return False
        for start, end in declared:
            if start > end or any(start <= each <= end for each in self.ends):
                return False
            below = max((each for each in self.ends if each <= end), default=None)
            above = min((end for end in self.ends if end >= start), default=None)
            if below is not None and above is not None and self.ends[below] == self.ends[above]:
                holder = self.ranges[self.ends[below]]
                if any(max(start, first) <= min(end, last) for first, last in holder):
                    return False
        for start, end in declared:
            self.ends[start] = self.ends[end] = number
        self.ranges[number] = declared
        return True

    def leave(self, number: int) -> None:
        self.ends = {end: owner for end, owner in self.ends.items() if owner != number}
        del self.ranges[number]

    def owner(self, slot: int) -> int | None:
        below = max((end for end in self.ends if end <= slot), default=None)
        above = min((end for end in self.ends if end >= slot), default=None)
        if below is None or above is None or self.ends[below] != self.ends[above]:
            return None
        return self.ends[below]


def _overlaps(declared: Declared) -> bool:
    return any(
        first[0] <= second[1] and second[0] <= first[1]
        for at, first in enumerate(declared)
        for second in declared[at + 1 :]
    )


def client_refuses(declared: Declared) -> bool:
    """What a client's own check says of sticky ranges."""
    return (
        not declared or any(end < start or start < 0 or end >= 65_536 for start, end in declared) or _overlaps(declared)
    )


def node_ranges(points: int, nodes: int, murmur: Murmur) -> list[Declared]:
    """Consistent sticky ranges: each slot goes to the first point at or after it, what is above all to the last node.

    Node i has the points ``h("j_i") mod 65536``; of several at one slot the one with the largest (j, i) counts, and
    each point that counts ends a range of its own.
    """
    claims = sorted((murmur(f"{j}_{i}".encode()) % 65_536, j, i) for j in range(points) for i in range(nodes))
    last_claims = {slot: node for slot, _, node in claims}
    ends = sorted({*last_claims, 65_535})
    starts = [0, *(end + 1 for end in ends[:-1])]
    pieces: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for start, end in zip(starts, ends, strict=True):
        pieces[last_claims.get(end, nodes - 1)].append((start, end))
    return [tuple(declared) for declared in pieces]
