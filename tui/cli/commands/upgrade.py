"""``upgrade``: the same state under another release."""

from __future__ import annotations

import click

from tui.cli.exits import FINE
from tui.cli.options import WhatIf, ascii_option, json_option, known_version, what_if_options
from tui.cli.output import say_problems, write_out, write_page


@click.command("upgrade", short_help="Say what another Pulsar release does with the same state.")
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
    served, rules and defaults that change, each with what it means here and the setting that keeps the old way.

    The release it comes from is the one of the answers, else --pulsar.

    Example: ringside upgrade answers/ --to 5.0
    """
    from engine.errors import InputError, Rejection
    from engine.views.comparing.upgrade import upgrade_document, upgrade_view
    from tui.cli.printers.documents import json_text
    from tui.cli.printers.upgrade import upgrade_lines
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
