"""``upgrade``: the same state under another release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.errors import InputError, Rejection
from engine.text import counted
from tui.cli.exits import FINE
from tui.cli.options import WhatIf, ascii_option, json_option, known_version, what_if_options
from tui.cli.output import json_text, say_problems, write_out, write_page
from tui.cli.plain import wrapped
from tui.kit.wording import safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.views.comparing.upgrade import UpgradeView


@click.command("upgrade")
@click.argument("path", metavar="[FILE | FOLDER]", required=False)
@click.option(
    "--to", "release", metavar="VERSION", required=True, callback=known_version, help="The release, such as 5.0."
)
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of text.")
@what_if_options
@json_option
@ascii_option
def upgrade_command(
    *, path: str | None, release: str, top: int, what_if: WhatIf, as_json: bool, ascii_only: bool
) -> int:
    """Say what Pulsar --to VERSION does with the same state: owners that change, ring forms, gaps that are no longer
    served, rules and defaults that change, each with what it means here and the setting that keeps the old one.

    The present release is that of the answers, else --pulsar.

    Example: ringside upgrade answers/ --to 5.0
    """
    from engine.views.comparing.upgrade import upgrade_document, upgrade_view
    from tui.cli.session import session_of

    session = session_of(path, what_if)
    say_problems(session.problems)
    view = upgrade_view(session.timeline.state, release, session.timeline.source)
    if isinstance(view, Rejection):
        raise InputError(f"--to {release}: {view.message}")
    if as_json:
        write_out(json_text(upgrade_document(view)))
    else:
        write_page(upgrade_lines(view, top), ascii_only=ascii_only)
    return FINE


def upgrade_lines(view: UpgradeView, top: int) -> Iterator[str]:
    """What changes, of each subscription at most ``top`` rows."""
    from tui.cli.printers.differences import differing_lines, sum_lines

    yield from wrapped(f"{safe_name(view.source)}: from Pulsar {safe_name(view.before)} to {safe_name(view.after)}")
    yield from sum_lines(view.difference)
    yield from differing_lines(view.difference, top)
    for gap in view.gaps:
        text = (
            f"{safe_name(gap.subscription)}: slots without an owner {gap.before:,} → {gap.after:,}, and"
            f" {counted(gap.known_keys, 'known key')} among them; their messages wait until somebody declares them"
        )
        yield from wrapped(text, rest="  ")
    yield ""
    yield "rules that change" if view.rules else "no rule changes"
    for rule in view.rules:
        text = f"{rule.change.name}: {rule.change.before} → {rule.change.after}; {rule.meaning}"
        yield from wrapped(text, first="  ", rest="    ")
        if rule.subscriptions:
            yield f"    here: {counted(rule.subscriptions, 'subscription')}"
        if rule.change.keep:
            yield f"    keeps the old behaviour: {rule.change.keep}"
    yield ""
    yield "defaults that change" if view.defaults else "no default changes"
    for default in view.defaults:
        before, after = (text or "no such setting" for text in (default.change.before, default.change.after))
        yield from wrapped(f"{default.change.name}: {before} → {after}", first="  ", rest="    ")
        yield from wrapped(default.meaning, first="    ", rest="    ")
        if default.in_force and not default.follows:
            yield f"    here it is {default.in_force}, which is not the default, so it stays"
        elif default.keep:
            yield f"    keeps the old behaviour: {default.keep}"
