"""Documents are declared once: what is still written by hand is listed here, and the lists may only become shorter."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCHEMA_FILES = {
    "dashboard",
    "explain",
    "keys",
    "producers",
    "subscription",
}
SPELT_BY_HAND = {
    "engine/views/bundles/document.py: curve_document",
    "engine/views/bundles/document.py: needed_document",
    "engine/views/failover/document.py: dashboard_document",
    "engine/views/keys/document.py: keys_document",
    "engine/views/keys/document.py: partitions_document",
    "engine/views/producers/document.py: producers_document",
    "engine/views/reported/document.py: reported_document",
    "engine/views/reported/document.py: subscription_document",
    "engine/views/setting.py: setting_document",
    "tui/cli/commands/check.py: sarif_document",
    "tui/cli/commands/demo.py: list_document",
    "tui/cli/commands/explain_bundle.py: bundle_document",
    "tui/cli/commands/routes.py: growth_document",
    "tui/cli/commands/routes.py: route_document",
    "tui/cli/printers/explanation.py: _place_document",
    "tui/cli/printers/explanation.py: explanation_document",
    "tui/cli/printers/explanation.py: unsubscribed_document",
    "tui/cli/printers/key_answers.py: explained_document",
    "tui/cli/printers/key_answers.py: owned_document",
    "tui/cli/printers/key_answers.py: spread_document",
    "tui/cli/printers/lint.py: rules_document",
    "tui/cli/showing.py: session_document",
}
"""Functions that spell a document as a ``dict``; SARIF is not a document of ours."""


def test_no_schema_is_written_by_hand_any_more() -> None:
    found = {path.name.removesuffix(".schema.json") for path in ROOT.glob("engine/**/*.schema.json")}
    assert found == SCHEMA_FILES, "declare the answer and add it to tui/cli/commands/schema.py"


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
