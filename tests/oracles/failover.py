"""The active consumer of a topic or partition, by looking at everything every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from tests.oracles.hashes import java_units, utf8
from tests.oracles.releases import Release


class Connected(NamedTuple):
    """A connected consumer; lists of them are in connect order."""

    number: int
    name: str
    level: int


def partition_index(topic: str) -> int:
    """The number behind the last ``-partition-``, -1 where that is not a number in its shortest form."""
    _, result, digits = topic.rpartition("-partition-")
    plain = result and digits.isascii() and digits.isdigit() and str(int(digits)) == digits and int(digits) < 2**31
    return int(digits) if plain else -1


def cohort_of(consumers: Iterable[Connected]) -> list[Connected]:
    """Those of the highest priority, which is the lowest level, in the dispatcher's order."""
    ordered = sorted(consumers, key=lambda each: (each.level, java_units(each.name)))
    return [each for each in ordered if each.level == ordered[0].level]


def ring_points(cohort: Iterable[Connected], murmur: Callable[[bytes], int]) -> dict[int, int]:
    """Point -> the number of the consumer that owns it: of those that share a point the last in order."""
    points: dict[int, int] = {}
    for each in cohort:
        name = utf8(each.name)
        for replica in range(100):
            points[murmur(name + str(replica).encode())] = each.number
    return points


def ring_hashes(points: dict[int, int]) -> dict[int, int]:
    """How many of the 2^31 hashes each owner of a point has."""
    results: dict[int, int] = {}
    places = sorted(points)
    for before, place in zip([places[-1] - 2**31, *places], places, strict=False):
        results[points[place]] = results.get(points[place], 0) + place - before
    return results


@lru_cache(maxsize=256)
def active_consumers(
    consumers: tuple[Connected, ...],
    topics: tuple[str, ...],
    *,
    flag: bool,
    release: Release,
    murmur: Callable[[bytes], int],
) -> dict[str, int | None]:
    """The number of the active consumer of each topic or partition; None for all while nobody is connected."""
    if not consumers:
        return dict.fromkeys(topics)
    cohort = cohort_of(consumers)
    points = ring_points(cohort, murmur)

    def chosen(topic: str) -> int:
        index = partition_index(topic)
        if index < 0 and not release.nonpartitioned_ring:
            return consumers[0].number
        if index >= 0 and not (flag and release.knows_failover_flag):
            return cohort[index % len(cohort)].number
        place = murmur(utf8(topic))
        at_or_after = [point for point in points if point >= place]
        return points[min(at_or_after) if at_or_after else min(points)]

    return {topic: chosen(topic) for topic in topics}
