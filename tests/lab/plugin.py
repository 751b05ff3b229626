"""pytest hooks of the lab: the option ``--recordings-dir`` and the lines at the end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.text import natural_key
from tests.lab.folder import RECORDINGS, find_folders, label_of

PROPERTY = "lab"
_OF_ANY_FOLDER = ("test_recordings.py",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--recordings-dir",
        default=None,
        metavar="DIR",
        help="compare every folder below DIR that has a scenario.json, instead of the committed recordings",
    )


def pytest_configure(config: pytest.Config) -> None:
    folder = recordings_dir(config)
    if not folder.is_dir():
        raise pytest.UsageError(f"--recordings-dir: {folder} is not a folder")


def recordings_dir(config: pytest.Config) -> Path:
    """The folder whose recordings are compared; a relative one counts from where pytest was called."""
    given = config.getoption("--recordings-dir")
    return RECORDINGS if given is None else config.invocation_params.dir / given


def is_default(config: pytest.Config) -> bool:
    return recordings_dir(config).resolve() == RECORDINGS


def folders(config: pytest.Config) -> dict[str, Path]:
    """The recorded folders by label, in natural order."""
    root = recordings_dir(config)
    return {label_of(path, root): path for path in find_folders(root)}


def is_about_other_folders(config: pytest.Config, path: Path) -> bool:
    """Whether a module's tests are of the committed recordings while other ones are asked for."""
    return not is_default(config) and path.name.startswith("test_") and path.name not in _OF_ANY_FOLDER


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line per folder that was compared."""
    lines = {
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == PROPERTY
    }
    if lines:
        terminalreporter.section(f"recordings in {recordings_dir(config)}")
        for line in sorted(lines, key=natural_key):
            terminalreporter.write_line(f"lab {line}")
