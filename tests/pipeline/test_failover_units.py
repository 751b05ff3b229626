"""Reported active consumers explain priority levels, which statistics do not show, as when answers are opened."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from engine.admin.inference import MOST_ACTIVES, levels_of
from engine.config import behaviour_of
from engine.errors import Rejection
from engine.views.fleet.tables import CONSUMER_SETS, SUBSCRIPTIONS
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.transforms.subscriptions import failover_rows, units_of

RECORDINGS = Path(__file__).parents[1] / "recordings"


def subscription(topic: str, index: int, active: str | None, kind: str = "Failover") -> tuple[object, ...]:
    parent = topic.rpartition("-partition-")[0] if index >= 0 else topic
    return ("", "s", topic, "t/n", parent, index, kind, 2, 7, active, 1.0, 100.0, 0, 0, "f")


def test_of_each_unit_the_first_topics_are_kept_however_the_rows_are_stored(spark: SparkSession) -> None:
    rows = [subscription(f"persistent://t/n/x-partition-{at}", at, f"c{at % 3}") for at in range(100)]
    random.Random(1).shuffle(rows)
    others = [subscription("persistent://t/n/y", -1, None), subscription("persistent://t/n/z", -1, "c0", "Shared")]
    subscriptions = spark.createDataFrame([*rows, *others], SUBSCRIPTIONS.ddl).repartition(3, "topic")
    sets = spark.createDataFrame([("", 7, ["c0", "c1", "c2"])], CONSUMER_SETS.ddl)
    (unit,) = units_of(failover_rows(subscriptions), sets).collect()
    assert tuple(unit[1:5]) == ("", "t/n", "s", 7) and unit.names == ["c0", "c1", "c2"]
    assert [tuple(active) for active in unit.actives] == sorted((row[2], row[5], row[9]) for row in rows)[:MOST_ACTIVES]


def test_without_an_observed_active_consumer_or_a_set_a_unit_is_there_all_the_same(spark: SparkSession) -> None:
    rows = spark.createDataFrame([subscription("persistent://t/n/y", -1, None)], SUBSCRIPTIONS.ddl)
    units = units_of(failover_rows(rows), spark.createDataFrame([], CONSUMER_SETS.ddl))
    assert [tuple(unit[1:]) for unit in units.collect()] == [("", "t/n", "s", 7, 1, None, None)]


def test_witnesses_that_fit_no_levels_leave_those_of_the_order() -> None:
    now, old = behaviour_of("4.2.4"), behaviour_of("2.11.0")
    assert not isinstance(now, Rejection) and not isinstance(old, Rejection)
    odd = [("persistent://t/n/x-partition-0", 0, "nobody")]
    assert levels_of(["b", "a"], odd, consistent_hashing=False, behaviour=now) == (0, 1)
    alone = [("persistent://t/n/x", -1, "a")]
    assert levels_of(["a", "b"], alone, consistent_hashing=False, behaviour=old) == (0, 0)


def test_F08_every_active_consumer_that_a_broker_reported_is_predicted_where_levels_differ(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each moment of the recordings is a cluster of one fleet."""
    source, named = tmp_path / "in", []
    for name in ("a-priority-001-8p-hash", "a-priority-001-8p-modulo", "a-priority-100-3p-modulo"):
        folder = RECORDINGS / name
        scenario = json.loads(gzip.decompress((folder / "scenario.json.gz").read_bytes()))
        assert len({row["priority_level"] for row in scenario["consumers_in_join_order"]}) > 1
        steps = sorted({found[0] for path in folder.iterdir() if (found := re.match(r"\d+", path.name))})
        assert len(steps) > 3
        for step in steps:
            cluster = f"{name}-{step}"
            (source / cluster).mkdir(parents=True)
            named.append(cluster)
            for path in folder.iterdir():
                if path.name.startswith((f"{step}-", "scenario")):
                    shutil.copy(path, source / cluster / path.name)
    places = ",".join(f"{cluster}={cluster}" for cluster in named)
    job_called("import")(spark, source, tmp_path / "out", JobOptions({"clusters": places}))
    result = job_called("assign")(spark, tmp_path / "out", tmp_path / "out", JobOptions({"policies": "pulsar"}))
    rules = {row["cluster"]: row for row in result.summary["rules"]}
    assert sorted(rules) == sorted(named)
    for cluster, row in rules.items():
        assert row["consistent_hashing"] == cluster.startswith("a-priority-001-8p-hash")
        assert row["agreeing"] == row["reported"], row
    assert sum(row["reported"] for row in rules.values()) > len(named)
