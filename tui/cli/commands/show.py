"""Commands that show a cluster: ``open`` (also without its name), ``new`` and ``replay``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click
from click.core import ParameterSource

from engine.errors import InputError
from engine.text import counted
from tui.cli.options import JournalChoice, Output, WhatIf, as_typed, journal_options, output_options, what_if_options
from tui.cli.producer_options import ProducerChoice, RoutingChoice, producer_options
from tui.cli.showing import show, show_session

if TYPE_CHECKING:
    from engine.scenarios.opening import Opened
    from tui.kit.session import Session

Command = TypeVar("Command", bound=Callable[..., object])


def _number(name: str, default: int, help_text: str) -> Callable[[Command], Command]:
    """An option that takes a whole number; its limits are checked by the engine."""
    return click.option(name, metavar="N", type=int, default=default, show_default=True, help=help_text)


@click.command("open", short_help="Open answers of a broker, or the embedded cluster (the default command).")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option(
    "--against",
    metavar="PATH",
    type=click.Path(),
    help="Another dump, or a journal, that d compares with what is shown.",
)
@what_if_options
@output_options
@journal_options
def open_command(path: str | None, against: str | None, what_if: WhatIf, output: Output, journal: JournalChoice) -> int:
    """Open a FILE or FOLDER of broker answers, - for standard input, or the embedded cluster.

    Example: ringside open tuesday/ --against monday/
    """
    if against is not None and not output.on_screen:
        raise click.UsageError("--against is for the key d of the screen; ringside diff A B prints what differs")

    def begun() -> Session:
        from tui.cli.session import answers_of, compared

        session = answers_of(path, what_if)
        if against is None:
            return session
        return compared(session, path or "the embedded cluster", against, what_if.max_input)

    return show_session(begun, output, journal, name="the embedded cluster" if path is None else "")


@click.command("new")
@_number("--topics", 100, "How many topics.")
@_number("--partitions", 1, "Of each topic; 0: not partitioned. With --producers: of the topic (12), --keys: (0).")
@_number("--consumers", 10, "Each on every topic.")
@click.option("--bundles", metavar="N", type=int, help="Of the namespace.  [default: 32; before 5.0: 4]")
@_number("--seed", 0, "For the rates.")
@click.option("--keys", metavar="N", type=int, help="Instead: a Key_Shared subscription with so many known keys.")
@click.option(
    "--mode", metavar="MODE", help="With --keys: auto-split, consistent-auto-split, sticky, consistent-sticky."
)
@click.option("--points", metavar="N", type=int, help="With --mode consistent-sticky: points of a node (100).")
@click.option("--hashing", metavar="NAME", help="With --keys and --partitions: the hash that takes a key's partition.")
@click.option("--producers", metavar="N", type=int, help="Instead: so many producers on one partitioned topic.")
@producer_options
@what_if_options
@output_options
@journal_options
def new_command(
    *,
    topics: int,
    partitions: int,
    consumers: int,
    bundles: int | None,
    seed: int,
    keys: int | None,
    mode: str | None,
    points: int | None,
    hashing: str | None,
    producers: int | None,
    plan: ProducerChoice,
    what_if: WhatIf,
    output: Output,
    journal: JournalChoice,
) -> int:
    """Open a synthetic cluster: the same numbers and the same seed give the same cluster.

    Example: ringside new --topics 12 --consumers 6 --flag on
    """
    _of_keys(keys, mode, points)
    if producers is not None and keys is not None:
        raise click.UsageError("--producers and --keys are two different clusters; choose one of them")
    _of_a_file(what_if)
    named = click.get_current_context().get_parameter_source("partitions")
    routed = RoutingChoice(None if named is ParameterSource.DEFAULT else partitions, plan.given["client"], hashing)
    _of_partitions(routed, keys)
    plan = plan if keys is None else plan.without_client()
    if producers is None and plan.named is not None:
        raise click.UsageError(f"{plan.named} is about producers; give --producers N too, for example --producers 100")
    _no_others("--keys" if keys is not None else "--producers" if producers is not None else "")

    def load() -> Opened:
        try:
            return invented()
        except InputError as error:
            raise InputError(as_typed(str(error)), error.problems) from error

    def invented() -> Opened:
        from engine.config import CURRENT
        from engine.scenarios import synthetic as made
        from engine.scenarios.synthetic import synthetic_keys, synthetic_producers, synthetic_state

        if keys is not None:
            return synthetic_keys(
                keys,
                consumers,
                mode=mode or made.DEFAULT_MODE,
                points=made.DEFAULT_POINTS if points is None else points,
                partitions=routed.partitions or 0,
                routing=routed.routing(),
                seed=seed,
                release=what_if.pulsar or "",
            )
        if producers is not None:
            many = made.DEFAULT_PARTITIONS if named is ParameterSource.DEFAULT else partitions
            return synthetic_producers(
                plan.plan(producers), many, brokers=plan.brokers, seed=seed, release=what_if.pulsar or ""
            )
        release = what_if.pulsar or CURRENT.label
        return synthetic_state(topics, partitions, consumers, seed, bundles, release=release)

    name = f"an invented cluster of {counted(topics, 'topic')}" if keys is None else counted(keys, "key")
    return show(load, what_if, output, journal, name=name)


_OF_TOPICS: Final = {"--keys": ("topics", "bundles"), "--producers": ("topics", "consumers", "bundles")}
"""Options that have no meaning for a cluster of keys or of producers."""


def _of_keys(keys: int | None, mode: str | None, points: int | None) -> None:
    """Refuse what belongs to other modes, or to Key_Shared where there is none. Raises ``UsageError``."""
    if keys is None and (mode is not None or points is not None):
        raise click.UsageError("--mode and --points belong to Key_Shared; give --keys N too, for example --keys 1000")
    if points is not None and mode != "consistent-sticky":
        raise click.UsageError(
            "--points are those of a node with --mode consistent-sticky; for a ring give "
            "--set subscriptionKeySharedConsistentHashingReplicaPoints=N"
        )


def _of_partitions(routed: RoutingChoice, keys: int | None) -> None:
    """Refuse a hash of keys where there are no keys, or no partitions. Raises ``UsageError``."""
    if keys is None and routed.hashing is not None:
        raise click.UsageError("--hashing takes the partition of a key; give --keys N and --partitions N too")
    if keys is not None and routed.partitions is None and routed.named is not None:
        raise click.UsageError(f"{routed.named} takes the partition of a key; give --partitions N too")


def _of_a_file(what_if: WhatIf) -> None:
    """Refuse --topic where no file with an answer is opened. Raises ``UsageError``."""
    if what_if.about is not None:
        raise click.UsageError("--topic names the topic of a FILE with one answer; there is none here")


def _no_others(instead: str) -> None:
    """Refuse options that would change nothing. Raises ``UsageError``."""
    given = click.get_current_context().get_parameter_source
    for name in _OF_TOPICS.get(instead, ()):
        if given(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} changes nothing with {instead}, which is about one topic; leave it out")


@click.command("replay")
@click.argument("file", metavar="JOURNAL", type=click.Path(path_type=Path))
@what_if_options
@output_options
@journal_options
def replay_command(file: Path, what_if: WhatIf, output: Output, journal: JournalChoice) -> int:
    """Open a JOURNAL where it left off and go on in the same file.

    With --once, --json, --no-journal or another --journal the file is only read.

    Example: ringside replay steps.journal --once
    """
    _of_a_file(what_if)
    reads_only = not output.on_screen or not journal.keep or journal.path is not None

    def begun() -> Session:
        from tui.cli.session import reopened, resumed

        return resumed(reopened(file, reads_only=reads_only), what_if)

    return show_session(begun, output, journal)
