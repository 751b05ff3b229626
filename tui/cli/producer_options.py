"""Options of the commands about producers: how they start, which client they are, how they route, also by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from msgspec import Struct

from tui.cli.options import collected
from tui.cli.output import accepted_option

if TYPE_CHECKING:
    from engine.cluster.producers.state import ProducerPlan
    from engine.routing.clients import KeyRouting

CLIENT_WORDS: Final = ("java", "cpp", "python", "node", "go", "rust", "dotpulsar", "fsharp", "php")
"""Those of ``engine.routing.clients``, which is not loaded for reading options."""
MAX_KEY_PARTITIONS: Final = 32_768
ROUTERS: Final = ("round-robin", "single", "partial")
ACCESS_MODES: Final = ("Shared", "Exclusive", "ExclusiveWithFencing", "WaitForExclusive")
BROKERS: Final = 3
_Command = TypeVar("_Command", bound=Callable[..., Any])

client_option = click.option("--client", type=click.Choice(CLIENT_WORDS), help="The client library (java).")
router_option = click.option("--router", type=click.Choice(ROUTERS), help="How it routes (round-robin).")
partial_option = click.option(
    "--partial", metavar="LIMIT", type=int, help="Partial round robin over at most LIMIT partitions (PIP-79)."
)

limit_above_option = click.option(
    "--limit-above", is_flag=True, help="With --partial: LIMIT may be above the partitions."
)


class ProducerChoice(Struct, frozen=True):
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


class RoutingChoice(Struct, frozen=True):
    """How many partitions the topic has, and which client's hash takes them; None where it was not given."""

    partitions: int | None
    client: str | None
    hashing: str | None

    @property
    def named(self) -> str | None:
        """The first option that was given, None for none."""
        given = {"--partitions": self.partitions, "--client": self.client, "--hashing": self.hashing}
        return next((name for name, value in given.items() if value is not None), None)

    def routing(self) -> KeyRouting:
        """The client and its hash. Raises ``InputError``."""
        from engine.routing.clients import key_routing

        return accepted_option(key_routing(self.client or "java", self.hashing))


def routing_options(command: _Command) -> _Command:
    """Add the options that say which partition a key goes to; the command gets them as ``routed``."""
    return collected(
        command,
        "routed",
        lambda given: RoutingChoice(given["partitions"], given["client"], given["hashing"]),
        click.option(
            "--partitions",
            metavar="N",
            type=click.IntRange(1, MAX_KEY_PARTITIONS),
            help="The topic has N partitions, so a key goes to one of them first.",
        ),
        click.option(
            "--client", type=click.Choice(CLIENT_WORDS), help="With partitions: whose hash takes them (java)."
        ),
        click.option(
            "--hashing",
            metavar="NAME",
            help="With partitions: the client's hash, such as Murmur3_32Hash (its default).",
        ),
    )
