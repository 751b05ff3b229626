"""Commands that are typed on screens with commands of their own, beside those of the simulator's grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from textual.screen import Screen

from engine.errors import Rejection
from tui.kit.help import HelpScreen, KeyHelp
from tui.kit.prompt import Prompt
from tui.kit.wording import safe_name

HELP: Final = "help"
NAMED: Final = 8
"""So many names are listed where a name is wrong."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that can be typed: how it is written, what it does, and what carries it out with the words behind it.

    ``options`` are words that can follow it.
    """

    form: str
    about: str
    run: Callable[[str], Rejection | None]
    options: tuple[str, ...] = ()


def ask_for_command(prompt: Prompt, commands: Mapping[str, Typed]) -> None:
    """Open the prompt for one of these; they complete what is typed."""
    forms = ", ".join(command.form for command in commands.values())
    prompt.ask("command", ":", placeholder=f"{forms}, {HELP}", options=[HELP, *lines_of(commands)])


def lines_of(commands: Mapping[str, Typed]) -> Iterator[str]:
    """All that can be typed of these, for completion."""
    yield from commands
    yield from (f"{word} {option}" for word, command in commands.items() for option in command.options)


def carry_out(screen: Screen[Any], commands: Mapping[str, Typed], text: str) -> Rejection | None:
    """Do what was typed, or list what there is; a refusal where it is none of these."""
    if text == HELP:
        lines = [KeyHelp(command.form, command.about) for command in commands.values()]
        groups = [("on this screen", [*lines, KeyHelp(HELP, "this list")])]
        screen.app.push_screen(HelpScreen(groups, "commands after :"))
        return None
    word, _, rest = text.partition(" ")
    command = commands.get(word)
    if command is None:
        known = ", ".join((*commands, HELP))
        return Rejection("UnknownCommand", f"{safe_name(word)!r} is not a command of this screen; there are {known}")
    return command.run(rest.strip())


NOTHING: Final = "there is nothing to choose from"


def choice(
    form: str, about: str, known: Mapping[str, Any], act: Callable[[Any], Rejection | None], none: str = NOTHING
) -> Typed:
    """A command with a name behind it, or the beginning of one; ``act`` gets the value of the name.

    ``none``: what to say where there is no name.
    """
    what = form.partition(" ")[0]

    def run(word: str) -> Rejection | None:
        value = one_of(word, known, what, none)
        return value if isinstance(value, Rejection) else act(value)

    return Typed(form, about, run, tuple(known))


def number(form: str, about: str, least: int, most: int, act: Callable[[int], Rejection | None]) -> Typed:
    """A command with a whole number behind it."""

    def run(word: str) -> Rejection | None:
        if word.isascii() and word.isdecimal() and len(word) < 10 and least <= int(word) <= most:
            return act(int(word))
        return Rejection("InvalidNumber", f"{safe_name(word)!r} is not a whole number from {least:,} to {most:,}")

    return Typed(form, about, run)


def one_of(word: str, known: Mapping[str, Any], what: str, none: str = NOTHING) -> Any | Rejection:
    """The value of a name, or of the only one that begins so, whatever its case; refused with the names there are.

    >>> one_of("uni", {"UniformLoadShedder": 1, "AvgShedder": 2}, "shedder")
    1
    """
    matches = [name for name in known if name.casefold() == word.casefold()]
    matches = matches or [name for name in known if word and name.casefold().startswith(word.casefold())]
    if len(matches) == 1:
        return known[matches[0]]
    if not known:
        return Rejection("UnknownName", f"{what}: {none}")
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    names = ", ".join(safe_name(name) for name in islice(known, NAMED)) + more
    said = f"{safe_name(word)!r} is none of {names}" if word else f"name one of {names}"
    return Rejection("UnknownName", f"{what}: {said}")
