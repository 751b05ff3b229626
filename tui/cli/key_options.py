"""Options of the commands about keys: which keys are known, and who shares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from engine.errors import accepted
from engine.keyshared.keys import key_of_text
from tui.cli.options import collected, max_input_option, pulsar_option, setting_option
from tui.cli.output import say_problems

MODES: Final = ("auto-split", "consistent-auto-split", "sticky", "consistent-sticky")
DEFAULT_POINTS: Final = 100
_Command = TypeVar("_Command", bound=Callable[..., Any])

points_option = click.option(
    "--points", metavar="N", type=int, default=DEFAULT_POINTS, show_default=True, help="Points of each node."
)


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """Which keys are known: texts from the command line, a file of them, and so many generated ones."""

    texts: tuple[str, ...]
    path: str | None
    generated: int

    @property
    def named(self) -> bool:
        """Whether the command line names any."""
        return bool(self.texts or self.path is not None or self.generated)


@dataclass(frozen=True, slots=True)
class SharingChoice:
    """Who shares the keys, and how: either consumers by name with a mode, or a subscription of a recording.

    ``ranges`` are texts NAME=START-END,...; ``points`` is None where it was not given. ``settings`` are pairs as in
    broker.conf; ``commands`` are steps to take first and ``subscription`` the one that is meant, in a recording;
    ``about`` is the topic of an answer that does not name it.
    """

    consumers: str | None
    consumers_from: str | None
    mode: str | None
    points: int | None
    ranges: tuple[str, ...]
    pulsar: str | None
    settings: tuple[tuple[str, str], ...]
    subscription: str | None
    commands: tuple[str, ...]
    max_input: int
    about: str | None = None

    @property
    def invented(self) -> str | None:
        """The first option given that says who consumes; None without one."""
        given = {
            "--consumers": self.consumers is not None,
            "--consumers-from": self.consumers_from is not None,
            "--ranges": bool(self.ranges),
            "--mode": self.mode is not None,
            "--points": self.points is not None,
        }
        return next((name for name, there in given.items() if there), None)


def known_key_options(command: _Command) -> _Command:
    """Add the options that name known keys; the command gets them as ``known``."""
    return collected(
        command,
        "known",
        lambda given: KeyChoice(given["key"], given["keys"], given["generated"] or 0),
        click.option(
            "--key", metavar="KEY", multiple=True, help="A known key; bytes as hex:00ff or base64:AP8=. Repeatable."
        ),
        click.option(
            "--keys",
            metavar="FILE",
            help="Known keys, one a line, if wanted with a tab and a count, or CSV with key,count; - for stdin.",
        ),
        click.option(
            "--generated", metavar="N", type=click.IntRange(1, 5_000_000), help="N keys: key-0, key-1, and so on."
        ),
    )


def sharing_options(command: _Command) -> _Command:
    """Add the options that say who shares the keys; the command gets them as ``sharing``."""
    return collected(
        command,
        "sharing",
        lambda given: SharingChoice(**given),
        click.option("--consumers", metavar="A,B,C", help="Consumers by name, in the order they join."),
        click.option(
            "--consumers-from",
            metavar="FILE",
            help="Consumers one a line, NAME or NAME=START-END,...; or JSON, also that of ranges --json.",
        ),
        click.option(
            "--mode", type=click.Choice(MODES), help="How keys are shared (default: as Pulsar's settings say)."
        ),
        click.option("--points", metavar="N", type=int, help=f"Points of each consumer (default: {DEFAULT_POINTS})."),
        click.option(
            "--ranges",
            metavar="NAME=START-END,...",
            multiple=True,
            help="What a consumer declares in the mode sticky. Repeatable.",
        ),
        pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11."),
        setting_option,
        max_input_option,
        click.option("--subscription", metavar="NAME", help="The Key_Shared subscription of PATH that is meant."),
        click.option(
            "--topic", "about", metavar="NAME", help="The topic that PATH is about, if the file does not name it."
        ),
        click.option(
            "--apply",
            "commands",
            multiple=True,
            metavar="COMMAND",
            help='With PATH: a step to take first, such as "kill c-1". Repeatable, taken in order.',
        ),
    )


def known_keys(choice: KeyChoice) -> dict[bytes, int]:
    """Keys in the order they were named, each with the number of times it was. Raises ``InputError``.

    Lines of a file that are not keys are reported, and the others are kept.
    """
    counts: dict[bytes, int] = {}
    for text in choice.texts:
        key = key_of(text, "--key")
        counts[key] = counts.get(key, 0) + 1
    if choice.path is not None:
        from tui.sources.key_files import read_keys

        file = read_keys(choice.path)
        say_problems(file.problems)
        for key, count in file.counts.items():
            counts[key] = counts.get(key, 0) + count
    for number in range(choice.generated):
        key = b"key-%d" % number
        counts[key] = counts.get(key, 0) + 1
    return counts


def key_of(text: str, option: str) -> bytes:
    """The bytes of a key on the command line. Raises ``InputError``, which names the option."""
    return accepted(key_of_text(text), option)
