"""Options that several commands share, collected into small typed values: no command carries a dozen arguments."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from themes import OTHERS, OURS
from tui.cli.config import default_of
from tui.cli.output import Form

FLAG: Final = "activeConsumerFailoverConsistentHashing"
DEFAULT_MAX_INPUT: Final = 2_000_000_000
"""Bytes; the same as ``engine.input`` has, which is not loaded for reading options."""
VISITOR: Final = "RINGSIDE_VISITOR"
"""Set where somebody uses the dashboard from elsewhere: it keeps nothing and writes no file."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


class WhatIf(Struct, frozen=True):
    """What is changed before anything is shown: ``settings`` as (name, text) pairs in order, then ``commands``.

    ``about`` is the topic of an answer that does not name it, ``max_input`` how many bytes are read, unpacked.
    """

    settings: tuple[tuple[str, str], ...]
    pulsar: str | None
    commands: tuple[str, ...]
    subscription: str | None
    about: str | None = None
    max_input: int = DEFAULT_MAX_INPUT


class Output(Struct, frozen=True):
    """How it is shown: as text (``once``), as JSON, or (neither) on the screen."""

    once: bool
    json: bool
    theme: str
    mono: bool
    ascii_only: bool
    animate: bool

    @property
    def on_screen(self) -> bool:
        return not (self.once or self.json)


class JournalChoice(Struct, frozen=True):
    """Where the steps are kept: ``path`` if given, else the default folder, unless ``keep`` is false."""

    path: Path | None
    keep: bool


def setting_pairs(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Texts NAME=VALUE as pairs, for an option. Raises ``BadParameter``."""
    pairs = []
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{value!r} is not a setting; write it as in broker.conf, NAME=VALUE")
        pairs.append((name.strip(), text))
    return tuple(pairs)


def known_version(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A version that rules are known for, and word of it where they are another line's. Raises ``InputError``."""
    if value is None or ctx.resilient_parsing:
        return value
    from engine.config import behaviour_of, unknown_line
    from engine.errors import accepted
    from tui.cli.output import say

    accepted(behaviour_of(value), f"{param.opts[0]} {value}")
    stand_in = unknown_line(value)
    if stand_in:
        say(f"{param.opts[0]}: {stand_in}")
    return value


class Size(click.ParamType[int]):
    """A number of bytes, such as ``500MB``, ``1.5 GB`` or ``1000000``; units are powers of 1000."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes. Fails for anything else, and for nothing at all."""
        if isinstance(value, int):
            return value
        from engine.errors import Rejection
        from engine.input import parse_size

        size = parse_size(str(value))
        if isinstance(size, Rejection):
            self.fail(size.message, param, ctx)
        return size


max_input_option = click.option(
    "--max-input",
    type=Size(),
    default=default_of("max_input", DEFAULT_MAX_INPUT),
    metavar="SIZE",
    help="Read no more than this, unpacked and of all files together.  [default: 2GB]",
)


def pulsar_option(help_text: str) -> Callable[[_Command], _Command]:
    """``--pulsar VERSION``, for every command whose answer depends on the release."""
    return click.option("--pulsar", metavar="VERSION", callback=known_version, help=help_text)


def _settings(help_text: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", callback=setting_pairs, help=help_text
    )


setting_option = _settings("A broker setting, as in broker.conf. Repeatable.")
load_setting_option = _settings("A setting of the load managers, as in broker.conf. Repeatable.")
topic_option = click.option(
    "--topic", "about", metavar="NAME", help="The topic that FILE is about, if the file does not name it."
)


def what_if_options(command: _Command) -> _Command:
    """Add the options that change the state before it is shown; the command gets them as ``what_if``."""
    return collected(
        command,
        "what_if",
        _what_if,
        click.option("--flag", type=click.Choice(["on", "off"]), help=f"Shorthand for --set {FLAG}=true|false."),
        setting_option,
        pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11."),
        click.option("--subscription", metavar="NAME", help="The subscription to show."),
        max_input_option,
        topic_option,
        click.option(
            "--apply",
            "commands",
            multiple=True,
            metavar="COMMAND",
            help='A step to take first, such as "add c-3" or "kill c-1". Repeatable, taken in order.',
        ),
    )


def output_options(command: _Command) -> _Command:
    """Add the options of showing; the command gets them as ``output``."""
    return collected(
        command,
        "output",
        _output,
        click.option("--once", is_flag=True, help="Print what the screen would show, as text, and exit."),
        click.option("--json", "as_json", is_flag=True, help="Print it as JSON (its schema: ringside schema)."),
        click.option(
            "--theme",
            type=click.Choice([*OURS, *OTHERS]),
            metavar="NAME",
            default=default_of("theme", "dark"),
            help=f"Colours: {', '.join((*OURS, *OTHERS))}.  [default: dark]",
        ),
        click.option(
            "--mono",
            is_flag=True,
            default=default_of("mono", otherwise=False),
            help="No colours; letters and marks carry everything.",
        ),
        ascii_option,
        click.option(
            "--no-animation",
            is_flag=True,
            default=default_of("no_animation", otherwise=False),
            help="Nothing moves by itself.",
        ),
    )


def journal_options(command: _Command) -> _Command:
    """Add the options of the journal; the command gets them as ``journal``."""
    return collected(
        command,
        "journal",
        _journal,
        click.option(
            "--journal",
            "journal_path",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Keep the steps in FILE (default: one file per session in the user's state folder).",
        ),
        click.option(
            "--no-journal",
            is_flag=True,
            default=default_of("no_journal", otherwise=False),
            help="Keep nothing on disk.",
        ),
    )


ascii_option = click.option(
    "--ascii",
    "ascii_only",
    is_flag=True,
    default=default_of("ascii_only", otherwise=False),
    help="Only ASCII characters.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def form_options(command: _Command) -> _Command:
    """Add the two forms of an answer; the command gets them as ``form``."""
    return collected(command, "form", lambda given: Form(**given), json_option, ascii_option)


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["info", "warning", "error"]),
    default="error",
    show_default=True,
    help="Exit 1 if a finding is as bad as this or worse.",
)


def _what_if(given: dict[str, Any]) -> WhatIf:
    flag: str | None = given["flag"]
    flag_setting = () if flag is None else ((FLAG, "true" if flag == "on" else "false"),)
    settings = (*given["settings"], *flag_setting)
    return WhatIf(
        settings, given["pulsar"], given["commands"], given["subscription"], given["about"], given["max_input"]
    )


def _output(given: dict[str, Any]) -> Output:
    if given["once"] and given["as_json"]:
        raise click.UsageError("--once and --json are two forms of one answer; choose one of them")
    return Output(
        once=given["once"],
        json=given["as_json"],
        theme=given["theme"],
        mono=given["mono"],
        ascii_only=given["ascii_only"],
        animate=not given["no_animation"],
    )


def _journal(given: dict[str, Any]) -> JournalChoice:
    named = given["journal_path"] is not None
    typed = click.get_current_context().get_parameter_source("no_journal") is ParameterSource.COMMANDLINE
    if named and given["no_journal"] and typed:
        raise click.UsageError("--journal and --no-journal contradict each other; choose one of them")
    return JournalChoice(given["journal_path"], keep=named or not given["no_journal"])


def collected(
    command: _Command,
    name: str,
    build: Callable[[dict[str, Any]], object],
    *options: Callable[[_Command], _Command],
) -> _Command:
    """Wrap ``command`` so that the values of ``options`` reach it as the one argument ``name``."""

    @functools.wraps(command)
    def collecting(*args: Any, **given: Any) -> Any:
        mine = {key: given.pop(key) for key in keys}
        return command(*args, **{name: build(mine)}, **given)

    before = len(getattr(command, "__click_params__", []))
    wrapped: Any = collecting
    for option in reversed(options):
        wrapped = option(wrapped)
    keys = [param.name for param in wrapped.__click_params__[before:]]
    result: _Command = wrapped
    return result


OPTIONS: Final = {
    "topics": "--topics",
    "partitions": "--partitions",
    "consumers": "--consumers",
    "bundles": "--bundles",
    "seed": "--seed",
    "keys": "--keys",
    "mode": "--mode",
    "points": "--points",
    "producers": "--producers",
    "brokers": "--brokers",
    "numPartitionsLimit": "--partial",
    "accessMode": "--access",
    "hashingScheme": "--hashing",
    "producerName": "--producer-name",
    "messageRouter": "--router",
    "client": "--client",
}
"""The engine's name of an argument -> the option that gives it."""
_ARGUMENT: Final = re.compile(rf"(^|; )({'|'.join(OPTIONS)})(?= is |: )")


def as_typed(message: str) -> str:
    """A sentence, or several behind semicolons, with options where the engine names arguments.

    >>> as_typed("topics is -1: give 0 to 9; seed is -2: give 0 to 9")
    '--topics is -1: give 0 to 9; --seed is -2: give 0 to 9'
    >>> as_typed("numPartitionsLimit: a limit of 9 is above 3; give 1 to 3, or say that this is meant")
    '--partial: a limit of 9 is above 3; give 1 to 3, or add --limit-above'
    """
    named = _ARGUMENT.sub(lambda match: match[1] + OPTIONS[match[2]], message)
    return named.replace("or say that this is meant", "or add --limit-above")
