"""Folders of answers, compared with the model."""

from __future__ import annotations

from pathlib import Path

from engine.input import MAX_INPUT_BYTES
from engine.verify.answers import read_folder
from engine.verify.compare import verify_answers
from engine.verify.report import VerifyReport


def verify_folder(
    path: str | Path, pulsar_version: str | None = None, *, limit_bytes: int = MAX_INPUT_BYTES
) -> VerifyReport:
    return verify_answers(read_folder(Path(path), limit_bytes=limit_bytes), pulsar_version)
