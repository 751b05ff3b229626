"""``explain``: why a topic goes to its active consumer; with ``key``, ``route`` and ``bundle`` why those go where."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from tui.cli.commands.ask import explain_topic
from tui.cli.commands.routes import explain_route
from tui.cli.exits import FINE
from tui.cli.group import first_word, values_taken
from tui.cli.key_options import SharingChoice, sharing_options
from tui.cli.options import ascii_option, json_option, max_input_option, pulsar_option, setting_pairs
from tui.cli.output import say_problems, write_out, write_page

if TYPE_CHECKING:
    from engine.keyshared.entry_key import EntryMetadata


@click.command("key", short_help="Say why a key goes to its consumer.")
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
        from tui.cli.printers.documents import json_text
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
    from tui.cli.known_keys import key_of

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


@click.command("bundle", short_help="Say which brokers may own a bundle.")
@click.argument("bundle", metavar="RANGE")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--scene", metavar="NAME", help="A shipped cluster instead of a FILE; ringside brokers --scene list.")
@click.option("--placement", metavar="NAME", help="This placement strategy, and not that of the settings.")
@click.option("--shedder", metavar="NAME", help="This shedder, and not that of the settings.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", callback=setting_pairs,
    help="A setting of the load managers, as in broker.conf. Repeatable.",
)  # fmt: skip
@pulsar_option("Answer as this Pulsar version does, such as 4.0.7 or 2.11.")
@max_input_option
@json_option
@ascii_option
def explain_bundle(
    *,
    bundle: str,
    path: str | None,
    scene: str | None,
    placement: str | None,
    shedder: str | None,
    settings: tuple[tuple[str, str], ...],
    pulsar: str | None,
    max_input: int,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say of every broker whether it may own the bundle, by which filter it may not, and what the strategy compares;
    and whether the bundle can stay where it is.

    RANGE is 0x00000000_0x40000000, or tenant/namespace/RANGE. FOLDER holds load reports.

    Example: ringside explain bundle shop/orders/0x00000000_0x20000000 reports/
    """
    from engine.balance.ahead.bundle_explained import explain_bundle as explained
    from engine.errors import InputError, Rejection
    from engine.views.brokers.model import BrokersQuestion
    from engine.views.brokers.view import brokers_input, brokers_view
    from tui.cli.commands.shed import inputs_of

    inputs, source = inputs_of(path, scene, max_input)
    given = brokers_input(inputs, pulsar, source)
    say_problems(given.problems)
    view = brokers_view(given, BrokersQuestion(None, shedder, placement, settings, cycles=1))
    if isinstance(view, Rejection):
        raise InputError(view.message)
    told = explained(view.ahead.start, _bundle_named(bundle, [load.bundles for load in inputs.loads]))
    if isinstance(told, Rejection):
        raise InputError(told.message)
    if as_json:
        from tui.cli.printers.bundle_explained import bundle_document
        from tui.cli.printers.documents import json_text

        write_out(json_text(bundle_document(told)))
    else:
        from tui.cli.printers.bundle_explained import bundle_lines

        write_page(bundle_lines(told), ascii_only=ascii_only)
    return FINE


def _bundle_named(text: str, reported: Sequence[Sequence[str]]) -> str:
    """The full name of a bundle. Raises ``InputError`` where a range alone is that of several namespaces."""
    from engine.errors import InputError

    if "/" in text:
        return text
    found = sorted({name for names in reported for name in names if name.rpartition("/")[2] == text})
    if len(found) > 1:
        raise InputError(f"{text} is a bundle of several namespaces: {', '.join(found[:5])}; name one of these")
    return found[0] if found else text


FORMS: Final[dict[str | None, click.Command]] = {
    "key": explain_key,
    "topic": explain_topic,
    "route": explain_route,
    "bundle": explain_bundle,
}
"""What ``explain`` can explain, by the word behind it."""


class ExplainCommand(click.Command):
    """``explain TOPIC``, and ``explain`` with the word ``topic``, ``key``, ``route`` or ``bundle``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the form that is meant; one of its words is taken away."""
        at = first_word(args, values_taken((explain_key, explain_topic, explain_route, explain_bundle)))
        form = args[at] if at is not None and "--" not in args[:at] else None
        if at is None or form not in FORMS:
            return explain_topic.make_context(info_name, args, parent, **extra)
        real = FORMS[form]
        return real.make_context(f"{info_name} {form}", [*args[:at], *args[at + 1 :]], parent, **extra)


explain = ExplainCommand(
    "explain",
    params=explain_topic.params,
    short_help="Say why a topic goes to its active consumer, or with the word key, route or bundle why those go where.",
)
