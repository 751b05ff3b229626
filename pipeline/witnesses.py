"""Active consumers that brokers told: witnesses for priority levels, which no statistics show.

Broker-stats tell none, statistics of single and of partitioned topics do. A few of each unit are enough: levels are
the smallest that explain them, as when answers are opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.admin.inference import infer_priority_levels
from engine.config import ReleaseBehaviour
from engine.failover.choose import Rule, rule_in_force
from pipeline.broker_groups import BrokerGroups
from pipeline.jobs.assign_tasks import TOGETHER, combinations, failover_tables
from pipeline.lists import MOST_WITNESSES, Key
from pipeline.pieces import Piece
from pipeline.storage import for_arrow

_COLUMN: Final = "told_active_consumer"

Witness = tuple[str, int, str]
"""Full name of the topic or partition, its index (-1 for none), name of the active consumer."""
Witnesses = dict[Key, list[Witness]]


def pieces_with_witnesses(pieces: Sequence[Piece]) -> list[Piece]:
    """Those in which an active consumer may be told, by their footers. O(row groups)."""
    found: list[Piece] = []
    path, footer = None, None
    for piece in pieces:
        if footer is None or piece.path != path:
            path, footer = piece.path, pq.read_metadata(for_arrow(piece.path))
        group = footer.row_group(piece.group)
        columns = (group.column(place) for place in range(group.num_columns))
        told = next(each for each in columns if each.path_in_schema == _COLUMN).statistics
        if told is None or not told.has_null_count or told.null_count < group.num_rows:
            found.append(piece)
    return found


def witnesses_in(pieces: Sequence[Piece], groups: BrokerGroups) -> bytes:
    """Up to ``MOST_WITNESSES`` of each unit in some pieces, as MessagePack. O(told rows x log MOST_WITNESSES)."""
    found: Witnesses = {}
    for table in failover_tables(pieces, groups, (*TOGETHER, "file", "topic", "partition_index", _COLUMN)):
        told = table.filter(pc.is_valid(table[_COLUMN]))
        if told.num_rows:
            _merge(found, _by_unit(told))
    return msgspec.msgpack.encode([[key, each] for key, each in sorted(found.items())])


def together(answers: Iterable[bytes]) -> Witnesses:
    """What the tasks found."""
    found: Witnesses = {}
    for answer in answers:
        _merge(found, dict(msgspec.msgpack.decode(answer, type=list[tuple[Key, list[Witness]]])))
    return found


def levels_of(
    names: Sequence[str], told: Sequence[Witness], *, consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> tuple[int, ...]:
    """The priority level of each consumer of a list in the dispatcher's order: the smallest that explain what is told.

    Partitions say more than topics without; of those the order alone counts before 3.0, whose rule knows no levels.

    >>> from engine.config import CURRENT
    >>> told = [("persistent://t/n/x-partition-0", 0, "a"), ("persistent://t/n/x-partition-1", 1, "a")]
    >>> levels_of(["a", "b"], told, consistent_hashing=False, behaviour=CURRENT)
    (0, 1)
    """
    for index in (0, -1):
        rule = rule_in_force(index, consistent_hashing=consistent_hashing, behaviour=behaviour)
        seen = {(topic, at): active for topic, at, active in told if (at >= 0) is (index >= 0)}
        if seen and rule is not Rule.FIRST_CONNECTED:
            return infer_priority_levels(names, seen, [rule]).levels
    return infer_priority_levels(names, {}).levels


def _by_unit(told: Any) -> Witnesses:
    keys, place = combinations(told)
    found: Witnesses = {key: [] for key in keys}
    columns = (
        told["topic"].to_pylist(),
        told["partition_index"].to_pylist(),
        told[_COLUMN].cast(pa.string()).to_pylist(),
    )
    for at, witness in zip(place.tolist(), zip(*columns, strict=True), strict=True):
        found[keys[at]].append(witness)
    return found


def _merge(found: Witnesses, more: Mapping[Key, list[Witness]]) -> None:
    for key, each in more.items():
        found[key] = nsmallest(MOST_WITNESSES, [*found.get(key, ()), *each])
