"""``explain route``: the partition of a key for a client; ``partitions``: what more partitions do to keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from engine.errors import InputError, Rejection
from engine.text import counted, listed
from tui.cli.key_options import KeyChoice, known_key_options
from tui.cli.options import as_typed, form_options
from tui.cli.output import Form
from tui.cli.plain import BY_JSON, Align, and_more, labelled, table, wrapped
from tui.cli.printers.key_answers import other_clients
from tui.cli.producer_options import client_option, limit_above_option, partial_option, router_of, router_option
from tui.kit.wording import percent, safe_name, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.views.producers.answers import GrowthView, KeyGrowth, RouteAnswer

BYTES_SHOWN: Final = 64
KEYS_SHOWN: Final = 40
_KEY_CELLS: Final = 30


@click.command("route")
@click.argument("key", required=False)
@click.option("--no-key", is_flag=True, help="Instead of KEY: the message has none.")
@click.option("--partitions", metavar="N", type=int, required=True, help="How many partitions the topic has.")
@client_option
@router_option
@partial_option
@limit_above_option
@click.option("--hashing", metavar="NAME", help="The client's hash, such as Murmur3_32Hash (its default).")
@click.option("--batching", type=click.Choice(["on", "off"]), help="Batching (the client's default).")
@click.option("--now", "now_ms", metavar="MS", type=int, default=0, show_default=True, help="The clock, for batching.")
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="For what a client draws at random.")
@form_options
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
    form: Form,
) -> int:
    """Say to which of N partitions a message with KEY goes, and why: bytes, hash, remainder.

    A key of bytes is written hex:00ff or base64:AP8=. The answers of all other clients are listed too, since the same
    key can go to another partition from Java than from Python. Messages without a key are computed for Java, C++ and
    Python.

    Example: ringside explain route order-17 --partitions 12 --client go
    """
    if (key is None) is not no_key:
        raise click.UsageError('which key? write one, "" for the empty key, or --no-key for a message without a key')
    from engine.cluster.producers.state import ProducerPlan
    from engine.views.producers.answers import route_answer

    plan = ProducerPlan(
        router=router_of(router, partial),
        limit=partial or 0,
        allow_limit_above=limit_above,
        client=client or "java",
        hashing=hashing,
        batching=None if batching is None else batching == "on",
    )
    answer = route_answer(_key(key), plan, partitions, now_ms=now_ms, seed=seed)
    if isinstance(answer, Rejection):
        raise InputError(as_typed(str(answer)))

    return form.show(answer, lambda: route_lines(answer))


@click.command("partitions")
@click.option("--from", "before", metavar="N", type=int, required=True, help="How many partitions there are.")
@click.option("--to", "after", metavar="N", type=int, help="How many there will be (default: as many).")
@known_key_options
@form_options
def partitions_command(*, before: int, after: int | None, known: KeyChoice, form: Form) -> int:
    """Say which keys go to another partition when a topic grows, with each client's hash.

    Without --to nothing grows, and only the clients are compared. Without keys it says what to expect of random ones.

    Example: ringside partitions --from 6 --to 8 --key order-17
    """
    from engine.routing.clients import routed_bytes
    from engine.views.producers.answers import growth_view
    from tui.cli.key_options import known_keys

    keys = [routed_bytes(key) for key in known_keys(known)]
    growth = growth_view(keys, before, before if after is None else after)
    if isinstance(growth, Rejection):
        option = "--to" if after is not None and growth.error == "NotSupportedException" else "--from"
        raise InputError(f"{option}: {growth.message}")
    return form.show(growth, lambda: growth_lines(growth))


def _key(text: str | None) -> str | bytes | None:
    """A key as the client is given it: text, or bytes where they are written as such. Raises ``InputError``."""
    from tui.cli.key_options import key_of

    if text is None:
        return None
    data = key_of(text, "KEY")
    return data if text.startswith(("hex:", "base64:")) else data.decode("utf-8")


def route_lines(answer: RouteAnswer) -> list[str]:
    """The answer first, then every step to it, and the other clients' answers."""
    explanation = answer.explanation
    lines = labelled("partition", f"{explanation.partition} of 0 to {answer.partitions - 1}")
    lines += labelled("client", answer.client)
    lines += labelled("rule", explanation.sentence)
    if explanation.key is not None:
        data = explanation.key.data
        more = f" ... ({len(data)} in all)" if len(data) > BYTES_SHOWN else f" ({len(data)})"
        lines += labelled("bytes", data[:BYTES_SHOWN].hex(" ") + more if data else "none: the key is empty")
        lines += labelled(
            "hash", f"{explanation.key.hashing}: {explanation.key.raw}, divided as {explanation.key.value}"
        )
    if explanation.chosen:
        lines += labelled("chosen", ", ".join(map(str, explanation.chosen)))
    if answer.elsewhere:
        lines += ["", *table(other_clients(answer.elsewhere), ("<", ">", "<"))]
    return lines


def growth_lines(view: GrowthView) -> list[str]:
    """What moves with each hash, then where clients disagree, then the keys."""
    grows = view.after > view.before
    head = f"from {view.before} to {counted(view.after, 'partition')}" if grows else counted(view.before, "partition")
    lines = [f"{head}, {counted(len(view.keys), 'key')}"]
    if grows:
        rows = [("hash", "keys that move", "of random keys", "of clients")]
        for alike in view.clients:
            share = f" ({percent(alike.moved / len(view.keys))})" if view.keys else ""
            moved = f"{alike.moved}{share}" if view.keys else ""
            rows.append((alike.hashing, moved, percent(alike.expected_share), ", ".join(alike.clients)))
        lines += table(rows, ("<", ">", ">", "<"), indent="  ")
        lines += wrapped(f"{listed(view.random)} by default: any partition, whatever the key", first="  ")
        lines += wrapped("messages of a key that moves are in two partitions, with no order between them", first="  ")
    disagree = f"{view.disagreeing} of {counted(len(view.keys), 'key')}, " if view.keys else ""
    lines += wrapped(
        f"Java and Python put {disagree}{percent(view.expected_disagreeing)} of random keys into different partitions",
        rest="  ",
    )
    return [*lines, *_keys(view)]


def _keys(view: GrowthView) -> Iterator[str]:
    if not view.keys:
        return
    # The most telling keys come first, in the order given.
    ordered = sorted(view.keys, key=lambda key: not (key.moves or key.disagrees))
    labels = [alike.label.replace("_32Hash", "").replace("StringHash", "") for alike in view.clients]
    numbers: list[Align] = [">" for _ in labels]
    rows = [("key", *labels, ""), *(_key_row(row) for row in ordered[:KEYS_SHOWN])]
    yield ""
    yield from table(rows, ("<", *numbers, "<"), indent="  ")
    yield from and_more(len(ordered) - KEYS_SHOWN, BY_JSON)


def _key_row(key: KeyGrowth) -> tuple[str, ...]:
    places = [_change(before, after) for before, after in zip(key.before.values(), key.after.values(), strict=True)]
    name = shorten_middle(safe_name(key.key), _KEY_CELLS) if key.key else '""'
    return (name, *places, "java ≠ python" if key.disagrees else "")


def _change(before: int | None, after: int | None) -> str:
    if after is None:
        return "no key"
    return str(after) if before == after else f"{before} → {after}"
