"""Open the screen, close it on a signal or at the end of its terminal, and return the exit code.

Also every key of every screen, so that a user's own key cannot take its place.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from tui.cli import exits
from tui.cli.config import configured
from tui.cli.exits import ENDING, TerminalState, handling, noticing, of_signal
from tui.cli.options import VISITOR, Output
from tui.cli.output import kept_secret, say, say_not_saved, say_problems, speaks_unicode

if TYPE_CHECKING:
    from textual.app import App
    from textual.binding import Binding

    from tui.kit.session import Contexts, FirstReading, Session


GRACE_S: Final = 3.0
"""How long a screen may take to close before the terminal is put back without it."""


class ScreenSignals:
    """The first signal closes the screen; a second one, or ``GRACE_S`` seconds without success, calls ``restore`` and
    ends the process at once. ``code`` is the exit code that the signal asked for, None without one. A terminal that is
    gone counts as SIGHUP, also where that is ignored (nohup): its end would be read as input over and over. A terminal
    that goes away often says so twice, so SIGHUP never insists; the ``GRACE_S`` seconds do.

    All this is done by a thread: the handlers of Python would run only once the screen's loop wakes up, and not at all
    while it hangs.
    """

    def __init__(self, restore: Callable[[], None]) -> None:
        self.code: int | None = None
        self._restore = restore
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._close: Callable[[int], None] | None = None
        self._watchdog: threading.Timer | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Take over the signals that end a process, and give them back; one that is ignored (nohup) stays so."""
        try:
            with (
                noticing(self._notice),
                _noticing_the_end_of_the_terminal(self._notice),
                handling(ENDING, _noticed_elsewhere),
            ):
                yield
        finally:
            if self._watchdog is not None:
                self._watchdog.cancel()

    def closes(self, close: Callable[[int], None]) -> None:
        """Call ``close`` in the running loop when a signal comes, or at once when one has come already."""
        with self._lock:
            self._loop, self._close = asyncio.get_running_loop(), close
            self._ask()

    def _notice(self, number: int) -> None:
        with self._lock:
            if number in ENDING:
                if self.code is None:
                    self._begin(number)
                elif number != signal.SIGHUP:  # the kernel may send that one as well when the terminal ends
                    self._insist()
            self._ask()

    def _begin(self, number: int) -> None:
        self.code = of_signal(number)
        self._watchdog = threading.Timer(GRACE_S, self._insist)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _ask(self) -> None:
        """Wake the loop, which runs the handlers of other signals, and have it close the screen if that was asked."""
        if self._loop is None or self._close is None:
            return
        with suppress(RuntimeError):  # the loop is closed: all is over
            if self.code is None:
                self._loop.call_soon_threadsafe(_nothing)
            else:
                self._loop.call_soon_threadsafe(self._close, self.code)

    def _insist(self) -> None:
        self._restore()
        os._exit(self.code if self.code is not None else 1)


@contextmanager
def _noticing_the_end_of_the_terminal(notice: Callable[[int], None]) -> Iterator[None]:
    """Call ``notice`` with SIGHUP, in a thread of its own, once the terminal of standard input is gone.

    The server of another driver is the other end of a pipe: without it a screen would stay for nobody.
    """
    if sys.__stdin__ is None or not (sys.__stdin__.isatty() or exits.has_own_driver()):
        yield
        return
    terminal = sys.__stdin__.fileno()
    leave, leaving = os.pipe()
    poll = select.poll()
    poll.register(terminal, 0)  # POLLHUP is reported without being asked for, and input is not
    poll.register(leave, select.POLLIN)

    def wait() -> None:
        if any(place == terminal and event & select.POLLHUP for place, event in poll.poll()):
            notice(signal.SIGHUP)

    thread = threading.Thread(target=wait, name="terminal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(leaving)
        thread.join()
        os.close(leave)


def _noticed_elsewhere(_number: int, _frame: FrameType | None) -> None:
    """Python wakes a thread only for signals that have a handler."""


def _nothing() -> None:
    pass


def bindings_of_screens() -> list[list[Binding]]:
    """All bindings of each screen, with its tables, and those that work everywhere; then those of each dialog."""
    from tui.app import DIFFERENCES, LIVE, PALETTE, RingsideApp
    from tui.brokers.bindings import BINDINGS as OF_BROKERS
    from tui.bundles.bindings import BINDINGS as OF_BUNDLES
    from tui.failover.bindings import BINDINGS as OF_FAILOVER
    from tui.fleet.bindings import BINDINGS as OF_FLEET
    from tui.home.screen import BINDINGS as OF_HOME
    from tui.keys.bindings import BINDINGS as OF_KEYS
    from tui.kit.line_table import RowsTable
    from tui.producers.bindings import BINDINGS as OF_PRODUCERS
    from tui.reported.screen import BINDINGS as OF_REPORTED
    from tui.scalable.bindings import BINDINGS as OF_SCALABLE

    of_app = (*RingsideApp.BINDINGS, *LIVE, DIFFERENCES, PALETTE)
    everywhere = [*_bindings_in(of_app), *_declared(RowsTable)]
    return [
        *(
            [*screen, *everywhere]
            for screen in (
                OF_FAILOVER, OF_KEYS, OF_PRODUCERS, OF_SCALABLE, OF_REPORTED, OF_BUNDLES, OF_BROKERS, OF_HOME, OF_FLEET,
            )
        ),
        *_bindings_of_dialogs(),
    ]  # fmt: skip


def _bindings_of_dialogs() -> Iterator[list[Binding]]:
    """A dialog hides the keys of what is below it."""
    from tui.kit.line_table import RowsTable
    from tui.kit.screens import RingsideModal
    from tui.kit.table_screens import TableDialog

    for module in DIALOGS:
        import_module(module)
    classes: list[type[RingsideModal[Any]]] = [RingsideModal]
    while classes:
        cls = classes.pop()
        classes += cls.__subclasses__()
        yield [*_declared(cls), *(_declared(RowsTable) if issubclass(cls, TableDialog) else ())]


def _declared(cls: type) -> list[Binding]:
    """The bindings that a class and those above it declare."""
    return _bindings_in(each for base in cls.__mro__ for each in base.__dict__.get("BINDINGS", ()))


def _bindings_in(declared: Iterable[object]) -> list[Binding]:
    from textual.binding import Binding

    return [each for each in declared if isinstance(each, Binding)]


DIALOGS: Final = (
    "tui.brokers.dialogs", "tui.failover.dialogs", "tui.keys.dialogs", "tui.producers.dialogs", "tui.kit.diff_screen",
    "tui.kit.heirs_screen", "tui.kit.help", "tui.kit.picker", "tui.live.differences", "tui.live.what_if",
)  # fmt: skip
"""The modules that have them."""


START_S: Final = 1.0  # after which the garbage collector, off since the process began, works again


Begin = Callable[[], "Session"]


def open_screen(begin: Begin, output: Output, name: str = "", reading: FirstReading | None = None) -> tuple[int, str]:
    """Show what ``begin`` makes on the screen: the exit code, and the demo that is wanted in its place, "" for none.

    With a ``name`` the screen is opened first and says that this is being opened, and how far its ``reading`` is. What
    could not be saved is said when the screen is closed. Raises what ``begin`` raises, after the terminal is back.
    """
    from tui.app import RingsideApp
    from tui.kit.session import Opening

    begun = Begun(begin)
    try:
        shown = Opening(name, begun.session, reading) if name else begun.session()
        if not name:
            begun.say_problems()
        app = RingsideApp(
            shown,
            animate=output.animate,
            theme=output.theme,
            mono=output.mono or bool(os.environ.get("NO_COLOR")),
            ascii_only=output.ascii_only or not speaks_unicode(),
        )
        app.opens_demos = app.opens_home = True
        app.writes_files = not os.environ.get(VISITOR)
        if app.writes_files:
            app.contexts = _named_clusters
        code = run_screen(app)
        if app.failure is not None:
            raise app.failure
        return code, app.wanted_demo
    finally:
        begun.close()
        if name:
            begun.say_problems()


def _named_clusters() -> Contexts:
    """Loaded when somebody asks for one."""
    from tui.cli.contexts import NamedClusters

    return NamedClusters()


class Begun:
    """A session, once it is made (maybe in a thread), and the journal of its steps."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._session: Session | None = None

    def session(self) -> Session:
        """Make the session; it can be shown from then on."""
        self._session = self._begin()
        return self._session

    def say_problems(self) -> None:
        """Say what opening brought to light."""
        say_problems(self._session.problems if self._session is not None else ())

    def close(self) -> None:
        """Save what is missing, and say what cannot be saved."""
        if self._session is not None and self._session.journal is not None:
            say_not_saved(self._session.journal.close())


def run_screen(app: App[Any]) -> int:
    """Run the app until it ends or a signal ends it, and return the process's exit code.

    An exception inside the app becomes one sentence; its traceback only with ``RINGSIDE_DEBUG``.
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
    """Give the app the secret to hide and the user's own keys, and say what is wrong with these."""
    from tui.kit.themed_app import ThemedApp

    if isinstance(app, ThemedApp):
        app.secret = kept_secret()
    settings = configured()
    if settings.keys:
        from tui.kit.bindings import chosen_keys

        chosen = chosen_keys(settings.keys, bindings_of_screens())
        app.set_keymap(dict(chosen.keymap))
        for problem in chosen.problems:
            say(f"{settings.path}: [keys] {problem}")


async def _until_closed(app: App[Any], signals: ScreenSignals) -> None:
    from tui.kit.collecting import collect_seldom

    signals.closes(partial(app.exit, None))
    asyncio.get_running_loop().call_later(START_S, collect_seldom)
    await app.run_async()
