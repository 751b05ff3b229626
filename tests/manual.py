"""The pages of the site: those of docs/, the README as the first one, and all commands, made from the commands.

Run: python -m tests.manual FOLDER
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING, Final

import click

import engine
from tui.cli.commands import ringside
from tui.cli.commands.explain import FORMS
from tui.cli.group import DeferredCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXAMPLES: Final = re.compile(r"^Examples?:(.*)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: how it is called, what it does in paragraphs, its options as (form, meaning), examples."""

    name: str
    usage: str
    paragraphs: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    examples: tuple[str, ...]


def entries(group: click.Group) -> list[Entry]:
    """Every command of a group, itself first, those of groups below behind them."""
    return list(_entries(group, click.Context(group, info_name="ringside", **group.context_settings)))


def _entries(command: click.Command, ctx: click.Context) -> Iterator[Entry]:
    yield _entry(command, ctx)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            if isinstance(below, DeferredCommand):
                below = below.real()
            if below is not None:
                yield from _entries(below, click.Context(below, parent=ctx, info_name=name))
    if ctx.info_name == "explain":
        for word, form in FORMS.items():
            if word not in (None, "topic"):
                settings = ctx.find_root().command.context_settings
                yield _entry(form, click.Context(form, info_name=" ".join((ctx.command_path, str(word))), **settings))


def _entry(command: click.Command, ctx: click.Context) -> Entry:
    text = _text_of(command)
    example = _EXAMPLES.search(text)
    description = text[: example.start()] if example is not None else text
    paragraphs = [" ".join(piece.split()) for piece in description.split("\n\n")]
    options = (get_param for get_param in command.get_params(ctx) if isinstance(get_param, click.Option))
    records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
    return Entry(
        ctx.command_path,
        " ".join(command.collect_usage_pieces(ctx)),
        tuple(paragraph for paragraph in paragraphs if paragraph),
        tuple((form, " ".join(meaning.split())) for form, meaning in records),
        tuple(" ".join(piece.split()) for piece in re.split(r";\s|\n\n", example[1])) if example is not None else (),
    )


def _text_of(command: click.Command) -> str:
    return re.sub(r"\n[ \t]+", "\n", command.help or "").replace("\b", "")


def as_markdown(group: click.Group) -> str:
    """The reference of all commands."""
    lines = [
        "# The commands of Ringside",
        "",
        f"Version {engine.__version__}. `ringside COMMAND --help` prints the same.",
        "",
    ]
    for entry in entries(group):
        lines += [f"## {entry.name}", "", f"`{entry.name} {entry.usage}`", ""]
        for paragraph in entry.paragraphs:
            lines += [_in_markdown(paragraph), ""]
        if entry.options:
            lines += ["| option | meaning |", "| --- | --- |"]
            lines += [f"| `{_cell(form)}` | {_in_markdown(_cell(meaning))} |" for form, meaning in entry.options]
            lines.append("")
        if entry.examples:
            lines += ["```shell", *entry.examples, "```", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _in_markdown(text: str) -> str:
    return re.sub(r"([<>*_])", r"\\\1", text)


ROOT: Final = Path(__file__).parents[1]
PAGES: Final = {"README.md": "index.md"} | {f"{name}.md": f"{name}.md" for name in ("CONTRIBUTING", "SECURITY")}
"""Pages of the repository that are pages of the site, by their names there."""
_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def write_site(folder: Path) -> None:
    """Write what the site is made of. Links go where pages are there; what is not there is a word without a link."""
    rmtree(folder, ignore_errors=True)
    copytree(ROOT / "docs", folder, ignore=lambda _, names: [name for name in names if name == "commands.md"])
    homes = {ROOT / "docs" / file.relative_to(folder): file for file in folder.rglob("*") if file.is_file()}
    homes |= {ROOT / name: folder / page for name, page in PAGES.items()}
    for source, page in homes.items():
        if source.suffix == ".md":
            page.write_text(_linked(source.read_text(encoding="utf-8"), source, homes), encoding="utf-8")
    (folder / "commands.md").write_text(as_markdown(ringside), encoding="utf-8")


def _linked(text: str, source: Path, homes: Mapping[Path, Path]) -> str:
    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        file, hash_sign, anchor = target.partition("#")
        if "://" in target or not file:
            return match[0]
        home = homes.get((source.parent / file).resolve())
        if home is None:
            return words
        return f"[{words}]({relpath(home, homes[source].parent)}{hash_sign}{anchor})"

    return _LINK.sub(link, text)


if __name__ == "__main__":
    write_site(Path(sys.argv[1]))
