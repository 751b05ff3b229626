"""``keys``: which slots and which known keys a consumer has, or all of them side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import InputError
from engine.keyshared.model import Consumer
from tui.cli.key_options import KeyChoice, SharingChoice, known_key_options, sharing_options
from tui.cli.options import form_options
from tui.cli.output import Form
from tui.cli.plain import nearest
from tui.cli.producer_options import RoutingChoice, routing_options

if TYPE_CHECKING:
    from tui.cli.sharing import Sharing


@click.command("keys")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--of", "consumer", metavar="CONSUMER", help="Only this one, by its name or #ID.")
@click.option(
    "--partition", metavar="N", type=click.IntRange(min=0), help="Only this partition, and the keys that go to it."
)
@routing_options
@sharing_options
@known_key_options
@form_options
def keys_command(
    *,
    path: str | None,
    consumer: str | None,
    partition: int | None,
    routed: RoutingChoice,
    sharing: SharingChoice,
    known: KeyChoice,
    form: Form,
) -> int:
    """Say exactly which slots, and which of the known keys, the consumers of a Key_Shared subscription have.

    With --of it is about one consumer. Without it, about all: shares, the spread of the known keys compared with what
    chance gives, and what explains the difference. Known keys are --key, --keys, --generated, or those of the
    recording. Of a partitioned topic, recorded or with --partitions, it also says how the keys are spread over the
    partitions, and which consumers never get a key of some.

    Examples: ringside keys --consumers a,b,c --key order-17; ringside keys answers/ --partition 2
    """
    from tui.cli.key_options import known_keys
    from tui.cli.printers import key_answers as printer
    from tui.cli.sharing import keys_at, narrowed, owned_by, sharing_of, spread_of

    who = sharing_of(sharing, path)
    if not who.selector.consumers:
        what = (
            f"{path}: nobody is connected" if path is not None else "--consumers: name who shares the keys, or a PATH"
        )
        raise InputError(what)
    counts = known_keys(known) if known.named else dict(who.keys)
    all_counts = counts
    if partition is not None or who.differs:
        who = narrowed(who, routed, partition)
        counts = keys_at(who, routed, counts)
    if consumer is not None:
        if routed.named is not None and partition is None:
            raise click.UsageError(f"{routed.named} is about all consumers; leave out --of")
        owned = owned_by(who, _consumer_named(who, consumer), counts)
        return form.show(lambda: printer.owned_document(who, owned), lambda: printer.owned_lines(who, owned))
    from engine.keyshared.luck import luck_of

    luck, partitions = luck_of(who.selector, counts), spread_of(who, routed, all_counts)
    return form.show(
        lambda: printer.spread_document(who, luck, partitions), lambda: printer.spread_lines(who, luck, partitions)
    )


def _consumer_named(who: Sharing, wanted: str) -> Consumer:
    """The consumer of that name or #ID. Raises ``InputError`` with similar names."""

    consumers = who.selector.consumers
    if wanted.startswith("#") and wanted[1:].isdecimal():
        matches = [consumer for consumer in consumers if str(consumer.consumer_id) == wanted[1:]]
    else:
        matches = [consumer for consumer in consumers if consumer.name == wanted]
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(f"#{match.consumer_id}" for match in matches[:8]) + (", ..." if len(matches) > 8 else "")
        raise InputError(f"--of: {len(matches)} consumers are named {wanted!r}; name one of {ids}")
    names = [consumer.name for consumer in consumers]
    raise InputError(f"--of: no consumer is named {wanted[:100]!r}; there is {nearest(wanted, names)}")
