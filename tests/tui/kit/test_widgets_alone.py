"""Widgets receive values and post messages; they know neither each other nor screens, store or commands."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TUI = Path(__file__).resolve().parents[3] / "tui"
WIDGETS = (
    "bundles/table", "failover/bundle_tree", "fleet/lines", "keys/panels", "kit/event_list",
    "kit/footer", "kit/line_table", "kit/list_panel", "kit/prompt", "kit/ring_panel", "kit/sentence_line",
    "kit/text_panels", "kit/timeline_line", "producers/panels",
)  # fmt: skip
FILES = [TUI / f"{widget}.py" for widget in WIDGETS]
FORBIDDEN = (
    "tui.kit.store",
    "tui.kit.screen",
    "tui.app",
    "tui.navigator",
    "tui.cli",
    "engine.cluster",
    "engine.scenarios",
)


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TUI).as_posix())
def test_a_widget_stands_alone(path: Path) -> None:
    assert [name for name in imported(path) if name.startswith(FORBIDDEN)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TUI).as_posix())
def test_a_widget_computes_no_share_and_no_ratio(path: Path) -> None:
    """A division inside a widget would be a result of its own; cells and lines are divided in drawings and columns."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    widgets = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert widgets and not any(isinstance(node, ast.Div) for widget in widgets for node in ast.walk(widget))
