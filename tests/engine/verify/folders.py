"""Folders of answers, compared with the model."""

from __future__ import annotations

from pathlib import Path

from engine.input import MAX_INPUT_BYTES
from engine.verify import VerifyReport, verify_answers
from engine.verify.answers import read_folder


def verify_folder(
    path: str | Path, pulsar_version: str | None = None, *, limit_bytes: int = MAX_INPUT_BYTES
) -> VerifyReport:
    return verify_answers(read_folder(Path(path), limit_bytes=limit_bytes), pulsar_version)
