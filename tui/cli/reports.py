"""Reports for other programs, written beside what is printed."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from engine.errors import InputError, system_reason
from engine.input import head_of

JUNIT_MARK: Final = b"<testsuites"
SARIF_MARK: Final = b"sarif-"
METRICS_MARK: Final = b"# TYPE ringside_"
_HEAD: Final = 4096


def check_report(path: str, mark: bytes, option: str) -> None:
    """Raises ``InputError`` where a report cannot be written: an earlier report is replaced, any other file is kept."""
    target = Path(path)
    try:
        if not target.parent.is_dir():
            raise InputError(f"{option}: {target.parent} is not a folder")
        if os.path.lexists(target):
            if not target.is_file():
                raise InputError(f"{option}: {path} is not a file; choose another name")
            if target.stat().st_size and mark not in head_of(target, _HEAD):
                raise InputError(f"{option}: {path} is there and no report of this kind; choose another name")
    except (OSError, ValueError) as error:
        raise InputError(f"{option}: {path}: {system_reason(error)}") from error


def write_report(path: str, text: str, mark: bytes, option: str) -> None:
    """Write a report whole. Raises ``InputError`` as ``check_report`` does, and where the disk refuses it."""
    check_report(path, mark, option)
    target = Path(path)
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, prefix=".ringside-", delete=False) as draft:
            try:
                draft.write(text if text.endswith("\n") else f"{text}\n")
                draft.flush()
                # A report is for others to read, unlike a draft.
                Path(draft.name).chmod(0o644)
                Path(draft.name).replace(target)
            except BaseException:
                Path(draft.name).unlink(missing_ok=True)
                raise
    except (OSError, ValueError) as error:
        raise InputError(f"{option}: {path}: {system_reason(error)}") from error
