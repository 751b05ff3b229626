"""``explain route``: the partition of a key for a client; ``partitions``: what more partitions do to keys."""

from __future__ import annotations

import click

from tui.cli.exits import FINE
from tui.cli.key_options import KeyChoice, known_key_options
from tui.cli.options import ascii_option, json_option
from tui.cli.output import write_out, write_page
from tui.cli.printers.documents import json_text
from tui.cli.producer_options import client_option, limit_above_option, partial_option, router_of, router_option
from tui.cli.typed import as_typed

_HASHINGS = ("JavaStringHash", "Murmur3_32Hash", "BoostHash")


@click.command("route", short_help="Say to which partition a message goes, and why.")
@click.argument("key", required=False)
@click.option("--no-key", is_flag=True, help="Instead of KEY: the message has none.")
@click.option("--partitions", metavar="N", type=int, required=True, help="How many partitions the topic has.")
@client_option
@router_option
@partial_option
@limit_above_option
@click.option("--hashing", type=click.Choice(_HASHINGS), help="The hashing scheme (the client's default).")
@click.option("--batching", type=click.Choice(["on", "off"]), help="Batching (the client's default).")
@click.option("--now", "now_ms", metavar="MS", type=int, default=0, show_default=True, help="The clock, for batching.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="For what a client draws at random.")
@json_option
@ascii_option
def explain_route(
    *,
    key: str | None,
    no_key: bool,
    partitions: int,
    client: str | None,
    router: str | None,
    partial: int | None,
    limit_above: bool,
    hashing: str | None,
    batching: str | None,
    now_ms: int,
    seed: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say to which of N partitions a message with KEY goes, and why: bytes, hash, remainder.

    A key of bytes is written hex:00ff or base64:AP8=. The other clients' answers stand beside it, since the same key
    can go to another partition from Java than from Python.

    Example: ringside explain route order-17 --partitions 12 --client java
    """
    if (key is None) is not no_key:
        raise click.UsageError('which key? write one, "" for the empty key, or --no-key for a message without a key')
    from engine.cluster.producers.state import ProducerPlan
    from engine.errors import InputError, Rejection
    from engine.views.producers.answers import route_answer

    plan = ProducerPlan(
        router=router_of(router, partial),
        limit=partial or 0,
        allow_limit_above=limit_above,
        client=client or "java",
        hashing=hashing,
        batching=None if batching is None else batching == "on",
    )
    found = route_answer(_key(key), plan, partitions, now_ms=now_ms, seed=seed)
    if isinstance(found, Rejection):
        raise InputError(as_typed(str(found)))
    from tui.cli.printers import routes as printer

    if as_json:
        write_out(json_text(printer.route_document(found)))
    else:
        write_page(printer.route_lines(found), ascii_only=ascii_only)
    return FINE


@click.command("partitions", short_help="Say which keys more partitions move, and where clients disagree.")
@click.option("--from", "before", metavar="N", type=int, required=True, help="How many partitions there are.")
@click.option("--to", "after", metavar="N", type=int, help="How many there will be (default: as many).")
@known_key_options
@json_option
@ascii_option
def partitions_command(*, before: int, after: int | None, known: KeyChoice, as_json: bool, ascii_only: bool) -> int:
    """Say which keys go to another partition when a topic grows, with each client's hash.

    Without --to nothing grows, and only the clients are compared. Without keys, what to expect of random ones is told.

    Example: ringside partitions --from 6 --to 8 --key order-17
    """
    from engine.errors import InputError, Rejection
    from engine.views.producers.answers import growth_view
    from tui.cli.known_keys import known_keys
    from tui.cli.printers import routes as printer

    keys = [_hashed_text(key) for key in known_keys(known)]
    found = growth_view(keys, before, before if after is None else after)
    if isinstance(found, Rejection):
        option = "--to" if after is not None and found.error == "NotSupportedException" else "--from"
        raise InputError(f"{option}: {found.message}")
    if as_json:
        write_out(json_text(printer.growth_document(found)))
    else:
        write_page(printer.growth_lines(found), ascii_only=ascii_only)
    return FINE


def _key(text: str | None) -> str | bytes | None:
    """A key as the client is given it: text, or bytes where they are written as such. Raises ``InputError``."""
    from tui.cli.known_keys import key_of

    if text is None:
        return None
    data = key_of(text, "KEY")
    return data if text.startswith(("hex:", "base64:")) else data.decode("utf-8")


def _hashed_text(key: bytes) -> str:
    """The text that clients hash: that of bytes which are no text is their base64 form."""
    from engine.routing.keys import Message

    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        return Message.of_key_bytes(key).key or ""
