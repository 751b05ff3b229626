"""A command for a shell is put together in one place, which quotes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("engine", "tui", "pipeline")
COMMANDS = re.compile(r"\b(?:pulsar-admin|ringside)(?: [-\w./:=]+)* $")
"""How a literal piece ends where the next word of a command is filled in."""
FLEET_TITLE = "ringside fleet "


def filled_in_commands(tree: ast.AST) -> Iterator[int]:
    """The lines of f-strings that fill a word into a command, and of commands made by other ways of formatting."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for piece, following in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(piece, ast.Constant)
                    and isinstance(following, ast.FormattedValue)
                    and piece.value != FLEET_TITLE
                    and COMMANDS.search(str(piece.value))
                ):
                    yield node.lineno
        elif isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            first = node.elts[0]
            if isinstance(first, ast.Constant) and first.value in ("pulsar-admin", "ringside") and len(node.elts) > 1:
                yield node.lineno
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
            left = node.left
            if (
                isinstance(left, ast.Constant)
                and isinstance(left.value, str)
                and COMMANDS.search(f"{left.value.rstrip()} ")
            ):
                yield node.lineno


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('f"pulsar-admin namespaces unload {name}"', True),
        ('f"run ringside replay {path} again"', True),
        ('f"answers open with ringside {path}"', True),
        ('"ringside replay " + path', True),
        ('" ".join(["pulsar-admin", "topics", name])', True),
        ("f\"{shell_line('ringside', path)} opens it\"", False),
        ('"make it with ringside fleet run IN OUT"', False),
        ('f"{folder} has no table; make it with ringside fleet run"', False),
    ],
)
def test_the_search_for_filled_in_commands_finds_them(source: str, found: bool) -> None:
    assert bool(list(filled_in_commands(ast.parse(source)))) is found


def test_every_printed_command_is_put_together_by_shell_line() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for line in filled_in_commands(ast.parse(path.read_text()))
    ]
    assert places == []
