"""Options of the commands about producers: how they start, which client they are, and how they route."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tui.cli.key_options import CLIENT_WORDS
from tui.cli.options import collected

if TYPE_CHECKING:
    from engine.cluster.producers.state import ProducerPlan

CLIENTS: Final = ("java", "python", "cpp")
ROUTERS: Final = ("round-robin", "single", "partial")
ACCESS_MODES: Final = ("Shared", "Exclusive", "ExclusiveWithFencing", "WaitForExclusive")
BROKERS: Final = 3
_Command = TypeVar("_Command", bound=Callable[..., Any])

client_option = click.option(
    "--client", type=click.Choice(CLIENTS), help="The client library: its hash, names and feature flag (java)."
)
router_option = click.option("--router", type=click.Choice(ROUTERS), help="How it routes (round-robin).")
partial_option = click.option(
    "--partial", metavar="LIMIT", type=int, help="Partial round robin over at most LIMIT partitions (PIP-79)."
)

limit_above_option = click.option(
    "--limit-above", is_flag=True, help="With --partial: LIMIT may be above the partitions."
)


@dataclass(frozen=True, slots=True)
class ProducerChoice:
    """What the command line says about producers; ``given`` are the options that were used."""

    given: dict[str, Any]

    @property
    def named(self) -> str | None:
        """The first option that was used, None for none."""
        return next(
            (f"--{name.replace('_', '-')}" for name, value in self.given.items() if value not in (None, False)), None
        )

    def without_client(self) -> ProducerChoice:
        """The same but for the client, which keys have too."""
        return ProducerChoice({**self.given, "client": None})

    @property
    def brokers(self) -> int:
        number: int | None = self.given["brokers"]
        return BROKERS if number is None else number

    def plan(self, count: int) -> ProducerPlan:
        """The plan for so many producers. Raises ``UsageError`` where two options contradict each other."""
        from engine.cluster.producers.state import ProducerPlan

        given = self.given
        batching: str | None = given["batching"]
        return ProducerPlan(
            count=count,
            name=given["producer_name"],
            lazy=given["lazy"],
            router=router_of(given["router"], given["partial"]),
            limit=given["partial"] or 0,
            allow_limit_above=given["limit_above"],
            client=given["client"] or "java",
            access_mode=given["access"] or "Shared",
            batching=None if batching is None else batching == "on",
        )


def router_of(router: str | None, limit: int | None) -> str:
    """The router that is meant: a limit means the partial one. Raises ``UsageError``."""
    if limit is not None and router not in (None, "partial"):
        raise click.UsageError(f"--partial {limit} and --router {router} contradict each other; choose one of them")
    if limit is None and router == "partial":
        raise click.UsageError("--router partial needs a limit; write --partial 3")
    return router or ("round-robin" if limit is None else "partial")


def producer_options(command: _Command) -> _Command:
    """Add the options that say what producers are like; the command gets them as ``plan``."""
    return collected(
        command,
        "plan",
        ProducerChoice,
        click.option("--lazy", is_flag=True, help="With --producers: open a partition when it is first sent to."),
        partial_option,
        limit_above_option,
        router_option,
        click.option(
            "--client",
            type=click.Choice(CLIENT_WORDS),
            help="The client library: its hash; of producers, its names and feature flag too (java).",
        ),
        click.option("--access", type=click.Choice(ACCESS_MODES), help="With --producers: the access mode (Shared)."),
        click.option("--producer-name", metavar="NAME", help="With --producers: their name (brokers give one)."),
        click.option(
            "--batching", type=click.Choice(["on", "off"]), help="With --producers: batching (the client's default)."
        ),
        click.option("--brokers", metavar="N", type=int, help="With --producers: brokers that serve the topic (3)."),
    )
