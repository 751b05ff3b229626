"""Active consumers of partitions: the engine's bulk rules over Arrow batches, and the rows of ``assignments``.

The work runs inside a data source (``pipeline.sink``). Pulsar's rules need one row at a time, so rows may come in any
order and a subscription may be spread over all tasks. Units are read from ``pipeline.transforms.units``, those at hand
only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk import ConsumerList
from engine.failover.bulk_policies import (
    Choice,
    Partitions,
    Places,
    Policy,
    UnitRules,
)
from engine.failover.choose import rule_in_force
from pipeline.batches import begins_of, byte_column, in_chunks, same_text
from pipeline.runs import Parts
from pipeline.schemas import ASSIGNMENTS
from pipeline.transforms.units import NOW, SUMMED, SUMS, FleetUnits, columns_of_sums

_RULES: Final = ("modulo", "ring", "first-connected")


class OwnerAccount(msgspec.Struct):
    """What one task wrote and counted; ``reported`` and ``agreeing``: reported active consumers by cluster."""

    rows: int = 0
    reported: dict[str, int] = {}
    agreeing: dict[str, int] = {}


@dataclass
class _AtHand:
    """The latest units of a task, with everything that is prepared for them."""

    fleet: FleetUnits
    units: Places

    def __post_init__(self) -> None:
        rows = self.fleet.take(self.units)
        self.change = self.fleet.change(rows)
        self.clusters = np.array(rows["cluster"].to_pylist(), dtype=object)
        self.words = {name: _Words(rows[name].to_pylist()) for name in ("cluster", "namespace", "subscription")}
        same = self.change.old is self.change.new
        self.old_names = _slot_names(self.change.old.lists)
        self.new_names = self.old_names if same else _slot_names(self.change.new.lists)
        # Slots are numbered within the units at hand; sums use the numbers of the fleet.
        local, whole = self.change.new_slots.start, rows["start"].to_numpy()
        self.fleet_slots = np.arange(local[-1]) + np.repeat(whole - local[:-1], np.diff(local))

    def local(self, unit: Places) -> Places:
        return np.searchsorted(self.units, unit)


class _Task:
    """Units at hand, sums, rows."""

    def __init__(self, fleet: FleetUnits, parts: Parts) -> None:
        self.parts, self.account = parts, OwnerAccount()
        self._fleet = fleet
        self._at_hand: _AtHand | None = None
        self._sums: dict[str, list[tuple[Places, NDArray[np.float64]]]] = {}

    def at_hand(self, unit: Places) -> _AtHand:
        units = np.unique(unit)
        known = np.zeros(0, dtype=np.int64) if self._at_hand is None else self._at_hand.units
        recurring = int(np.isin(units, known, assume_unique=True).sum())
        if self._at_hand is None or recurring < len(units):
            # Of sorted rows no unit comes back; of others most do.
            both = np.union1d(known, units) if 2 * recurring > len(units) else units
            few = self._fleet.slots(both).sum() <= self._fleet.most_slots
            self._at_hand = _AtHand(self._fleet, both if few else units)
        return self._at_hand

    def add(self, name: str, here: _AtHand, sums: NDArray[np.float64]) -> None:
        occurring = np.flatnonzero(sums.any(axis=0))
        held = self._sums.setdefault(name, [])
        held.append((here.fleet_slots[occurring], sums[:, occurring]))
        if sum(len(slots) for slots, _ in held) > self._fleet.most_sums:
            self._sums[name] = [_merged(held)]
            if len(self._sums[name][0][0]) > self._fleet.most_sums // 2:
                self._write_sums(name)

    def _write_sums(self, name: str) -> None:
        for columns in columns_of_sums(name, *_merged(self._sums.pop(name))):
            self.parts.write(SUMS, columns)

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
            **{name: words.of(unit) for name, words in here.words.items()},
            "policy": same_text(policy.value, count),
            "rule": pa.DictionaryArray.from_arrays(_rule(policy, partitions, here.change.old.rules), pa.array(_RULES)),
            "active_consumer": here.new_names.of(choice.after),
            "active_before": here.old_names.of(before),
            "moved": pa.array(moved),
        }
        arrays = [columns[name] if name in columns else rows[name] for name in ASSIGNMENTS.names]
        self.parts.write(ASSIGNMENTS, pa.Table.from_arrays(arrays, names=list(ASSIGNMENTS.names)), policy.value)
        self.account.rows += count

    def closed(self) -> OwnerAccount:
        for name in list(self._sums):
            self._write_sums(name)
        return self.account


def _pieces(batches: Iterator[Any], fleet: FleetUnits) -> Iterator[tuple[Any, Places]]:
    """Rows sorted by unit, and the unit of each, of as many units at a time as a task may keep.

    That is by cluster, namespace and subscription, so that a reader of one of them can seek.
    """
    for chunk in in_chunks(batches):
        rows, units = chunk, chunk["unit"].to_numpy().astype(np.int64)
        if (np.diff(units) < 0).any():
            order = np.argsort(units, kind="stable")
            rows, units = chunk.take(pa.array(order)).combine_chunks(), units[order]
        begins = begins_of(units)
        filled = np.cumsum(fleet.slots(units[begins])) // fleet.most_slots
        for begin, end in pairwise([*begins[begins_of(filled)].tolist(), len(units)]):
            yield rows.slice(begin, end - begin), units[begin:end]


@dataclass(frozen=True)
class OwnersByRule:
    """Pulsar's rules on rows; also counts partitions as they are now, and reported active consumers."""

    fleet: FleetUnits
    policies: Sequence[Policy]

    def __call__(self, batches: Iterator[Any], parts: Parts) -> OwnerAccount:
        task = _Task(self.fleet, parts)
        for rows, units in _pieces(batches, self.fleet):
            here = task.at_hand(units)
            partitions = partitions_of(rows, here.local(units))
            now = here.change.now(partitions)
            size = int(here.change.new_slots.start[-1])
            task.add(NOW, here, np.bincount(now.before, minlength=size)[None, :].astype(np.float64))
            self._compare(task.account, here, rows, partitions.unit, now)
            for policy in self.policies:
                task.write(here, rows, partitions, policy, here.change.under(policy, partitions, now))
        return task.closed()

    def _compare(self, account: OwnerAccount, here: _AtHand, rows: Any, local: Places, now: Choice) -> None:
        reported = rows["reported_active_consumer"]
        if reported.null_count == len(reported):
            return
        ours = here.old_names.of(here.change.old_slots.of(local, now.before_place)).cast(pa.string())
        known = np.asarray(pc.is_valid(reported), dtype=bool)
        agrees = np.asarray(pc.fill_null(pc.equal(reported, ours), False), dtype=bool)
        for counted, mask in ((account.reported, known), (account.agreeing, known & agrees)):
            counts = np.bincount(local[mask], minlength=len(here.units))
            for cluster in set(here.clusters.tolist()):
                counted[cluster] = counted.get(cluster, 0) + int(counts[here.clusters == cluster].sum())


def partitions_of(rows: Any, unit: Places) -> Partitions:
    """Numbered rows in the form that the engine's rules take."""
    index = rows["partition_index"].to_numpy().astype(np.int64)
    return Partitions(unit, murmur3_bulk(byte_column(rows["topic"])), index)


def _merged(held: Sequence[tuple[Places, NDArray[np.float64]]]) -> tuple[Places, NDArray[np.float64]]:
    slots, place = np.unique(np.concatenate([places for places, _ in held]), return_inverse=True)
    values = np.concatenate([sums for _, sums in held], axis=1)
    return slots, np.array([np.bincount(place, weights=row, minlength=len(slots)) for row in values])


def _rule(policy: Policy, partitions: Partitions, rules: UnitRules) -> NDArray[np.int32]:
    """(n,) the index in ``_RULES`` of the rule of each partition."""
    on = policy is Policy.FLAG_ON
    # (releases, 2): the rule of a topic without partitions, and of a partition.
    of_release = np.array(
        [
            [_RULES.index(rule_in_force(place, consistent_hashing=on, behaviour=release).value) for place in (-1, 0)]
            for release in rules.releases
        ],
        dtype=np.int32,
    )
    release = rules.release[partitions.unit]
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
