"""``heirs``: who inherits what when a consumer goes, and every single failure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.exits import FINE
from tui.cli.options import WhatIf, ascii_option, json_option, what_if_options
from tui.cli.output import say_problems, write_out, write_page

if TYPE_CHECKING:
    from tui.cli.session import Session


@click.command("heirs", short_help="Say who inherits what when a consumer goes.")
@click.argument("words", nargs=-1, metavar="[FILE | FOLDER] [CONSUMER]...")
@click.option("--all", "every", is_flag=True, help="Every single failure, the worst first (also without a CONSUMER).")
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of text.")
@what_if_options
@json_option
@ascii_option
def heirs_command(
    *, words: tuple[str, ...], every: bool, top: int, what_if: WhatIf, as_json: bool, ascii_only: bool
) -> int:
    """Say who inherits what when CONSUMER goes, topic by topic, and the shares after; several go all at once.

    Without a CONSUMER, or with --all: every single failure, the worst first: which loss makes whom how overloaded.
    Of a Key_Shared subscription slots and known keys are told. Without a FILE or FOLDER the embedded cluster is taken.

    Example: ringside heirs answers/ billing-3
    """
    from engine.errors import InputError, Rejection
    from engine.views.comparing.heirs import heirs_document, heirs_view, losses_document, losses_view
    from tui.cli.printers.documents import json_text
    from tui.cli.printers.heirs import heirs_lines, losses_lines
    from tui.cli.states import session_of, subscription_key

    path, names = _path_and_names(words)
    if every and names:
        raise click.UsageError("--all is about every consumer; leave it or the names out")
    session = session_of(path, what_if)
    say_problems(session.problems)
    state, key = session.timeline.state, subscription_key(session)
    if names:
        view = heirs_view(state, key, _ids(session, key, names))
        if isinstance(view, Rejection):
            raise InputError(view.message)
        if as_json:
            write_out(json_text(heirs_document(view)))
        else:
            write_page(heirs_lines(view, top), ascii_only=ascii_only)
        return FINE
    losses = losses_view(state, key)
    if isinstance(losses, Rejection):
        raise InputError(losses.message)
    if as_json:
        write_out(json_text(losses_document(losses)))
    else:
        write_page(losses_lines(losses, top), ascii_only=ascii_only)
    return FINE


def _path_and_names(words: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The first word is a path, unless it is the only one and there is nothing of that name."""
    if not words:
        return None, ()
    if len(words) == 1 and words[0] != "-" and "/" not in words[0] and not Path(words[0]).exists():
        return None, words
    return words[0], words[1:]


def _ids(session: Session, key: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """The ids of consumers by name, of namesakes the first ones connected. Raises ``InputError``."""
    import difflib

    from engine.errors import InputError

    state = session.timeline.state
    consumers = [
        (each.name, each.consumer_id) for one in state.subscriptions if one.key == key for each in one.consumers
    ]
    consumers += [
        (each.name, each.consumer_id) for one in state.key_subscriptions if one.key == key for each in one.consumers
    ]
    found = []
    for name in names:
        matching = [number for known, number in consumers if known == name and number not in found]
        if not matching:
            near = difflib.get_close_matches(name, [known for known, _ in consumers], n=3)
            hint = f"; there is {', '.join(map(repr, near))}" if near else ""
            raise InputError(f"{key or 'this state'} has no consumer {name!r}{hint}")
        found.append(matching[0])
    return tuple(found)
