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
