"""Tables as parts: what is written is what was declared, and what other releases wrote is read as far as it goes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.errors import InputError
from engine.views.fleet.runs import Manifest
from engine.views.fleet.tables import CONSUMER_SETS, EVERY_TABLE, SETTINGS, declared
from pipeline.dictionary import dictionary
from pipeline.runs import new_run
from pipeline.stamps import new_run_id, stamped
from pipeline.tables import PartWriter, tables_at
from tests import fleet_results

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_a_part_holds_its_rows_and_a_discarded_one_is_gone(tmp_path: Path) -> None:
    writer, other = PartWriter(SETTINGS, tmp_path, 1), PartWriter(SETTINGS, tmp_path, 1)
    for number in range(3):
        writer.write(SETTINGS.columns_of([("", "a", str(number), "f")]))
        other.write(SETTINGS.columns_of([("", "b", str(number), "f")]))
    other.discard()
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == [writer.name]
    assert pq.ParquetFile(tmp_path / writer.name).read()["value"].to_pylist() == ["0", "1", "2"]


def test_texts_may_be_written_as_dictionaries_and_are_read_as_texts(tmp_path: Path) -> None:
    writer = PartWriter(SETTINGS, tmp_path, 0)
    plain = SETTINGS.columns_of([("", "a", "x", "f"), ("", "a", "y", "f")])
    arrays = [plain["cluster"], plain["name"].combine_chunks().dictionary_encode(), plain["value"], plain["file"]]
    writer.write(pa.Table.from_arrays(arrays, names=list(SETTINGS.names)))
    writer.close()
    assert pq.read_schema(tmp_path / writer.name).field("name").type == pa.string()


def test_rows_are_stamped_once_with_their_moment_and_their_tenant() -> None:
    rows = CONSUMER_SETS.columns_of([("", 1, ["a"]), ("", 2, [])])
    once = stamped(rows, NOON)
    assert once.column_names == [*CONSUMER_SETS.names, "tenant", "snapshot_time"]
    assert stamped(once, None)["snapshot_time"].to_pylist() == [NOON, NOON]
    spaces = pa.table({"namespace": ["t/n", "", "u/n"]})
    assert stamped(spaces, NOON)["tenant"].to_pylist() == ["t", None, "u"]
    ids = [new_run_id() for _ in range(3)]
    assert len({*ids}) == 3


@pytest.mark.parametrize(
    ("column", "rows", "reason"),
    [
        ("value bigint", [("", "a", 1, "f")], "value"),
        ("", [("", "a", "f")], "value"),
        ("value string?", [("", "a", None, "f")], "empty places"),
    ],
    ids=["type", "missing", "empty"],
)
def test_parts_that_are_not_the_declared_table_are_refused(
    column: str, rows: list[tuple[object, ...]], reason: str, tmp_path: Path
) -> None:
    table = declared("settings", "", f"cluster\n name string\n {column}\n file")
    fleet_results.put_table(tmp_path, "settings", table.columns_of(rows))
    with pytest.raises(InputError, match=reason):
        tables_at(tmp_path).check(SETTINGS)


def test_a_column_of_another_release_is_null_or_kept_out(spark: SparkSession, tmp_path: Path) -> None:
    """Declared here: one that may be empty, which the older part lacks; the newer part has one that nobody knows."""
    now = declared("owners", "", "name string\n team string?")
    old, new = pa.table({"name": ["a"]}), pa.table({"name": ["b"], "team": ["t"], "later": [1]})
    for part, rows in enumerate((old, new)):
        fleet_results.put_table(tmp_path, "owners", rows, part=part)
    tables = tables_at(tmp_path)
    assert tables.check(now) == 2
    assert [*tables.rows(now, "name", "team")] == [("a", None), ("b", "t")]
    assert sorted(map(tuple, tables.load(spark, now).collect())) == [("a", None), ("b", "t")]


def test_every_table_has_a_name_and_columns_of_its_own() -> None:
    assert len({table.name for table in EVERY_TABLE}) == len(EVERY_TABLE)
    for table in EVERY_TABLE:
        assert len(set(table.names)) == len(table.names)
        assert table.columns_of([]).schema == table.arrow
        assert table.about and all(column.about for column in table.columns), table.name
        assert {*table.key, *(table.few or ()), *table.sought} <= {*table.names}, table.name
    assert CONSUMER_SETS.columns_of([("", 1, ["a", "b"])])["names"].to_pylist() == [["a", "b"]]


def test_the_data_dictionary_is_that_of_the_declarations() -> None:
    """``python -m pipeline.dictionary > docs/tables.md`` makes it so."""
    page = Path(__file__).parents[2] / "docs" / "tables.md"
    assert page.read_text(encoding="utf-8") == dictionary() + "\n"


def test_spark_shows_the_comments_of_what_arrow_and_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    expected = {**CONSUMER_SETS.comments}
    with new_run(tmp_path, "x", Manifest("r")) as draft:
        draft.write(CONSUMER_SETS, [("", 1, ["a"])])
        draft.write_frame(CONSUMER_SETS, spark.createDataFrame([("", 2, ["b"])], CONSUMER_SETS.ddl), add=True)
    for part in fleet_results.parts(tmp_path, "consumer_sets"):
        read = spark.read.parquet(str(part))
        assert {field.name: field.metadata.get("comment") for field in read.schema} == expected
        assert [field.dataType.simpleString() for field in read.schema][:3] == ["string", "bigint", "array<string>"]
