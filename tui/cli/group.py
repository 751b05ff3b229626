"""The ``ringside`` group: a first word that names no command is a path, and options may stand before either."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from engine.errors import InputError
from tui.sources.cluster.access import is_url
from tui.sources.nearby import missing

OPEN: Final = "open"
_OF_A_CLUSTER: Final = (
    "an address is that of a running cluster: ringside live URL opens it, ringside why URL, ringside lint URL and"
    " ringside verify URL look at it, ringside record URL FOLDER saves it"
)
_OWN_OPTIONS: Final = frozenset({"--help", "-h", "--version"})


class DeferredCommand(click.Command):
    """A command whose module is loaded when it is run or completed, not when help lists it."""

    def __init__(self, name: str, module: str, attribute: str, *, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module = module
        self._attribute = attribute

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the real command, which is invoked from there on."""
        return self.real().make_context(info_name, args, parent, **extra)

    def real(self) -> click.Command:
        """The command itself, loaded."""
        command: click.Command = getattr(import_module(self._module), self._attribute)
        return command


def first_word(args: Sequence[str], takes_value: Collection[str]) -> int | None:
    """Where the first argument stands that is neither an option nor the value of one that takes a value."""
    skip = False
    for position, arg in enumerate(args):
        if skip:
            skip = False
        elif arg == "--":
            return position + 1 if position + 1 < len(args) else None
        elif arg.startswith("-") and arg != "-":
            skip = arg in takes_value
        else:
            return position
    return None


def values_taken(commands: Iterable[click.Command]) -> frozenset[str]:
    """The options of commands that take a value."""
    options = (param for command in commands for param in command.params)
    return frozenset(
        name
        for param in options
        if isinstance(param, click.Option) and not param.is_flag and not param.count
        for name in param.opts
    )


class RingsideGroup(click.Group):
    """Commands, and ``open`` where none is named: ``ringside``, ``ringside FILE``, ``ringside --once FILE``.

    A command's name wins over a path of that name; ``./explain`` or ``ringside open explain`` open the path.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command first: the named one, or ``open``. Raises ``InputError`` for neither command nor path."""
        position = self._first_word(args)
        if position is None:
            wanted = args if _OWN_OPTIONS.intersection(args) or (ctx.resilient_parsing and not args) else [OPEN, *args]
        elif "--" not in args[:position] and args[position] in self.commands:
            wanted = [args[position], *args[:position], *args[position + 1 :]]
        else:
            reason = None if ctx.resilient_parsing else missing(args[position], self.commands)
            if reason is not None and is_url(args[position]):
                raise InputError(_OF_A_CLUSTER)  # without the address, which may have a password in it
            if reason is not None:
                raise InputError(reason)
            wanted = [OPEN, *args]
        return super().parse_args(ctx, wanted)

    def _first_word(self, args: list[str]) -> int | None:
        return first_word(args, values_taken(self.commands.values()))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Both forms: a path, or a command."""
        formatter.write_usage(ctx.command_path, "[FILE | FOLDER] [OPTIONS]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGUMENTS] [OPTIONS]")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the options that hold without a command."""
        self.format_commands(ctx, formatter)
        records = [
            record
            for param in [*self.commands[OPEN].params, *self.get_params(ctx)]
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None
        ]
        with formatter.section("Options"):
            formatter.write_dl(records)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands as click completes them, and what may stand in their place: files and the options of ``open``."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            return [*found, *self.commands[OPEN].shell_complete(ctx, incomplete)]
        return [*found, CompletionItem(incomplete, type="file")]
