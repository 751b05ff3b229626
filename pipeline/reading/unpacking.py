"""The bytes of one file, out of zstd; gzip, marks and encodings are undone by the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa

from engine.admin.files import read_file
from engine.admin.text import MAX_TEXT_BYTES, plain_json
from engine.errors import Problem

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_PIECE: Final = 1 << 16


def read_answer(path: str, name: str) -> tuple[bytes | None, tuple[Problem, ...]]:
    """The JSON text of a file as UTF-8, None when it cannot be read at all; each repair and fault is told."""
    file, problems = read_file(Path(path), name)
    if file is None:
        return None, problems
    data, unpacked = unpack_zstd(file.data, name)
    text, repaired = plain_json(data, name)
    return text, (*problems, *unpacked, *repaired)


def unpack_zstd(data: bytes, name: str, *, limit: int = MAX_TEXT_BYTES) -> tuple[bytes, tuple[Problem, ...]]:
    """What a zstd file holds, as far as it can be unpacked; other bytes as they are. O(length)."""
    if data[:4] != _ZSTD_MAGIC:
        return data, ()
    out = bytearray()
    stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    try:
        while piece := stream.read(_PIECE):
            out += piece
            if len(out) > limit:
                reason = f"unpacks to more than {limit} bytes, which no broker answer is"
                return b"", (Problem(name, "$", reason, "look what this file really is"),)
    except (OSError, pa.ArrowException) as fault:
        reason = f"the zstd data is damaged or stops in the middle: {str(fault).splitlines()[0]}"
        return bytes(out), (Problem(name, "$", reason, "copy the file again"),)
    return bytes(out), ()
