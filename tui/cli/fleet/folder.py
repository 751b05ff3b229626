"""A result folder by the path or URI that a command was given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui.sources.nearby import missing

if TYPE_CHECKING:
    from tui.sources.fleet_tables import ResultFolder


def result_folder(text: str) -> ResultFolder:
    """A result folder by its path or URI. Raises ``InputError`` for another scheme, or where Arrow is missing."""
    from engine.errors import InputError

    if "://" not in text:
        reason = missing(text)
        if reason is not None:
            raise InputError(reason)
        return Path(text)
    try:
        from pipeline.manifests import results_at
        from pipeline.storage import place_of
    except ImportError as error:
        raise InputError("stores are read with pyarrow: install it (pip install 'pulsar-ringside[spark]')") from error
    return results_at(place_of(text))


def folder_of_run(text: str, run_id: str) -> ResultFolder:
    """The folder in which the rows of a run are: its own in the history, else the result folder. Raises ``InputError``
    where the history has other runs and the result folder has not this one."""
    folder = result_folder(text)
    from engine.errors import InputError, system_reason
    from engine.views.fleet.summary import FILE_NAME, read_summary
    from pipeline.history import HISTORY, runs_kept
    from pipeline.manifests import document_of
    from pipeline.storage import place_of

    place = place_of(text)
    try:
        kept = runs_kept(place)
        if run_id in kept:
            return result_folder(f"{text.rstrip('/')}/{HISTORY}/{run_id}")
        newest = read_summary(document_of(place, FILE_NAME)).run_id if kept else run_id
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {system_reason(error)}") from error
    if newest != run_id:
        raise InputError(f"{folder} has no run {run_id!r}; it has {', '.join(sorted({*kept, newest}))}")
    return folder
