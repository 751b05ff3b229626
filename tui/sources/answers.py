"""States to start from: saved answers of a broker, standard input, the embedded cluster, an invented one."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.admin.reading import MAX_STREAM_BYTES, read_path
from engine.admin.snapshot import read_answers
from engine.admin.text import plain_json
from engine.errors import InputError, Problem, Rejection
from engine.names import parse_topic_name
from engine.scenarios.embedded import embedded_default
from engine.scenarios.opening import Opened, open_snapshot
from engine.shell_lines import path_word, shell_line
from tui.sources.nearby import STANDARD_INPUT, missing

HEAD_BYTES: Final = 4096
SCRIPT_SUFFIX: Final = ".ringside"


def opened(path: str | None, *, release: str | None = None, topic: str | None = None) -> Opened:
    """Open a file or folder of answers, ``-`` for standard input, or without a path the embedded cluster.

    ``release`` stands in for the version that answers rarely tell, ``topic`` for the name that statistics of one topic
    never tell. Raises ``InputError`` when nothing can be used.
    """
    if topic is not None:
        return _opened_about(topic, path, release)
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


def _opened_about(topic: str, path: str | None, release: str | None) -> Opened:
    answer, source, problems = answer_about(topic, path)
    found = open_snapshot(read_answers(answer), release=release)
    return replace(found, problems=(*problems, *found.problems), source=source)


def answer_about(topic: str, path: str | None, piped: bytes | None = None) -> tuple[bytes, str, tuple[Problem, ...]]:
    """One answer without a name, as the form {topic: answer} that has one; what to call it; what was wrong with it.

    ``piped`` is standard input where it was read already. Raises ``InputError``.
    """
    if path is None or (path != STANDARD_INPUT and Path(path).is_dir()):
        raise InputError("--topic: it names the topic of one FILE; in a folder name each file after its topic")
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        raise InputError(f"--topic {topic}: {name.message}")
    topic = str(name)
    reason = missing(path) if path != STANDARD_INPUT else None
    if reason is not None:
        raise InputError(reason)
    try:
        data = piped
        if data is None:
            data = standard_input() if path == STANDARD_INPUT else read_path(Path(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    text, problems = plain_json(data, path)
    return b"{%s:%s}" % (json.dumps(topic).encode(), text), f"{path} about {topic}", tuple(problems)


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
        line = shell_line("ringside", "replay", path_word(path))
        return InputError(f"{path}: this is a journal; {line} opens it where it left off")
    if path.endswith(SCRIPT_SUFFIX):
        line = shell_line("ringside", "demo", path_word(path))
        return InputError(f"{path}: this looks like a demo script; {line} plays it")
    return error
