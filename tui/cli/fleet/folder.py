"""A result folder by the path or URI that a command was given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.sources.nearby import missing

if TYPE_CHECKING:
    from engine.views.fleet.runs import ResultFolder


def result_folder(text: str, run_id: str = "") -> ResultFolder:
    """A run of a result folder by its path or URI, the latest if none is named. Raises ``InputError``."""
    from engine.errors import INSTALL_SPARK, InputError

    if "://" not in text:
        reason = missing(text)
        if reason is not None:
            raise InputError(reason)
        return result_in(Path(text), run_id)
    try:
        from pipeline.storage import place_of
    except ImportError as error:
        raise InputError(f"stores are read with pyarrow, which is missing: {INSTALL_SPARK}") from error
    return result_in(place_of(text), run_id)


def result_in(root: Any, run_id: str = "") -> ResultFolder:
    """``result_folder`` of a place that is open. Raises ``InputError``."""
    from engine.errors import InputError, system_reason
    from engine.views.fleet.runs import result_at

    try:
        return result_at(root, run_id)
    except OSError as error:
        raise InputError(f"{root} cannot be read: {system_reason(error)}") from error
