"""Which answers come from the same set of brokers, and what those brokers said about themselves.

Answers of one cluster are saved in one folder, with its load reports and its configuration somewhere in it. So a file
belongs to the nearest folder above it in which brokers reported a release or the flag; where only the top folder has
such reports, every folder right in it is a group of its own, for which all these reports are candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.config import FLAG
from pipeline.batches import codes_of
from pipeline.schemas import BROKERS, SETTINGS, parts_of
from pipeline.storage import Place, for_arrow

GROUP: Final = "group"
"""The column that takes the place of ``file`` in tables of a task."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class BrokerGroups:
    """Folders with reports of their own: the releases and flags reported in and below each; "" is the top folder."""

    releases: dict[str, frozenset[str]]
    flags: dict[str, frozenset[bool]]

    def group_of(self, file: str) -> str:
        """The group of a file by its path relative to the folder that was read. O(depth).

        >>> groups = BrokerGroups({"": frozenset({"4.2.4"}), "a": frozenset({"4.2.4"})}, {})
        >>> [groups.group_of(file) for file in ("a/stats/x.json", "b/stats/x.json", "x.json")]
        ['a', 'b', '']
        """
        folders = list(_folders_of(file))
        own = next((folder for folder in folders if folder and self._reports_in(folder)), None)
        if own is not None:
            return own
        return folders[-2] if len(folders) > 1 else ""

    def releases_of(self, group: str) -> frozenset[str]:
        """The releases that brokers of a group reported, else those reported in the nearest folder above it."""
        return _nearest(self.releases, group)

    def flags_of(self, group: str) -> frozenset[bool]:
        """The values of the flag that brokers of a group reported, as for releases."""
        return _nearest(self.flags, group)

    def _reports_in(self, folder: str) -> bool:
        return folder in self.releases or folder in self.flags

    def with_groups(self, table: pa.Table) -> pa.Table:
        """A table whose column ``file`` is replaced by ``group``. O(rows + files x depth)."""
        files, codes = codes_of(table["file"])
        groups = [self.group_of(file) for file in files]
        names = sorted(set(groups))
        number = {name: place for place, name in enumerate(names)}
        places = np.array([number[group] for group in groups], dtype=np.int32)[codes]
        column = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(names, pa.string()))
        return table.drop_columns(["file"]).append_column(GROUP, column)


def broker_groups(source: Place) -> BrokerGroups:
    """What brokers reported, from the tables ``brokers`` and ``settings`` of an import under ``source``. O(reports)."""
    releases: dict[str, set[str]] = {}
    for version, file in _pairs(source / BROKERS.name, "version"):
        if version:
            _add(releases, file, version)
    flags: dict[str, set[bool]] = {}
    for name, value, file in _rows(source / SETTINGS.name, ("name", "value", "file")):
        if name == FLAG and value in ("true", "false"):
            _add(flags, file, value == "true")
    return BrokerGroups(
        {folder: frozenset(each) for folder, each in releases.items()},
        {folder: frozenset(each) for folder, each in flags.items()},
    )


def _add(found: dict[str, set[_T]], file: str, value: _T) -> None:
    for folder in _folders_of(file):
        found.setdefault(folder, set()).add(value)


def _nearest(found: dict[str, frozenset[_T]], group: str) -> frozenset[_T]:
    return next((found[folder] for folder in _folders_of(f"{group}/") if folder in found), frozenset())


def _folders_of(file: str) -> Iterator[str]:
    """Every folder above a file, the nearest first and "" last.

    >>> list(_folders_of("a/b/x.json"))
    ['a/b', 'a', '']
    """
    folder = file.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _pairs(folder: Place, column: str) -> Iterable[tuple[str, str]]:
    return ((value, file) for value, file in _rows(folder, (column, "file")))


def _rows(folder: Place, columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for part in parts_of(folder):
        yield from zip(*pq.read_table(for_arrow(part), columns=list(columns)).to_pydict().values(), strict=True)
