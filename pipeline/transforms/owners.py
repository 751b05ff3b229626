"""Active consumers of partitions: the engine's bulk rules over Arrow batches, and the rows of ``assignments``.

A task adds up what the places in the lists have, so that no row of ``assignments`` is read again. The work runs inside
a data source (``pipeline.sink``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.config import ReleaseBehaviour
from engine.failover.bulk import ConsumerList, Slots
from engine.failover.bulk_policies import Partitions, Places, Policy, UnitRules, change_of, unit_rules
from engine.failover.choose import rule_in_force
from engine.views.fleet.tables import ASSIGNMENTS, declared
from pipeline.batches import by_part, byte_column, in_chunks
from pipeline.runs import Parts
from pipeline.storage import Place, for_arrow
from pipeline.transforms.subscriptions import UNIT
from pipeline.transforms.units import consumer_lists

HELD: Final = declared(
    "held", "Exists only during a run of assign: partitions of one unit that were and are at the same places.", """
    number bigint Of the unit.
    position_before int
    flag_off_position int?
    flag_off_moved boolean?
    flag_on_position int?
    flag_on_moved boolean?
    topic string The first by name.
    partitions
    msg_rate_out double In whole millionths: so the sum does not depend on the order.
    msg_throughput_out double
    """,
)  # fmt: skip
_PLACES: Final = HELD.names[:-4]
_RATES: Final = ("msg_rate_out", "msg_throughput_out")
_RULES: Final = ["modulo", "ring", "first-connected"]
_KEPT: Final = ("topic", "partition_index", "reported_active_consumer", *_RATES)
MILLION: Final = 1e6
MOST_PER_SEC: Final = 1e12
"""A rate beyond it is ignored, since no broker has it."""


class OwnedAccount(msgspec.Struct):
    """Of each cluster, how many active consumers its brokers reported, and how many of them agree."""

    reported: dict[str, int] = {}
    agreeing: dict[str, int] = {}


@dataclass(frozen=True)
class OwnersByRule:
    """Pulsar's rules on rows of ``topics_with_unit``; ``rules`` are the release and the flag of each cluster,
    ``units`` the parts of the table of units."""

    policies: Sequence[Policy]
    rules: Mapping[str, tuple[ReleaseBehaviour, bool]]
    changed: bool
    units: Sequence[Place]
    most_consumers: int = 100_000
    """About so many consumers of units are kept at a time, with their rings: 120 MB, twice with a change."""

    def __call__(self, batches: Iterator[Any], parts: Parts) -> OwnedAccount:
        account = OwnedAccount()
        for chunk in in_chunks(batches):
            numbers, unit = np.unique(chunk["number"].to_numpy(), return_inverse=True)
            units = self._units(numbers)
            piece = np.cumsum(pc.list_value_length(units["names"]).to_numpy()) // self.most_consumers
            for number, rows in by_part(chunk.append_column("unit", pa.array(unit)), piece[unit]):
                first, end = np.searchsorted(piece, (number, number + 1))
                some = units.slice(first, end - first).combine_chunks()
                self._write(rows, some, rows["unit"].to_numpy() - first, parts, account)
        return account

    def _units(self, numbers: Places) -> Any:
        """The units with these numbers, ascending."""
        chosen = [("number", "in", numbers)]
        tables = [pq.read_table(for_arrow(part), filters=chosen) for part in self.units]
        return pa.concat_tables(tables).sort_by("number").combine_chunks()

    def _write(self, rows: Any, units: Any, unit: Places, parts: Parts, account: OwnedAccount) -> None:
        """Write the rows of ``assignments`` of some units, and their sums."""
        before = consumer_lists(units, "names", "levels")
        after = consumer_lists(units, "new_names", "new_levels") if self.changed else None
        rules = unit_rules([self.rules[cluster] for cluster in units["cluster"].to_pylist()])
        change = change_of(before, after, rules)
        partitions = partitions_of(rows, unit)
        now = change.now(partitions)
        columns = {name: units[name].combine_chunks().dictionary_encode().take(pa.array(unit)) for name in UNIT[:3]}
        columns |= {name: units[name].take(pa.array(unit)) for name in ("number", "consumer_set")}
        columns["active_before"] = _texts(before, change.old_slots.of(unit, now.before_place))
        columns["position_before"] = _position(change.new_slots, unit, now.before)
        for policy in Policy:
            name = policy.value
            if policy not in self.policies:
                for column in (name, *(f"{name}_{what}" for what in ("position", "rule", "moved"))):
                    columns[column] = pa.nulls(len(unit), ASSIGNMENTS.arrow.field(column).type)
                continue
            choice = change.under(policy, partitions, now)
            columns[name] = _texts(after or before, choice.after)
            columns[f"{name}_position"] = _position(change.new_slots, unit, choice.after)
            columns[f"{name}_rule"] = pa.DictionaryArray.from_arrays(_rule(policy, partitions, rules), pa.array(_RULES))
            columns[f"{name}_moved"] = pa.array(choice.after != choice.before)
        columns |= {name: rows[name] for name in _KEPT}
        parts.write(ASSIGNMENTS, pa.table({name: columns[name] for name in ASSIGNMENTS.names}))
        parts.write(HELD, _sums(columns))
        shown = pc.is_valid(columns["reported_active_consumer"])
        agreeing = pc.equal(columns["reported_active_consumer"], columns["active_before"].cast(pa.string()))
        for counts, counted in ((account.reported, shown), (account.agreeing, agreeing.fill_null(False))):
            for cluster in pc.value_counts(columns["cluster"].filter(counted)).to_pylist():
                counts[cluster["values"]] = counts.get(cluster["values"], 0) + cluster["counts"]


def _sums(columns: Mapping[str, Any]) -> Any:
    """Rows of ``HELD``."""
    numbers = {name: columns[name].to_numpy() for name in _RATES}
    rates = {name: np.where(np.abs(rate) < MOST_PER_SEC, np.rint(rate * MILLION), 0) for name, rate in numbers.items()}
    rows = pa.table({name: columns[name] for name in (*_PLACES, "topic")} | rates)
    sums = rows.group_by([*_PLACES]).aggregate(
        [("topic", "min"), ([], "count_all"), *((name, "sum") for name in _RATES)]
    )
    return sums.rename_columns(HELD.names).cast(HELD.arrow)


def partitions_of(rows: Any, unit: Places) -> Partitions:
    """Rows of topics in the form that the engine's rules take."""
    index = rows["partition_index"].to_numpy().astype(np.int64)
    return Partitions(unit, murmur3_bulk(byte_column(rows["topic"])), index)


def _texts(lists: Sequence[ConsumerList], slots: Places) -> Any:
    """(n,) the names of consumers by slot; the last slot of each list has none."""
    names = pa.array([name for consumers in lists for name in (*consumers.names, None)], pa.string())
    return names.dictionary_encode().take(pa.array(slots))


def _position(slots: Slots, unit: Places, slot: Places) -> Any:
    """(n,) the place of each slot in the list of its unit, -1 for nobody."""
    return pa.array(np.where(slot == slots.nobody[unit], -1, slot - slots.start[unit]).astype(np.int32))


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
    places: NDArray[np.int32] = of_release[rules.release[partitions.unit], (partitions.index >= 0).astype(np.int64)]
    return places
