"""The temporary folder of a run, removed at its end; that of a killed run is removed by the next."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from engine.errors import RingsideError, system_reason

PREFIX: Final = "ringside-spark-"
_LOCK: Final = ".in-use"
_ROOM_BYTES: Final = 1 << 20


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for the length of a ``with``; a lock in it shows that its owner is alive.

    Raises ``RingsideError`` when it cannot be written.
    """
    place = Path(tempfile.gettempdir())
    _sweep(place)
    with ExitStack() as stack:
        try:
            named = tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(named))
            lock = stack.enter_context((folder / _LOCK).open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Spark's error is no help when it cannot write there, so try it first.
            lock.write(bytes(_ROOM_BYTES))
            lock.truncate(0)
        except OSError as fault:
            reason = f"cannot write to the temporary folder {place}: {system_reason(fault)}"
            raise RingsideError(f"{reason}; make room, or name another folder in TMPDIR") from fault
        yield folder


def _sweep(place: Path) -> None:
    """Remove our folders whose owner was killed: their lock is free."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            # A folder without a lock file is new, or of a release without locks.
            with (folder / _LOCK).open("r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
