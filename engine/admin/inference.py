"""Infer what broker answers do not show: priority levels, the rule of Failover, and the release.

Priority levels are the smallest that explain the reported order and active consumers; other levels can look the same.
Load reports name the release, dynamic configuration the flag. Where neither was saved, the reported active consumers
decide between the candidates.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise, product
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from engine.config import ReleaseBehaviour, behaviour_of
from engine.failover.bulk import ConsumerList
from engine.failover.choose import Rule, rule_in_force
from engine.failover.ring import failover_ring
from engine.hashing import murmur3_32, utf16_order
from engine.text import natural_key

if TYPE_CHECKING:  # imported where no answer names the release
    from engine.admin.inferred_release import InferredRelease

LevelBasis = Literal["order", "order and actives", "no broker's order", "contradiction"]
MOST_LEVELS: Final = 4
"""An order that needs more levels than this, without other evidence, was not made by a broker."""
MOST_ACTIVES: Final = 64
"""Observed active consumers of one list that are examined; more would not change the result."""
ObservedActive = tuple[str, int, str]
"""Full name of the topic or partition, its index (-1 for none), name of the active consumer."""


class InferredLevels(Struct, frozen=True):
    """Levels in dispatcher order, and the evidence for them.

    ``basis``: "order" – the order alone explains every active consumer; "order and actives" – the first cohort had to
    be cut shorter than the order demands; "no broker's order" – the list was not printed by a broker, which sorts it,
    so it is one level; "contradiction" – no levels explain the actives by any rule tried, and the levels are those of
    the order alone. ``rule`` explains the actives; None without actives or with a contradiction.
    """

    levels: tuple[int, ...]
    cohort_size: int
    rule: Rule | None
    basis: LevelBasis


def infer_priority_levels(
    names: Sequence[str],
    actives: Mapping[tuple[str, int], str],
    rules: Sequence[Rule] = (Rule.MODULO, Rule.RING),
) -> InferredLevels:
    """Return the smallest levels that fit the order of ``names`` and the observed active consumers.

    ``names`` are the consumers of one subscription in dispatcher order, which is sorted by level, then by name: where a
    name is smaller (by UTF-16 unit) than the one before, a new level begins. ``actives``: (full topic name, partition
    index) -> name of its active consumer. Of several fitting answers the one with the largest first cohort counts, then
    the first rule. O(n × rules × topics).

    A list written by a program or by hand is sorted otherwise: it counts up (``app-9`` before ``app-10``) or changes
    direction all the time. Unless an active consumer contradicts it, such a list is one level.

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
    """Split a name into texts and numbers in turn, the texts as sort keys of brokers."""
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


def list_of(names: Sequence[str]) -> ConsumerList:
    """Return a list as statistics show it, with the smallest levels that explain its order.

    >>> list_of(["b", "a"]).levels
    (0, 1)
    """
    return ConsumerList(tuple(names), infer_priority_levels(names, {}).levels)


def levels_of(
    names: Sequence[str], observed: Sequence[ObservedActive], *, consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> tuple[int, ...]:
    """Return the priority levels of a list in the dispatcher's order: the smallest that explain ``observed``.

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


MOST_OBSERVED: Final = 200
"""Consumer lists that are examined to infer a rule; more would not change the result."""


class Basis(Enum):
    """How a rule is known."""

    GIVEN = "given"
    REPORTED = "reported"
    INFERRED = "inferred"
    ASSUMED = "assumed"


class ObservedActives(Struct, frozen=True):
    """One list of consumers in the dispatcher's order, and the active consumer of some of its topics.

    ``actives``: (full topic name, partition index, -1 for none) -> name of the active consumer.
    """

    names: tuple[str, ...]
    actives: Mapping[tuple[str, int], str]


class RulesInForce(Struct, frozen=True):
    """The release and the Failover rule of the brokers behind some answers, and how each is known."""

    behaviour: ReleaseBehaviour
    release_basis: Basis
    consistent_hashing: bool
    flag_basis: Basis


def rules_in_force(
    observed: Iterable[ObservedActives],
    releases: Collection[str] = (),
    flags: Collection[bool] = (),
    *,
    given_release: ReleaseBehaviour | None = None,
    given_flag: bool | None = None,
    inferred: InferredRelease | None = None,
) -> RulesInForce:
    """Infer the release and the flag of one set of brokers.

    ``releases`` and ``flags`` are the reported values, with repetitions; brokers in the middle of an upgrade report
    several, and the pair that explains most of the observed active consumers is taken. Given values win over reported
    ones, and these over inferred ones; the default is the newest release with the flag off. ``inferred`` is what the
    shapes of the answers show: the newest of its releases with each form of the rule is a candidate.
    O(candidates x consumer lists x topics), of at most ``MOST_OBSERVED`` lists.

    Modulo over two consumers gives partition 0 to ``a`` and 1 to ``b``; the ring does not:

    >>> seen = ObservedActives(("a", "b"), {(f"persistent://t/n/x-partition-{n}", n): "ab"[n % 2] for n in range(8)})
    >>> rules = rules_in_force([seen])
    >>> rules.consistent_hashing, rules.flag_basis.value, rules.release_basis.value
    (False, 'inferred', 'assumed')
    """
    known = _known(releases)
    behaviours: Sequence[ReleaseBehaviour]
    behaviours = [given_release] if given_release is not None else known or failover_forms(inferred)
    choices = [given_flag] if given_flag is not None else sorted(set(flags)) or [False, True]
    evidence = list(observed)[:MOST_OBSERVED]
    candidates = [
        (behaviour, flag)
        for behaviour, flag in product(behaviours, choices)
        # A release that does not know the flag ignores it, so it behaves the same with the flag on.
        if len(choices) == 1 or not flag or behaviour.knows_failover_consistent_hashing
    ]
    scores = [_score(evidence, behaviour, flag) for behaviour, flag in candidates] if len(candidates) > 1 else [(0, 0)]
    best = scores.index(max(scores))
    behaviour, flag = candidates[best]
    return RulesInForce(
        behaviour,
        _basis(given_release is not None, bool(known), inferred is not None or _decided(candidates, scores, 0)),
        flag and behaviour.knows_failover_consistent_hashing,
        _basis(given_flag is not None, bool(flags), _decided(candidates, scores, 1)),
    )


def keeps_first_connected(behaviour: ReleaseBehaviour) -> bool:
    """Whether topics without partitions keep their first consumer, as before 3.0."""
    return behaviour.nonpartitioned_failover == "first-connected"


def failover_forms(inferred: InferredRelease | None) -> tuple[ReleaseBehaviour, ...]:
    """The newest release, then the newest of each older form of the rule, of those that can have printed the answers.

    >>> [behaviour.label for behaviour in failover_forms(None)]
    ['5.0.1', '4.0.0', '2.11']
    """
    from engine.admin.inferred_release import NOTHING_INFERRED

    inferred = inferred or NOTHING_INFERRED
    older = (
        inferred.newest_with(lambda rules: not rules.knows_failover_consistent_hashing),
        inferred.newest_with(keeps_first_connected),
    )
    return tuple(dict.fromkeys((inferred.behaviour, *(behaviour for behaviour in older if behaviour is not None))))


def _known(releases: Collection[str]) -> list[ReleaseBehaviour]:
    """Return the behaviours of releases, the newest first; unknown versions are left out."""
    behaviours = (behaviour_of(version) for version in sorted(set(releases), key=natural_key, reverse=True))
    return [behaviour for behaviour in behaviours if isinstance(behaviour, ReleaseBehaviour)]


def _score(evidence: Iterable[ObservedActives], behaviour: ReleaseBehaviour, flag: bool) -> tuple[int, int]:
    """Count the explained active consumers, and those of them that need no invented priority level."""
    counts = [_explained(actives, behaviour, flag) for actives in evidence]
    return sum(count for count, _ in counts), sum(plain for _, plain in counts)


def _explained(observed: ObservedActives, behaviour: ReleaseBehaviour, flag: bool) -> tuple[int, int]:
    total = plain = 0
    for partitioned in (True, False):
        actives = {key: active for key, active in observed.actives.items() if (key[1] >= 0) is partitioned}
        if not actives:
            continue
        rule = rule_in_force(0 if partitioned else -1, consistent_hashing=flag, behaviour=behaviour)
        levels = infer_priority_levels(observed.names, actives, [rule])
        if levels.rule is not None:
            total += len(actives)
            plain += len(actives) if levels.basis == "order" else 0
    return total, plain


def _decided(candidates: Sequence[tuple[object, object]], scores: Sequence[tuple[int, int]], part: int) -> bool:
    """Whether the evidence contradicts the default (the first candidate), or confirms it against all others."""
    values = [candidate[part] for candidate in candidates]
    best = [value for value, score in zip(values, scores, strict=True) if score == max(scores)]
    if values[0] not in best:
        return True
    return all(value == values[0] for value in best) and any(value != values[0] for value in values)


def _basis(given: bool, reported: bool, inferred: bool) -> Basis:
    if given:
        return Basis.GIVEN
    if reported:
        return Basis.REPORTED
    return Basis.INFERRED if inferred else Basis.ASSUMED
