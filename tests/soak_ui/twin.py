"""Whether the screen shows what is so. Three looks, each independent of the others:

* what was written to the terminal, bit by bit, is the picture that a full paint of the screen gives;
* what the live session holds is what the journal on disk gives when it is read anew, as ``ringside replay`` reads it;
* what can be read off the terminal (status, tables, titles, the sentence) is what ``--json`` of that journal says.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.widgets import Input

from engine.cluster.timeline import Timeline
from tests.soak_ui.scenes import Launched
from tests.soak_ui.shown import differences
from tests.soak_ui.shown_fleet import fleet_differences
from tests.soak_ui.terminal import Picture, RecordingDriver, painted
from tui.app import RingsideApp
from tui.bundles.screen import BundlesScreen
from tui.cli.options import WhatIf
from tui.cli.session import reopened, resumed
from tui.cli.showing import document_of, session_document
from tui.fleet.screen import FleetScreen
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session
from tui.kit.store import Store


def disagreement(launched: Launched) -> str:
    """What the screen shows that is not so, "" for nothing."""
    app = launched.app
    driver = app._driver
    assert isinstance(driver, RecordingDriver)
    picture = driver.show()
    if picture.unexpected:
        return f"escapes: the terminal is sent {picture.unexpected!r}"
    return _unpainted(app, picture) or _unlike_twin(launched, picture)


def _unpainted(app: App[Any], picture: Picture) -> str:
    """The first place where the terminal shows something else than the screen would paint now."""
    now = painted(app)
    # How many cells joined characters take is asked again for each piece of a line that is painted alone.
    fields = [field for screen in app.screen_stack for field in screen.query(Input)]  # dialogs show what is below them
    unsure = {row for field in fields if "\u200d" in field.value for row in field.region.line_range}
    for y, (there, due) in enumerate(zip(picture.rows, now.rows, strict=True)):
        if there == due or y in unsure:
            continue
        x = next(x for x, (one, other) in enumerate(zip(there, due, strict=True)) if one != other)
        widget, _ = app.screen.get_widget_at(x, y)
        seen, expected = ("".join(text for text, _ in row[x : x + 40]) for row in (there, due))
        style = " in another style" if seen == expected else ""
        where = f"{type(app.screen).__name__} {widget.id or type(widget).__name__}"
        return f"unpainted {where}: at {x},{y} the terminal shows {seen!r}, due is {expected!r}{style}"
    return ""


def _unlike_twin(launched: Launched, picture: Picture) -> str:
    app, screen = launched.app, launched.app.screen
    if isinstance(screen, FleetScreen) and launched.fleet is not None:
        return fleet_differences(screen, picture, launched.fleet)
    if not isinstance(app, RingsideApp) or launched.journal is None or not hasattr(app, "store"):
        return ""
    twin = _twin(launched, app.store)
    result = _states_differ(app.store.timeline, twin.timeline)
    if result:
        return result
    document = session_document(twin)
    if document != document_of(app.store.shown):
        return "views: the view of the store is not that of the journal"
    if isinstance(screen, DashboardScreen | BundlesScreen):
        return differences(screen, picture, twin, document)
    return ""


def _twin(launched: Launched, store: Store) -> Session:
    assert launched.journal is not None
    session = reopened(launched.journal, reads_only=True)
    shown = store.shown.key or None
    session = resumed(session, WhatIf((), None, (), shown, None))
    scene = launched.scene
    assert scene is not None
    return Session(session.timeline, session.subscription, scene.problems, scene.notes, seen=scene.seen)


def _states_differ(live: Timeline, twin: Timeline) -> str:
    if (live.cursor, len(live.log)) != (twin.cursor, len(twin.log)):
        return f"journal: it is at {twin.cursor} of {len(twin.log)}, the session at {live.cursor} of {len(live.log)}"
    if live.state != twin.state:
        return "journal: replayed, it gives another state than the session has"
    return ""
