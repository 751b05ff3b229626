"""Merge a round of new dumps into the tables of all earlier ones: the later answer about a thing counts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.reading.rows import BAD
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
from pipeline.storage import Place, for_arrow
from pipeline.tables import rows_of
from pipeline.writing import ensure_part, write_part

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
"""What the rows of a table are about: a new value in that table and column replaces the old rows about it. None: rows
about files, which are never replaced."""
HISTORIES: Final = (IMBALANCE_HISTORY, BROKER_HISTORY)


@dataclass(frozen=True, slots=True)
class Judged:
    """By the table and column that rows are about: the things that a round replaces, and those it is too late for.

    ``late`` None: a late round, of which only the rows about its files count.
    """

    replaced: Mapping[tuple[Table, str], Any] = field(default_factory=dict)
    late: Mapping[tuple[Table, str], Any] | None = None


def judge(before: Path | None, fresh: Path, moments: Mapping[str, int]) -> Judged:
    """Compare a round with the tables before it. ``moments``: file -> epoch milliseconds. O(things)."""
    replaced: dict[tuple[Table, str], Any] = {}
    late: dict[tuple[Table, str], Any] = {}
    for about in {about for about in ABOUT.values() if about is not None}:
        table, column = about
        new = _things(about, fresh, moments)
        old = _things(about, before, moments)
        both = old.join(new, column, join_type="inner", right_suffix="_new")
        late[about] = both.filter(pc.greater(both["moment"], both["moment_new"]))[column]
        replaced[about] = new.filter(pc.invert(pc.is_in(new[column], value_set=late[about])))[column]
        if table is TOPICS:
            gone = pa.chunked_array([_unlisted(before, fresh, moments)], pa.string())
            replaced[about] = pa.chunked_array([*replaced[about].chunks, *gone.chunks], pa.string())
    return Judged(replaced, late)


def _rows(table: Table, folder: Path | None, columns: list[str]) -> Any:
    parts = parts_of(folder / table.name) if folder is not None else ()
    empty = pa.schema([table.arrow.field(name) for name in columns]).empty_table()
    return pa.concat_tables([empty, *(pq.read_table(for_arrow(part), columns=columns) for part in parts)])


def _with_moments(rows: Any, moments: Mapping[str, int]) -> Any:
    if "file" not in rows.column_names:
        return rows.append_column("moment", pa.array([0] * len(rows), pa.int64()))
    names = pc.unique(rows["file"])
    known = pa.array([moments.get(name, moments.get(name.split(": ")[0], 0)) for name in names.to_pylist()], pa.int64())
    return rows.append_column("moment", known.take(pc.index_in(rows["file"], value_set=names).combine_chunks()))


def _things(about: tuple[Table, str], folder: Path | None, moments: Mapping[str, int]) -> Any:
    """Each thing that rows are about, and the moment of its latest row."""
    table, column = about
    rows = _with_moments(_rows(table, folder, [name for name in (column, "file") if name in table.names]), moments)
    return rows.group_by(column).aggregate([("moment", "max")]).rename_columns([column, "moment"])


def _unlisted(before: Path | None, fresh: Path, moments: Mapping[str, int]) -> Any:
    """Topics that their broker listed before and does not list in this round.

    A dump with quarantined rows may lack topics that exist, so it removes none.
    """
    columns = ["topic", "broker", "kind", "file"]
    new = _with_moments(_rows(TOPICS, fresh, columns), moments)
    bad = _rows(QUARANTINE, fresh, ["file", "kind"])
    spoilt = bad.filter(pc.equal(bad["kind"], BAD))["file"]
    damaged = new.filter(pc.is_in(new["file"], value_set=spoilt))["broker"]
    whole = new.filter(pc.and_(pc.equal(new["kind"], "broker-stats"), pc.is_valid(new["broker"])))
    whole = whole.filter(pc.invert(pc.is_in(whole["broker"], value_set=damaged)))
    brokers = whole.group_by("broker").aggregate([("moment", "max")]).rename_columns(["broker", "listed"])
    old = _with_moments(_rows(TOPICS, before, columns), moments).join(brokers, "broker", join_type="inner")
    earlier = old.filter(pc.less_equal(old["moment"], old["listed"]))["topic"]
    return earlier.filter(pc.invert(pc.is_in(earlier, value_set=new["topic"]))).combine_chunks()


def merge(table: Table, before: Path | None, fresh: Path, target: Place, judged: Judged) -> None:
    """Write the rows of one table, of the import before and of one round, to ``target``. O(rows), by row group."""
    about = ABOUT[table]

    def kept(folder: Path | None, left_out: Mapping[tuple[Table, str], Any]) -> Iterator[Any]:
        for part in parts_of(folder / table.name) if folder is not None else ():
            file = pq.ParquetFile(for_arrow(part))
            for group in range(file.metadata.num_row_groups):
                rows = file.read_row_group(group)
                if about is not None and about in left_out:
                    rows = rows.filter(pc.invert(pc.is_in(rows[about[1]], value_set=left_out[about])))
                yield rows

    rows_of_round = kept(fresh, judged.late or {}) if about is None or judged.late is not None else ()
    write_part(table, target, chain(kept(before, judged.replaced), rows_of_round))
    ensure_part(table, target)


def files_of(folder: Path) -> set[str]:
    """The files that rows of merged tables come from; for a member of a file of many answers, that file as well."""
    tables = [table for table, about in ABOUT.items() if about is not None and "file" in table.names]
    names = [name for table in tables for name in pc.unique(_rows(table, folder, ["file"])["file"]).to_pylist()]
    return {part for name in names for part in (name, name.split(": ")[0])}


def carry_history(table: Table, before: Path | None, target: Place) -> None:
    """Copy the parts of earlier batches; a batch has one part, with its number."""
    for part in parts_of(before / table.name) if before is not None else ():
        shutil.copyfile(str(part), str(target / part.name))


def imbalance_rows(batch: int, assigned: Path) -> list[tuple[object, ...]]:
    """Rows of ``imbalance_history`` from the ``subscription_loads`` of an assignment: those of the rule in force."""
    in_force = [("in_force", "=", True)]
    loads = rows_of(assigned / SUBSCRIPTION_LOADS.name, *IMBALANCE_HISTORY.names[1:], filters=in_force)
    return [(batch, *row) for row in loads]


def broker_rows(batch: int, folder: Place) -> list[tuple[object, ...]]:
    """Rows of ``broker_history`` from merged topics; topics without a known broker are left out."""
    rates = list(BROKER_HISTORY.names[3:])
    parts = [pq.read_table(for_arrow(part), columns=["broker", *rates]) for part in parts_of(folder / TOPICS.name)]
    # Sorted, so that sums do not depend on the order in which rows were written.
    owned = pa.concat_tables(parts).filter(pc.field("broker").is_valid())
    ordered = owned.sort_by([(name, "ascending") for name in ("broker", *rates)])
    sums = ordered.group_by("broker", use_threads=False).aggregate(
        [([], "count_all"), *((name, "sum") for name in rates)]
    )
    return [
        (batch, row["broker"], row["count_all"], *(row[f"{name}_sum"] for name in rates))
        for row in sums.sort_by("broker").to_pylist()
    ]
