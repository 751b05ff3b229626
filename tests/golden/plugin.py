"""The lines at the end of a run over golden vectors."""

from __future__ import annotations

import pytest

from tests.golden.harness import FAMILIES, KEPT, numbered_lines
from tests.own_folder import GOLDEN

pytest.register_assert_rewrite("tests.golden.families")


def present_families(config: pytest.Config) -> list[str]:
    """The files of known families in the folder; a copy of the committed one has those of other releases below it."""
    folder = GOLDEN.of(config)
    return [file for file in dict.fromkeys((*FAMILIES, *KEPT)) if (folder / f"{file}.jsonl").is_file()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line per family; also for what is absent and what nobody checks yet, so that neither is taken as passed."""
    said = dict(line.split(": ", 1) for line in GOLDEN.said(terminalreporter))
    if not said:
        return
    folder = GOLDEN.of(config)
    present = present_families(config)
    terminalreporter.section(f"golden vectors in {folder}")
    for family in KEPT if GOLDEN.is_committed(config) else dict.fromkeys((*FAMILIES, *present)):
        if family in said:
            terminalreporter.write_line(f"golden {family}: {said[family]}")
        elif family not in present:
            terminalreporter.write_line(f"golden {family}: absent")
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in FAMILIES:
            lines = sum(1 for _ in numbered_lines(path))
            terminalreporter.write_line(f"golden {path.stem}: not covered yet ({lines} lines)")
