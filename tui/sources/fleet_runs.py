"""The tables of two runs of a fleet as columns with codes, read with Arrow. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.compare.matching import NOTHING, Coded, keyed
from engine.errors import InputError
from engine.views.fleet.difference import (
    MEASURES,
    FindingColumns,
    FindingPlace,
    NameColumns,
    OwnerColumns,
    Run,
    RunColumns,
    SubscriptionColumns,
)
from tui.sources.fleet_tables import ResultFolder, first_line, parts_of, read_table

COMPARED: Final = ("assignments", "subscription_loads", "worst_subscriptions", "findings", "topics", "brokers")
"""The tables that a comparison reads, of which a run may lack some."""
_OWNERS: Final = ("cluster", "namespace", "subscription", "topic", "active_consumer")
_SUBSCRIPTIONS: Final = ("cluster", "namespace", "subscription", "type", "verdict", *MEASURES)
_FINDING: Final = tuple(field.name for field in fields(FindingPlace))
_FEW: Final = (
    "cluster", "namespace", "subscription", "policy", "active_consumer", "type", "verdict", "rule", "severity",
    "run_id",
)  # fmt: skip
"""Columns with few different values."""


@dataclass(frozen=True, slots=True)
class RunTables:
    """The tables of one run in a result folder; with ``run_id`` "" the folder has one run only."""

    folder: ResultFolder
    run_id: str = ""

    def has(self, name: str) -> bool:
        return bool(parts_of(self.folder, name))

    def read(self, name: str, columns: Iterable[str], conditions: Sequence[Any] = ()) -> Any:
        """Columns of a table as a ``pyarrow.Table``.

        Raises ``InputError``: it cannot be read, is of another release, or has several runs and none is named.
        """
        columns = [*columns, "run_id"]
        self._check(name, columns)
        filters = [*conditions, ("run_id", "=", self.run_id)] if self.run_id else [*conditions]
        table = read_table(self.folder, name, columns, filters or None, [name for name in columns if name in _FEW])
        if not self.run_id and len(runs := _values(table.column("run_id"))) > 1:
            raise InputError(
                f"{self.folder}/{name} has several runs ({', '.join(sorted(runs))}); name the folder and two of them:"
                " ringside fleet diff OUT RUN_ID RUN_ID"
            )
        return table

    def run_ids(self) -> set[str]:
        """The runs that any of the tables has rows of."""
        run_ids: set[str] = set()
        for name in filter(self.has, COMPARED):
            self._check(name, ["run_id"])
            run_ids |= _values(read_table(self.folder, name, ["run_id"], None, ["run_id"]).column("run_id"))
        return run_ids

    def _check(self, name: str, columns: Iterable[str]) -> None:
        part = parts_of(self.folder, name)[0]
        try:
            known = set(pq.read_schema(part if isinstance(part, Path) else part.input_file()).names)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{self.folder}/{name} cannot be read: {first_line(error)}") from error
        lacking = [column for column in columns if column not in known]
        if lacking:
            raise InputError(
                f"{self.folder}/{name} has no column {lacking[0]}, so another release wrote it; make it again with"
                " ringside fleet run IN OUT"
            )


class _ArrowNames(Sequence[str]):
    """The values of a dictionary, decoded one by one when asked for: a fleet has millions of topics."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return _ArrowNames(self._values[at])
        return str(self._values[at].as_py())


def coded(before: Any, after: Any) -> Coded:
    """Two ``pyarrow.ChunkedArray`` of texts, both plain or both dictionaries, with codes that they share. O(rows)."""
    chunks = [chunk for chunk in (*before.chunks, *after.chunks) if len(chunk)]
    if not chunks:
        return Coded((), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    both = pa.chunked_array(chunks)
    both = both.unify_dictionaries() if pa.types.is_dictionary(both.type) else both.dictionary_encode()
    codes = [pc.fill_null(chunk.indices, NOTHING).to_numpy(zero_copy_only=False) for chunk in both.chunks]
    all_codes = np.concatenate(codes).astype(np.int64)
    return Coded(_ArrowNames(both.chunk(0).dictionary), all_codes[: len(before)], all_codes[len(before) :])


def runs_of(before: RunTables, after: RunTables) -> tuple[Run, Run]:
    """The two runs. Raises ``InputError`` for what is not a result, an unknown run, or the same run twice."""
    for tables in (before, after):
        if not any(map(tables.has, COMPARED)):
            raise InputError(
                f"{tables.folder} is not a result of a fleet: it holds none of the tables {', '.join(COMPARED)}; make"
                " it with ringside fleet run IN OUT"
            )
        if tables.run_id and tables.run_id not in (run_ids := tables.run_ids()):
            raise InputError(f"{tables.folder} has no run {tables.run_id!r}; it has {', '.join(sorted(run_ids))}")
    runs = _run(before), _run(after)
    if runs[0].run_id == runs[1].run_id:
        raise InputError(
            f"{before.folder} and {after.folder} are the same run {runs[0].run_id}; give the results of two runs"
        )
    return runs


def _run(tables: RunTables) -> Run:
    """The run that made the first of the compared tables that has a row, and the moment that it is of."""
    name = next(name for name in ("worst_subscriptions", *COMPARED) if tables.has(name))
    moment = ["snapshot_time"] if name == "worst_subscriptions" else []
    table = tables.read(name, moment)
    run_id = tables.run_id or next(iter(_values(table.column("run_id")) or sorted(tables.run_ids())), "")
    latest = None
    if moment:  # Spark writes moments of UTC in a form that does not say so
        times = table.column("snapshot_time").cast(pa.timestamp("us", "UTC"), safe=False)
        latest = pc.max(times).as_py()
    return Run(str(tables.folder), run_id or "without rows", latest.isoformat() if latest else None)


def _values(column: Any) -> set[str]:
    return set(pc.unique(column).to_pylist())


def columns_of(before: RunTables, after: RunTables) -> tuple[RunColumns, tuple[str, ...]]:
    """How to read what both runs have, and the tables that one of them lacks. Reading raises ``InputError``."""
    missing = tuple(name for name in COMPARED if not (before.has(name) and after.has(name)))
    owners = {"assignments", "subscription_loads"}.isdisjoint(missing)
    return (
        RunColumns(
            partial(_owners, before, after) if owners else None,
            None if "worst_subscriptions" in missing else partial(_subscriptions, before, after),
            None if "findings" in missing else partial(_findings, before, after),
            None if "topics" in missing else partial(_names, before, after, "topics", "topic"),
            None if "brokers" in missing else partial(_names, before, after, "brokers", "broker"),
        ),
        missing,
    )


def _owners(before: RunTables, after: RunTables) -> OwnerColumns:
    old, new = _owners_of(before), _owners_of(after)
    named = {name: coded(old.column(name), new.column(name)) for name in _OWNERS[:4]}
    return OwnerColumns(**named, owner=coded(old.column("active_consumer"), new.column("active_consumer")))


def _owners_of(tables: RunTables) -> Any:
    """Assignments under the policy in force; which one that is may differ between subscriptions."""
    names = _OWNERS[:3]
    in_force = tables.read("subscription_loads", (*names, "policy"), [("in_force", "=", True)])
    policies = sorted(_values(in_force.column("policy")))
    tables_of_policies = []
    for policy in policies or [""]:
        rows = tables.read("assignments", _OWNERS, [("policy", "=", policy)])
        if len(policies) > 1:
            ruled = in_force.filter(pc.equal(in_force.column("policy").cast(pa.string()), policy))
            mine, others = keyed(*(coded(rows.column(name), ruled.column(name)) for name in names))
            rows = rows.filter(pa.array(np.isin(mine, others)))
        tables_of_policies.append(rows)
    return pa.concat_tables(tables_of_policies)


def _subscriptions(before: RunTables, after: RunTables) -> SubscriptionColumns:
    old, new = (tables.read("worst_subscriptions", _SUBSCRIPTIONS) for tables in (before, after))
    texts = {name: coded(old.column(name), new.column(name)) for name in _SUBSCRIPTIONS[:5]}
    measures = {name: (_numbers(old, name), _numbers(new, name)) for name in MEASURES}
    return SubscriptionColumns(**texts, measures=measures)


def _numbers(table: Any, name: str) -> Any:
    return pc.fill_null(table.column(name).cast(pa.float64()), float("nan")).to_numpy()


def _findings(before: RunTables, after: RunTables) -> FindingColumns:
    old, new = (tables.read("findings", _FINDING) for tables in (before, after))
    return FindingColumns(*(coded(old.column(name), new.column(name)) for name in _FINDING))


def _names(before: RunTables, after: RunTables, table: str, column: str) -> NameColumns:
    old, new = (tables.read(table, ["cluster", column]) for tables in (before, after))
    return NameColumns(*(coded(old.column(name), new.column(name)) for name in ("cluster", column)))
