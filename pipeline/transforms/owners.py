"""Active consumers of partitions: the engine's bulk rules over Arrow batches, and the rows of ``assignments``.

Rows come by unit, first the one that has its lists (``subscriptions.topics_by_unit``), so a task holds the rings of
some units only. The work runs inside a data source (``pipeline.sink``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from engine.config import ReleaseBehaviour
from engine.failover.bulk import ConsumerList, Slots
from engine.failover.bulk_policies import Partitions, Places, Policy, UnitRules, change_of, unit_rules
from engine.failover.choose import rule_in_force
from pipeline.batches import begins_of, byte_column, in_chunks
from pipeline.runs import Parts
from pipeline.schemas import ASSIGNMENTS
from pipeline.sink import NoAccount
from pipeline.transforms.subscriptions import UNIT
from pipeline.transforms.units import consumer_lists

_RULES: Final = ["modulo", "ring", "first-connected"]
_KEPT: Final = ("topic", "partition_index", "reported_active_consumer", "msg_rate_out", "msg_throughput_out")


@dataclass(frozen=True)
class OwnersByRule:
    """Pulsar's rules on rows of ``topics_by_unit``; ``rules`` are the release and the flag of each cluster."""

    policies: Sequence[Policy]
    rules: Mapping[str, tuple[ReleaseBehaviour, bool]]
    changed: bool
    most_consumers: int = 100_000
    """About so many consumers of units are kept at a time, with their rings: 120 MB, twice with a change."""

    def __call__(self, batches: Iterator[Any], parts: Parts) -> NoAccount:
        unit: Any = None
        for chunk in in_chunks(batches):
            # The topics of the last unit may go on.
            rows = chunk if unit is None else pa.concat_tables([unit, chunk]).combine_chunks()
            heads = np.flatnonzero(pc.equal(rows["topic"], ""))
            for begin, end in self._pieces(rows, heads):
                parts.write(ASSIGNMENTS, self._owned(rows.slice(begin, end - begin)))
            unit = rows.slice(int(heads[-1]), 1)
        return NoAccount()

    def _pieces(self, rows: Any, heads: Places) -> Iterator[tuple[int, int]]:
        """Begin and end of as many units as may be kept."""
        sizes = pc.list_value_length(rows["names"]).to_numpy()[heads]
        yield from pairwise([*heads[begins_of(np.cumsum(sizes) // self.most_consumers)].tolist(), rows.num_rows])

    def _owned(self, piece: Any) -> Any:
        """The rows of ``assignments`` of some units."""
        is_head = np.asarray(pc.equal(piece["topic"], ""), dtype=bool)
        units, rows = piece.filter(pa.array(is_head)), piece.filter(pa.array(~is_head)).select(_KEPT)
        unit = (np.cumsum(is_head) - 1)[~is_head]
        before = consumer_lists(units, "names", "levels")
        after = consumer_lists(units, "new_names", "new_levels") if self.changed else None
        rules = unit_rules([self.rules[cluster] for cluster in units["cluster"].to_pylist()])
        change = change_of(before, after, rules)
        partitions = partitions_of(rows, unit)
        now = change.now(partitions)
        columns = {name: units[name].combine_chunks().dictionary_encode().take(pa.array(unit)) for name in UNIT[:3]}
        columns["consumer_set"] = units["consumer_set"].take(pa.array(unit))
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
        arrays = [columns[name] if name in columns else rows[name] for name in ASSIGNMENTS.names]
        return pa.Table.from_arrays(arrays, names=list(ASSIGNMENTS.names))


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
