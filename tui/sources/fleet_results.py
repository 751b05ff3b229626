"""The tables of a fleet's result folder, read with Arrow: sorted and filtered as columns, rows made for the eye.

Needs pyarrow, so it is imported where a result is opened and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from engine.cluster.state import Load
from engine.errors import InputError
from engine.scenarios.fleet_opening import Dispatcher, FleetPart

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUBSCRIPTIONS: Final = "worst_subscriptions"
NAMESPACES: Final = "worst_namespaces"
HISTOGRAM_BARS: Final = 24
EXPORT_KINDS: Final = (".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class Listing:
    """Some rows of a table in some order: ``rows`` (n,) int64 are places in ``table``. Immutable."""

    table: Any
    rows: NDArray[np.int64]
    sorted_by: str
    descending: bool
    filter_text: str

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, at: int) -> Mapping[str, Any]:
        """One row by column name, made when it is asked for."""
        place = int(self.rows[at])
        return {name: self.table.column(name)[place].as_py() for name in self.table.column_names}

    def values(self, column: str) -> NDArray[np.float64]:
        """A column of numbers in this order; not a number where there is none. O(n)."""

        made = pc.cast(self.table.column(column), pa.float64()).combine_chunks()
        found: NDArray[np.float64] = made.to_numpy(zero_copy_only=False)[self.rows]
        return found

    def highest(self, column: str) -> float:
        """The largest number of a column among these rows, 0.0 for none."""
        numbers = self.values(column)
        return float(np.nanmax(numbers)) if len(numbers) and not np.isnan(numbers).all() else 0.0

    def histogram(self, column: str, bars: int = HISTOGRAM_BARS) -> tuple[NDArray[np.int64], float, float]:
        """How many rows lie in each of so many equal pieces from the lowest to the highest number, and those two."""
        numbers = self.values(column)
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return np.zeros(bars, dtype=np.int64), 0.0, 0.0
        low, high = float(numbers.min()), float(numbers.max())
        counts, _ = np.histogram(numbers, bins=bars, range=(low, high if high > low else low + 1.0))
        return counts.astype(np.int64), low, high


@dataclass(frozen=True, eq=False)
class FleetResults:
    """What a folder holds. ``subscriptions`` and ``namespaces`` list the worst first, as the job wrote them."""

    folder: Path
    subscriptions: Listing
    namespaces: Listing


def read_results(folder: Path) -> FleetResults:
    """The two lists of a result folder. Raises ``InputError``: what is missing, and which command makes it."""
    return FleetResults(folder, _listing(folder, SUBSCRIPTIONS), _listing(folder, NAMESPACES))


def ordered(listing: Listing, column: str, *, descending: bool) -> Listing:
    """The same rows by another column; rows without a value come last. O(n log n), no row is made."""

    kept = listing.table.take(listing.rows) if len(listing.rows) != len(listing.table) else listing.table
    places = listing.rows if kept is not listing.table else np.arange(len(listing.table))
    order = "descending" if descending else "ascending"
    at = pc.sort_indices(kept.select([column]), sort_keys=[(column, order)]).to_numpy()
    return Listing(listing.table, places[at], column, descending, listing.filter_text)


def filtered(whole: Listing, text: str) -> Listing:
    """The rows of ``whole`` with this text in a namespace or a subscription, in its order. O(n), no row is made."""

    if not text:
        return Listing(whole.table, whole.rows, whole.sorted_by, whole.descending, "")
    mask = np.zeros(len(whole.table), dtype=bool)
    for column in ("namespace", "subscription"):
        if column in whole.table.column_names:
            found = pc.match_substring(whole.table.column(column), text, ignore_case=True)
            mask |= found.combine_chunks().to_numpy(zero_copy_only=False).astype(bool)
    return Listing(whole.table, whole.rows[mask[whole.rows]], whole.sorted_by, whole.descending, text)


def policies_of(results: FleetResults, namespace: str) -> tuple[str, ...]:
    """The rules in force for the subscriptions of a namespace. O(n), no row is made."""
    table = results.subscriptions.table
    inside = pc.equal(table.column("namespace"), namespace)
    return tuple(pc.unique(pc.filter(table.column("policy"), inside)).to_pylist())


def export(listing: Listing, path: Path) -> int:
    """Write the rows in their order, as CSV or Parquet by the name's ending; gives their number.

    Raises ``InputError`` for another ending, a file that is there already, and what the system refuses.
    """
    if path.suffix not in EXPORT_KINDS:
        raise InputError(f"{path} ends in neither .csv nor .parquet; choose one of the two")

    table = listing.table.take(listing.rows)
    try:
        with path.open("xb") as file:
            csv.write_csv(table, file) if path.suffix == ".csv" else pq.write_table(table, file)
    except FileExistsError as error:
        raise InputError(f"{path} is there already; choose another name") from error
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(listing)


def part_of(folder: Path, namespace: str, subscription: str = "", *, consistent_hashing: bool = False) -> FleetPart:
    """What the tables tell of a namespace, or of one subscription of it. Raises ``InputError`` for missing tables."""
    wanted = [("namespace", "=", namespace)]
    mine = [*wanted, ("subscription", "=", subscription)] if subscription else wanted
    names = ["subscription", "type", "topic", "partitioned_topic", "partition_index", "consumer_set",
             "unacked_messages", "msg_backlog_entries"]  # fmt: skip
    rows = _read(folder, "subscriptions", names, mine).to_pydict()
    sets = _consumer_sets(folder, set(rows["consumer_set"]))
    columns = (rows[name] for name in names[:6])
    dispatchers = [
        Dispatcher(name, kind, topic, parent, index, sets.get(number, ()))
        for name, kind, topic, parent, index, number in zip(*columns, strict=True)
    ]
    waiting: dict[str, list[int]] = {}
    for topic, *more in zip(rows["topic"], rows["unacked_messages"], rows["msg_backlog_entries"], strict=True):
        told = waiting.setdefault(topic, [0, 0])
        told[0] += more[0]
        told[1] += more[1]
    where = f"{namespace}, subscription {subscription}" if subscription else namespace
    return FleetPart(
        namespace=namespace,
        dispatchers=dispatchers,
        loads=_loads(folder, wanted, waiting),
        boundaries=_boundaries(folder, wanted),
        consistent_hashing=consistent_hashing,
        release=_release(folder),
        source=f"{folder.name}: {where}",
    )


def _loads(folder: Path, wanted: Sequence[Any], waiting: Mapping[str, Sequence[int]]) -> dict[str, Load]:
    names = ["topic", "msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out"]
    rows = _read(folder, "topics", names, wanted).to_pydict()
    return {
        topic: Load(rate_in, rate_out, bytes_in, bytes_out, waiting[topic][0], waiting[topic][1])
        for topic, rate_in, rate_out, bytes_in, bytes_out in zip(*(rows[name] for name in names), strict=True)
        if topic in waiting
    }


def _boundaries(folder: Path, wanted: Sequence[Any]) -> tuple[int, ...]:
    if not _parts(folder, "bundles"):
        return ()
    rows = _read(folder, "bundles", ["lower", "upper"], wanted).to_pydict()
    return tuple(sorted({*rows["lower"], *rows["upper"]}))


def _release(folder: Path) -> str:
    if not _parts(folder, "brokers"):
        return ""
    versions = [each for each in _read(folder, "brokers", ["version"], None).to_pydict()["version"] if each]
    return max(set(versions), key=versions.count) if versions else ""


def _consumer_sets(folder: Path, wanted: set[int]) -> dict[int, tuple[str, ...]]:
    if not wanted:
        return {}
    rows = _read(
        folder, "consumer_sets", ["consumer_set", "names"], [("consumer_set", "in", sorted(wanted))]
    ).to_pydict()
    return {number: tuple(names) for number, names in zip(rows["consumer_set"], rows["names"], strict=True)}


def _listing(folder: Path, name: str) -> Listing:
    table = _read(folder, name, None, None)
    return Listing(table, np.arange(len(table), dtype=np.int64), "", True, "")


def _parts(folder: Path, name: str) -> list[Path]:
    return sorted((folder / name).glob("*.parquet"))


def _read(folder: Path, name: str, columns: list[str] | None, wanted: Sequence[Any] | None) -> Any:
    parts = _parts(folder, name)
    if not parts:
        raise InputError(
            f"{folder} holds no table {name}; make it with ringside fleet run IN OUT or ringside fleet report"
        )
    try:
        return pa.concat_tables([pq.read_table(part, columns=columns, filters=wanted or None) for part in parts])
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{folder / name} cannot be read: {str(error).splitlines()[0]}") from error
