"""The folder of session journals: one file per run, the newest few kept."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

KEPT: Final = 20
SUFFIX: Final = ".journal"
_NAME: Final = re.compile(r"\d{8}T\d{6}-(?P<pid>\d+)\.journal")


def session_folder() -> Path:
    """The user's folder for session journals; it need not exist yet."""
    return user_state_path("ringside", appauthor=False) / "sessions"


def session_name(now: datetime, pid: int) -> str:
    """A file name that sorts by time and belongs to one process.

    >>> session_name(datetime(2026, 7, 1, 9, 30), 41)
    '20260701T093000-41.journal'
    """
    return f"{now:%Y%m%dT%H%M%S}-{pid}{SUFFIX}"


def prepare_session_file() -> Path:
    """A path for this run's journal in an existing folder, with old journals removed. Raises OSError."""
    folder = session_folder()
    folder.mkdir(parents=True, exist_ok=True)
    prune(folder, KEPT - 1)
    return folder / session_name(datetime.now(), os.getpid())


def prune(folder: Path, keep: int) -> tuple[Path, ...]:
    """Remove all but the newest ``keep`` journals and return what was removed.

    Only files that carry a session's name are touched, and none whose process is still running.
    """
    journals = sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)
    removed = []
    for path in journals[keep:]:
        match = _NAME.fullmatch(path.name)
        if match is None or _is_running(int(match["pid"])):
            continue
        with suppress(OSError):
            path.unlink()
            removed.append(path)
    return tuple(removed)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's process, or no answer: better keep the file
    return True
