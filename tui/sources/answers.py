"""States to start from: saved answers of a broker, standard input, the embedded cluster."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct, structs
from msgspec.structs import replace

from engine.admin.documents import pasted_file
from engine.admin.facts import Snapshot
from engine.admin.files import STANDARD_INPUT as STDIN_NAME
from engine.admin.files import AnswerFile, read_file
from engine.admin.folders import read_files
from engine.admin.moments import Moment, read_moments
from engine.admin.requests import AdminRequest, Naming, request_of_path
from engine.admin.snapshot import is_scenario
from engine.admin.text import plain_json, raw_object
from engine.config import CURRENT, behaviour_of, default_settings
from engine.diagnosis.limits import NOT_MODELLED
from engine.errors import InputError, Problem, Rejection, accepted, system_reason
from engine.input import MAX_INPUT_BYTES, Intake, collected, head_of, size_text
from engine.names import parse_topic_name
from engine.scenarios.embedded import DEFAULT_SCENE, embedded_answers, embedded_default
from engine.scenarios.opening import Opened, open_moments
from engine.text import path_word, shell_line
from tui.sources.nearby import STANDARD_INPUT, missing

HEAD_BYTES: Final = 4096
SCRIPT_SUFFIX: Final = ".ringside"
_OWN_JOURNAL: Final = re.compile(rb'\s*\{[^{}]{0,200}"kind":"header"')
_OWN_DOCUMENT: Final = re.compile(rb'\s*\{\s*"format":\s*"(ringside\.[a-z_./0-9-]{1,40})"')


def opened(
    path: str | None, *, release: str | None = None, topic: str | None = None, limit_bytes: int = MAX_INPUT_BYTES
) -> Opened:
    """Open a file or folder of answers, ``-`` for standard input, or without a path the embedded cluster.

    Answers rarely name the version, which ``release`` does, and statistics of one topic never name it, which ``topic``
    does. At most ``limit_bytes`` are read, unpacked. Raises ``InputError`` when nothing can be used.
    """
    if path is None and topic is None:
        return embedded_default()
    return open_moments(_moments_at(path, topic, read_moments, limit_bytes), release=release)


def moments_of(
    path: str | None,
    *,
    topic: str | None = None,
    settings: Iterable[tuple[str, str]] = (),
    release: str | None = None,
    limit_bytes: int = MAX_INPUT_BYTES,
) -> tuple[Moment, ...]:
    """Read a file or folder of answers as moments, ``-`` for standard input, or the embedded cluster without a path.

    ``topic`` and ``release`` say what the answers do not, as in ``opened``; ``settings`` are the brokers', which win
    over those in the answers. A topic that nothing names gets an invented name. Raises ``InputError`` when nothing can
    be used.
    """
    if path is None and topic is None:
        moments: tuple[Moment, ...] = (Moment(None, embedded_answers(DEFAULT_SCENE)),)
    else:
        moments = _moments_at(path, topic, partial(read_moments, keeps_nameless=True), limit_bytes)
    return overruled(moments, settings, release)


def overruled(
    moments: Iterable[Moment], settings: Iterable[tuple[str, str]], release: str | None
) -> tuple[Moment, ...]:
    """Moments as if the brokers had this release and had printed these settings. Raises ``InputError``."""
    pairs = tuple(settings)
    return tuple(replace(moment, snapshot=_overruled(moment.snapshot, pairs, release)) for moment in moments)


def _overruled(snapshot: Snapshot, pairs: Iterable[tuple[str, str]], release: str | None) -> Snapshot:
    snapshot = structs.replace(snapshot, version=release or snapshot.version)
    for name, text in pairs:
        if name not in NOT_MODELLED:
            behaviour = behaviour_of(snapshot.version) if snapshot.version is not None else CURRENT
            assumed = default_settings(CURRENT if isinstance(behaviour, Rejection) else behaviour)
            settings = accepted((snapshot.settings or assumed).with_setting(name, text), f"--set {name}={text}")
            snapshot = structs.replace(snapshot, settings=settings)
        snapshot = structs.replace(snapshot, configuration={**snapshot.configuration, name: text.strip()})
    return snapshot


def _moments_at(
    path: str | None, topic: str | None, read: Callable[..., tuple[Moment, ...]], limit_bytes: int
) -> tuple[Moment, ...]:
    """The moments that ``read`` finds at a path or in standard input, or in one answer about ``topic``.

    Raises ``InputError``.
    """
    if topic is not None:
        return _moments_about(topic, path, read, limit_bytes)
    assert path is not None, "the embedded cluster is not read"
    if path == STANDARD_INPUT:
        data = standard_input(limit_bytes)
        _refuse_own(STDIN_NAME, data)
        return read(data, limit_bytes=limit_bytes)
    reason = missing(path)
    if reason is not None:
        raise InputError(reason)
    _refuse_own(path, head_of(Path(path), HEAD_BYTES))
    try:
        return read(path, limit_bytes=limit_bytes)
    except InputError as error:
        raise _with_advice(path, error) from error
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        raise InputError(f"{path}: {system_reason(error)}") from error


def _moments_about(
    topic: str, path: str | None, read: Callable[..., tuple[Moment, ...]], limit_bytes: int
) -> tuple[Moment, ...]:
    about = answers_about(topic, path, limit_bytes=limit_bytes)
    try:
        moments = read(*about.files, limit_bytes=limit_bytes, title=about.source)
    except InputError as error:
        raise InputError(str(error), (*about.problems, *error.problems)) from error
    first = structs.replace(moments[0].snapshot, problems=(*about.problems, *moments[0].snapshot.problems))
    return (replace(moments[0], snapshot=first), *moments[1:])


class AboutTopic(Struct, frozen=True):
    """Answers of which somebody said what topic they are about, where they came from, and what was wrong."""

    files: tuple[AnswerFile, ...]
    source: str
    problems: tuple[Problem, ...]


def answers_about(
    topic: str, path: str | None, piped: bytes | None = None, *, limit_bytes: int = MAX_INPUT_BYTES
) -> AboutTopic:
    """The answer at a path, or the answers of a folder, as those about ``topic`` unless they name another.

    ``piped`` is standard input where it was read already. Raises ``InputError``.
    """
    if path is None:
        raise InputError("--topic: it names the topic of a FILE or FOLDER; give one")
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        raise InputError(f"--topic {topic}: {name.message}")
    reason = missing(path) if path != STANDARD_INPUT else None
    if reason is not None:
        raise InputError(reason)
    about = AdminRequest("GET", "", name.complete, name.namespace)
    source = f"{path} about {name.complete}"
    if path != STANDARD_INPUT and Path(path).is_dir():
        read = read_files(Path(path), Intake(limit_bytes))
        named = Naming({}, ())
        files = tuple(
            replace(file, request=about)
            if request_of_path(file.name) is None and named.topic(file.name) is None and not is_scenario(file)
            else file
            for file in read.files
        )
        return AboutTopic(files, source, read.problems)
    data, unpacking = (piped, ()) if piped is not None else _one_file(path, limit_bytes)
    name_of_file = STDIN_NAME if path == STANDARD_INPUT else Path(path).name
    text, problems = plain_json(data, name_of_file, limit=limit_bytes)
    # Checked before it is put into another text, where its lines and columns would differ from those of the file.
    members, faults = raw_object(text, name_of_file, check_names=False) if text.strip() else ({}, ())
    problems = (*unpacking, *problems)
    if members:
        whole = b"{%s:%s}" % (json.dumps(name.complete).encode(), text)
        return AboutTopic((AnswerFile(name_of_file, whole),), source, problems)
    pasted = AnswerFile(name_of_file, text, about)
    if pasted_file(pasted, text) is None:
        raise InputError(f"{path}: this is not an answer of a broker", (*problems, *faults))
    return AboutTopic((pasted,), source, problems)


def _one_file(path: str, limit_bytes: int) -> tuple[bytes, tuple[Problem, ...]]:
    if path == STANDARD_INPUT:
        return standard_input(limit_bytes), ()
    try:
        file, problems = read_file(Path(path), path, Intake(limit_bytes))
    except ValueError as error:  # a path with a NUL in it
        raise InputError(f"{path}: {error}") from error
    if file is None:
        raise InputError(str(problems[0]), problems)
    return file.data, problems


def standard_input(limit_bytes: int = MAX_INPUT_BYTES) -> bytes:
    """All of standard input, read in pieces: a signal is handled between two of them, in one long read maybe not."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    data = collected(iter(lambda: os.read(sys.stdin.fileno(), 1 << 16), b""), limit_bytes)
    if data is None:
        raise InputError(f"standard input has more than may be read: --max-input is {size_text(limit_bytes)}")
    return data


def _with_advice(path: str, error: InputError) -> InputError:
    """The error as it is, or for a script one that names the command to play it."""
    if path.endswith(SCRIPT_SUFFIX):
        line = shell_line("ringside", "demo", path_word(path))
        return InputError(f"{path}: this looks like a demo script; {line} plays it")
    return error


def _refuse_own(source: str, head: bytes) -> None:
    """Raise ``InputError`` for journals and what ``--json`` printed: their members are called like those of answers."""
    if _OWN_JOURNAL.match(head) is not None:
        line = shell_line("ringside", "replay", "FILE" if source == STDIN_NAME else path_word(source))
        raise InputError(f"{source}: this is a journal; {line} opens it where it left off")
    document = _OWN_DOCUMENT.match(head)
    if document is not None:
        raise InputError(
            f"{source}: ringside --json printed this ({document[1].decode()}), and it is not an answer of a broker."
            " Open what it was made from, with the same options and without --json; --journal FILE keeps a session to"
            " go on with"
        )
