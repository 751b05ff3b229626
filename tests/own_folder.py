"""Tests of truth over another folder than the committed one: the option that names it, and the lines after a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest


@dataclass(frozen=True)
class OwnFolder:
    """A folder that ``option`` names instead of the ``committed`` one.

    ``name`` is the property of tests whose values are the lines after a run, and what each of these begins with.
    """

    name: str
    option: str
    committed: Path
    help: str

    def add(self, parser: pytest.Parser) -> None:
        parser.addoption(self.option, default=None, metavar="DIR", help=self.help)

    def check(self, config: pytest.Config) -> None:
        if not self.of(config).is_dir():
            raise pytest.UsageError(f"{self.option}: {self.of(config)} is not a folder")

    def of(self, config: pytest.Config) -> Path:
        """The folder; a relative one counts from where pytest was called."""
        given = config.getoption(self.option)
        return self.committed if given is None else config.invocation_params.dir / given

    def is_committed(self, config: pytest.Config) -> bool:
        return self.of(config).resolve() == self.committed

    def said(self, reporter: pytest.TerminalReporter) -> set[str]:
        """What the tests said of it."""
        reports = (report for reports in reporter.stats.values() for report in reports)
        properties = (pair for report in reports for pair in getattr(report, "user_properties", ()))
        return {value for name, value in properties if name == self.name}


TESTS: Final = Path(__file__).parent
GOLDEN: Final = OwnFolder(
    "golden", "--golden-dir", TESTS / "golden", "check the vectors of this folder instead of the committed ones"
)
LAB: Final = OwnFolder(
    "lab",
    "--recordings-dir",
    TESTS / "recordings",
    "compare every folder below this one that has a scenario.json, instead of the committed recordings",
)
