"""Widgets receive values and post messages; they know neither each other nor screens, store or commands."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

WIDGETS = Path(__file__).resolve().parents[2] / "tui" / "widgets"
FILES = sorted(path for path in WIDGETS.glob("*.py") if path.name != "__init__.py")
FORBIDDEN = ("tui.widgets", "tui.screens", "tui.store", "tui.app", "tui.cli", "engine.cluster", "engine.scenarios")


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def test_there_are_widgets() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_widget_stands_alone(path: Path) -> None:
    assert [name for name in imported(path) if name.startswith(FORBIDDEN)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_widget_computes_no_share_and_no_ratio(path: Path) -> None:
    """A division inside a widget would be a result of its own; cells and lines are divided in drawings and columns."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))
