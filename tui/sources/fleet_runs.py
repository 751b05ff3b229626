"""The tables of two runs of a fleet as columns with codes, read with Arrow. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.compare.matching import NOTHING, Coded, keyed
from engine.errors import InputError
from engine.views.fleet.difference import (
    MEASURES,
    SUBSCRIPTION,
    Columns,
    FindingPlace,
    Part,
    Readers,
    Run,
)
from engine.views.fleet.runs import ResultFolder
from tui.sources.fleet_tables import read_table

COMPARED: Final = ("assignments", "subscription_loads", "worst_subscriptions", "findings", "topics", "brokers")
"""The tables that a comparison reads, of which a run may lack some."""
_POLICIES: Final = ("flag_off", "flag_on")
"""The columns with the active consumer under each policy."""
_SUBSCRIPTION: Final = (*SUBSCRIPTION, "type", "verdict")
_FINDING: Final = tuple(field.name for field in fields(FindingPlace))
_FEW: Final = (
    *SUBSCRIPTION, *_POLICIES, "policy", "type", "verdict", "rule", "severity",
)  # fmt: skip
"""Columns with few different values."""


def _read(folder: ResultFolder, name: str, columns: Iterable[str], conditions: Sequence[Any] = ()) -> Any:
    """Columns of a table as a ``pyarrow.Table``. Raises ``InputError``."""
    columns = [*columns]
    return read_table(folder, name, columns, [*conditions] or None, [name for name in columns if name in _FEW])


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


def runs_of(before: ResultFolder, after: ResultFolder) -> tuple[Run, Run]:
    """The two runs. Raises ``InputError`` for one without a table to compare, or the same run twice."""
    for folder in (before, after):
        if not any(map(folder.has, COMPARED)):
            raise InputError(
                f"{folder} has none of the tables {', '.join(COMPARED)}; make them with ringside fleet run IN OUT"
            )
    if before.manifest.run_id == after.manifest.run_id:
        raise InputError(
            f"{before} and {after} are the same run {before.manifest.run_id}; give the results of two runs"
        )
    return _run(before), _run(after)


def _run(folder: ResultFolder) -> Run:
    moment = folder.manifest.snapshot_time
    return Run(str(folder), folder.manifest.run_id, moment.isoformat() if moment else None)


def readers_of(before: ResultFolder, after: ResultFolder) -> tuple[Readers, tuple[str, ...]]:
    """How to read what both runs have, and the tables that one of them lacks. Reading raises ``InputError``."""
    missing = tuple(name for name in COMPARED if not (before.has(name) and after.has(name)))

    def of_table(name: str, texts: Sequence[str], numbers: Sequence[str] = ()) -> Columns:
        old, new = (_read(folder, name, (*texts, *numbers)) for folder in (before, after))
        return _columns(old, new, texts, numbers)

    def owners() -> Columns:
        return _columns(_owners_of(before), _owners_of(after), (*SUBSCRIPTION, "topic", "owner"))

    readers: dict[Part, Callable[[], Columns]] = {
        "owners": owners,
        "subscriptions": lambda: of_table("worst_subscriptions", _SUBSCRIPTION, MEASURES),
        "findings": lambda: of_table("findings", _FINDING),
        "topics": lambda: of_table("topics", ("cluster", "topic")),
        "brokers": lambda: of_table("brokers", ("cluster", "broker")),
    }
    tables = {"owners": {"assignments", "subscription_loads"}, "subscriptions": {"worst_subscriptions"}}
    return {part: read for part, read in readers.items() if tables.get(part, {part}).isdisjoint(missing)}, missing


def _columns(old: Any, new: Any, texts: Sequence[str], numbers: Sequence[str] = ()) -> Columns:
    return Columns(
        {name: coded(old.column(name), new.column(name)) for name in texts},
        {name: (_numbers(old, name), _numbers(new, name)) for name in numbers},
    )


def _owners_of(folder: ResultFolder) -> Any:
    """Active consumers under the policy in force; which one that is may differ between subscriptions."""
    in_force = _read(folder, "subscription_loads", (*SUBSCRIPTION, "policy"), [("in_force", "=", True)])
    rows = _read(folder, "assignments", (*SUBSCRIPTION, "topic", *_POLICIES))
    off, on = (rows.column(policy) for policy in _POLICIES)
    ringed = in_force.filter(pc.equal(in_force.column("policy").cast(pa.string()), _POLICIES[1]))
    if len(ringed) == len(in_force):
        owner = on
    elif not len(ringed):
        owner = off
    else:
        mine, others = keyed(*(coded(rows.column(name), ringed.column(name)) for name in SUBSCRIPTION))
        owner = pc.if_else(pa.array(np.isin(mine, others)), on.cast(pa.string()), off.cast(pa.string()))
        owner = owner.dictionary_encode()  # as that of a run with one policy alone
    return rows.append_column("owner", owner)


def _numbers(table: Any, name: str) -> Any:
    return pc.fill_null(table.column(name).cast(pa.float64()), float("nan")).to_numpy()
