"""The consumers of each Key_Shared subscription, from the tables of an import."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.keyshared.model import Consumer
from pipeline.reading.consumer_lists import KeyLists
from pipeline.schemas import CONSUMER_SETS, SUBSCRIPTIONS, parts_of
from pipeline.storage import Place, for_arrow

KEY_SHARED = "Key_Shared"


def consumers_of_tables(folder: Place) -> KeyLists:
    """Return consumers by (namespace, subscription) in the order of the statistics; empty if there are no such tables.

    Every partition has a dispatcher of its own: the list of the first topic by name represents all. Ranges in
    statistics are not declarations, so the consumers have none here. O(rows).
    """
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for table in _dispatchers(folder):
        smallest: Any = _by_subscription(table.sort_by("topic"))
        rows = smallest.aggregate([("topic", "first"), ("consumer_set", "first")]).to_pylist()
        for row in rows:
            key = (row["namespace"], row["subscription"])
            candidate = (row["topic_first"], row["consumer_set_first"])
            first[key] = min(first.get(key, candidate), candidate)
    set_numbers = {number for _, number in first.values()}
    sets: dict[int, tuple[Consumer, ...]] = {}
    for part in parts_of(folder / CONSUMER_SETS.name) if set_numbers else ():
        numbers = pa.array(sorted(set_numbers), pa.int64())
        table = pq.read_table(for_arrow(part)).filter(pc.is_in(pc.field("consumer_set"), value_set=numbers))
        for row in table.to_pylist():
            sets[row["consumer_set"]] = tuple(Consumer(place, name) for place, name in enumerate(row["names"]))
    return {key: sets[number] for key, (_, number) in first.items() if number in sets}


def counts_of_lists(folder: Place) -> dict[tuple[str, str], int]:
    """Count the consumer lists of each subscription whose topics have several; only one list is used.

    O(rows).
    """
    numbers_by_key: dict[tuple[str, str], set[int]] = defaultdict(set)
    for table in _dispatchers(folder):
        lists = _by_subscription(table).aggregate([("consumer_set", "distinct")]).to_pylist()
        for row in lists:
            numbers_by_key[row["namespace"], row["subscription"]].update(row["consumer_set_distinct"])
    return {key: len(numbers) for key, numbers in numbers_by_key.items() if len(numbers) > 1}


def _dispatchers(folder: Place) -> Iterator[Any]:
    columns = ["namespace", "subscription", "topic", "consumer_set", "type"]
    for part in parts_of(folder / SUBSCRIPTIONS.name):
        yield pq.read_table(for_arrow(part), columns=columns, filters=pc.field("type") == KEY_SHARED)


def _by_subscription(table: Any) -> Any:
    return table.group_by(["namespace", "subscription"], use_threads=False)
