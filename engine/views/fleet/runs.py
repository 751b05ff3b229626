"""Which files are the tables of a run of a fleet, on a disk and in a store.

Every run adds files and changes none: ``OUT/TABLE/run_id=R/part-….parquet`` are the rows of a table that the run R
wrote. ``OUT/runs/R.json``, its manifest, is put last and names the parts of all of its tables; a run without one does
not exist. ``OUT/latest`` has the id of the run that readers open. A job that is run alone names the parts of an earlier
run for the tables that it did not compute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from engine.errors import InputError
from engine.input import read_path
from engine.views.fleet.summary import FILE_NAME, FleetSummary, read_summary

LATEST: Final = "latest"
RUNS: Final = "runs"
FORMAT: Final = "ringside.run/2"
RUN_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,127}", re.ASCII)
_PART: Final = re.compile(r"\w+/run_id=[A-Za-z0-9][\w.-]{0,127}/[A-Za-z0-9][\w.-]*\.parquet", re.ASCII)
_BEFORE_RUNS: Final = ("summary.json", "import.json", "assign.json", "watch.json")
"""Documents beside the tables in results of releases that had one run in a folder."""


class Root(Protocol):
    """A folder of this machine or of a store."""

    @property
    def name(self) -> str: ...
    def __truediv__(self, name: str, /) -> Any: ...
    def exists(self) -> bool: ...
    def read_bytes(self) -> bytes: ...
    def glob(self, pattern: str, /) -> Iterator[Any]: ...


class Manifest(msgspec.Struct, frozen=True):
    """One run: the parts of its tables, by their paths below OUT, and the documents of its jobs.

    ``source`` and ``options`` are what the job was given, ``snapshot_time`` the moment that the answers are of.
    """

    run_id: str
    job: str = ""
    snapshot_time: datetime | None = None
    tables: dict[str, list[str]] = {}
    documents: dict[str, msgspec.Raw] = {}
    source: str = ""
    options: dict[str, str] = {}
    format: str = FORMAT

    def text(self) -> bytes:
        """The manifest as it is written."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """A result folder as one of its runs left it."""

    root: Root
    manifest: Manifest

    def __str__(self) -> str:
        return str(self.root)

    @property
    def name(self) -> str:
        return self.root.name

    def has(self, table: str) -> bool:
        return table in self.manifest.tables

    def parts(self, table: str) -> list[Any]:
        """The files of a table in their order; none where its job has not run."""
        return [self.root / path for path in self.manifest.tables.get(table, ())]

    def document(self, name: str) -> bytes:
        """A JSON document. Raises ``FileNotFoundError``."""
        if name not in self.manifest.documents:
            raise FileNotFoundError(f"{self.root} has no {name}")
        return msgspec.json.format(bytes(self.manifest.documents[name]), indent=1) + b"\n"


def result_at(root: Root, run_id: str = "") -> ResultFolder:
    """A run of a result folder, the latest if none is named.

    Raises ``InputError``, which says what is missing or wrong, and ``OSError`` where the folder cannot be read.
    """
    check_release(root)
    named = run_id or _latest(root)
    while True:
        try:
            if not RUN_ID.fullmatch(named):
                raise FileNotFoundError
            data = _text(root / RUNS / f"{named}.json")
            return ResultFolder(root, _manifest(data, f"{root}/{RUNS}/{named}.json"))
        except FileNotFoundError as fault:
            now = run_id or _latest(root)
            if now == named:
                known = ", ".join(run_ids(root))
                raise InputError(f"{root} has no run {named!r}" + (f"; it has {known}" if known else "")) from fault
            named = now  # a newer run took its place meanwhile, and removed it


def _latest(root: Root) -> str:
    try:
        return _text(root / LATEST).decode(errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise InputError(f"{root} has no result of a fleet; ringside fleet run IN OUT makes one") from fault


def check_release(root: Root) -> None:
    """Raise ``InputError`` for the result of a release that kept one run in a folder."""
    if not (root / LATEST).exists() and any((root / name).exists() for name in _BEFORE_RUNS):
        raise InputError(
            f"{root} is the result of an earlier release, which this one neither reads nor changes;"
            " make it again in a new folder with ringside fleet run IN OUT"
        )


def run_ids(root: Root) -> list[str]:
    """The runs of a result folder, the oldest first: ids begin with the time of their start."""
    names = (path.name.removesuffix(".json") for path in (root / RUNS).glob("*.json"))
    return sorted(name for name in names if RUN_ID.fullmatch(name))


def _text(place: Any) -> bytes:
    return read_path(place) if isinstance(place, Path) else bytes(place.read_bytes())


def _manifest(data: bytes, place: str) -> Manifest:
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise InputError(f"{place} is not the manifest of a run: {fault}; run the job again") from fault
    if manifest.format != FORMAT:
        raise InputError(f"{place} has the format {manifest.format!r}, which another release of Ringside reads")
    strange = next((path for paths in manifest.tables.values() for path in paths if not _PART.fullmatch(path)), None)
    if strange is not None:
        raise InputError(f"{place} names {strange!r}, which is not a part of a table; run the job again")
    return manifest


MOST_RUNS: Final = 30
"""The newest so many are read."""
MEASURES: Final = ("topics", "msg_rate_in", "msg_rate_out", "storage_size_bytes", "backlog_size_bytes")


@dataclass(frozen=True, slots=True)
class Trend:
    """One cluster, or with ``tenant`` one tenant of it: of each of ``MEASURES`` a value for each run, None where it is
    unknown, and how many topics are ``lacking`` in the sum."""

    cluster: str
    tenant: str
    values: tuple[tuple[float | None, ...], ...]
    lacking: tuple[tuple[int, ...], ...]


def growth(values: Sequence[float | None]) -> float | None:
    """The change from the first known value to the last one, as a share of the first; None where one is unknown.

    >>> growth((None, 8.0, 9.0, 10.0)), growth((None, 8.0)), growth((0, 8.0)), growth((8.0, 9.0, None))
    (0.25, None, None, None)
    """
    *before, last = values
    first = next((value for value in before if value is not None), None)
    return last / first - 1 if last is not None and first else None


def history_of(result: ResultFolder) -> list[FleetSummary]:
    """The summaries of the runs of a folder up to the moment of this one, by their moments.

    A run without a moment, or without a summary that this release can read, is left out. Reads a manifest for each run.
    """
    summaries: dict[str, FleetSummary] = {}
    for run in run_ids(result.root)[-MOST_RUNS:]:
        try:
            summary = read_summary(result_at(result.root, run).document(FILE_NAME))
        except (InputError, OSError):  # it was removed meanwhile, or another release wrote it
            continue
        if summary.snapshot_time is not None:
            summaries[summary.snapshot_time] = summary  # of two runs about one moment the later one
    last = result.manifest.snapshot_time
    return [summaries[moment] for moment in sorted(summaries) if last is None or moment <= last.isoformat()]


def trends_of(history: Sequence[FleetSummary]) -> list[Trend]:
    """The trends of the clusters and tenants that the last summary has: clusters first, then those of most topics."""
    if len(history) < 2:
        return []
    groups = [{(group.cluster, group.tenant): group for group in summary.groups} for summary in history]
    last = sorted(
        history[-1].groups, key=lambda group: (bool(group.tenant), -group.topics, group.cluster, group.tenant)
    )
    return [
        Trend(
            group.cluster, group.tenant,
            tuple(tuple(getattr(run, measure, None) for run in runs) for measure in MEASURES),
            tuple(tuple(run.unknown.get(measure, 0) if run else 0 for run in runs) for measure in MEASURES),
        )
        for group in last
        for runs in [[run.get((group.cluster, group.tenant)) for run in groups]]
    ]  # fmt: skip
