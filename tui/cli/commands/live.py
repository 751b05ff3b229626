"""``live``: the dashboard on a running cluster, read again and again."""

from __future__ import annotations

import click

from tui.cli.cluster import ClusterChoice, Duration, cluster_options
from tui.cli.contexts import EVERY_S, WHOLE_EVERY_S, opening_of
from tui.cli.options import JournalChoice, Output, output_options
from tui.cli.showing import show_session


@click.command("live")
@click.argument("url", metavar="URL")
@click.option("--every", type=Duration(), default=EVERY_S, metavar="TIME", help="Read again so often.  [default: 10s]")
@click.option(
    "--whole-every",
    type=Duration(),
    default=WHOLE_EVERY_S,
    metavar="TIME",
    help="Read all of a large cluster so often.  [default: 60s]",
)
@click.option("--subscription", metavar="NAME", help="The subscription to show.")
@cluster_options()
@output_options
def live_command(
    *,
    url: str,
    every: float,
    whole_every: float,
    subscription: str | None,
    cluster: ClusterChoice,
    output: Output,
) -> int:
    """Open the dashboard on the cluster at URL (http://HOST:8080). It is read again every 10 s and never changed.

    Of a cluster with more than 200 topics and partitions each refresh reads all that the open screen shows, and a share
    of the rest, so that within --whole-every all of it was read. What comes into view is read at once.

    The line below the status says how old the picture and the oldest of the rest are. A cluster out of reach leaves the
    last picture, marked as stale, until it answers again. Steps you take (add, kill, a setting) are a what-if on the
    picture, which stays until f5 shows the newest reading. --once and --json print one reading.

    While the first reading runs, the screen says how far it is and how long it will take. esc stops it there and shows
    what was read until then, and the next refresh reads the rest; ctrl+c leaves.

    Exit code 0: fine. 1: esc came before there was anything to show. 2: the input cannot be used, or there is no
    terminal. 3: the cluster is out of reach. 130: stopped with ctrl+c (only --once and --json).

    Example: ringside live http://localhost:8080 --every 30s --namespace shop/orders
    """
    from tui.cli.cluster import read_once
    from tui.cli.pictures import Pictures

    source = cluster.source(url)
    journal = JournalChoice(None, keep=False)
    if not output.on_screen:
        return show_session(lambda: Pictures().session(read_once(source), subscription), output, journal)
    opening = opening_of(source, every, whole_every, subscription)
    return show_session(opening.load, output, journal, name=opening.name, reading=opening.reading)
