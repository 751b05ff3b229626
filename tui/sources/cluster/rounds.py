"""Which parts of a large cluster a refresh reads: all that is in view, and of the rest a share, the oldest first."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

WHOLE_TOPICS: Final = 200
"""A cluster with so many topics and partitions at most is read whole at each refresh."""
Key = tuple[str, str]
"""A request: its path, and the broker that is asked, "" for any."""


@dataclass(frozen=True, slots=True)
class InView:
    """What the open screen shows: ``topics`` without partitions; ``brokers``: load reports and loaded topics."""

    topics: frozenset[str] = frozenset()
    brokers: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What one refresh reads of a large cluster: what is in view and, unless ``view_only``, its share of the rest.

    After ``refreshes`` of them all of it was read, which takes ``whole_every_s``. With 1 each reads everything.
    """

    view: InView = field(default_factory=InView)
    refreshes: int = 1
    whole_every_s: float = 0.0
    view_only: bool = False


@dataclass(frozen=True, slots=True)
class StatisticsRequest:
    """One request for statistics of ``topic`` or a partition of it; ``topics`` are how many of these it is about."""

    path: str
    broker: str
    topic: str
    topics: int
    loads: bool = False

    @property
    def key(self) -> Key:
        return self.path, self.broker


def refreshes_of(every_s: float, whole_every_s: float) -> int:
    """In how many refreshes everything is read.

    >>> refreshes_of(10, 60), refreshes_of(25, 60), refreshes_of(90, 60)
    (6, 3, 1)
    """
    return max(1, math.ceil(whole_every_s / every_s))


def is_large(requests: Sequence[StatisticsRequest]) -> bool:
    """Whether statistics of that much are read in rounds."""
    return sum(request.topics for request in requests) > WHOLE_TOPICS


def due(
    requests: Iterable[StatisticsRequest], read_ms: Mapping[Key, int], turn: Turn, changed: Collection[str]
) -> set[Key]:
    """The requests of this turn: what was never read, what is in view, and a share of the rest.

    The share is of those that were read the longest time ago, so that none is older than a round. As much again is
    read of ``changed`` topics, of which something else says that they have other consumers.
    """
    chosen: set[Key] = set()
    rest: list[StatisticsRequest] = []
    for request in requests:
        if request.key not in read_ms or request.topic in turn.view.topics:
            chosen.add(request.key)
        else:
            rest.append(request)
    if turn.view_only or not rest:
        return chosen
    share = math.ceil(sum(request.topics for request in rest) / turn.refreshes)
    chosen |= _first((request for request in rest if request.topic in changed), share)
    rest.sort(key=lambda request: (read_ms[request.key], request.path))
    return chosen | _first(rest, share)


def _first(requests: Iterable[StatisticsRequest], share: int) -> set[Key]:
    """The first ones that are about so many topics."""
    chosen: set[Key] = set()
    for request in requests:
        if share <= 0:
            break
        share -= request.topics
        chosen.add(request.key)
    return chosen


def oldest_groups(groups: Mapping[Key, str], read_ms: Mapping[Key, int], refreshes: int) -> set[Key]:
    """Of requests that are asked together in groups, the oldest groups that make up a share of all."""
    ages: dict[str, int] = {}
    members: dict[str, list[Key]] = {}
    for key, group in groups.items():
        ages[group] = min(ages.get(group, read_ms.get(key, 0)), read_ms.get(key, 0))
        members.setdefault(group, []).append(key)
    share = math.ceil(len(groups) / refreshes)
    chosen: set[Key] = set()
    for group in sorted(ages, key=lambda group: (ages[group], group)):
        if len(chosen) >= share:
            break
        chosen.update(members[group])
    return chosen
