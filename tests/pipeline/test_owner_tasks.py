"""However few units a task of ``assign`` holds at a time, and however rows are cut into batches and tasks."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.config import CURRENT
from engine.failover.bulk_policies import Policy
from engine.views.fleet.tables import ASSIGNMENTS, CONSUMER_SETS, SUBSCRIPTIONS, Table
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.transforms import owners
from pipeline.transforms.owners import HELD, OwnersByRule
from pipeline.transforms.units import UNITS
from tests import fleet_results
from tests.pipeline.test_fleet import Fleet, rows_of

TABLES = ("assignments", "consumer_loads", "subscription_loads")
COUNT = 12


class Collected:
    """Pieces that a task wrote."""

    def __init__(self) -> None:
        self.pieces: dict[Table, list[Any]] = {}

    def write(self, table: Table, columns: Any) -> None:
        self.pieces.setdefault(table, []).append(columns)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return [row for piece in self.pieces[table] for row in piece.to_pylist()]


def units_and_topics(folder: Path) -> tuple[list[Path], Any]:
    """The parts of a table of units with three consumers each, and their 0 to 4 topics, not unit by unit."""
    lists = (["a", "b", "c"], [0, 0, 0]) * 2
    units = [(at, "g", "t/n", f"s{at:02}", 7, *lists) for at in range(COUNT)]
    parts = []
    for number in range(2):
        parts.append(folder / f"part-{number}.parquet")
        pq.write_table(UNITS.columns_of(units[number::2]), parts[-1])
    topics = [(unit, f"persistent://t/n/{unit}-partition-{at}", at) for unit in range(COUNT) for at in range(unit % 5)]
    random.Random(2).shuffle(topics)
    rows = [(*topic, "abc"[topic[0] % 3] if topic[2] else None, 1.5, 2.0) for topic in topics]
    return parts, pa.Table.from_pylist([dict(zip(TOPICS.names, row, strict=True)) for row in rows], TOPICS)


TOPICS = pa.schema(
    [
        ("number", pa.int64()), ("topic", pa.string()), ("partition_index", pa.int32()),
        ("reported_active_consumer", pa.string()), ("msg_rate_out", pa.float64()), ("msg_throughput_out", pa.float64()),
    ]
)  # fmt: skip


@pytest.mark.parametrize(("most", "pieces"), [(1, 9), (6, 5), (9, 4), (100, 1)])
@pytest.mark.parametrize("batch", [1, 5, 100])
def test_a_piece_has_as_many_units_as_their_consumers_allow(
    most: int, pieces: int, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the rows, their sums and the account are the same."""
    monkeypatch.setattr(owners, "in_chunks", lambda batches: (pa.Table.from_batches([each]) for each in batches))
    parts, table = units_and_topics(tmp_path)
    written, sums = [], []
    for size, limit in ((table.num_rows, 1000), (batch, most)):
        collected: Any = Collected()
        work = OwnersByRule(tuple(Policy), {"g": (CURRENT, False)}, False, parts, most_consumers=limit)
        account = work(iter(table.to_batches(size)), collected)
        written.append(sorted(map(str, collected.rows(ASSIGNMENTS))))
        held = collected.rows(HELD)
        sums.append(Counter[tuple[int, int, int]]())
        for row in held:
            sums[-1][row["number"], row["flag_off_position"], row["flag_on_position"]] += row["partitions"]
            assert row["msg_rate_out"] == 1.5e6 * row["partitions"]
        shown = [row for row in collected.rows(ASSIGNMENTS) if row["reported_active_consumer"]]
        agreeing = sum(row["reported_active_consumer"] == row["active_before"] for row in shown)
        assert (account.reported, account.agreeing) == ({"g": len(shown)}, {"g": agreeing})
        assert 0 < agreeing < len(shown)
    assert written[0] == written[1] and sums[0] == sums[1]
    assert sums[0].total() == len(written[0]) == table.num_rows
    if batch == 100:
        assert len(collected.pieces[ASSIGNMENTS]) == pieces


def spread(source: Path, seed: int, files: int) -> None:
    """Make the rows those of two clusters, in so many files and any order, some with an active consumer.

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
    for number in range(files):
        some = pa.Table.from_pylist(rows[number::files]).select(SUBSCRIPTIONS.names).cast(SUBSCRIPTIONS.arrow)
        fleet_results.put_table(source, SUBSCRIPTIONS.name, some, run_id="spread", part=number)


@pytest.mark.parametrize("changed", [{}, {"add": "new", "kill": "c1"}], ids=["as it is", "changed"])
def test_files_of_rows_do_not_matter(changed: dict[str, str], spark: SparkSession, tmp_path: Path) -> None:
    outs = []
    for files in (1, 3):
        source = tmp_path / f"in-{files}"
        Fleet(11).write(source)
        spread(source, 11, files)
        outs.append(tmp_path / f"out-{files}")
        job_called("assign")(spark, source, outs[-1], JobOptions(changed, run_id="one"))
    for table in TABLES:
        one, other = (sorted(json.dumps(row, default=str) for row in rows_of(out, table)) for out in outs)
        assert one == other != []
    summaries = [json.loads(fleet_results.text_of(out, "assign.json")) for out in outs]
    assert summaries[0] == summaries[1]
    assert [rules["cluster"] for rules in summaries[0]["rules"]] == ["a", "b"]
    assert 0 < summaries[0]["agreement"]["agreeing"] < summaries[0]["agreement"]["reported"]
