"""Where answers and results are: folders that this machine and every executor see at the same path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from engine.errors import InputError

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def local_path(text: str) -> Path:
    """A path as typed, or as a ``file://`` URI. Raises ``InputError`` for a URI of another store.

    ``Path("s3a://bucket")`` would be a folder ``s3a:`` beside the program.

    >>> local_path("file:///data/dumps"), local_path("dumps")
    (PosixPath('/data/dumps'), PosixPath('dumps'))
    """
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Path(text)
    if scheme[0].lower() != "file://":
        raise InputError(
            f"{text}: only folders of this machine, or such that are mounted at the same path on every executor, can "
            f"be read and written; copy or mount {scheme[0]} first"
        )
    return Path(unquote(urlsplit(text).path))
