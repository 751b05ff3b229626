"""Alternate between the lists of a fleet and the simulator on a part of it, until ``q`` ends either."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.actions import SkipAction
from textual.binding import BindingType
from textual.screen import Screen

from engine.errors import INSTALL_SPARK, InputError
from engine.names import partition_index, partitioned_name
from engine.scalable.model import TOPIC_SCHEME
from tui.app import RingsideApp
from tui.cli.exits import FINE
from tui.cli.options import Output
from tui.cli.output import speaks_unicode
from tui.kit.bindings import Binding
from tui.kit.footer import KeyHint
from tui.kit.screen import DashboardScreen

if TYPE_CHECKING:
    from engine.views.fleet.runs import ResultFolder
    from tui.brokers.app import BrokersApp
    from tui.fleet.screen import Chosen, Place
    from tui.kit.session import Session


BACK: Final = Binding(
    "escape", "to_fleet", "Fleet", key_display="esc", priority=True, show=False, tooltip="Back to the fleet's lists"
)


class FleetPartApp(RingsideApp):
    """The simulator on a part of a fleet. ``went_back`` is true when escape ended it; ``q`` leaves for good."""

    BINDINGS: ClassVar[list[BindingType]] = [BACK, *RingsideApp.BINDINGS]
    went_back = False

    def action_to_fleet(self) -> None:
        """Go back, unless escape has something to close first."""
        screen = self.screen
        if not isinstance(screen, DashboardScreen) or screen.has_something_to_close:
            raise SkipAction
        self.went_back = True
        self.exit(0)

    def install_screen(self, screen: Screen[Any], name: str) -> None:
        """Each screen of the simulator names the way back among its keys."""
        super().install_screen(screen, name)
        if isinstance(screen, DashboardScreen):
            screen.way_back = KeyHint("esc", "Fleet", "app.to_fleet", always=True)


def open_fleet_screen(target: ResultFolder, output: Output) -> int:
    """Show the lists of a result folder and return the exit code. Raises ``InputError``: what is missing, and why.

    What is opened from a list comes back to its row with escape; ``q`` leaves for good, wherever it is pressed.
    """
    from tui.cli.screen import run_screen

    try:
        from tui.fleet.app import FleetApp
        from tui.sources.fleet_results import read_results
    except ImportError as error:
        raise InputError(f"a fleet's tables are Parquet, and pyarrow is missing: {INSTALL_SPARK}") from error
    results = read_results(target)
    mono, ascii_only = output.mono or bool(os.environ.get("NO_COLOR")), output.ascii_only or not speaks_unicode()
    place: Place | None = None
    complaint = ""
    while True:
        app = FleetApp(results, place, theme=output.theme, mono=mono, ascii_only=ascii_only, complaint=complaint)
        code = run_screen(app)
        if code != FINE or app.chosen is None:
            return code
        place, complaint = app.place, ""
        try:
            if not app.chosen.namespace:
                brokers = brokers_app(target, app.chosen.cluster, output, mono=mono, ascii_only=ascii_only)
                code, went_back = run_screen(brokers), brokers.went_back
            else:
                session = session_of(target, app.chosen)
                code, went_back = _open_part(session, output, mono=mono, ascii_only=ascii_only)
        except InputError as error:
            complaint = str(error)
            continue
        if not went_back:
            return code


def _open_part(session: Session, output: Output, *, mono: bool, ascii_only: bool) -> tuple[int, bool]:
    """Show a part in the simulator: the exit code, and whether escape ended it."""
    from tui.cli.screen import Begun, run_screen

    begun = Begun(lambda: session)
    try:
        app = FleetPartApp(
            begun.session(), animate=output.animate, theme=output.theme, mono=mono, ascii_only=ascii_only
        )
        code = run_screen(app)
        return code, code == FINE and app.went_back
    finally:
        begun.close()


def brokers_app(target: ResultFolder, cluster: str, output: Output, *, mono: bool, ascii_only: bool) -> BrokersApp:
    """The brokers of a cluster. Raises ``InputError`` where their load reports are not there."""
    from tui.brokers.app import BrokersApp
    from tui.sources.fleet_brokers import brokers_of

    return BrokersApp(*brokers_of(target, cluster), theme=output.theme, mono=mono, ascii_only=ascii_only)


def session_of(target: ResultFolder, chosen: Chosen) -> Session:
    """What was chosen as a session of the simulator. Raises ``InputError`` where there is nothing to show."""
    from engine.cluster.timeline import Timeline
    from engine.scenarios.opening import open_fleet_part
    from tui.kit.session import Session
    from tui.sources.fleet_part import part_of, with_reports

    if chosen.topic.startswith(TOPIC_SCHEME):
        return _scalable_session(target, chosen)
    where = chosen.cluster, chosen.namespace, chosen.subscription
    part = part_of(target, *where, listed_flag=chosen.listed_flag)
    reported = with_reports(part, target, chosen.cluster, chosen.namespace)
    opened = open_fleet_part(reported.part)
    state = opened.state
    names = [
        *(subscription.name for subscription in state.subscriptions),
        *(key_subscription.name for key_subscription in state.key_subscriptions),
    ]
    shown = names.index(chosen.first) if chosen.first in names else 0
    topic = partitioned_name(chosen.topic) if partition_index(chosen.topic) >= 0 else chosen.topic
    read = [
        *(subscription.topics for subscription in state.subscriptions),
        *(key_subscription.topics for key_subscription in state.key_subscriptions),
    ]
    of_topic = (at for at, topics in enumerate(read) if topic in topics)
    shown = next(of_topic, shown) if chosen.subscription else shown
    timeline = Timeline.start(state, opened.seed, opened.source)
    notes = (*opened.notes, *reported.notes)
    return Session(timeline, shown, opened.problems, notes, seen=reported.moments, is_chosen=True)


def _scalable_session(target: ResultFolder, chosen: Chosen) -> Session:
    """A scalable topic with all that the answers of its namespace show."""
    from engine.cluster.state import shown_places
    from engine.cluster.timeline import Timeline
    from engine.scenarios.opening import open_moments
    from tui.kit.session import Session
    from tui.sources.fleet_part import moments_of

    opened = open_moments(moments_of(target, chosen.cluster, chosen.namespace))
    keys = shown_places(opened.state)
    if chosen.topic not in keys:
        raise InputError(f"{target.name}: the answers that the import kept do not show {chosen.topic}")
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    at = keys.index(chosen.topic)
    return Session(timeline, at, opened.problems, opened.notes, seen=opened.seen, is_chosen=True)
