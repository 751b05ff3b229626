"""Priority levels, which no broker answer shows: the smallest ones that explain what it does show.

Everything here is **inferred**: other levels, even all different ones, can look the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from engine.config import ReleaseBehaviour
from engine.failover.bulk_lists import ConsumerList
from engine.failover.choose import Rule, rule_in_force
from engine.failover.model import Consumer
from engine.failover.ring import failover_ring
from engine.hashing import murmur3_32, utf16_order

Basis = Literal["order", "order and actives", "no broker's order", "contradiction"]
MOST_LEVELS: Final = 4
"""An order that needs more levels than this, with nothing else to speak for them, is taken for no broker's."""

MOST_ACTIVES: Final = 64
"""Observed active consumers of one list that are looked at: more of them say the same."""
ObservedActive = tuple[str, int, str]
"""Full name of the topic or partition, its index (-1 for none), name of the active consumer."""


@dataclass(frozen=True, slots=True)
class InferredLevels:
    """Levels in dispatcher order, and what they rest on.

    ``basis``: "order" – the order alone explains every active consumer; "order and actives" – the first cohort had to
    be cut shorter than the order demands; "no broker's order" – the list was not printed by a broker, which sorts it,
    so it is one level; "contradiction" – no levels explain the actives by any rule tried, and the levels are those of
    the order alone. ``rule`` explains the actives; None without actives or with a contradiction.
    """

    levels: tuple[int, ...]
    cohort_size: int
    rule: Rule | None
    basis: Basis


def infer_priority_levels(
    names: Sequence[str],
    actives: Mapping[tuple[str, int], str],
    rules: Sequence[Rule] = (Rule.MODULO, Rule.RING),
) -> InferredLevels:
    """The smallest levels that fit the order of ``names`` and the observed active consumers.

    ``names`` are the consumers of one subscription in dispatcher order, which is sorted by level, then by name: where a
    name is smaller (by UTF-16 unit) than the one before, a new level begins. ``actives``: (full topic name, partition
    index) -> name of its active consumer. Of several fitting answers the one with the largest first cohort counts, then
    the first rule. O(n × rules × topics).

    A list made by a program or by hand is sorted otherwise: it counts up (``app-9`` before ``app-10``) or goes up and
    down all the time. Where no active consumer speaks against it, such a list is one level.

    Two partitions, both with active ``a``, contradict modulo over two consumers; so ``b`` must be a level behind:

    >>> seen = {("persistent://t/n/x-partition-0", 0): "a", ("persistent://t/n/x-partition-1", 1): "a"}
    >>> infer_priority_levels(["a", "b"], seen, [Rule.MODULO]).levels
    (0, 1)
    """
    levels = _levels_of_order(names)
    first = sum(level == 0 for level in levels)
    if not actives or not names:
        if _no_brokers_order(names, levels):
            return InferredLevels((0,) * len(names), len(names), None, "no broker's order")
        return InferredLevels(levels, first, None, "order")
    for size in range(first, 0, -1):
        for rule in rules:
            if _explains(rule, names[:size], actives):
                if size == first:
                    return InferredLevels(levels, first, rule, "order")
                # Cutting the first cohort pushes all that follow one level back.
                cut = (*levels[:size], *(level + 1 for level in levels[size:]))
                return InferredLevels(cut, size, rule, "order and actives")
    for rule in rules if first < len(names) else ():
        if rule is not Rule.FIRST_CONNECTED and _explains(rule, sorted(names, key=utf16_order), actives):
            return InferredLevels((0,) * len(names), len(names), rule, "no broker's order")
    return InferredLevels(levels, first, None, "contradiction")


def _no_brokers_order(names: Sequence[str], levels: Sequence[int]) -> bool:
    """Whether a list is not sorted by a few levels, then by name, as brokers do.

    >>> _no_brokers_order(["a-9", "a-10"], (0, 1)), _no_brokers_order(["b-1", "a-1"], (0, 1))
    (True, False)
    """
    if not any(levels):
        return False
    if levels[-1] >= MOST_LEVELS:
        return True
    counted = [_counted(name) for name in names]
    return all(before <= after for before, after in pairwise(counted))


def _counted(name: str) -> list[tuple[bytes, int]]:
    """A name with its numbers as numbers: texts and numbers in turn, texts as brokers compare them."""
    parts = re.split(r"([0-9]+)", name)
    return [(utf16_order(text), int(number or 0)) for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True)]


def _levels_of_order(names: Sequence[str]) -> tuple[int, ...]:
    levels = [0] if names else []
    for before, after in pairwise(names):
        levels.append(levels[-1] + (utf16_order(after) < utf16_order(before)))
    return tuple(levels)


def _explains(rule: Rule, cohort: Sequence[str], actives: Mapping[tuple[str, int], str]) -> bool:
    if rule is Rule.FIRST_CONNECTED:
        return all(active == cohort[0] for active in actives.values())
    if rule is Rule.MODULO:
        return all(cohort[index % len(cohort)] == active for (_, index), active in actives.items() if index >= 0)
    ring = failover_ring(tuple(cohort))
    return all(cohort[ring.owner_index(murmur3_32(topic))] == active for (topic, _), active in actives.items())


def as_consumers(names: Sequence[str], levels: Sequence[int]) -> tuple[Consumer, ...]:
    """Consumers with their place in the list as id."""
    return tuple(Consumer(place, name, levels[place]) for place, name in enumerate(names))


def list_of(names: Sequence[str]) -> ConsumerList:
    """A list as statistics show it, with the smallest levels that explain its order.

    >>> list_of(["b", "a"]).levels
    (0, 1)
    """
    return ConsumerList(tuple(names), infer_priority_levels(names, {}).levels)


def levels_of(
    names: Sequence[str], observed: Sequence[ObservedActive], *, consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> tuple[int, ...]:
    """The priority level of each consumer of a list in the dispatcher's order: the smallest that explain ``observed``.

    Partitions say more than topics without; of those the order alone counts before 3.0, whose rule knows no levels.

    >>> from engine.config import CURRENT
    >>> seen = [("persistent://t/n/x-partition-0", 0, "a"), ("persistent://t/n/x-partition-1", 1, "a")]
    >>> levels_of(["a", "b"], seen, consistent_hashing=False, behaviour=CURRENT)
    (0, 1)
    """
    for index in (0, -1):
        rule = rule_in_force(index, consistent_hashing=consistent_hashing, behaviour=behaviour)
        actives = {(topic, at): active for topic, at, active in observed if (at >= 0) is (index >= 0)}
        if actives and rule is not Rule.FIRST_CONNECTED:
            return infer_priority_levels(names, actives, [rule]).levels
    return infer_priority_levels(names, {}).levels
