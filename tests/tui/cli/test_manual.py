"""The manual is made from the commands; every command has an example, and every example can be parsed."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from tests.tui.cli.conftest import Run
from tui.cli.commands import ringside
from tui.cli.commands.manual import as_man_page, as_markdown, entries

DOCS = Path(__file__).parents[3] / "docs"
ENTRIES = entries(ringside)
EXAMPLES = [(entry.name, example) for entry in ENTRIES for example in entry.examples]


def test_the_committed_pages_are_those_of_these_commands() -> None:
    """Written by ``ringside manual > docs/commands.md`` and ``ringside manual --man > docs/ringside.1``."""
    assert (DOCS / "commands.md").read_text() == as_markdown(ringside)
    assert (DOCS / "ringside.1").read_text() == as_man_page(ringside)


def test_every_command_has_an_example_and_every_option_a_meaning() -> None:
    assert [entry.name for entry in ENTRIES[1:] if not entry.examples] == []
    assert [(entry.name, form) for entry in ENTRIES for form, meaning in entry.options if not meaning] == []
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES) > len(ringside.commands)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_an_example_is_of_its_command_and_can_be_parsed(name: str, example: str) -> None:
    words = shlex.split(example.partition(" > ")[0])
    assert words[: len(name.split())] == name.split()
    ctx: click.Context | None = None
    command: click.Command | None = ringside
    rest = words[1:]
    while isinstance(command, click.Group):
        result, command, rest = command.resolve_command(click.Context(command, parent=ctx), rest)
        assert command is not None, result
        if not isinstance(command, click.Group):
            ctx = command.make_context(result, rest, click.Context(ringside))
    assert ctx is not None


@pytest.mark.parametrize(
    "example",
    [
        text
        for name, text in EXAMPLES
        if not any(each in text.partition(" > ")[0] for each in ("/", "plan.toml", ".journal"))
    ],
)
def test_examples_without_a_file_run(example: str, run: Run) -> None:
    words = shlex.split(example.partition(" > ")[0])[1:]
    once = ["--once"] if words[0] in ("new", "open", "brokers") and "--once" not in words else []
    ran = run(*words, *once)
    assert ran.code == 0
    assert ran.out or words == ["config", "check"]


def test_a_page_for_man_has_no_line_that_is_a_request_by_chance(run: Run) -> None:
    lines = run("manual", "--man").out.splitlines()
    requests = {line.split()[0] for line in lines if line.startswith(".")}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".br", ".nf", ".fi"}
    assert not any(line.startswith("'") for line in lines)
