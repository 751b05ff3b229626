"""The manual is made from the commands; every command has an example, and every example can be parsed."""

from __future__ import annotations

import shlex

import click
import pytest

from tests.manual import as_markdown, entries
from tests.tui.cli.conftest import Run
from tui.cli.commands import ringside

ENTRIES = entries(ringside)
EXAMPLES = [(entry.name, example) for entry in ENTRIES for example in entry.examples]


def test_the_page_has_every_command_with_its_options() -> None:
    lines = as_markdown(ringside).splitlines()
    assert [line for line in lines if line.startswith("## ")] == [f"## {entry.name}" for entry in ENTRIES]
    assert sum(line.startswith("| `") for line in lines) == sum(len(entry.options) for entry in ENTRIES)


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
