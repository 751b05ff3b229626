"""The tables of all dumps so far, and one more batch of them: the later answer about a thing counts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.schemas import (
    ANSWERS,
    BROKER_HISTORY,
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    CONSUMERS,
    FILES,
    IMBALANCE_HISTORY,
    LISTED,
    PUBLISHERS,
    QUARANTINE,
    SETTINGS,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
    TOPICS,
    Table,
    parts_of,
)
from pipeline.stamps import Stamp
from pipeline.storage import Place, for_arrow
from pipeline.writing import PartWriter, ensure_part, write_rows

ABOUT: Final[Mapping[Table, tuple[Table, str] | None]] = {
    TOPICS: (TOPICS, "topic"),
    SUBSCRIPTIONS: (TOPICS, "topic"),
    CONSUMERS: (TOPICS, "topic"),
    PUBLISHERS: (TOPICS, "topic"),
    LISTED: (LISTED, "topic"),
    BUNDLES: (BUNDLES, "namespace"),
    BUNDLE_REPORTS: (BROKERS, "broker"),
    BROKERS: (BROKERS, "broker"),
    SETTINGS: (SETTINGS, "name"),
    CONSUMER_SETS: (CONSUMER_SETS, "consumer_set"),
    ANSWERS: (ANSWERS, "namespace"),
    FILES: None,
    QUARANTINE: None,
}
"""What a row is about: where new answers stand in that table and column, old rows about the same are replaced. None:
rows about files stay, whatever comes later."""
HISTORIES: Final = (IMBALANCE_HISTORY, BROKER_HISTORY)


def merge(table: Table, before: Path | None, batch: Path, target: Place) -> None:
    """Rows of one table of an import before and of one batch into ``target``. O(rows), one row group at a time.

    Topics that nobody speaks of any more stay as they were told last.
    """
    writer = PartWriter(table, target, 0)
    told = _told(ABOUT[table], batch)
    try:
        for part in parts_of(before / table.name) if before is not None else ():
            file = pq.ParquetFile(for_arrow(part))
            for group in range(file.metadata.num_row_groups):
                rows = file.read_row_group(group)
                writer.write(_kept(rows, ABOUT[table], told))
        for part in parts_of(batch / table.name):
            file = pq.ParquetFile(for_arrow(part))
            for group in range(file.metadata.num_row_groups):
                writer.write(file.read_row_group(group))
        writer.close()
    except BaseException:
        writer.discard()
        raise
    ensure_part(table, target)


def _told(about: tuple[Table, str] | None, batch: Path) -> Any:
    """The things a batch speaks of."""
    if about is None:
        return None
    table, column = about
    columns = [pq.read_table(for_arrow(part), columns=[column])[column] for part in parts_of(batch / table.name)]
    return pc.unique(pa.chunked_array([chunk for each in columns for chunk in each.chunks], _kind(table, column)))


def _kind(table: Table, column: str) -> Any:
    return table.arrow.field(column).type


def _kept(rows: Any, about: tuple[Table, str] | None, told: Any) -> Any:
    if about is None or not len(told):
        return rows
    return rows.filter(pc.invert(pc.is_in(rows[about[1]], value_set=told)))


def carry_history(table: Table, before: Path | None, target: Place) -> None:
    """The parts of earlier batches as they are; each batch has a part of its own, named by its number."""
    for part in parts_of(before / table.name) if before is not None else ():
        shutil.copyfile(str(part), str(target / part.name))


def add_history(table: Table, target: Place, batch: int, rows: list[tuple[object, ...]], stamp: Stamp) -> None:
    """The rows of one batch, under a name that the same batch gives again."""
    write_rows(table, target, rows, stamp)
    shutil.move(str(target / "part-000000.parquet"), str(target / f"part-batch-{batch:09d}.parquet"))


def imbalance_rows(batch: int, assigned: Path) -> list[tuple[object, ...]]:
    """Rows of ``imbalance_history`` from the ``subscription_loads`` of an assignment: those of the rule in force."""
    found: list[tuple[object, ...]] = []
    for part in parts_of(assigned / SUBSCRIPTION_LOADS.name):
        rows = pq.read_table(for_arrow(part)).to_pylist()
        found += [(batch, *(row[name] for name in IMBALANCE_HISTORY.names[1:])) for row in rows if row["in_force"]]
    return found


def broker_rows(batch: int, folder: Place) -> list[tuple[object, ...]]:
    """Rows of ``broker_history`` from merged topics; topics of which nobody says whose they are are left out."""
    rates = list(BROKER_HISTORY.names[3:])
    parts = [pq.read_table(for_arrow(part), columns=["broker", *rates]) for part in parts_of(folder / TOPICS.name)]
    # Sorted values are added up in one order whatever order they were written in.
    told = pa.concat_tables(parts).filter(pc.field("broker").is_valid())
    ordered = told.sort_by([(name, "ascending") for name in ("broker", *rates)])
    sums = ordered.group_by("broker", use_threads=False).aggregate(
        [([], "count_all"), *((name, "sum") for name in rates)]
    )
    return [
        (batch, row["broker"], row["count_all"], *(row[f"{name}_sum"] for name in rates))
        for row in sums.sort_by("broker").to_pylist()
    ]
