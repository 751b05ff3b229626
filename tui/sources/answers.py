"""States to start from: saved answers of a broker, standard input, the embedded cluster, an invented one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from engine.admin.reading import MAX_STREAM_BYTES
from engine.admin.snapshot import read_answers
from engine.errors import InputError
from engine.scenarios.embedded import embedded_default
from engine.scenarios.opening import Opened, open_snapshot
from tui.sources.nearby import STANDARD_INPUT, missing

HEAD_BYTES: Final = 4096
SCRIPT_SUFFIX: Final = ".ringside"


def opened(path: str | None, *, release: str | None = None) -> Opened:
    """Open a file or folder of answers, ``-`` for standard input, or without a path the embedded cluster.

    ``release`` stands in for the version that answers rarely tell. Raises ``InputError`` when nothing can be used.
    """
    if path is None:
        return embedded_default()
    if path == STANDARD_INPUT:
        return open_snapshot(read_answers(standard_input()), release=release)
    reason = missing(path)
    if reason is not None:
        raise InputError(reason)
    try:
        return open_snapshot(read_answers(path), release=release)
    except InputError as error:
        raise _with_advice(path, error) from error
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: {reason}") from error


def standard_input() -> bytes:
    """All of standard input, in pieces: between two of them a signal is noticed, inside one long read it may not be."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    pieces, size = [], 0
    while piece := os.read(sys.stdin.fileno(), 1 << 16):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_STREAM_BYTES:
            raise InputError(f"standard input has more than {MAX_STREAM_BYTES} bytes; that much is no broker answer")
    return b"".join(pieces)


def _with_advice(path: str, error: InputError) -> InputError:
    """The error as it is, or for a journal or a script what opens it."""
    try:
        # A pipe was read already, and would be waited for.
        head = b""
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                head = file.read(HEAD_BYTES)
    except OSError:
        return error
    if b'"kind":"header"' in head:
        return InputError(f"{path}: this is a journal; ringside replay {path} opens it where it left off")
    if path.endswith(SCRIPT_SUFFIX):
        return InputError(f"{path}: this looks like a demo script; ringside demo {path} plays it")
    return error
