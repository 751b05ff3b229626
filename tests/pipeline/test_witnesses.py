"""Active consumers that brokers told explain priority levels, which no statistics show, as when answers are opened."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.config import behaviour_of
from engine.errors import Rejection
from pipeline.broker_groups import BrokerGroups
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.lists import MOST_WITNESSES
from pipeline.pieces import pieces_of
from pipeline.schemas import SUBSCRIPTIONS
from pipeline.witnesses import levels_of, pieces_with_witnesses, together, witnesses_in
from pipeline.writing import replacing, write_rows

NO_REPORTS = BrokerGroups({}, {})
RECORDINGS = Path(__file__).parents[1] / "recordings"


def subscription(topic: str, index: int, active: str | None, kind: str = "Failover") -> tuple[object, ...]:
    parent = topic.rpartition("-partition-")[0] if index >= 0 else topic
    return ("s", topic, "t/n", parent, index, kind, 2, 7, active, 1.0, 100.0, 0, 0, "f")


def test_of_each_unit_the_first_topics_are_kept_however_the_rows_are_dealt(tmp_path: Path) -> None:
    rows = [subscription(f"persistent://t/n/x-partition-{at}", at, f"c{at % 3}") for at in range(100)]
    random.Random(1).shuffle(rows)
    others = [subscription("persistent://t/n/y", -1, None), subscription("persistent://t/n/z", -1, "c0", "Shared")]
    expected = sorted((row[1], row[4], row[8]) for row in rows)[:MOST_WITNESSES]
    for cut in (0, 30, 70):
        answers = []
        for number, dealt in enumerate((rows[:cut] + others, rows[cut:])):
            folder = tmp_path / f"{cut}-{number}"
            with replacing(folder, "import") as draft:
                write_rows(SUBSCRIPTIONS, draft.table(SUBSCRIPTIONS), dealt)
            answers.append(witnesses_in(pieces_with_witnesses(pieces_of(SUBSCRIPTIONS, folder)), NO_REPORTS))
        assert together(answers) == {("t/n", "s", 7, ""): expected}


def test_a_table_that_tells_nobody_is_not_read(tmp_path: Path) -> None:
    with replacing(tmp_path, "import") as draft:
        write_rows(SUBSCRIPTIONS, draft.table(SUBSCRIPTIONS), [subscription("persistent://t/n/y", -1, None)])
    assert pieces_with_witnesses(pieces_of(SUBSCRIPTIONS, tmp_path)) == []
    assert together([]) == {}


def test_witnesses_that_fit_no_levels_leave_those_of_the_order() -> None:
    now, old = behaviour_of("4.2.4"), behaviour_of("2.11.0")
    assert not isinstance(now, Rejection) and not isinstance(old, Rejection)
    odd = [("persistent://t/n/x-partition-0", 0, "nobody")]
    assert levels_of(["b", "a"], odd, consistent_hashing=False, behaviour=now) == (0, 1)
    alone = [("persistent://t/n/x", -1, "a")]
    assert levels_of(["a", "b"], alone, consistent_hashing=False, behaviour=old) == (0, 0)


@pytest.mark.parametrize("name", ["a-priority-001-8p-hash", "a-priority-001-8p-modulo", "a-priority-100-3p-modulo"])
def test_F08_every_active_consumer_that_a_broker_told_is_found_where_levels_differ(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    folder = RECORDINGS / name
    scenario = json.loads(gzip.decompress((folder / "scenario.json.gz").read_bytes()))
    assert len({each["priority_level"] for each in scenario["consumers_in_join_order"]}) > 1
    steps = sorted({found[0] for path in folder.iterdir() if (found := re.match(r"\d+", path.name))})
    told = 0
    for step in steps:
        source = tmp_path / step
        source.mkdir()
        for path in folder.iterdir():
            if path.name.startswith((f"{step}-", "scenario")):
                shutil.copy(path, source / path.name)
        job_called("import")(spark, source, source / "out", JobOptions())
        result = job_called("assign")(spark, source / "out", source / "out", JobOptions({"policies": "pulsar"}))
        actives = result.summary["agreement"]
        assert isinstance(actives, dict)
        assert actives["agreeing"] == actives["reported"]
        told += actives["reported"]
    assert told > len(steps)
