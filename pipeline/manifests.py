"""Which parts make up the results in a folder of a store, where no single rename can publish a result.

Under OUT each table is a plain folder of Parquet files. A job writes to a hidden folder of its run, moves the finished
parts into the folders of their tables, and then writes a small manifest that names them: ``.runs/JOB-NUMBER-ID.json``.
The manifest of a job with the highest number counts, so a job that is killed at any time leaves either the whole old
result or the whole new one. The old parts are removed last. Tools that list a table's folder see old and new parts
together between the first move and the last removal, which takes seconds; readers of the manifest never do.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.errors import RingsideError
from engine.input import read_path
from pipeline.storage import Place, StorePath

RUNS: Final = ".runs"
"""The hidden folder under OUT with the runs of all jobs."""
FORMAT: Final = "ringside.manifest/1"
_RUN: Final = re.compile(r"([a-z]+)-(\d{6,})-[0-9a-f]{8}")
_OURS: Final = re.compile(rf".+\.{_RUN.pattern}\.parquet")
"""Names of parts that a run moved into the folder of a table."""
SUFFIX: Final = ".parquet"
_AT_ONCE: Final = 16
_MOVED: Final = timedelta(hours=1)
"""Parts that no manifest names after this time are left over from a killed run: moving them takes seconds."""
_ABANDONED: Final = timedelta(days=1)
"""The folder of a run without a write for this time is left over from a killed run."""


class Manifest(msgspec.Struct, frozen=True):
    """One result of a job: the names of its parts by table, and its documents by name."""

    run: str
    parts: dict[str, list[str]] = {}
    documents: dict[str, str] = {}
    format: str = FORMAT


def parts_of(folder: Place) -> list[Place]:
    """The Parquet files of a table by name: in a store those that a manifest names, else all in the folder."""
    if isinstance(folder, StorePath):
        for manifest in current_manifests(folder.parent).values():
            if folder.name in manifest.parts:
                return [folder / name for name in manifest.parts[folder.name]]
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file())


def has_table(folder: Place) -> bool:
    """Whether there is a table, possibly an empty one."""
    return bool(parts_of(folder)) if isinstance(folder, StorePath) else folder.is_dir()


def document_of(folder: Place, name: str) -> bytes:
    """A document of a result, such as a summary. Raises ``FileNotFoundError``, and ``InputError`` for no file."""
    if isinstance(folder, StorePath):
        for manifest in current_manifests(folder).values():
            if name in manifest.documents:
                return manifest.documents[name].encode()
    path = folder / name
    return path.read_bytes() if isinstance(path, StorePath) else read_path(path)


def current_manifests(target: StorePath) -> dict[str, Manifest]:
    """The current manifest of each job, the latest first. Raises ``RingsideError`` for one that cannot be read."""
    tries = 3
    while True:
        newest = _newest(target)
        try:
            return {job: _read(target / RUNS / f"{run}.json") for job, run in newest.items()}
        except FileNotFoundError:  # superseded since it was listed
            tries -= 1
            if not tries:
                raise


def _newest(target: StorePath) -> dict[str, str]:
    newest: dict[str, str] = {}
    for run in sorted(_runs(target), key=_order, reverse=True):
        newest.setdefault(run.partition("-")[0], run)
    return newest


def _runs(target: StorePath) -> list[str]:
    names = (path.name for path, _ in (target / RUNS).files())
    return [name.removesuffix(".json") for name in names if _RUN.fullmatch(name.removesuffix(".json"))]


def _order(run: str) -> tuple[int, str]:
    return int(run.split("-")[1]), run


@lru_cache(maxsize=64)
def _read(path: StorePath) -> Manifest:
    """Read one manifest; cached, since a manifest never changes."""
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.MsgspecError as fault:
        raise RingsideError(f"{path} is not a manifest of a result: {fault}; run the job again") from fault
    if manifest.format != FORMAT:
        raise RingsideError(f"{path} has the format {manifest.format!r}, which another release of Ringside reads")
    return manifest


def begin_run(target: StorePath, job: str) -> StorePath:
    """The hidden folder of a new run; also removes old folders of killed runs of this job."""
    numbers = [_order(run)[0] for run in _runs(target)]
    longest_ago = datetime.now(UTC) - _ABANDONED
    for folder in (target / RUNS).folders():
        if _RUN.fullmatch(folder.name) and folder.name.startswith(f"{job}-"):
            numbers.append(_order(folder.name)[0])
            moments = [info.mtime for _, info in folder.files(below=True) if info.mtime is not None]
            if moments and max(moments) < longest_ago:
                folder.remove_folder()
    return target / RUNS / f"{job}-{max(numbers, default=0) + 1:06d}-{uuid.uuid4().hex[:8]}"


def publish(target: StorePath, folder: StorePath, tables: Iterable[str]) -> None:
    """Publish the tables and documents in the folder of a run.

    Raises ``OSError``, and ``RingsideError`` where the folder of a table has foreign files; the old result is kept
    then.
    """
    run, job = folder.name, folder.name.partition("-")[0]
    older = [earlier for earlier in _runs(target) if earlier.partition("-")[0] == job]
    moves: list[tuple[StorePath, StorePath]] = []
    parts: dict[str, list[str]] = {}
    for table in tables:
        _refuse_others(target / table)
        parts[table] = []
        for part, _ in sorted((folder / table).files()):
            if part.name.endswith(SUFFIX):
                parts[table].append(f"{part.name.removesuffix(SUFFIX)}.{run}{SUFFIX}")
                moves.append((part, target / table / parts[table][-1]))
    documents = {path.name: path.read_bytes() for path, _ in folder.files()}
    manifest = Manifest(run, parts, {name: data.decode() for name, data in documents.items()})
    place = target / RUNS / f"{run}.json"
    try:
        _at_once(lambda move: move[0].rename(move[1]), moves)
        place.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    except BaseException:
        with suppress(OSError):
            if not place.exists():  # else it was put, and the fault came on the way back
                _at_once(lambda move: move[1].unlink(missing_ok=True), moves)
        raise
    for name, data in documents.items():
        (target / name).write_bytes(data)
    _remove(target, older, kept=parts)


def withdraw_runs(target: StorePath, job: str) -> None:
    """Remove the result of a job. Raises ``OSError``."""
    manifest = current_manifests(target).get(job)
    _remove(target, [run for run in _runs(target) if run.partition("-")[0] == job], kept={})
    for name in manifest.documents if manifest is not None else ():
        (target / name).unlink(missing_ok=True)


def _remove(target: StorePath, runs: Sequence[str], kept: dict[str, list[str]]) -> None:
    """Remove runs and their parts except ``kept``, and old leftovers of killed runs in the folders of their tables.

    Manifests are removed first, so that no manifest names a part that is gone.
    """
    tables = set(kept)
    for run in runs:
        with suppress(FileNotFoundError, RingsideError):
            tables |= _read(target / RUNS / f"{run}.json").parts.keys()
        (target / RUNS / f"{run}.json").unlink(missing_ok=True)
    long_ago = datetime.now(UTC) - _MOVED
    gone: list[StorePath] = []
    for table in tables:
        for part, info in (target / table).files():
            ours = _OURS.fullmatch(part.name)
            if ours is None or part.name in kept.get(table, ()):
                continue
            run = part.name.removesuffix(SUFFIX).rpartition(".")[2]
            if run in runs or (info.mtime is not None and info.mtime < long_ago):
                gone.append(part)
    _at_once(lambda part: part.unlink(missing_ok=True), gone)


def _refuse_others(folder: StorePath) -> None:
    for part, _ in folder.files():
        if part.name.endswith(SUFFIX) and not _OURS.fullmatch(part.name):
            raise RingsideError(f"{part} is in the way: it was not written by this program; move it elsewhere")


def _at_once(work: Callable[[Any], object], items: list[Any]) -> None:
    """Run ``work`` on all items, some at a time in parallel. Raises what one of them raised, once all have run."""
    if not items:
        return
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        for _ in [*pool.map(work, items)]:
            pass


class StoredResults:
    """A result folder of a store as the dashboard reads it: by files, without knowing about URIs."""

    def __init__(self, folder: StorePath) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        return self._folder.name

    def __str__(self) -> str:
        return str(self._folder)

    def parts(self, table: str) -> list[Any]:
        """The files of a table in the order of their names; none where its job has not run."""
        return [*parts_of(self._folder / table)]

    def document(self, name: str) -> bytes:
        """Raises ``OSError``."""
        return document_of(self._folder, name)


def results_at(place: Place) -> Path | StoredResults:
    """A result folder as the dashboard takes it."""
    return StoredResults(place) if isinstance(place, StorePath) else place
