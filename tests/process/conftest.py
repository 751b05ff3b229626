"""What process tests share: an environment of their own, and saved answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has a home of his own, a good terminal and no colour wishes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "RINGSIDE_DEBUG", "COLUMNS", "LINES", "JDK_JAVA_OPTIONS")
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Where that user's session journals are."""
    return tmp_path / "state" / "ringside" / "sessions"
