"""``explain key``: why a key goes to its consumer of a Key_Shared subscription."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import click

from tui.cli.exits import FINE
from tui.cli.key_options import SharingChoice, sharing_options
from tui.cli.options import ascii_option, json_option
from tui.cli.output import write_out, write_page
from tui.cli.printers.documents import json_text

if TYPE_CHECKING:
    from engine.keyshared.entry_key import EntryMetadata


@click.command("key")
@click.argument("words", nargs=-1, metavar="[KEY] [FILE | FOLDER]")
@click.option("--no-key", is_flag=True, help="Instead of KEY: the message has no key at all.")
@click.option("--ordering-key", metavar="KEY", help="Instead of KEY: the ordering key, which goes before any other.")
@click.option("--key-base64", metavar="TEXT", help="Instead of KEY: the base64 form of a key that was given as bytes.")
@click.option("--producer", metavar="NAME", help="The producer's name; counts for a message without a key.")
@click.option("--sequence", metavar="N", type=int, help="The sequence id; counts for a message without a key.")
@sharing_options
@json_option
@ascii_option
def explain_key(
    *, words: tuple[str, ...], sharing: SharingChoice, as_json: bool, ascii_only: bool, **given: Any
) -> int:
    """Say why KEY goes to its consumer: bytes, hash, slot, owner, who inherits it, and what it waits for.

    Bytes that are no text are written hex:00ff or base64:AP8=. "" is the empty key, which is a key; --no-key is none.

    Example: ringside explain key order-17 --consumers a,b,c
    """
    from engine.keyshared.entry_key import sticky_key
    from engine.keyshared.explain import explain_key as explained
    from tui.cli.sharing import sharing_of

    instead = given["no_key"] or given["ordering_key"] is not None or given["key_base64"] is not None
    key, path = _key_and_path(words, replaced=instead)
    if (given["producer"] is None) is not (given["sequence"] is None):
        raise click.UsageError("--producer and --sequence belong together; give both or none")
    metadata = _metadata(key, given)
    if key is None and not instead and given["producer"] is None:
        raise click.UsageError('which key? write one, "" for the empty key, or --no-key for a message without a key')
    who = sharing_of(sharing, path)
    sticky = sticky_key(metadata, who.behaviour)
    told = explained(who.selector, sticky.data, draining=who.delivery.draining if who.delivery is not None else None)
    if as_json:
        from tui.cli.printers.key_answers import explained_document

        write_out(json_text(explained_document(who, sticky, told)))
    else:
        from tui.cli.printers.key_answers import explained_lines

        write_page(explained_lines(who, sticky, told), ascii_only=ascii_only)
    return FINE


def _key_and_path(words: tuple[str, ...], *, replaced: bool) -> tuple[str | None, str | None]:
    """The words as KEY and PATH; only PATH where an option stands for the key."""
    allowed = 1 if replaced else 2
    if len(words) > allowed:
        instead = " (an option stands for the key already)" if replaced else ""
        raise click.UsageError(f"{words[allowed]!r} is too much; write [KEY] [FILE | FOLDER]{instead}")
    key, path = ((None, *words, None) if replaced else (*words, None, None))[:2]
    return key, path


def _metadata(key: str | None, given: dict[str, Any]) -> EntryMetadata:
    """What the message has. Raises ``InputError`` for a text that is no key."""
    from engine.keyshared.entry_key import EntryMetadata
    from tui.cli.key_options import key_of

    ordering: str | None = given["ordering_key"]
    partition_key, encoded = given["key_base64"], given["key_base64"] is not None
    if key is not None:
        data = key_of(key, "KEY")
        try:
            partition_key = data.decode("utf-8")
        except UnicodeDecodeError:
            # A client that is given bytes as a key sends their base64 form.
            partition_key, encoded = base64.b64encode(data).decode("ascii"), True
    return EntryMetadata(
        ordering_key=None if ordering is None else key_of(ordering, "--ordering-key"),
        partition_key=partition_key,
        partition_key_b64_encoded=encoded,
        producer_name=given["producer"],
        sequence_id=given["sequence"],
    )
