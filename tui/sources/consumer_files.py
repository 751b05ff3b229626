"""Consumers of a Key_Shared subscription and the ranges they declare, from texts and files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from engine.errors import InputError
from engine.input import head_of
from engine.keyshared.model import DeclaredRanges
from engine.keyshared.scaling_modes import node_name
from tui.sources.key_files import read_text_lines

NamedRanges = tuple[str, DeclaredRanges | None]
"""A consumer's name and its declared ranges, None where it gives none."""

_RANGE: Final = re.compile(r"\s*(-?[0-9]{1,18})(?:\s*-\s*(-?[0-9]{1,18}))?\s*")
_SHOWN: Final = 40


def ranges_of_text(text: str, place: str) -> DeclaredRanges:
    """Ranges as declared, whether a broker takes them or not. Raises ``InputError``, which names ``place`` and piece.

    >>> ranges_of_text("0-99,7", "--ranges")
    ((0, 99), (7, 7))
    """
    return tuple(_range(piece, place) for piece in text.split(",")) if text.strip() else ()


def names_of_text(text: str, place: str) -> tuple[str, ...]:
    """Names between commas; none for an empty text. Raises ``InputError`` for an empty name, with its number.

    >>> names_of_text("a,b", "--consumers"), names_of_text("", "--consumers")
    (('a', 'b'), ())
    """
    names = tuple(text.split(",")) if text else ()
    for number, name in enumerate(names, 1):
        if not name:
            raise InputError(f"{place}: name {number} of {len(names)} is empty in {_short(text)}; leave out the comma")
    return names


def named_ranges(text: str, place: str) -> NamedRanges:
    """Parse ``NAME=START-END,...``; the last ``=`` counts, so a name may have one. Raises ``InputError``."""
    name, separator, ranges = text.rpartition("=")
    if not separator:
        raise InputError(
            f"{place}: {_short(text)} has no ranges; write NAME=START-END,... such as c-1=0-16383,20000-29999"
        )
    if not name:
        raise InputError(f"{place}: {_short(text)} has no name before the =; write NAME=START-END,...")
    return name, ranges_of_text(ranges, f"{place} {_short(name)}")


def read_consumers(path: str, *, with_ranges: bool) -> tuple[NamedRanges, ...]:
    """The consumers of a file: JSON where it begins with ``[``, else one a line. Raises ``InputError``.

    JSON is a list of names, or of objects with "name" (or "node", an index) and, if wanted, "ranges" as pairs, which
    may be the "nodes" of ``ringside ranges --json``. A line is a name, or where ``with_ranges`` NAME=START-END,... .
    """
    lines = read_text_lines(path)
    if not lines:
        raise InputError(f"{path}: no consumer in it; write one a line")
    first = lines[0][1].strip()
    if first.startswith(("[", '{"format"')) or first == "{":
        return _of_json(lines, path)
    if not with_ranges:
        return tuple((text, None) for _, text in lines)
    return tuple(named_ranges(text, f"{path}:{number}") for number, text in lines)


def _of_json(lines: Sequence[tuple[int, str]], path: str) -> tuple[NamedRanges, ...]:
    try:
        document = json.loads("\n".join(text for _, text in lines))
    except json.JSONDecodeError as error:
        place = f"{path}:{lines[error.lineno - 1][0]}:{error.colno}"
        raise InputError(f"{place}: no JSON: {error.msg}") from error
    except ValueError as error:
        raise InputError(f"{path}: no JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: no list of consumers: too deeply nested") from error
    place = "$"
    if isinstance(document, dict):
        document, place = document.get("nodes"), "$.nodes"
        if not isinstance(document, list):
            raise InputError(
                f'{path}: a list of consumers belongs here, or what ringside ranges --json prints ("nodes")'
            )
    if not document:
        raise InputError(f"{path}: no consumer in it; the list is empty")
    return tuple(_consumer(entry, f"{path} at {place}[{at}]") for at, entry in enumerate(document))


def _consumer(value: Any, place: str) -> NamedRanges:
    if isinstance(value, str):
        return _named(value, place), None
    if not isinstance(value, dict):
        raise InputError(f'{place}: a consumer is a name or an object with "name" and "ranges"')
    name, node, ranges = value.get("name"), value.get("node"), value.get("ranges")
    if name is None and isinstance(node, int) and not isinstance(node, bool):
        name = node_name(node)
    if not isinstance(name, str):
        raise InputError(f'{place}.name: a consumer has a "name", or a "node" with its index')
    name = _named(name, f"{place}.name")
    if ranges is None:
        return name, None
    if not isinstance(ranges, list):
        raise InputError(f"{place}.ranges: a list of pairs [start, end] belongs here")
    return name, tuple(_pair(piece, f"{place}.ranges[{at}]") for at, piece in enumerate(ranges))


def _named(name: str, place: str) -> str:
    if not name:
        raise InputError(f"{place}: the name is empty; give the consumer one")
    return name


def _pair(value: Any, place: str) -> tuple[int, int]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(bound, int) and not isinstance(bound, bool) for bound in value)
    ):
        raise InputError(f"{place}: {_short(json.dumps(value))} is not a range; write [start, end], such as [0, 16383]")
    start, end = value
    return _checked(start, end, f"[{start}, {end}]", place)


def _range(piece: str, place: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(piece)
    if match is None:
        raise InputError(f"{place}: {_short(piece)} is not a range; write START-END, such as 0-16383")
    start = int(match[1])
    return _checked(start, start if match[2] is None else int(match[2]), _short(piece), place)


def _checked(start: int, end: int, text: str, place: str) -> tuple[int, int]:
    if end < start:
        # In the words of the Java client, whose Range cannot even be built so.
        raise InputError(f"{place}: {text}: Range end must >= range start.")
    return start, end


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def without_duplicates(named: Sequence[NamedRanges], place: str) -> dict[str, DeclaredRanges | None]:
    """The declared ranges of each name. Raises ``InputError`` for a name that is listed twice."""
    by_name: dict[str, DeclaredRanges | None] = {}
    for name, declared in named:
        if name in by_name:
            raise InputError(f"{place}: {_short(name)} is listed twice; write all its ranges after one =")
        by_name[name] = declared
    return by_name


HEAD_BYTES: Final = 1 << 16
_ANSWER_SUFFIXES: Final = (".json", ".json.gz")
_NUL: Final = b"\x00"
_NOT_IN_NAMES: Final = re.compile(r"[\s=]|://")
"""Prose, settings and ranges, or topics are taken for another kind of file. ``--names-from`` takes any line."""


def looks_like_names(head: bytes) -> bool:
    """Whether a text begins as a name a line: no JSON, no markup, no blank, ``=`` or ``://`` inside a line.

    >>> looks_like_names(b"c-1\\nc-11\\n"), looks_like_names(b'{"a": 1}'), looks_like_names(b"502 Bad Gateway")
    (True, False, False)
    """
    cut = len(head) == HEAD_BYTES
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore" if cut else "replace")
    lines = [line for line in re.split(r"\r?\n", text) if line.strip()]
    if not lines or _NUL in head or "\ufffd" in text or lines[0].lstrip()[0] in "{[<#":
        return False
    return not any(_NOT_IN_NAMES.search(line) for line in lines)


def listed_names(data: bytes) -> tuple[str, ...] | None:
    """The names in a text, None where it does not look like a list of them."""
    if not looks_like_names(data[:HEAD_BYTES]):
        return None
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: no UTF-8 text ({error.reason})") from error
    return tuple(line for line in re.split(r"\r?\n", text) if line.strip())


def is_name_list(path: str) -> bool:
    """Whether a path is a file that looks like a list of names; False where it cannot be read, which shows later why.

    False also for a file named like an answer: ``null`` in it is what a broker said, not a consumer.
    """
    return not path.lower().endswith(_ANSWER_SUFFIXES) and looks_like_names(head_of(Path(path), HEAD_BYTES))
