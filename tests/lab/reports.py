"""Reports of the committed recordings, as they are and spoilt; each recording is compared once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from engine.verify.report import Difference, VerifyReport
from tests.lab.compare import compare_folder
from tests.lab.folder import RECORDINGS, Folder, read_folder, recording


@cache
def compared_once(path: Path) -> VerifyReport:
    """The report of a folder as it is."""
    return compare_folder(read_folder(path))


def report_of(name: str) -> VerifyReport:
    """The report of a committed recording as it is."""
    return compared_once(RECORDINGS / name)


def spoilt(name: str, file: str, change: Callable[[Any], None]) -> tuple[Difference, ...]:
    """What differs after one JSON file of a recording was changed in place; before that, nothing does."""
    assert report_of(name).agrees
    return differences_of(recording(name).edited(file, change))


def differences_of(folder: Folder) -> tuple[Difference, ...]:
    """What differs in a spoilt recording: something does, and all the rest agrees."""
    report = compare_folder(folder)
    assert report.differences
    assert report.agree == report.compared - len(report.differences)
    return report.differences


def counts(report: VerifyReport) -> Mapping[Enum, int]:
    """How many facts of each kind were compared."""
    return {tally.kind: tally.compared for tally in report.tallies}


def kinds(differences: tuple[Difference, ...]) -> set[Enum]:
    """The kinds of facts that differ."""
    return {difference.kind for difference in differences}
