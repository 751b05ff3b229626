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
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_PROMPTS = {"console": "$ ", "yaml": "- run: "}
"""What stands before a command line, by the language of a block."""


def commands(page: Path) -> Iterator[str]:
    """The command lines of ringside that a page shows, in blocks and in sentences."""
    text = page.read_text(encoding="utf-8")
    for language, block in _BLOCK.findall(text):
        prompt = _PROMPTS.get(language, "$ ")
        for line in map(str.strip, block.splitlines()):
            if line.startswith(prompt) and "ringside " in line.split("#")[0]:
                yield line.removeprefix(prompt).split(" #")[0].split(" | ")[-1].strip()
    for span in _SPAN.findall(_BLOCK.sub("", text)):
        words = span.removeprefix(".venv/bin/").split()
        if words[0] == "ringside" and len(words) > 1:
            yield " ".join(words)
        elif words[0] in ringside.commands and len(words) > 1:
            yield " ".join(["ringside", *words])  # a list of commands names the program once


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
    words = shlex.split(re.sub(r"[\[\]]", "", line.removeprefix(".venv/bin/")).replace(" N", " 4"))
    if words[0] != "ringside":
        return "" if words[:2] != ["pip", "install"] or any(mark in line for mark in "./") else "not on PyPI yet"
    typed = words = words[1:]
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
    except click.MissingParameter as error:
        # Where a command is only named, or without its argument, the sentence has the rest.
        return error.format_message() if len(typed) > 1 and isinstance(error.param, click.Option) else ""
    except (RingsideError, click.exceptions.Exit):
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
    assert refused("ringside suggest bundles [--topics 100]")  # --brokers is missing
    assert refused("pip install pulsar-ringside")
    assert refused("pip install ./pulsar_ringside-0.1.0-py3-none-any.whl") == ""
    assert refused("ringside why answers/ --subscription billing") == ""


def test_the_readme_is_short() -> None:
    """Two screens of text: the rest is in docs."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110
