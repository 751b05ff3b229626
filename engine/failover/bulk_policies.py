"""The active consumers of many partitions under both of Pulsar's rules.

Arrays in, arrays out. Owners are places in the unit's list (``engine.failover.bulk``), ``-1`` nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from engine.config import ReleaseBehaviour
from engine.errors import InputError
from engine.failover.bulk import ConsumerList, Slots, assign, carried_over, slots_of
from engine.failover.bulk_ring import Cohorts, Rings, cohorts, rings_of

Places = NDArray[np.int64]


class Policy(Enum):
    """The policies a fleet is judged under, by the name in its tables.

    ``flag`` is ``activeConsumerFailoverConsistentHashing``.
    """

    FLAG_OFF = "flag_off"
    FLAG_ON = "flag_on"


def policies_of(text: str) -> tuple[Policy, ...]:
    """A comma list of policies, or ``all``. Raises ``InputError`` for another word.

    >>> [policy.value for policy in policies_of("all")]
    ['flag_off', 'flag_on']
    """
    if text.strip() in ("all", "pulsar"):  # as this was written while there was a policy that no Pulsar has
        return tuple(Policy)
    known = {policy.value: policy for policy in Policy}
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if word not in known]
    if wrong or not words:
        raise InputError(f"{(wrong or ['nothing'])[0]} is not a policy; known are {', '.join(known)}, all")
    return tuple(dict.fromkeys(known[word] for word in words))


@dataclass(frozen=True)
class UnitRules:
    """The rules in force for each unit: ``releases`` that occur, (units,) places among them, (units,) flags."""

    releases: tuple[ReleaseBehaviour, ...]
    release: Places
    flag: NDArray[np.bool_]

    @property
    def uniform_policy(self) -> Policy | None:
        """The policy in force where all units have the same, else None."""
        if self.flag.all():
            return Policy.FLAG_ON
        return None if self.flag.any() else Policy.FLAG_OFF


def unit_rules(rules: Sequence[tuple[ReleaseBehaviour, bool]]) -> UnitRules:
    """The release of so many units, and whether consistent hashing is in force for each."""
    labels = {behaviour.label: behaviour for behaviour, _ in rules}
    number = {label: place for place, label in enumerate(labels)}
    release = np.array([number[behaviour.label] for behaviour, _ in rules], dtype=np.int64)
    return UnitRules(tuple(labels.values()), release, np.array([flag for _, flag in rules], dtype=bool))


@dataclass(frozen=True)
class Partitions:
    """Partitions (or topics), one array each of (n,): the unit, the topic's Murmur3 hash, the partition index (-1)."""

    unit: Places
    hashes: Places
    index: Places


@dataclass(frozen=True)
class Choosers:
    """The cohort and the ring of every unit."""

    lists: Sequence[ConsumerList]
    leading: Cohorts
    rings: Rings
    rules: UnitRules

    def places(self, policy: Policy, partitions: Partitions) -> Places:
        """The place of each partition's active consumer by its rule, in the form of each unit's release.

        O(n log points).
        """
        release = self.rules.release[partitions.unit]
        places = np.empty(len(release), dtype=np.int64)
        for number, behaviour in enumerate(self.rules.releases):
            rows = release == number
            if rows.any():
                places[rows] = assign(
                    self.leading, self.rings, partitions.unit[rows], partitions.hashes[rows], partitions.index[rows],
                    consistent_hashing=policy is Policy.FLAG_ON, behaviour=behaviour,
                )  # fmt: skip
        return places

    def places_now(self, partitions: Partitions) -> Places:
        """The place of each partition's active consumer under the rule in force for its unit. O(n log points)."""
        policy = self.rules.uniform_policy
        if policy is not None:
            return self.places(policy, partitions)
        off, on = (self.places(rule, partitions) for rule in Policy)
        return np.where(self.rules.flag[partitions.unit], on, off)


def choosers(lists: Sequence[ConsumerList], rules: UnitRules) -> Choosers:
    """Build cohorts and rings. O(p log p) for p ring points in all."""
    names = [consumers.names for consumers in lists]
    leading = cohorts(names, [consumers.levels for consumers in lists])
    return Choosers(lists, leading, rings_of(leading, names), rules)


@dataclass(frozen=True)
class Choice:
    """Of one policy, slots in the lists after the change: a partition has moved where ``before`` and ``after`` differ.

    ``before`` is by the rule in force; ``before_place`` is the place in the list before the change.
    """

    before_place: Places
    before: Places
    after: Places


@dataclass(frozen=True)
class Change:
    """The lists before and after, with their slots; ``old is new`` where nothing changes."""

    old: Choosers
    new: Choosers
    old_slots: Slots
    new_slots: Slots
    carried: Places

    def now(self, partitions: Partitions) -> Choice:
        """What is now: nothing has moved."""
        place = self.old.places_now(partitions)
        before = self.old_slots.of(partitions.unit, place)
        if self.old is not self.new:
            before = self.carried[before]
        return Choice(place, before, before)

    def under(self, policy: Policy, partitions: Partitions, now: Choice) -> Choice:
        """A policy with the lists after the change."""
        if self.old is self.new and policy is self.old.rules.uniform_policy:
            return now
        after = self.new_slots.of(partitions.unit, self.new.places(policy, partitions))
        return Choice(now.before_place, now.before, after)


def change_of(before: Sequence[ConsumerList], after: Sequence[ConsumerList] | None, rules: UnitRules) -> Change:
    """``after`` None means that nothing changes."""
    old = choosers(before, rules)
    new = old if after is None else choosers(after, rules)
    carried = carried_over(before, before if after is None else after)
    return Change(old, new, slots_of(before), slots_of(new.lists), carried)
