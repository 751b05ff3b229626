"""``serve``: the dashboard in a browser."""

from __future__ import annotations

import os
import sys
from typing import Final

import click

from engine.errors import InputError, system_reason
from engine.text import shell_line
from tui.cli.addresses import address_of
from tui.cli.exits import FINE
from tui.cli.options import VISITOR
from tui.cli.output import say

LISTEN: Final = "127.0.0.1:8000"
SHOWN: Final = ("new", "demo", "live", "brokers")
"""The commands that open a screen and keep nothing."""


@click.command("serve", context_settings={"ignore_unknown_options": True})
@click.option("--listen", default=LISTEN, metavar="HOST:PORT", show_default=True, help="Where to serve it.")
@click.option("--not-only-here", is_flag=True, help="Let --listen be another address than one of this machine's own.")
@click.option("--public-url", metavar="URL", help="The address behind a proxy, such as https://HOST/ringside.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FILE | FOLDER | URL | COMMAND ...]")
def serve_command(*, listen: str, not_only_here: bool, public_url: str | None, words: tuple[str, ...]) -> int:
    """Show a dashboard in browsers: of a FILE, a FOLDER, a cluster's URL, or what new, demo, live or brokers opens.

    Each visitor has a dashboard of their own: steps are seen by nobody else, are not kept, and nothing is written to a
    file. Options of what is shown are passed on: ringside serve URL --token-file FILE.

    Without --not-only-here only this machine can connect. Whoever can connect sees what is shown: there is no password;
    put a proxy with one before it for others.

    Exit code 0: stopped with ctrl+c or a signal. 2: the input cannot be used, or the address is taken.

    Example: ringside serve answers/ --listen 127.0.0.1:8000
    """
    host, port = address_of(listen, anywhere=not_only_here)
    shown = shown_words(words)
    try:
        from tui.cli.web_server import DashboardServer
    except ImportError as error:
        raise InputError("serving needs textual-serve; in a checkout: .venv/bin/pip install '.[web]'") from error
    os.environ[VISITOR] = "1"
    title = shell_line("ringside", *words)
    server = DashboardServer(shell_line(sys.executable, "-m", "tui", *shown), host, port, title, public_url)
    say(f"serving {server.public_url}; ctrl+c ends it")
    try:
        server.serve()
    except OSError as error:
        raise InputError(f"--listen {listen}: {system_reason(error)}") from error
    return FINE


def shown_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command line of a visitor's dashboard. Raises ``InputError`` for a command that opens no screen.

    >>> shown_words(("http://broker:8080",)), shown_words(("answers/",))
    (('live', 'http://broker:8080'), ('answers/',))
    """
    from tui.cli.commands import ringside
    from tui.sources.cluster.addresses import is_url

    first = words[0] if words else ""
    if first in ringside.commands and first not in SHOWN:
        raise InputError(f"{first} cannot be served; {', '.join(SHOWN)}, a file, a folder or a URL can")
    return ("live", *words) if first not in SHOWN and any(map(is_url, words)) else words
