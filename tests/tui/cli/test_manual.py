"""The manual is made from the commands; every example can be parsed; the site has every page and no broken link."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from tests.manual import ROOT, as_markdown, entries, write_site
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


def test_the_site_is_built_from_every_page_without_a_broken_link_or_anything_of_others(tmp_path: Path) -> None:
    config = pytest.importorskip("mkdocs.config")
    build = pytest.importorskip("mkdocs.commands.build").build
    write_site(tmp_path / "build" / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    build(config.load_config(str(tmp_path / "mkdocs.yml"), strict=True))
    site = tmp_path / "build" / "site"
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    written -= {"deploy/README.html"}  # an index
    assert written | {"index.html", "commands.html", "deploy/index.html"} <= pages
    loaded = [
        match
        for page in pages
        for match in re.findall(
            r"<(?:script|img|link|source)[^>]*(?:src|href)=\"?(https?:[^\" >]*)", (site / page).read_text()
        )
    ]
    assert loaded == []
