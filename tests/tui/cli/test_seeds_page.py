"""``docs/seeds.md``: its commands run and show what the page says, and the tests that it names are there."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tui.cli.conftest import Run
from tui.cli.exits import FAILED, FINE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "seeds.md").read_text()
CODE = re.compile(r"`([^`]+)`")
DOCUMENTS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A statement, its commands, what they show, and the tests that prove it."""

    statement: str
    commands: tuple[str, ...]
    shown: tuple[str, ...]
    proofs: tuple[str, ...]


def rows() -> list[Row]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| the document")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [
        Row(
            statement,
            tuple(code for code in CODE.findall(see) if code.startswith("ringside ") and "(" not in code),
            tuple(CODE.findall(look)),
            tuple(CODE.findall(proofs)),
        )
        for statement, see, look, proofs in cells
    ]


ROWS = rows()


def test_every_statement_has_a_command_and_a_proof() -> None:
    assert PAGE.count("| the document |") == DOCUMENTS and len(ROWS) > 50
    assert all(row.commands and row.proofs for row in ROWS)


@pytest.mark.parametrize("line", sorted({row.commands[0] for row in ROWS}))
def test_a_command_of_the_page_shows_what_the_page_says(line: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = run(*shlex.split(line)[1:])
    shown = [text for row in ROWS if row.commands[0] == line for text in row.shown]
    output = " ".join(f"{ran.out} {ran.err}".split())
    # A demo that breaks its promise ends with 1, so only commands that look for something may.
    assert ran.code == FINE or (ran.code == FAILED and not line.startswith("ringside demo")) or "2.5.2" in line, ran
    assert [text for text in shown if text not in output] == []


@pytest.mark.parametrize("proof", sorted({proof for row in ROWS for proof in row.proofs}))
def test_a_test_of_the_page_is_there(proof: str) -> None:
    path, _, name = proof.partition("::")
    text = (ROOT / path).read_text()
    assert (
        re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE) if name else "assert " in text or "@checks" in text
    )
