"""README and the pages of docs: links lead somewhere, and every command that they show can be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from engine.errors import RingsideError
from tui.cli.commands import ringside
from tui.cli.group import DeferredCommand

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md")))
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_INLINE = re.compile(r"`(?:\.venv/bin/)?(ringside [^`]+)`")


def commands(page: Path) -> Iterator[str]:
    """The command lines of ringside that a page shows, in blocks and in sentences."""
    text = page.read_text(encoding="utf-8")
    for block in _CONSOLE.findall(text):
        for line in block.splitlines():
            if line.startswith("$ ") and "ringside" in line.split("#")[0]:
                yield line[2:].split(" #")[0].split(" | ")[-1].strip()
    yield from _INLINE.findall(text)


def test_links_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in _LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def refused(line: str) -> str:
    """Why a command line cannot be typed, "" where it can; nothing is run."""
    words = shlex.split(line.removeprefix(".venv/bin/"))[1:]
    if any(word in ("…", "...") or word.startswith(("$(", ">")) for word in words):
        return ""
    command: click.Command = ringside
    context = click.Context(command, info_name="ringside")
    if not words or (words[0] not in ringside.commands and not words[0].startswith("-")):
        words = ["open", *words]
    elif words[0] not in ringside.commands:
        words = ["open", *words] if "--version" not in words else []
    try:
        while isinstance(command, click.Group) and words:
            name, found, words = command.resolve_command(context, list(words))
            if found is None:
                return "no such command"
            command = found.real() if isinstance(found, DeferredCommand) else found
            context = click.Context(command, info_name=name, parent=context)
        command.make_context(None, list(words), parent=context.parent)
    except (RingsideError, click.MissingParameter, click.exceptions.Exit):
        return ""  # it was understood
    except click.UsageError as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "commands.md"], ids=lambda page: page.name)
def test_commands_can_be_typed(page: Path) -> None:
    wrong = [f"{line}: {why}" for line in commands(page) if (why := refused(line))]
    assert wrong == []


def test_a_command_that_cannot_be_typed_is_found() -> None:
    assert refused("ringside lint x --no-such-option")
    assert refused("ringside why answers/ --subscription billing") == ""


def test_the_readme_is_short() -> None:
    """Two screens of text: the rest is in docs."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110
