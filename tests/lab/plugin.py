"""The lines at the end of a run over recordings, and which folders and tests it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.text import natural_key
from tests.lab.folder import find_folders, label_of
from tests.own_folder import LAB

_OF_ANY_FOLDER = ("test_recordings.py",)


def folders(config: pytest.Config) -> dict[str, Path]:
    """The recorded folders by label, in natural order."""
    root = LAB.of(config)
    return {label_of(path, root): path for path in find_folders(root)}


def is_about_other_folders(config: pytest.Config, path: Path) -> bool:
    """Whether a module's tests are of the committed recordings while other ones are asked for."""
    return not LAB.is_committed(config) and path.name.startswith("test_") and path.name not in _OF_ANY_FOLDER


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line per folder that was compared."""
    lines = LAB.said(terminalreporter)
    if lines:
        terminalreporter.section(f"recordings in {LAB.of(config)}")
        for line in sorted(lines, key=natural_key):
            terminalreporter.write_line(f"lab {line}")
