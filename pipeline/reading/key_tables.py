"""The consumers of each Key_Shared subscription, from the tables of an import."""

from __future__ import annotations

from collections import defaultdict

import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.keyshared.model import Consumer
from pipeline.reading.consumer_lists import Key, KeyLists
from pipeline.schemas import CONSUMER_SETS, SUBSCRIPTIONS, parts_of
from pipeline.storage import Place, for_arrow
from pipeline.tables import rows_of

KEY_SHARED = "Key_Shared"


def consumers_of_tables(folder: Place) -> tuple[KeyLists, dict[Key, int]]:
    """The consumers of each subscription in the order of the statistics, and how many lists those have with several.

    Both are empty without such tables. Every partition has a dispatcher of its own: the list of the first topic by name
    represents all. Ranges in statistics are not declarations, so the consumers have none here. O(rows).
    """
    columns = ["namespace", "subscription", "consumer_set"]
    first: dict[Key, dict[int, str]] = defaultdict(dict)
    """The first topic by name of each list."""
    for part in parts_of(folder / SUBSCRIPTIONS.name):
        rows = pq.read_table(
            for_arrow(part), columns=[*columns, "topic", "type"], filters=pc.field("type") == KEY_SHARED
        )
        smallest = rows.sort_by("topic").group_by(columns, use_threads=False).aggregate([("topic", "first")])
        for row in smallest.to_pylist():
            topics = first[row["namespace"], row["subscription"]]
            number, topic = row["consumer_set"], row["topic_first"]
            topics[number] = min(topics.get(number, topic), topic)
    chosen = {key: min(topics, key=lambda number: (topics[number], number)) for key, topics in first.items()}
    wanted = [("consumer_set", "in", sorted(set(chosen.values())))]
    sets = dict(rows_of(folder / CONSUMER_SETS.name, *CONSUMER_SETS.names, filters=wanted)) if chosen else {}
    lists = {
        key: tuple(Consumer(place, name) for place, name in enumerate(sets[number]))
        for key, number in chosen.items()
        if number in sets
    }
    return lists, {key: len(topics) for key, topics in first.items() if len(topics) > 1}
