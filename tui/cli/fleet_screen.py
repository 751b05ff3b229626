"""From the fleet's lists into the simulator and back: one screen after the other, until one leaves for good."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError
from tui.cli.exits import FINE
from tui.cli.options import Output
from tui.cli.output import speaks_unicode

if TYPE_CHECKING:
    from tui.cli.session import Session
    from tui.screens.fleet import Chosen, Place


def open_fleet_screen(target: Path, output: Output) -> int:
    """Show the lists of a result folder and return the exit code. Raises ``InputError``: what is missing, and why."""
    from tui.cli.screen import open_screen, run_screen

    try:
        from tui.fleet_app import FleetApp
        from tui.sources.fleet_results import read_results
    except ImportError as error:
        raise InputError(
            "a fleet's tables are Parquet: install pyarrow (pip install 'pulsar-ringside[spark]')"
        ) from error
    results = read_results(target)
    place: Place | None = None
    complaint = ""
    while True:
        app = FleetApp(
            results,
            place,
            theme=output.theme,
            mono=output.mono or bool(os.environ.get("NO_COLOR")),
            ascii_only=output.ascii_only or not speaks_unicode(),
            complaint=complaint,
        )
        code = run_screen(app)
        if code != FINE or app.chosen is None:
            return code
        place, complaint = app.place, ""
        try:
            session = session_of(target, app.chosen)
            code = open_screen(lambda ready=session: (ready, None), output, "")  # type: ignore[misc]
        except InputError as error:
            code, complaint = FINE, str(error)
        if code != FINE:
            return code


def session_of(target: Path, chosen: Chosen) -> Session:
    """What was chosen as a session of the simulator. Raises ``InputError`` where there is nothing to show."""
    from engine.cluster.timeline import Timeline
    from engine.scenarios.fleet_opening import open_fleet_part
    from tui.cli.session import Session
    from tui.sources.fleet_results import part_of

    flag = chosen.consistent_hashing
    opened = open_fleet_part(part_of(target, chosen.namespace, chosen.subscription, consistent_hashing=flag))
    return Session(Timeline.start(opened.state, opened.seed, opened.source), 0, opened.problems, opened.notes)
