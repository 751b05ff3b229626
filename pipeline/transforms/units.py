"""The units of a run, in files aside: the driver and every task hold only some of them at a time.

Units are numbered in the order of cluster, namespace and subscription. The *slots* of all of them are numbered as
well, with their consumers after the change (``engine.failover.bulk``); tasks write sums by slot, in pieces sorted by
slot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.config import ReleaseBehaviour
from engine.failover.bulk import ConsumerList
from engine.failover.bulk_policies import Change, Places, change_of, unit_rules
from pipeline.batches import same_text
from pipeline.schemas import declared
from pipeline.storage import Place, for_arrow

SUMMED: Final = ("partitions", "moved", "msg_rate_out", "msg_throughput_out")
"""The sums of every slot under a policy."""
NOW: Final = "now"
"""The name, among those of the policies, of the partitions of every slot under the rule in force."""
UNITS_TOGETHER: Final = 1024
"""Units in a row group of these files."""
_SUMS_TOGETHER: Final = 1 << 16

UNITS: Final = declared(
    "units", "The units of a run.", """
    unit bigint
    cluster, namespace, subscription
    consumer_set bigint
    topic
    start bigint
    end bigint
    names array<string>
    levels array<bigint>
    new_names array<string>?
    new_levels array<bigint>?
    """,
)  # fmt: skip
"""``topic``: its first one by name; ``start`` and ``end``: its slots. The new list is empty where nothing changes."""
SUMS: Final = declared("sums", "", "policy, slot\n" + "\n".join(f"{name} double" for name in SUMMED))
"""What one task counted, for slots that occur; each row group is of one policy."""


@dataclass(frozen=True)
class FleetUnits:
    """The file of ``UNITS``, and the release and the flag of each cluster. Pickled into tasks."""

    file: Place
    rules: Mapping[str, tuple[ReleaseBehaviour, bool]]
    most_slots: int = 100_000
    """About so many consumers of units are kept at a time by a task, with their rings: 120 MB, twice with a change."""
    most_sums: int = 1 << 20
    """So many are kept by a task under one policy before it writes some: 40 MB."""

    def take(self, units: Places) -> Any:
        """The rows of some units, which ascend."""
        return rows_of_units(self.file, units)

    def slots(self, units: Places) -> Places:
        """The number of slots of each of some units, which ascend."""
        rows = rows_of_units(self.file, units, ("start", "end"))
        slots: Places = rows["end"].to_numpy() - rows["start"].to_numpy()
        return slots

    def change(self, rows: Any) -> Change:
        """The lists of some rows before and after the change, with their rules; builds their rings."""
        after = None if rows["new_names"].null_count else _lists(rows, "new_names", "new_levels")
        rules = unit_rules([self.rules[cluster] for cluster in rows["cluster"].to_pylist()])
        return change_of(_lists(rows, "names", "levels"), after, rules)


def _lists(rows: Any, names: str, levels: str) -> list[ConsumerList]:
    pairs = zip(rows[names].to_pylist(), rows[levels].to_pylist(), strict=True)
    return [ConsumerList(tuple(listed), tuple(each)) for listed, each in pairs]


def rows_of_units(file: Place, units: Places, columns: Sequence[str] | None = None) -> Any:
    """The rows of some units, which ascend, from a file with a row for every unit; reads row groups that have any."""
    names = None if columns is None else list(columns)
    with pq.ParquetFile(for_arrow(file)) as parquet:
        counts = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
        first = np.cumsum([0, *counts])
        groups = np.searchsorted(first, units, side="right") - 1
        tables = [
            parquet.read_row_group(group, columns=names).take(pa.array(units[groups == group] - first[group]))
            for group in np.unique(groups).tolist()
        ]
    return pa.concat_tables(tables)


def columns_of_sums(policy: str, slots: Places, values: NDArray[np.float64]) -> Iterator[Any]:
    """Rows of ``SUMS`` some at a time; ``slots`` ascend, ``values`` is (sums, slots), or (1, slots) of partitions."""
    for begin in range(0, len(slots), _SUMS_TOGETHER):
        some = slice(begin, begin + _SUMS_TOGETHER)
        count = len(slots[some])
        sums = [values[place, some] if place < len(values) else np.zeros(count) for place in range(len(SUMMED))]
        yield pa.table([same_text(policy, count), slots[some], *sums], names=list(SUMS.names))


class SlotSums:
    """The sums of all tasks, by policy and slot; holds the footers of their parts, some kB for 65,536 sums."""

    def __init__(self, parts: Sequence[Place]) -> None:
        self._footers: dict[Place, Any] = {}
        self._groups: dict[str, list[tuple[int, int, Place, int]]] = defaultdict(list)
        for part in parts:
            footer = self._footers[part] = pq.read_metadata(for_arrow(part))
            for number in range(footer.num_row_groups):
                policy, slots = (footer.row_group(number).column(place).statistics for place in (0, 1))
                self._groups[policy.min].append((slots.min, slots.max, part, number))

    def of(self, policy: str, begin: int, end: int) -> NDArray[np.float64]:
        """(sums, end - begin) of the slots from ``begin`` up to ``end``, added in the order of the tasks."""
        result = np.zeros((len(SUMMED), end - begin))
        there = (group for group in self._groups[policy] if group[0] < end and group[1] >= begin)
        for part, groups in groupby(there, key=lambda group: group[2]):
            with pq.ParquetFile(for_arrow(part), metadata=self._footers[part]) as parquet:
                for *_, number in groups:
                    rows = parquet.read_row_group(number, columns=["slot", *SUMMED])
                    slots = rows["slot"].to_numpy()
                    # Each slot occurs once in a row group, in ascending order.
                    inside = slice(*np.searchsorted(slots, (begin, end)).tolist())
                    for sums, name in zip(result, SUMMED, strict=True):
                        sums[slots[inside] - begin] += rows[name].to_numpy()[inside]
        return result
