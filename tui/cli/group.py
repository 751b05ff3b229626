"""The ``ringside`` group: a first word that names no command is a path, and options may precede either."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from engine.errors import InputError
from tui.sources.nearby import missing

OPEN: Final = "open"
_OF_A_CLUSTER: Final = (
    "an address is that of a running cluster: ringside live URL opens it, ringside why URL, ringside lint URL and"
    " ringside verify URL look at it, ringside record URL FOLDER saves it"
)
_OWN_OPTIONS: Final = frozenset({"--help", "-h", "--version"})


class DeferredCommand(click.Command):
    """A command whose module is loaded when it is run or completed, not when help lists it.

    ``place`` is ``module:name``. The help lists ``short_help``; the command itself needs none.
    """

    def __init__(self, name: str, place: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module, _, self._attribute = place.partition(":")

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the real command, which is invoked from there on."""
        return self.real().make_context(info_name, args, parent, **extra)

    def real(self) -> click.Command:
        """The command itself, loaded."""
        command: click.Command = getattr(import_module(self._module), self._attribute)
        return command


def first_word(args: Sequence[str], takes_value: Callable[[str], bool]) -> int | None:
    """The index of the first argument that is neither an option nor the value of one."""
    skip = False
    for position, arg in enumerate(args):
        if skip:
            skip = False
        elif arg == "--":
            return position + 1 if position + 1 < len(args) else None
        elif arg.startswith("-") and arg != "-":
            skip = takes_value(arg)
        else:
            return position
    return None


def takes_value(option: str, commands: Iterable[click.Command]) -> bool:
    """Whether a word of the command line is an option of one of these commands that takes a value."""
    return any(
        option in param.opts and not param.is_flag and not param.count
        for command in commands
        for param in command.params
        if isinstance(param, click.Option)
    )


def with_clusters(args: list[str], commands: Container[str]) -> list[str]:
    """The words, with the address and the options of a cluster in the place of its name in the settings: ``@NAME``.

    Without a command the cluster is opened. Of several names each has options of its own, so they stay, for a command
    that takes several clusters. Raises ``InputError`` for an unknown name where a cluster is meant.
    """
    named = [at for at, arg in enumerate(args) if arg.startswith("@") and not Path(arg).exists()]
    at = named[0] if named else None
    if at is None or "--" in args[:at] or len({args[each] for each in named}) > 1:
        return args
    from tui.cli.config import configured, unknown_cluster

    clusters = configured().clusters
    cluster = clusters.get(args[at][1:])
    if cluster is not None:
        words = args if at else ["live", *args]
        return [words[0], *cluster.options, *(cluster.url if word == args[at] else word for word in words[1:])]
    if at == 0 or args[at - 1] in commands:
        raise unknown_cluster(args[at], clusters)
    return args


class RingsideGroup(click.Group):
    """Commands, and ``open`` where none is named: ``ringside``, ``ringside FILE``, ``ringside --once FILE``.

    A command's name wins over a path of that name; ``./explain`` or ``ringside open explain`` open the path.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command first: the named one, or ``open``. Raises ``InputError`` for neither command nor path."""
        args = with_clusters(args, self.commands)
        position = self._first_word(args)
        if position is None:
            wanted = args if _OWN_OPTIONS.intersection(args) or (ctx.resilient_parsing and not args) else [OPEN, *args]
        elif "--" not in args[:position] and args[position] in self.commands:
            wanted = [args[position], *args[:position], *args[position + 1 :]]
        else:
            reason = None if ctx.resilient_parsing else missing(args[position], self.commands)
            if reason is not None:
                from tui.sources.cluster.addresses import is_url

                if is_url(args[position]):
                    raise InputError(_OF_A_CLUSTER)  # without the address, which may contain a password
                if args[position] == "help":
                    raise InputError("help is --help, also behind a command: ringside why --help")
                if not self._misspells(args[:position]):
                    raise InputError(reason)
            wanted = [OPEN, *args]
        return super().parse_args(ctx, wanted)

    def _misspells(self, args: Sequence[str]) -> bool:
        """Whether one of these is an option that no command has: the word behind it may be its value."""
        if not any(arg.startswith("--") for arg in args):
            return False
        commands = (one.real() if isinstance(one, DeferredCommand) else one for one in (self, *self.commands.values()))
        known = {option for command in commands for param in command.params for option in param.opts}
        return any(arg.startswith("--") and arg.partition("=")[0] not in known for arg in args)

    def _first_word(self, args: list[str]) -> int | None:
        return first_word(args, self._takes_value)

    def _takes_value(self, option: str) -> bool:
        """Modules of commands are loaded only for an option that ``open`` does not have, such as ``--nodes 4 plan``."""
        usual = [self.commands[OPEN], self]
        if (
            "=" in option
            or option in _OWN_OPTIONS
            or any(option in param.opts for one in usual for param in one.params)
        ):
            return takes_value(option, usual)
        commands = (one.real() if isinstance(one, DeferredCommand) else one for one in self.commands.values())
        return takes_value(option, commands)

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
        """Commands as click completes them, and what may replace them: files and the options of ``open``."""
        items = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            return [*items, *self.commands[OPEN].shell_complete(ctx, incomplete)]
        return [*items, CompletionItem(incomplete, type="file")]
