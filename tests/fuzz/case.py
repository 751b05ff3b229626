"""One input: a file in some form, under a name, maybe with others beside it."""

from __future__ import annotations

import gzip
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.fuzz.tree import Members, parsed, written

RECORDINGS: Final = "recordings"
RESULTS: Final = "results"
FOLDERS: Final = frozenset({RECORDINGS, RESULTS})
"""Kinds that are read as a folder of files."""
_SEAL: Final = slice(-len(b',"~":"00000000"}\n'), None)


@dataclass(frozen=True)
class Case:
    """``kind`` as in ``tests.hostile.readers``. ``body`` is bytes, a tree of JSON, or lines, each bytes or a tree.

    Lines that are trees are written with the check sum of a journal. ``others`` are files of the same folder.
    """

    kind: str
    name: str
    body: Any
    others: Mapping[str, bytes] = field(default_factory=dict)

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, Lines):
            return b"".join(line if isinstance(line, bytes) else sealed(line) for line in self.body)
        return written(self.body).encode()

    def put(self, folder: Path) -> Path:
        """Write it into an empty folder; gives the path that commands are to read."""
        if self.kind not in FOLDERS:
            path = folder / self.name
            path.write_bytes(self.content())
            return path
        path = folder / "folder"
        shutil.rmtree(path, ignore_errors=True)
        self.put_files(path)
        return path

    def put_files(self, folder: Path) -> None:
        """Write all files of a case that is a folder."""
        for name, data in {**self.others, self.name: self.content()}.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


class Lines(list[Any]):
    """Lines of a file, each with its end if it is bytes."""


def sealed(entry: Any) -> bytes:
    """A line of a journal with the check sum that fits."""
    body = written(entry).encode()[:-1]
    return body + b',"~":"%08x"}\n' % zlib.crc32(body)


def of_bytes(kind: str, name: str, data: bytes, others: Mapping[str, bytes] | None = None) -> Case:
    """A file in the form that can be changed best."""
    plain = data
    if data[:2] == b"\x1f\x8b":
        try:
            plain = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return Case(kind, name, data, others or {})
    if kind == "journals":
        return Case(kind, name, Lines(map(_unsealed, plain.splitlines(keepends=True))))
    if kind in ("scripts", "keys", "lists", "traces") and b"\0" not in plain:
        return Case(kind, name, Lines(plain.splitlines(keepends=True)))
    try:
        tree = parsed(plain.decode())
        written(tree)  # what is as deep as Python goes stays bytes
        return Case(kind, name.removesuffix(".gz"), tree, others or {})
    except (ValueError, RecursionError):
        return Case(kind, name, data, others or {})


def _unsealed(line: bytes) -> Any:
    try:
        entry = parsed(line.decode())
        written(entry)
    except (ValueError, RecursionError):
        return line
    if not isinstance(entry, Members) or line[_SEAL] != b',"~":"%08x"}\n' % zlib.crc32(line[: _SEAL.start]):
        return line
    return Members(entry[:-1])
