"""Documents are declared once: what is still written by hand is listed here, and the lists may only become shorter."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPELT_BY_HAND = {
    "tui/cli/commands/check.py: sarif_document",
}
"""Functions that spell a document as a ``dict``; SARIF is not a document of ours."""


def test_no_schema_is_written_by_hand() -> None:
    assert [*ROOT.glob("engine/**/*.schema.json"), *ROOT.glob("tui/**/*.schema.json")] == []


def test_no_document_is_spelt_by_hand_any_more() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for room in ("engine", "tui")
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        and node.name.endswith("_document")
        and node.returns is not None
        and ast.unparse(node.returns).startswith("dict[")
    }
    assert found == SPELT_BY_HAND, "declare the members of a document as a dataclass (engine/answer.py)"
