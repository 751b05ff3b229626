"""The merging of a round, task by task, against a plain dictionary of topics."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.jobs import watch_merging
from pipeline.jobs.watch_merging import MergeRows, Moments, ReadParts, StoredPart
from pipeline.schemas import FILES, LISTED, SUBSCRIPTIONS, TOPICS, Table
from tests.pipeline.test_owner_tasks import Collected

MOMENTS = {"old.json": 10, "all.json": 40, "new.json": 20, "b2.json": 30}


def at(since_1970_ms: int) -> datetime:
    return datetime.fromtimestamp(since_1970_ms / 1000, UTC)


FILLED = {pa.int32(): 1, pa.int64(): 1, pa.float64(): 1.0, pa.string(): "x", pa.bool_(): False}


def table_of(table: Table, rows: list[dict[str, Any]]) -> Any:
    """Rows with something in every column that they do not name."""
    columns = {field.name: FILLED.get(field.type) for field in table.arrow}
    return pa.Table.from_pylist([columns | row for row in rows], table.arrow)


def store(folder: Path, table: Table, rows: list[dict[str, Any]], *, fresh: bool) -> list[StoredPart]:
    """Two parts of a table, without the columns of stamps, as an earlier release may have left them."""
    parts = []
    for number in range(2):
        path = folder / f"{table.name}-{fresh}-{number}.parquet"
        pq.write_table(table_of(table, rows[number::2]), path)
        parts.append(StoredPart(table.name, path, fresh))
    return parts


def merged(
    shares: list[list[StoredPart]], parts: int, moments: Moments, lists: dict[tuple[str, str], int]
) -> Collected:
    """What the tasks write; a part is in one task."""
    by_part = defaultdict(list)
    for number, share in enumerate(shares):
        for batch in ReadParts(parts)(share, number):
            by_part[batch["part"][0].as_py()].append(batch)
    assert len(by_part) == parts
    collected = Collected()
    work = MergeRows(watch_merging._SUBJECTS, moments, lists)
    for batches in by_part.values():
        work(iter(batches), collected)  # type: ignore[arg-type]
    return collected


@pytest.mark.parametrize("parts", [1, 3])
def test_the_later_answer_about_a_topic_counts_in_every_part(tmp_path: Path, parts: int) -> None:
    draw = random.Random(parts)
    state: dict[tuple[str, str], tuple[int, str]] = {}  # of a topic, the moment of its answer and its broker
    sides: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for fresh, files in ((False, ["old.json", "all.json: topics/a"]), (True, ["new.json", "b2.json"])):
        chosen = draw.sample([(cluster, f"persistent://t/n/{at}") for cluster in "xy" for at in range(40)], 50)
        for cluster, topic in chosen:
            row = {"cluster": cluster, "topic": topic, "file": draw.choice(files), "broker": draw.choice(["b1", None])}
            sides[fresh].append(row | {"kind": "broker-stats", "namespace": "t/n"})
    for rows in sides.values():
        for row in rows:
            key, moment = (row["cluster"], row["topic"]), MOMENTS[row["file"].partition(":")[0]]
            if moment >= state.get(key, (-1, ""))[0]:
                state[key] = (moment, row["file"])
    fresh_topics = {(row["cluster"], row["topic"]) for row in sides[True]}
    for row in sides[False]:
        key, moment = (row["cluster"], row["topic"]), MOMENTS[row["file"].partition(":")[0]]
        if row["cluster"] == "x" and row["broker"] == "b1" and moment <= 20 and key not in fresh_topics:
            del state[key]  # its broker listed all of its topics at 20, without this one
    stored: list[StoredPart] = []
    for table in (TOPICS, SUBSCRIPTIONS):
        for fresh, rows in sides.items():
            own = [{name: row[name] for name in table.names if name in row} for row in rows]
            stored += store(tmp_path, table, own, fresh=fresh)
    moments: list[Path] = []
    for fresh, names in ((False, ["old.json", "all.json"]), (True, ["new.json", "b2.json"])):
        rows = [{"file": name, "cluster": "x", "moment": at(MOMENTS[name])} for name in names]
        files = store(tmp_path, FILES, rows, fresh=fresh)
        moments += [part.place for part in files if isinstance(part.place, Path)]
        stored += files
    stored += store(tmp_path, LISTED, [{"cluster": "x", "topic": "q", "file": "old.json"}], fresh=False)
    stored += store(tmp_path, LISTED, [{"cluster": "x", "topic": "q", "file": "new.json"}], fresh=True)
    result = merged([stored[0::3], stored[1::3], stored[2::3]], parts, Moments(moments), {("x", "b1"): 20})
    for table in (TOPICS, SUBSCRIPTIONS):
        rows = result.rows(table)
        assert {(row["cluster"], row["topic"]): row["file"] for row in rows} == {
            key: at[1] for key, at in state.items()
        }
        assert len(rows) == len(state)
        for piece in result.pieces[table]:
            assert piece.column_names == [*table.names, "tenant", "snapshot_time"]
            order = list(zip(piece["cluster"].to_pylist(), piece["topic"].to_pylist(), strict=True))
            assert order == sorted(order)
    assert len(result.rows(FILES)) == 4
    assert [row["file"] for row in result.rows(LISTED)] == ["new.json"]
