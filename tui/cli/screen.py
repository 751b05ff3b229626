"""The one place that opens the screen: signals, the exit code, and what is said after the terminal is back."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tui.cli import exits
from tui.cli.config import configured
from tui.cli.options import Output
from tui.cli.output import say, say_not_saved, say_problems, speaks_unicode
from tui.cli.screen_signals import ScreenSignals
from tui.cli.terminal import TerminalState

if TYPE_CHECKING:
    from textual.app import App

    from tui.cli.session import Session
    from tui.scene import FirstReading, Scene
    from tui.sources.sessions import Keeping

START_S: Final = 1.0  # after which the garbage collector, off since the process began, works again


Begin = Callable[[], "tuple[Session, Keeping | None]"]


def open_screen(begin: Begin, output: Output, name: str = "", reading: FirstReading | None = None) -> tuple[int, str]:
    """Show what ``begin`` makes on the screen: the exit code, and the demo that is wanted in its place, "" for none.

    With a ``name`` the screen is opened first and says that this is being opened, and how far its ``reading`` is. What
    could not be saved is said when the screen is closed. Raises what ``begin`` raises, after the terminal is back.
    """
    from tui.app import RingsideApp
    from tui.scene import Opening

    begun = Begun(begin)
    try:
        scene = Opening(name, begun.scene, reading) if name else begun.scene()
        if not name:
            begun.say_problems()
        app = RingsideApp(
            scene,
            animate=output.animate,
            theme=output.theme,
            mono=output.mono or bool(os.environ.get("NO_COLOR")),
            ascii_only=output.ascii_only or not speaks_unicode(),
        )
        app.opens_demos = True
        code = run_screen(app)
        if app.failure is not None:
            raise app.failure
        return code, app.wanted_demo
    finally:
        begun.close()
        if name:
            begun.say_problems()


class Begun:
    """A session once it is made, maybe in a thread, and what keeps its steps."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._session: Session | None = None
        self._keeping: Keeping | None = None

    def scene(self) -> Scene:
        """Make the session; it can be shown from then on."""
        from tui.scene import Scene

        self._session, self._keeping = session, keeping = self._begin()
        problems = len(session.problems)
        return Scene(
            session.timeline,
            session.subscription,
            problems,
            session.notes,
            keeping,
            session.script,
            session.seen,
            session.feed,
            session.timeline.source,
            stopped_at=session.stopped_at,
        )

    def say_problems(self) -> None:
        """Say what opening brought to light."""
        say_problems(self._session.problems if self._session is not None else ())

    def close(self) -> None:
        """Save what is missing, and say what cannot be saved."""
        if self._keeping is not None:
            say_not_saved(self._keeping.close())


def run_screen(app: App[Any]) -> int:
    """Run the app until it ends or a signal ends it, and return the process's exit code.

    An exception inside the app is told in one sentence; its traceback only with ``RINGSIDE_DEBUG``.
    """
    if not os.environ.get("RINGSIDE_DEBUG"):
        app.error_console.quiet = True  # Textual prints the traceback of a failure there
    _take_settings(app)
    signals = ScreenSignals(TerminalState().restore)
    with signals.installed():
        asyncio.run(_until_closed(app, signals))
    if signals.code is not None:
        return signals.code
    failure = app._exception
    if failure is not None:
        say(f"the screen stopped: {type(failure).__name__}: {failure} (RINGSIDE_DEBUG=1 shows where it happened)")
        return exits.FAILED
    return app.return_code or exits.FINE


def _take_settings(app: App[Any]) -> None:
    """Give the app the user's own keys, and say what is wrong with them."""
    settings = configured()
    if settings.keys:
        from tui.cli.screen_keys import keys_of_screens
        from tui.kit.bindings import more_keys
        from tui.kit.themed_app import ThemedApp

        keys, wrong = more_keys(settings.keys, keys_of_screens())
        if isinstance(app, ThemedApp):
            app.more_keys = keys
        for problem in wrong:
            say(f"{settings.path}: [keys] {problem}")


async def _until_closed(app: App[Any], signals: ScreenSignals) -> None:
    signals.closes(partial(app.exit, None))
    asyncio.get_running_loop().call_later(START_S, _collect_garbage_again)
    await app.run_async()


def _collect_garbage_again() -> None:
    """The start is over: what was loaded stays, and only what comes from now on is looked through."""
    gc.freeze()
    gc.enable()
