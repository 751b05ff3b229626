"""However few units are held at a time, the result of ``assign`` is the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipeline.jobs import assign_loads, assign_units, job_called
from pipeline.jobs.result import JobOptions
from pipeline.schemas import CONSUMER_SETS, SUBSCRIPTIONS
from pipeline.tables import PartWriter, parts_in
from pipeline.transforms import subscriptions, units
from pipeline.transforms.units import FleetUnits, SlotSums, columns_of_sums
from tests import fleet_results
from tests.pipeline.test_fleet import Fleet, rows_of

TABLES = ("assignments", "consumer_loads", "subscription_loads")


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Three units at a time in the driver, ten consumers in tasks, which write sums from the twentieth on.

    Gives the units of each block.
    """
    rows: list[int] = []

    class Counted(assign_loads.Loads):
        def __init__(self, subscriptions: Sequence[Any], *others: Any) -> None:
            rows.append(len(subscriptions[0]))
            super().__init__(subscriptions, *others)

    for module in (units, subscriptions, assign_loads):
        monkeypatch.setattr(module, "UNITS_TOGETHER", 3)
    monkeypatch.setattr(assign_loads, "Loads", Counted)
    monkeypatch.setattr(assign_units, "FleetUnits", partial(FleetUnits, most_slots=10, most_sums=20))
    yield rows


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
def test_the_result_does_not_depend_on_how_many_units_are_held_at_a_time(
    changed: dict[str, str], spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    Fleet(11).write(tmp_path / "in")
    spread(tmp_path / "in", 11)
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    options = JobOptions(changed, run_id="one")
    job_called("assign")(spark, tmp_path / "in", whole, options)
    blocks = request.getfixturevalue("small_pieces")
    job_called("assign")(spark, tmp_path / "in", pieces, options)
    assert len(blocks) > 5
    for table in TABLES:
        one, other = (rows_of(folder, table) for folder in (whole, pieces))
        if table == "assignments":  # a task writes its rows in the order of its pieces
            one, other = (sorted(rows, key=lambda row: json.dumps(row, default=str)) for rows in (one, other))
        assert one == other != []
    assert fleet_results.text_of(whole, "assign.json") == fleet_results.text_of(pieces, "assign.json")
    summary = json.loads(fleet_results.text_of(whole, "assign.json"))
    assert [rules["cluster"] for rules in summary["rules"]] == ["a", "b"]
    assert 0 < summary["agreement"]["agreeing"] < summary["agreement"]["reported"]


def test_sums_of_a_range_of_slots_are_those_of_all_tasks_that_have_some(tmp_path: Path) -> None:
    chance = random.Random(3)
    expected = [0] * 100
    for task in range(4):
        slots = sorted(chance.sample(range(100), 40))
        values = [[float(chance.randrange(9)) for _ in slots] for _ in range(4)]
        for slot, value in zip(slots, values[0], strict=True):
            expected[slot] += int(value)
        writer = PartWriter(units.SUMS, tmp_path, task)
        for columns in columns_of_sums("flag_on", np.array(slots), np.array(values)):
            writer.write(columns)
        writer.close()
    sums = SlotSums(parts_in(tmp_path))
    for begin in range(0, 100, 7):
        end = min(begin + 13, 100)
        assert sums.of("flag_on", begin, end)[0].tolist() == expected[begin:end]
    assert not sums.of("flag_off", 0, 100).any()
