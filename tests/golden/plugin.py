"""pytest hooks of the golden vectors: the option ``--golden-dir`` and the lines at the end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.harness import FAMILIES, HERE, KEPT, numbered_lines

PROPERTY = "golden"

pytest.register_assert_rewrite("tests.golden.families")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir",
        default=None,
        metavar="DIR",
        help="check the vectors of this folder instead of the committed ones (tests/golden)",
    )


def pytest_configure(config: pytest.Config) -> None:
    folder = golden_dir(config)
    if not folder.is_dir():
        raise pytest.UsageError(f"--golden-dir: {folder} is not a folder")


def golden_dir(config: pytest.Config) -> Path:
    """The folder whose vectors are checked; a relative one counts from where pytest was called."""
    given = config.getoption("--golden-dir")
    return HERE if given is None else config.invocation_params.dir / given


def is_default(config: pytest.Config) -> bool:
    return golden_dir(config).resolve() == HERE


def present_families(config: pytest.Config) -> list[str]:
    """The files of known families in the folder; a copy of the committed one has those of other releases below it."""
    return [file for file in dict.fromkeys((*FAMILIES, *KEPT)) if (golden_dir(config) / f"{file}.jsonl").is_file()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line per family; also for what is absent and what nobody checks yet, so that neither is taken as passed."""
    said = {
        key: text
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY
        for key, text in (value.split(": ", 1),)
    }
    if not said:
        return
    folder = golden_dir(config)
    present = present_families(config)
    terminalreporter.section(f"golden vectors in {folder}")
    for family in KEPT if is_default(config) else dict.fromkeys((*FAMILIES, *present)):
        if family in said:
            terminalreporter.write_line(f"golden {family}: {said[family]}")
        elif family not in present:
            terminalreporter.write_line(f"golden {family}: absent")
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in FAMILIES:
            lines = sum(1 for _ in numbered_lines(path))
            terminalreporter.write_line(f"golden {path.stem}: not covered yet ({lines} lines)")
