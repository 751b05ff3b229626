"""Keep the results of several runs: ``OUT/history/RUN_ID`` is a complete result folder.

Any tool can read all of them as ``OUT/history/*/TABLE/*.parquet``: every row has its run and its moment. On a disk the
parts of the newest run are hard links, so they take no additional space.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.errors import RingsideError
from engine.views.fleet.summary import FILE_NAME
from pipeline.manifests import document_of, has_table, parts_of
from pipeline.schemas import EVERY_TABLE
from pipeline.stamps import stamp_of_table
from pipeline.storage import Place, StorePath, first_line

HISTORY: Final = "history"
RUN_ID: Final = re.compile(r"\w[\w.-]*")
"""The name of a run and its folder; a leading dot means that the folder is being written or removed."""


def keep_run(target: Place, run_id: str, jobs: Sequence[str], runs: int) -> None:
    """Copy the result of these jobs into the history of ``target``, and keep only the newest ``runs`` there.

    The copy is whole or absent. Raises ``RingsideError`` where it cannot be written.
    """
    history = target / HISTORY
    # The summary comes last: without it a run does not count.
    documents = [*(f"{job}.json" for job in jobs), FILE_NAME]
    try:
        if isinstance(history, StorePath):
            _put(target, history / run_id, run_id, documents)
        else:
            _sweep(history)
            _put(target, history / f".{run_id}", run_id, documents)
            (history / f".{run_id}").rename(history / run_id)
        _remove_all_but(target, runs)
    except OSError as fault:
        raise RingsideError(
            f"the result is in {target}, but could not be copied into its history: {first_line(fault)}"
        ) from fault


def runs_kept(target: Place) -> list[str]:
    """The runs in the history of a result folder, the oldest first: their names begin with the time of their start."""
    return sorted(name for name in _names(target / HISTORY) if (target / HISTORY / name / FILE_NAME).exists())


def _put(target: Place, kept: Place, run_id: str, documents: Sequence[str]) -> None:
    for table in EVERY_TABLE:
        # A job that was left out may still have tables of an earlier run.
        if not has_table(target / table.name) or stamp_of_table(target / table.name).run_id not in ("", run_id):
            continue
        place = kept / table.name
        place.mkdir(parents=True, exist_ok=True)
        for part in parts_of(target / table.name):
            _copy(part, place / part.name)
    for name in documents:
        with suppress(FileNotFoundError):
            (kept / name).write_bytes(document_of(target, name))


def _copy(part: Place, copy: Place) -> None:
    if isinstance(part, StorePath) and isinstance(copy, StorePath):
        part.store.copy_file(part.path, copy.path)
        return
    try:
        os.link(os.path.realpath(str(part)), str(copy))
    except OSError:  # this file system has no hard links
        shutil.copyfile(str(part), str(copy))


def _remove_all_but(target: Place, runs: int) -> None:
    history = target / HISTORY
    first = runs_kept(target)[-runs:][0]
    for name in (name for name in _names(history) if name < first):
        if isinstance(history, StorePath):
            # Remove the summary first: without it the run no longer counts, even if the rest stays.
            (history / name / FILE_NAME).unlink(missing_ok=True)
            (history / name).remove_folder()
        else:
            (history / name).rename(history / f".{name}")
            _sweep(history)


def _sweep(history: Path) -> None:
    """Remove folders that a killed process was writing or removing."""
    for path in history.glob(".*"):
        if RUN_ID.fullmatch(path.name[1:]) and path.is_dir():
            shutil.rmtree(path)


def _names(history: Place) -> list[str]:
    if isinstance(history, StorePath):
        folders: Sequence[Place] = history.folders()
    else:
        folders = [path for path in history.iterdir() if path.is_dir()] if history.is_dir() else []
    return [folder.name for folder in folders if RUN_ID.fullmatch(folder.name)]
