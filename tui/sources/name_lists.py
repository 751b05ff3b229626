"""A plain list of consumer names where answers of a broker could stand too: told apart by how the text begins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from engine.errors import InputError

HEAD_BYTES: Final = 1 << 16
_ANSWERS: Final = (".json", ".json.gz")
_PACKED: Final = b"\x00"
_NOT_NAMES: Final = re.compile(r"[\s=]|://")
"""Blanks, settings and ranges, topics: somebody's other file. ``--names-from`` takes any line as a name."""


def looks_like_names(head: bytes) -> bool:
    """Whether a text begins as a name a line: no JSON, no markup, no blank, ``=`` or ``://`` inside a line.

    >>> looks_like_names(b"c-1\\nc-11\\n"), looks_like_names(b'{"a": 1}'), looks_like_names(b"502 Bad Gateway")
    (True, False, False)
    """
    cut = len(head) == HEAD_BYTES
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore" if cut else "replace")
    lines = [line for line in re.split(r"\r?\n", text) if line.strip()]
    if not lines or _PACKED in head or "\ufffd" in text or lines[0].lstrip()[0] in "{[<#":
        return False
    return not any(_NOT_NAMES.search(line) for line in lines)


def names_of_text(data: bytes) -> tuple[str, ...] | None:
    """The names in a text, None where it does not look like a list of them."""
    if not looks_like_names(data[:HEAD_BYTES]):
        return None
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: no UTF-8 text ({error.reason})") from error
    return tuple(line for line in re.split(r"\r?\n", text) if line.strip())


def is_name_list(path: str) -> bool:
    """Whether a path is a file that looks like a list of names. What cannot be read is none: reading it tells why.

    A file that is named as an answer is none either: ``null`` in it is what a broker said, not a consumer.
    """
    try:
        if path.lower().endswith(_ANSWERS) or not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return looks_like_names(file.read(HEAD_BYTES))
    except (OSError, ValueError):
        return False
