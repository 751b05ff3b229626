"""A result folder of ``ringside fleet run`` for the screen: its summary, and its worst tables as Arrow columns.

A table of a million rows stays in its columns: sorting and filtering give row numbers, and only what is shown becomes
Python values. This needs pyarrow, so nothing imports this module before a folder is to be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, dataset

from engine.errors import InputError
from engine.fleet.summary import FILE_NAME, FleetSummary, read_summary

Rows = npt.NDArray[np.int64]
"""Numbers of rows, in the order in which they are shown."""
_ROW: Final = "row"
_SUBSCRIPTIONS: Final = (
    "namespace", "subscription", "type", "policy", "partitions", "consumers", "idle", "max_over_mean",
    "max_over_mean_rate", "moved", "least_moved", "verdict", "findings", "worst_severity",
)  # fmt: skip
_NAMESPACES: Final = (
    "namespace", "topics", "subscriptions", "msg_rate_in", "msg_rate_out", "backlog_size_bytes", "bundles",
    "bundles_to_split", "worst_max_over_mean", "worst_subscription", "idle", "findings", "worst_severity",
)  # fmt: skip


class Grid:
    """One table of which every row can be shown. Rows count from 0 in the order of the file: the worst first."""

    def __init__(self, table: Any, searched: Sequence[str]) -> None:
        self._table = table.combine_chunks()
        self._searched = tuple(searched)
        self._text: Any = None
        self._orders: dict[tuple[str, bool], Rows] = {}
        self._numbers: dict[str, npt.NDArray[np.float64]] = {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._table.column_names)

    def value(self, row: int, column: str) -> Any:
        """One cell as a Python value; None where it is empty. O(1)."""
        return self._table.column(column)[row].as_py()

    def numbers(self, column: str) -> npt.NDArray[np.float64]:
        """A column of numbers by row, ``nan`` where a place is empty; kept."""
        if column not in self._numbers:
            filled = self._table.column(column).cast(pa.float64(), safe=False).fill_null(float("nan"))
            self._numbers[column] = filled.to_numpy()
        return self._numbers[column]

    def is_text(self, column: str) -> bool:

        return bool(pa.types.is_string(self._table.schema.field(column).type))

    def ordered(self, column: str, *, descending: bool) -> Rows:
        """All rows by one column; equal ones as they stand in the file, empty places last. O(n log n), kept."""
        key = (column, descending)
        if key not in self._orders:
            self._orders[key] = self._by_text(column, descending) if self.is_text(column) else self._by_number(*key)
        return self._orders[key]

    def _by_number(self, column: str, descending: bool) -> Rows:
        values = self.numbers(column)
        # numpy puts nan last either way, so only the sign of what is there turns the order.
        return np.argsort(-values if descending else values, kind="stable").astype(np.int64)

    def _by_text(self, column: str, descending: bool) -> Rows:

        keyed = pa.table({column: self._table.column(column), _ROW: pa.array(np.arange(len(self)))})
        direction = "descending" if descending else "ascending"
        order = pc.sort_indices(keyed, sort_keys=[(column, direction), (_ROW, "ascending")])
        return np.asarray(order.to_numpy(), dtype=np.int64)

    def matching(self, text: str) -> npt.NDArray[np.bool_]:
        """Which rows have every word of ``text`` in one of the searched columns, whatever the case. O(n · words)."""

        words = text.lower().split()
        found = np.ones(len(self), dtype=np.bool_)
        if words and self._text is None:
            parts = [self._table.column(name) for name in self._searched]
            joined = pc.binary_join_element_wise(*parts, "/", null_handling="replace", null_replacement="")
            self._text = pc.utf8_lower(joined)
        for word in words:
            found &= pc.match_substring(self._text, word).to_numpy(zero_copy_only=False)
        return found

    def rows(self, column: str, *, descending: bool, text: str = "") -> Rows:
        """The rows to show: those that match, in this order."""
        order = self.ordered(column, descending=descending)
        return order[self.matching(text)[order]] if text.split() else order

    def write_csv(self, path: Path, rows: Rows) -> None:
        """These rows with all columns as CSV. Raises ``OSError``, also where the file is there already."""

        with path.open("xb") as file:
            try:
                csv.write_csv(self._table.take(pa.array(rows)), file)
            except Exception:
                path.unlink(missing_ok=True)  # half a file would look like a whole one
                raise


class FleetResults:
    """One result folder: the summary, and both tables that the screen shows."""

    def __init__(self, folder: Path, summary: FleetSummary, subscriptions: Grid, namespaces: Grid) -> None:
        self.folder = folder
        self.summary = summary
        self.subscriptions = subscriptions
        self.namespaces = namespaces

    @property
    def flag_in_force(self) -> bool | None:
        """The flag under which the fleet was judged; None where no Failover subscription was."""
        policy = next((each.policy for each in self.summary.policies if each.in_force), None)
        return {"flag_off": False, "flag_on": True}.get(policy or "")

    def table(self, name: str, columns: Iterable[str], where: Any = None) -> Any:
        """Columns of one table of the folder, restricted to rows that meet an Arrow expression."""
        return read_columns(self.folder, name, columns, where)


def read_summary_of(folder: Path) -> FleetSummary:
    """The summary of a result folder. Raises ``InputError`` where there is none, or one that cannot be read."""
    path = folder / FILE_NAME
    if not path.exists():
        raise InputError(f"{folder} holds no {FILE_NAME}; make one with ringside fleet run or ringside fleet report")
    return read_summary(path.read_bytes(), str(path))


def open_results(folder: Path) -> FleetResults:
    """A result folder, with the columns that the screen shows in memory. O(rows).

    Raises ``InputError`` for a folder without a summary or without the tables of the job ``report``.
    """
    summary = read_summary_of(folder)
    worst = read_columns(folder, "worst_subscriptions", _SUBSCRIPTIONS)
    worst = worst.append_column("msg_rate_out", _rates_of(folder, worst))
    namespaces = read_columns(folder, "worst_namespaces", _NAMESPACES)
    return FleetResults(
        folder,
        summary,
        Grid(worst, ("namespace", "subscription", "type", "verdict", "worst_severity")),
        Grid(namespaces, ("namespace", "worst_subscription", "worst_severity")),
    )


def read_columns(folder: Path, name: str, columns: Iterable[str], where: Any = None) -> Any:
    """Columns of the Parquet table ``name``, its parts in the order of their names. Raises ``InputError``."""

    parts = sorted(str(path) for path in (folder / name).glob("*.parquet"))
    if not parts:
        raise InputError(f"{folder} holds no table {name}; make it again with ringside fleet run")
    try:
        return dataset.dataset(parts, format="parquet").to_table(columns=list(columns), filter=where)
    except (pa.ArrowException, OSError) as fault:
        reason = str(fault).partition("\n")[0]
        raise InputError(f"{folder / name} cannot be read: {reason}; make it again with ringside fleet run") from fault


def _rates_of(folder: Path, worst: Any) -> Any:
    """Messages per second out of each subscription, over all its topics, in the order of ``worst``."""

    if not (folder / "subscriptions").is_dir():
        return pa.nulls(worst.num_rows, pa.float64())
    keys = ["namespace", "subscription", "type"]
    rates = read_columns(folder, "subscriptions", [*keys, "msg_rate_out"])
    summed = rates.group_by(keys).aggregate([("msg_rate_out", "sum")])
    numbered = worst.select(keys).append_column(_ROW, pa.array(np.arange(worst.num_rows)))
    joined = numbered.join(summed, keys=keys, join_type="left outer").sort_by(_ROW)
    return joined.column("msg_rate_out_sum")
