"""States to start from: saved answers of a broker, standard input, the embedded cluster, an invented one."""

from __future__ import annotations

import os
import sys

from engine.admin.snapshot import read_answers
from engine.errors import InputError
from engine.scenarios.embedded import embedded_default
from engine.scenarios.opening import Opened, open_snapshot
from tui.sources.nearby import STANDARD_INPUT, missing


def opened(path: str | None, *, release: str | None = None) -> Opened:
    """Open a file or folder of answers, ``-`` for standard input, or without a path the embedded cluster.

    ``release`` stands in for the version that answers rarely tell. Raises ``InputError`` when nothing can be used.
    """
    if path is None:
        return embedded_default()
    if path == STANDARD_INPUT:
        return open_snapshot(read_answers(_standard_input()), release=release)
    reason = missing(path)
    if reason is not None:
        raise InputError(reason)
    try:
        return open_snapshot(read_answers(path), release=release)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: {reason}") from error


def _standard_input() -> bytes:
    """All of standard input, in pieces: between two of them a signal is noticed, inside one long read it may not be."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    pieces = []
    while piece := os.read(sys.stdin.fileno(), 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)
