"""``manual``: all commands on one page."""

from __future__ import annotations

import click

from tui.cli.exits import FINE


@click.command("manual", short_help="Print the manual of all commands, as Markdown or for man.")
@click.option("--man", is_flag=True, help="As a page for man, in roff.")
def manual_command(*, man: bool) -> int:
    """Print what every command takes and does, from the same source as --help.

    Example: ringside manual --man > ringside.1
    """
    from tui.cli.commands import ringside
    from tui.cli.manual import as_man_page, as_markdown
    from tui.cli.output import write_out

    write_out(as_man_page(ringside) if man else as_markdown(ringside))
    return FINE
