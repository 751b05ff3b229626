"""``live``: the dashboard on a running cluster, read again and again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from tui.cli.cluster_options import ClusterChoice, Duration, cluster_options
from tui.cli.options import DEFAULT_MAX_INPUT, JournalChoice, Output, WhatIf, output_options
from tui.cli.showing import show_session

if TYPE_CHECKING:
    from engine.admin.moments import Moment
    from tui.cli.session import Session
    from tui.scene import Scene
    from tui.sources.cluster.reading import ClusterReading

EVERY_S: Final = 10.0
_NOTHING_FIRST: Final = WhatIf((), None, (), None)
MOST_MOMENTS: Final = 60
MOST_TOPICS: Final = 10_000
ASSUMED: Final = "settings-assumed"
GAPS: Final = "not-all-read"
NOT_LOADED: Final = "not-loaded"


@click.command("live", short_help="Open the dashboard on a running cluster, which is only read.")
@click.argument("url", metavar="URL")
@click.option("--every", type=Duration(), default=EVERY_S, metavar="TIME", help="Read again so often.  [default: 10s]")
@click.option("--subscription", metavar="NAME", help="The subscription to show.")
@cluster_options()
@output_options
def live_command(*, url: str, every: float, subscription: str | None, cluster: ClusterChoice, output: Output) -> int:
    """Open the dashboard on the cluster at URL (http://HOST:8080). It is read again every 10 s and never changed.

    The line below the status says how old the picture is. A cluster out of reach leaves the last picture, marked as
    stale, until it answers again. Steps you take (add, kill, a setting) are a what-if on the picture, which stays
    until f5 shows the newest reading. --once and --json print one reading.

    The first reading comes before the screen, with its progress on the terminal; ctrl+c stops it there.

    Exit code 0: fine. 2: the input cannot be used, or there is no terminal. 3: the cluster is out of reach. 130:
    stopped with ctrl+c before the screen was open.

    Example: ringside live http://localhost:8080 --every 30s --namespace shop/orders
    """
    from tui.cli.cluster import read_once
    from tui.sources.cluster.source import Feed

    source = cluster.source(url)
    pictures = Pictures()

    def begun() -> Session:
        reading = read_once(source)
        session = pictures.session(reading, subscription)
        if not output.on_screen:
            return session
        return replace(session, feed=Feed(source.for_refreshing(), every, pictures.scene, reading.cluster))

    # Read before the screen is opened: of a large cluster that takes a while, and the terminal says how long.
    return show_session(begun, output, JournalChoice(None, keep=False))


class Pictures:
    """Turns readings into what is shown, with the moments before: they say what stands still, and can be gone back to.

    So many moments are kept that they hold ``MOST_TOPICS`` topics together, two at least and ``MOST_MOMENTS`` at most.
    """

    def __init__(self) -> None:
        self._before: tuple[Moment, ...] = ()

    def session(self, reading: ClusterReading, subscription: str | None = None) -> Session:
        """A reading as a session. Raises ``InputError`` where nothing in it can be shown."""
        from engine.scenarios.opening import open_moments
        from engine.views.failover.model import Notice
        from tui.cli.cluster import SETTINGS_ASSUMED
        from tui.cli.session import begin
        from tui.sources.cluster.reading import moments_read

        moments = moments_read([reading], limit_bytes=DEFAULT_MAX_INPUT)
        opened = open_moments(moments)
        notes = list(opened.notes)
        if "settings" in reading.assumed:
            notes.append(Notice(ASSUMED, SETTINGS_ASSUMED))
        if reading.gaps:
            first = reading.gaps[0]
            text = (
                f"{len(reading.gaps):,} requests had no answer, first {first.origin}{first.path}: {first.fault.value}"
            )
            notes.append(Notice(GAPS, text))
        if reading.not_loaded:
            text = f"{reading.not_loaded:,} topics are shown without statistics: asking would load them"
            notes.append(Notice(NOT_LOADED, text))
        kept = min(MOST_MOMENTS, max(2, MOST_TOPICS // max(1, len(moments[-1].snapshot.topics))))
        seen = self._before = (*self._before, *moments)[-kept:]
        what_if = replace(_NOTHING_FIRST, subscription=subscription)
        return begin(replace(opened, notes=tuple(notes), seen=seen), what_if)

    def scene(self, reading: ClusterReading) -> Scene:
        """A later reading, for the screen that is open already."""
        from engine.diagnosis.why import diagnose_all
        from engine.views.reported.view import Reported
        from tui.kit.store import is_soon_diagnosed
        from tui.scene import Scene

        session = self.session(reading)
        reported = Reported(session.seen)
        # In this thread, for the screen would wait for it.
        last = reported.subscriptions(reported.last)
        reported.prepare()
        found = tuple(diagnose_all(last.values())) if is_soon_diagnosed(session.seen) else None
        return Scene(
            session.timeline,
            0,
            len(session.problems),
            session.notes,
            seen=session.seen,
            reported=reported,
            diagnoses=found,
        )
