"""Active consumers of partitions: the engine's bulk rules over Arrow batches, and the rows of ``assignments``.

Both kinds of work run inside a data source (``pipeline.sink``). Pulsar's own rules need one row at a time, so rows may
come in any order and a subscription may be spread over all tasks. The policy with the fewest moves needs each unit in
one task, in the order of topic names; it works on counts, so no task holds a whole subscription.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk import ConsumerList, Key, Slots
from engine.failover.bulk_policies import (
    WHAT_IF_RULE,
    Change,
    Choice,
    FewestMoves,
    Partitions,
    Places,
    Policy,
    UnitRules,
    change_of,
)
from engine.failover.choose import rule_in_force
from pipeline.batches import byte_column, in_chunks, runs, same_text
from pipeline.schemas import ASSIGNMENTS
from pipeline.sink import Parts

SUMMED: Final = ("partitions", "moved", "msg_rate_out", "msg_throughput_out")
"""The sums of every slot under a policy."""
NOW: Final = "now"
"""The name, among those of the policies, of the partitions of every slot under the rule in force."""
_UNITS_AT_HAND: Final = 10_000
"""The most units whose rings a task keeps: 240 MB with 20 consumers per unit."""
_RULES: Final = ("modulo", "ring", "first-connected", WHAT_IF_RULE)


class Sums(msgspec.Struct):
    """Sums by slot, for slots that occur: ``slots`` is (slots,) int64, ``values`` (kinds, slots) float64."""

    slots: bytes
    values: bytes

    def arrays(self) -> tuple[Places, NDArray[np.float64]]:
        slots = np.frombuffer(self.slots, dtype=np.int64)
        return slots, np.frombuffer(self.values).reshape(-1, len(slots)) if len(slots) else np.zeros((1, 0))


class OwnerAccount(msgspec.Struct):
    """What one task wrote and counted; ``reported`` and ``agreeing``: reported active consumers by unit."""

    rows: int = 0
    sums: dict[str, Sums] = {}
    reported: dict[int, int] = {}
    agreeing: dict[int, int] = {}


@dataclass(frozen=True)
class FleetLists:
    """Every unit with its consumers before and after the change (None: nothing changes), and its rules.

    Pickled into tasks without rings: a task builds the rings of its own units.
    """

    keys: Sequence[Key]
    before: Sequence[ConsumerList]
    after: Sequence[ConsumerList] | None
    rules: UnitRules
    slots: Slots

    def change(self, units: Places) -> Change:
        numbers = units.tolist()
        after = None if self.after is None else [self.after[unit] for unit in numbers]
        return change_of([self.before[unit] for unit in numbers], after, self.rules.take(units))


@dataclass
class _AtHand:
    """The latest units of a task, with everything that is prepared for them."""

    fleet: FleetLists
    units: Places

    def __post_init__(self) -> None:
        self.change = self.fleet.change(self.units)
        keys = [self.fleet.keys[unit] for unit in self.units.tolist()]
        self.namespaces, self.subscriptions = (_Words([key[place] for key in keys]) for place in (0, 1))
        same = self.change.old is self.change.new
        self.old_names = _slot_names(self.change.old.lists)
        self.new_names = self.old_names if same else _slot_names(self.change.new.lists)
        # Slots are numbered within the units at hand; sums use the numbers of the fleet.
        local, whole = self.change.new_slots.start, self.fleet.slots.start[self.units]
        self.fleet_slots = np.arange(local[-1]) + np.repeat(whole - local[:-1], np.diff(local))

    def covers(self, units: Places) -> bool:
        return bool(np.isin(units, self.units, assume_unique=True).all())

    def local(self, unit: Places) -> Places:
        return np.searchsorted(self.units, unit)


class _Task:
    """What both kinds of work share: units at hand, sums, rows."""

    def __init__(self, fleet: FleetLists, parts: Parts) -> None:
        self.parts, self.account = parts, OwnerAccount()
        self._at_hand = _AtHand(fleet, np.zeros(0, dtype=np.int64))
        self._sums: dict[str, list[tuple[Places, NDArray[np.float64]]]] = {}

    def at_hand(self, unit: Places) -> _AtHand:
        units = np.unique(unit)
        if not self._at_hand.covers(units):
            known = np.union1d(self._at_hand.units, units)
            self._at_hand = _AtHand(self._at_hand.fleet, known if len(known) <= _UNITS_AT_HAND else units)
        return self._at_hand

    def add(self, name: str, here: _AtHand, sums: NDArray[np.float64]) -> None:
        occurring = np.flatnonzero(sums.any(axis=0))
        held = self._sums.setdefault(name, [])
        held.append((here.fleet_slots[occurring], sums[:, occurring]))
        if len(held) > 32:
            self._sums[name] = [_merged(held)]

    def write(self, here: _AtHand, rows: Any, partitions: Partitions, policy: Policy, choice: Choice) -> None:
        """Write the rows of one policy, and add their sums."""
        count, size = len(partitions.unit), int(here.change.new_slots.start[-1])
        sums = np.zeros((len(SUMMED), size))
        moved = choice.after != choice.before
        sums[0] = np.bincount(choice.after, minlength=size)
        sums[1] = np.bincount(choice.after[moved], minlength=size)
        for place in (2, 3):
            sums[place] = np.bincount(choice.after, weights=rows[SUMMED[place]].to_numpy(), minlength=size)
        self.add(policy.value, here, sums)
        unit = partitions.unit
        before = here.change.old_slots.of(unit, choice.before_place)
        columns = {
            "subscription": here.subscriptions.of(unit),
            "namespace": here.namespaces.of(unit),
            "policy": same_text(policy.value, count),
            "rule": pa.DictionaryArray.from_arrays(_rule(policy, partitions, here.fleet.rules, here), pa.array(_RULES)),
            "what_if": pa.repeat(policy.what_if, count),
            "active_consumer": here.new_names.of(choice.after),
            "active_before": here.old_names.of(before),
            "moved": pa.array(moved),
        }
        arrays = [columns[name] if name in columns else rows[name] for name in ASSIGNMENTS.names]
        self.parts.write(ASSIGNMENTS, pa.Table.from_arrays(arrays, names=list(ASSIGNMENTS.names)), policy.value)
        self.account.rows += count

    def closed(self) -> OwnerAccount:
        for name, held in self._sums.items():
            slots, values = _merged(held)
            self.account.sums[name] = Sums(slots.tobytes(), values.tobytes())
        return self.account


@dataclass(frozen=True)
class OwnersByRule:
    """The work of Pulsar's own policies; also counts partitions as they are now, and reported active consumers."""

    fleet: FleetLists
    policies: Sequence[Policy]

    def __call__(self, batches: Iterator[Any], parts: Parts) -> OwnerAccount:
        task = _Task(self.fleet, parts)
        for chunk in in_chunks(batches):
            # Sorted by unit, that is by namespace and subscription, so that a reader of one of them can seek.
            units = chunk["unit"].to_numpy().astype(np.int64)
            order = np.argsort(units, kind="stable")
            rows, units = chunk.take(pa.array(order)).combine_chunks(), units[order]
            here = task.at_hand(units)
            partitions = partitions_of(rows, here.local(units))
            now = here.change.now(partitions)
            size = int(here.change.new_slots.start[-1])
            task.add(NOW, here, np.bincount(now.before, minlength=size)[None, :].astype(np.float64))
            self._compare(task.account, here, rows, units, now)
            for policy in self.policies:
                task.write(here, rows, partitions, policy, here.change.under(policy, partitions, now))
        return task.closed()

    def _compare(self, account: OwnerAccount, here: _AtHand, rows: Any, units: Places, now: Choice) -> None:
        reported = rows["told_active_consumer"]
        if reported.null_count == len(reported):
            return
        ours = here.old_names.of(here.change.old_slots.of(here.local(units), now.before_place)).cast(pa.string())
        known = np.asarray(pc.is_valid(reported), dtype=bool)
        agrees = np.asarray(pc.fill_null(pc.equal(reported, ours), False), dtype=bool)
        for counted, mask in ((account.reported, known), (account.agreeing, known & agrees)):
            for unit, count in zip(
                *(values.tolist() for values in np.unique(units[mask], return_counts=True)), strict=True
            ):
                counted[unit] = counted.get(unit, 0) + count


@dataclass(frozen=True)
class FewestMovesOfUnits:
    """The work of the policy with the fewest moves; ``now``: (slots,) partitions of each slot of the fleet now."""

    fleet: FleetLists
    now: Places

    def __call__(self, batches: Iterator[Any], parts: Parts) -> OwnerAccount:
        task = _Task(self.fleet, parts)
        # The last unit may continue in the next chunk.
        last: tuple[int, FewestMoves] | None = None
        for rows in in_chunks(batches):
            units = rows["unit"].to_numpy().astype(np.int64)
            here = task.at_hand(units)
            local = here.local(units)
            partitions = partitions_of(rows, local)
            now = here.change.now(partitions)
            after = np.empty(len(units), dtype=np.int64)
            for begin, end in runs(units):
                unit, number = int(units[begin]), int(local[begin])
                moves = last[1] if last is not None and last[0] == unit else self._moves(here, unit, number)
                last = unit, moves
                member = moves.place(here.change.kept_members(number, now.before[begin:end]))
                members = np.append(here.change.new.members(number), -1)
                after[begin:end] = here.change.new_slots.of(local[begin:end], members[member])
            choice = Choice(now.before_place, now.before, after)
            task.write(here, rows, partitions, Policy.FEWEST_MOVES, choice)
        return task.closed()

    def _moves(self, here: _AtHand, unit: int, number: int) -> FewestMoves:
        held = self.now[self.fleet.slots.start[unit] : self.fleet.slots.start[unit + 1]]
        return FewestMoves(held[here.change.new.members(number)], int(held.sum()))


def partitions_of(rows: Any, unit: Places) -> Partitions:
    """Numbered rows in the form that the engine's rules take."""
    index = rows["partition_index"].to_numpy().astype(np.int64)
    return Partitions(unit, murmur3_bulk(byte_column(rows["topic"])), index)


def _merged(held: Sequence[tuple[Places, NDArray[np.float64]]]) -> tuple[Places, NDArray[np.float64]]:
    slots, place = np.unique(np.concatenate([places for places, _ in held]), return_inverse=True)
    values = np.concatenate([sums for _, sums in held], axis=1)
    return slots, np.array([np.bincount(place, weights=row, minlength=len(slots)) for row in values])


def _rule(policy: Policy, partitions: Partitions, rules: UnitRules, here: _AtHand) -> NDArray[np.int32]:
    """(n,) the index in ``_RULES`` of the rule of each partition."""
    if policy.what_if:
        return np.full(len(partitions.unit), _RULES.index(WHAT_IF_RULE), dtype=np.int32)
    on = policy is Policy.FLAG_ON
    # (releases, 2): the rule of a topic without partitions, and of a partition.
    of_release = np.array(
        [
            [_RULES.index(rule_in_force(place, consistent_hashing=on, behaviour=release).value) for place in (-1, 0)]
            for release in rules.releases
        ],
        dtype=np.int32,
    )
    release = rules.release[here.units][partitions.unit]
    places: NDArray[np.int32] = of_release[release, (partitions.index >= 0).astype(np.int64)]
    return places


def _slot_names(lists: Sequence[ConsumerList]) -> _Words:
    """The name of each slot; the slot without an owner has none."""
    return _Words([name for consumers in lists for name in (*consumers.names, None)])


@dataclass
class _Words:
    """Texts by number, as Arrow dictionaries, which must not repeat a text and should have no unused one."""

    texts: Sequence[str | None]
    _number: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        numbers: dict[str, int] = {}
        numbers_of = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in self.texts]
        self._number = np.array(numbers_of, dtype=np.int32)
        self._distinct = pa.array(list(numbers), pa.string())

    def of(self, places: Places) -> Any:
        """(n,) the texts at these places, as a dictionary array. O(n + texts)."""
        numbers = self._number[places]
        empty = numbers < 0
        used = np.zeros(len(self._distinct) + 1, dtype=bool)
        used[numbers] = True
        used[-1] = False
        codes = (np.cumsum(used) - 1).astype(np.int32)[numbers]
        indices = pa.array(codes, mask=empty) if empty.any() else pa.array(codes)
        return pa.DictionaryArray.from_arrays(indices, self._distinct.take(pa.array(np.flatnonzero(used))))
