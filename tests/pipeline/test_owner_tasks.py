"""However few units a task of ``assign`` holds at a time, and however rows are cut into batches and tasks."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from engine.config import CURRENT
from engine.failover.bulk_policies import Policy
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.schemas import CONSUMER_SETS, SUBSCRIPTIONS, Table
from pipeline.transforms import owners, subscriptions
from pipeline.transforms.owners import OwnersByRule
from tests import fleet_results
from tests.pipeline.test_fleet import Fleet, rows_of

TABLES = ("assignments", "consumer_loads", "subscription_loads")
COUNT = 12


class Collected:
    """Pieces that a task wrote."""

    def __init__(self) -> None:
        self.pieces: list[Any] = []

    def write(self, _: Table, columns: Any) -> None:
        self.pieces.append(columns.cast(pa.schema([(name, columns[name].type) for name in columns.column_names])))


def rows_of_units() -> list[dict[str, Any]]:
    """Units of three consumers with 0 to 4 topics, each after its head."""
    lists = {"names": ["a", "b", "c"], "levels": [0, 0, 0], "new_names": ["a", "b", "c"], "new_levels": [0, 0, 0]}
    empty: dict[str, list[Any]] = {name: [] for name in lists}
    rows: list[dict[str, Any]] = []
    for unit in range(COUNT):
        key = {"cluster": "g", "namespace": "t/n", "subscription": f"s{unit:02}", "consumer_set": 7}
        rows.append({**key, "topic": "", **lists})
        for at in range(unit % 5):
            topic = {"topic": f"persistent://t/n/{unit}-partition-{at}", "partition_index": at}
            rows.append({**dict.fromkeys(key), **topic, "reported_active_consumer": None, **empty})
    for row in rows:
        row |= {"msg_rate_out": 1.0, "msg_throughput_out": 2.0}
    return rows


SCHEMA = pa.schema(
    [
        ("cluster", pa.string()), ("namespace", pa.string()), ("subscription", pa.string()),
        ("consumer_set", pa.int64()), ("topic", pa.string()), ("partition_index", pa.int32()),
        ("reported_active_consumer", pa.string()), ("msg_rate_out", pa.float64()),
        ("msg_throughput_out", pa.float64()), ("names", pa.list_(pa.string())), ("levels", pa.list_(pa.int64())),
        ("new_names", pa.list_(pa.string())), ("new_levels", pa.list_(pa.int64())),
    ]
)  # fmt: skip


@pytest.mark.parametrize(("most", "pieces"), [(1, 12), (6, 7), (9, 5), (100, 1)])
@pytest.mark.parametrize("batch", [1, 5, 100])
def test_a_piece_has_as_many_units_as_their_consumers_allow(
    most: int, pieces: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the rows are the same, also where a unit goes on in the next chunk."""
    monkeypatch.setattr(owners, "in_chunks", lambda batches: (pa.Table.from_batches([each]) for each in batches))
    table = pa.Table.from_pylist(rows_of_units(), SCHEMA)
    written = []
    for size, limit in ((table.num_rows, 1000), (batch, most)):
        collected: Any = Collected()
        OwnersByRule(tuple(Policy), {"g": (CURRENT, False)}, changed=False, most_consumers=limit)(
            iter(table.to_batches(size)), collected
        )
        written.append([row for piece in collected.pieces for row in piece.to_pylist()])
    assert written[0] == written[1]
    assert [row["topic"] for row in written[0]] == [row["topic"] for row in rows_of_units() if row["topic"]]
    assert {row["subscription"] for row in written[0]} == {f"s{unit:02}" for unit in range(COUNT) if unit % 5}
    if batch == 100:
        assert len(collected.pieces) == pieces


def spread(source: Path, seed: int) -> None:
    """Make the rows those of two clusters, in three files and any order, some with an active consumer.

    Rates become multiples of 1/8, whose sums do not depend on the order.
    """
    chance = random.Random(seed)
    rows = rows_of(source, SUBSCRIPTIONS.name)
    sets = {row["consumer_set"]: row["names"] for row in rows_of(source, "consumer_sets")}
    for row in rows:
        names = sets[row["consumer_set"]]
        row["cluster"] = chance.choice("ab")
        row["reported_active_consumer"] = chance.choice([None, *names])
        row["msg_rate_out"], row["msg_throughput_out"] = chance.randrange(800) / 8, chance.randrange(800) / 8
    chance.shuffle(rows)
    of_sets = CONSUMER_SETS.columns_of([(cluster, *each) for cluster in "ab" for each in sets.items()])
    fleet_results.put_table(source, CONSUMER_SETS.name, of_sets, run_id="spread")
    for number in range(3):
        some = pa.Table.from_pylist(rows[number::3]).select(SUBSCRIPTIONS.names).cast(SUBSCRIPTIONS.arrow)
        fleet_results.put_table(source, SUBSCRIPTIONS.name, some, run_id="spread", part=number)


@pytest.mark.parametrize("changed", [{}, {"add": "new", "kill": "c1"}], ids=["as it is", "changed"])
def test_a_unit_of_many_topics_may_be_in_several_tasks(
    changed: dict[str, str], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Fleet(11).write(tmp_path / "in")
    spread(tmp_path / "in", 11)
    whole, sliced = tmp_path / "whole", tmp_path / "sliced"
    job_called("assign")(spark, tmp_path / "in", whole, JobOptions(changed, run_id="one"))
    monkeypatch.setattr(subscriptions, "_MOST_TOGETHER", 3)
    job_called("assign")(spark, tmp_path / "in", sliced, JobOptions(changed, run_id="one"))
    for table in TABLES:
        one, other = (
            sorted(json.dumps(row, default=str) for row in rows_of(folder, table)) for folder in (whole, sliced)
        )
        assert one == other != []
    assert fleet_results.text_of(whole, "assign.json") == fleet_results.text_of(sliced, "assign.json")
    summary = json.loads(fleet_results.text_of(whole, "assign.json"))
    assert [rules["cluster"] for rules in summary["rules"]] == ["a", "b"]
    assert 0 < summary["agreement"]["agreeing"] < summary["agreement"]["reported"]
