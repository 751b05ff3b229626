"""Read the bytes of one file and unpack zstd; the engine undoes gzip, byte order marks and encodings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import pyarrow as pa

from engine.admin.files import AnswerFile, read_file
from engine.admin.reading import MAX_INPUT_BYTES, Intake, collected_if_small, size_text
from engine.admin.text import plain_json
from engine.errors import Problem
from pipeline.storage import Place, StorePath, first_line

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_PIECE: Final = 1 << 16
_PIECE_OF_COPY: Final = 1 << 22


def read_answer(
    path: Place, name: str, *, limit_bytes: int = MAX_INPUT_BYTES
) -> tuple[bytes | None, tuple[Problem, ...]]:
    """Return the JSON text of a file as UTF-8, None if it cannot be read at all, and every repair and fault."""
    if isinstance(path, StorePath):
        file, problems = _read_stored(path, name, limit_bytes)
    else:
        file, problems = read_file(path, name, Intake(limit_bytes))
    if file is None:
        return None, problems
    data, unpacked = unpack_zstd(file.data, name, limit_bytes=limit_bytes)
    text, repaired = plain_json(data, name, limit=limit_bytes)
    return text, (*problems, *unpacked, *repaired)


def _read_stored(path: StorePath, name: str, limit_bytes: int) -> tuple[AnswerFile | None, tuple[Problem, ...]]:
    """Read a file of a store through a temporary local copy, so that there is one way of reading files."""
    try:
        before = path.size_and_time()
        with NamedTemporaryFile(prefix="ringside-answer-") as copy:
            with path.open() as source:
                # One byte more than the limit shows that the file is too large.
                room = limit_bytes + 1
                while room > 0 and (piece := source.read(min(room, _PIECE_OF_COPY))):
                    copy.write(piece)
                    room -= len(piece)
            copy.flush()
            file, problems = read_file(Path(copy.name), name, Intake(limit_bytes))
        after = path.size_and_time()
    except OSError as fault:
        return None, (Problem(name, "$", f"cannot be read: {first_line(fault)}", "check its permissions"),)
    if before != after:
        reason = "changed while it was being read"
        problems += (Problem(name, "$", reason, "read it again when nobody writes to it"),)
    return file, problems


def unpack_zstd(data: bytes, name: str, *, limit_bytes: int = MAX_INPUT_BYTES) -> tuple[bytes, tuple[Problem, ...]]:
    """Return the content of a zstd file as far as it can be unpacked; other bytes unchanged. O(length)."""
    if data[:4] != _ZSTD_MAGIC:
        return data, ()
    faults: list[str] = []

    def pieces() -> Iterator[bytes]:
        stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        try:
            while piece := stream.read(_PIECE):
                yield piece
        except (OSError, pa.ArrowException) as fault:
            faults.append(str(fault).splitlines()[0])

    out = collected_if_small(pieces, limit_bytes)
    if out is None:
        reason = f"unpacks to more than {size_text(limit_bytes)}, which is all that is read of a file (--max-input)"
        return b"", (Problem(name, "$", reason, "check what this file really is, or give a larger --max-input"),)
    reason = f"the zstd data is damaged or stops in the middle: {faults[-1]}" if faults else ""
    return out, (Problem(name, "$", reason, "copy the file again"),) if reason else ()
