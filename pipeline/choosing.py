"""The active consumer of many partitions under many policies: the engine's bulk rules, and the fewest moves.

Arrays in, arrays out; no Spark, no files. Owners are places in the unit's list (``pipeline.lists``), ``-1`` nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.admin.inference import RulesInForce
from engine.config import ReleaseBehaviour
from engine.failover.bulk import assign
from engine.failover.bulk_ring import Cohorts, Rings, cohorts, rings_of
from pipeline.fewest_moves import fewest_moves
from pipeline.lists import ConsumerList, Slots, carried_over, slots_of
from pipeline.policies import Policy

Places = NDArray[np.int64]


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


def unit_rules(rules: Sequence[RulesInForce]) -> UnitRules:
    """The rules of so many units."""
    labels = {each.behaviour.label: each.behaviour for each in rules}
    number = {label: place for place, label in enumerate(labels)}
    release = np.array([number[each.behaviour.label] for each in rules], dtype=np.int64)
    return UnitRules(tuple(labels.values()), release, np.array([each.consistent_hashing for each in rules], dtype=bool))


@dataclass(frozen=True)
class Choosers:
    """Everything that can be made ready before the partitions come: cohorts and rings of every unit."""

    lists: Sequence[ConsumerList]
    made: Cohorts
    rings: Rings
    rules: UnitRules

    def places(self, policy: Policy, partitions: Partitions, before: Places | None = None) -> Places:
        """The place of each partition's active consumer under one policy.

        ``before`` is for ``fewest_moves``: where each partition is now, as a place in these lists. O(n log points).
        """
        if policy is not Policy.FEWEST_MOVES:
            return self._by_rule(partitions, consistent_hashing=policy is Policy.FLAG_ON)
        assert before is not None, "the fewest moves from where?"
        places = np.full(len(partitions.unit), -1, dtype=np.int64)
        for number, rows in partitions.by_unit():
            places[rows] = self._fewest_moves(number, before[rows])
        return places

    def places_now(self, partitions: Partitions) -> Places:
        """The place of each partition's active consumer under the rule in force for its unit. O(n log points)."""
        policy = self.rules.uniform_policy
        if policy is not None:
            return self.places(policy, partitions)
        off, on = (self.places(each, partitions) for each in (Policy.FLAG_OFF, Policy.FLAG_ON))
        return np.where(self.rules.flag[partitions.unit], on, off)

    def _by_rule(self, partitions: Partitions, *, consistent_hashing: bool) -> Places:
        """Pulsar's own rule with the flag as asked, in the form of each unit's release."""
        release = self.rules.release[partitions.unit]
        places = np.empty(len(release), dtype=np.int64)
        for number, behaviour in enumerate(self.rules.releases):
            rows = release == number
            if rows.any():
                places[rows] = assign(
                    self.made, self.rings, partitions.unit[rows], partitions.hashes[rows], partitions.index[rows],
                    consistent_hashing=consistent_hashing, behaviour=behaviour,
                )  # fmt: skip
        return places

    def _fewest_moves(self, unit: int, before: Places) -> Places:
        members = self.made.members[self.made.start[unit] : self.made.start[unit + 1]].astype(np.int64)
        if not len(members):
            return np.full(len(before), -1, dtype=np.int64)
        rank = np.full(len(self.lists[unit].names), -1, dtype=np.int64)
        rank[members] = np.arange(len(members))
        return members[fewest_moves(np.where(before < 0, -1, rank[before]), len(members))]


@dataclass(frozen=True)
class Partitions:
    """Partitions (or topics), one array each of (n,): the unit, the topic's Murmur3 hash, the partition index (-1)."""

    unit: Places
    hashes: Places
    index: Places

    def by_unit(self) -> Iterator[tuple[int, Places]]:
        """Each unit that occurs and its rows, in their order."""
        order = np.argsort(self.unit, kind="stable")
        sorted_units = self.unit[order]
        starts = np.flatnonzero(np.append(True, sorted_units[1:] != sorted_units[:-1])[: len(order)])
        ends = np.append(starts[1:], len(order))[: len(starts)]
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield int(sorted_units[start]), order[start:end]


def choosers(lists: Sequence[ConsumerList], rules: UnitRules) -> Choosers:
    """Make ready. O(p log p) for p ring points in all."""
    names = [each.names for each in lists]
    made = cohorts(names, [each.levels for each in lists])
    rings = rings_of(made, names)
    return Choosers(lists, made, rings, rules)


@dataclass(frozen=True)
class Choice:
    """Of one policy, slots: ``before``, by the rule in force, and ``after`` are both counted in the lists after the
    change, so that a partition has moved where they differ; ``before_place`` is the place in the list before."""

    before_place: Places
    before: Places
    after_place: Places
    after: Places


@dataclass(frozen=True)
class Change:
    """The lists before and after, with their slots; ``old is new`` where nothing changes."""

    old: Choosers
    new: Choosers
    old_slots: Slots
    new_slots: Slots
    carried: Places

    def all_choices(self, partitions: Partitions, now: Places, policies: Sequence[Policy]) -> dict[Policy, Choice]:
        """Every policy with these lists, and what is now: ``now`` is ``places_now`` of the lists before the change."""
        before = self.old_slots.of(partitions.unit, now)
        same = self.old is self.new
        if not same:
            before = self.carried[before]
        start = before - self.new_slots.start[partitions.unit]
        kept = np.where(before == self.new_slots.nobody[partitions.unit], -1, start)
        found: dict[Policy, Choice] = {}
        for policy in policies:
            if same and policy is self.old.rules.uniform_policy:
                found[policy] = Choice(now, before, now, before)
                continue
            after = self.new.places(policy, partitions, kept)
            found[policy] = Choice(now, before, after, self.new_slots.of(partitions.unit, after))
        return found


def change_of(
    before: Sequence[ConsumerList],
    after: Sequence[ConsumerList] | None,
    rules: Sequence[RulesInForce],
) -> Change:
    """Make a change ready; ``after`` None means that nothing changes, ``rules`` are those of each unit."""
    same = unit_rules(rules)
    old = choosers(before, same)
    new = old if after is None else choosers(after, same)
    carried = carried_over(before, before if after is None else after)
    return Change(old, new, slots_of(before), slots_of(new.lists), carried)
