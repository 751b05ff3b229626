"""The application: themes, the keys that work everywhere, and the main screen. State belongs to the store.

Light on purpose: engine, numpy and the main screen are imported when there is something to show, not before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.dom import DOMNode
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from themes import stylesheet
from themes.palettes import Depth
from tui.failover.bindings import BINDINGS, GROUPS
from tui.failover.titles import PANEL_TITLES
from tui.kit.background import in_background, run_beside
from tui.kit.bindings import Binding
from tui.kit.command_palette import key_commands
from tui.kit.footer import KeyFooter, key_hints
from tui.kit.layouts import arrange, choose_layout, name_panels
from tui.kit.plain_text import PlainStatic
from tui.kit.screens import RingsideScreen
from tui.kit.sentence_line import SentenceLine
from tui.kit.session import Contexts, Feed, Opening, Session
from tui.kit.themed_app import ThemedApp, theme_name

if TYPE_CHECKING:
    from engine.errors import Rejection
    from engine.views.listing import Listing
    from tui.kit.screen import DashboardScreen
    from tui.kit.store import Store
    from tui.kit.typed_commands import Typed
    from tui.navigator import Navigator

NEWEST = Binding("f5", "newest", "Newest", show=False, tooltip="The newest reading of the cluster; leaves a what-if")
WHAT_IF = Binding("W", "what_if", "What if", show=False, tooltip="What if: keep the picture, list its admin lines")
DIFFERENCES = Binding("V", "differences", "Verify", show=False, tooltip="Where model and brokers disagree")
LIVE = (NEWEST, WHAT_IF)
"""Keys of running clusters only."""
PALETTE = Binding("ctrl+p", "command_palette", priority=True, tooltip="All commands by name, and demos")
STOP_READING = Binding("escape", "stop_reading", "Stop", show=False)
LISTED_FIRST = 5
"""With more than so many subscriptions the list of them comes first."""
TYPING_S = 0.03
"""Between two of the kept keys: what the first one opens takes a few messages until it has the focus."""
TYPING_AT_LATEST_S = 2.0
"""The next early key does not wait longer for what the one before it opened: that may be gone."""


class RingsideApp(ThemedApp):
    """Shows a session, which is there already or (``Opening``) is loaded once the empty frame is painted.

    With ``animate=False`` nothing moves by itself, so ``space`` starts a script; otherwise it plays from the beginning.
    Theme, colours and ASCII are those of ``ThemedApp``.
    """

    TITLE = "Ringside"
    CSS_PATH = stylesheet("main")
    BINDINGS: ClassVar[list[BindingType]] = [
        *ThemedApp.BINDINGS,
        Binding("f2", "switch_theme", "Theme", show=False, tooltip="Theme: dark or light"),
    ]

    store: Store
    opens_demos = False
    """Whether the caller opens ``wanted_demo`` when this app ends."""
    opens_home = False
    """Whether the list of everything comes first where that is long."""
    contexts: Callable[[], Contexts] | None = None
    """The running clusters that can be opened in place of what is shown; not for visitors from elsewhere."""
    wanted_demo = ""
    """The name of a shipped demo that is to be opened in place of this."""
    _session: Session | None = None
    _navigator: Navigator | None = None

    def __init__(
        self,
        shown: Session | Opening,
        *,
        animate: bool = True,
        theme: str = "dark",
        mono: bool = False,
        depth: Depth | None = None,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(theme=theme, mono=mono, depth=depth, ascii_only=ascii_only)
        self.failure: Exception | None = None
        self._cluster = ""
        """The name in the settings of the cluster that is shown, "" for what was opened first."""
        self._left: dict[str, Listing] = {}
        """The lists of clusters that were left for this one, as they were then, by their names."""
        self._animate_changes = animate
        if not animate:
            self.animation_level = "none"
        self._latest: Timer | None = None
        if isinstance(shown, Opening):
            self._opening: Opening | None = shown
            self._early: deque[events.Key] | None = deque()
        else:
            self._opening = self._early = None
            self._session, self.store = shown, _store_of(shown)

    def get_default_screen(self) -> Screen[None]:
        """The screen of the first subscription, bound to the store; while there is no store the bare frame."""
        if self._opening is None:
            first = self._first_screen()
            self.stylesheet.read_all(first.css_path)  # Textual reads those of screens that come later
            first.call_after_refresh(self._list_first)
            return first

        return OpeningScreen(self._opening, mono=self.depth == "mono")

    def _first_screen(self) -> DashboardScreen[Any]:
        from tui.kit.playing import Player, Stage
        from tui.navigator import Navigator

        self.store.computing.start = partial(run_beside, self)
        session = self._session
        assert session is not None, "a screen shows a session"
        stage = Stage(Player(session.script) if session.script is not None else None)
        self._navigator = Navigator(
            self,
            self.store,
            stage,
            self.colours,
            animate=self._animate_changes,
            ascii_only=self._ascii_only,
            more_commands=self._commands_everywhere,
            listing=self._listing,
            open_elsewhere=self._open_elsewhere,
        )
        for key in self._keys_of_source:
            if key.key not in self._bindings.key_to_bindings:
                self._bindings._add_binding(key)  # `bind` would take its id away
        if session.feed is not None:
            self._follow(session.feed)
        return self._navigator.screen

    def _commands_everywhere(self) -> Mapping[str, Typed]:
        if self.contexts is None:
            return {}
        from tui.kit.typed_commands import choice

        contexts = self.contexts()
        known = {name: name for name in contexts.names()}
        about = "opens another cluster of your settings in place of this"
        return {
            "context": choice("context NAME", about, known, self.open_context, "" if known else contexts.why_none())
        }

    def _listing(self) -> Listing:
        """Everything that can be shown here, and what the clusters had that were left."""
        listing = self.store.listing()
        if not self._left:
            return listing
        from engine.views.listing import of_clusters

        return of_clusters({self._cluster or listing.source: listing, **self._left})

    def _open_elsewhere(self, cluster: str, key: str) -> bool:
        """Go to a row of a cluster that was left; whether it was one."""
        if cluster not in self._left:
            return False
        refused = self.open_context(cluster, key)
        if refused is not None and self._navigator is not None:
            self._navigator.screen.complain(refused)
        return True

    def open_context(self, name: str, key: str = "") -> Rejection | None:
        """Show another running cluster; this one stays until that one was read, and where it cannot be.

        ``key`` is of the subscription to show there.
        """
        from engine.errors import Rejection, RingsideError

        assert self.contexts is not None, "a name is one of them"
        try:
            contexts = self.contexts()
            opening = contexts.opening(name)
        except RingsideError as error:
            return Rejection("UnusableContext", str(error))
        self.secret = contexts.secret
        run_beside(self, partial(self._replace, opening, name, key), group="context", exclusive=True)
        return None

    async def _replace(self, opening: Opening, name: str, key: str) -> None:
        before, feed = self._navigator, self._session.feed if self._session is not None else None
        frame = OpeningScreen(opening, mono=self.depth == "mono")
        await self.push_screen(frame)
        try:
            listing = await in_background(self.store.listing)
            session, store = await in_background(_loaded, opening)
        except Exception as error:
            self.pop_screen()
            if before is not None:
                before.screen.complain(str(error))
            return
        if feed is not None:
            feed.stop()
        left = {**self._left, self._cluster or listing.source: listing}
        self._left = {other: each for other, each in left.items() if other != name}
        self._session, self.store, self._opening, self._cluster = session, store, opening, name
        screen = self._first_screen()
        with self.batch_update():
            while len(self.screen_stack) > 1:
                self.pop_screen()
            await self.push_screen(screen)
            if before is not None:
                before.leave()
            if key and self._navigator is not None:
                self._navigator.open_listed(key)
            else:
                self._list_first()

    def _list_first(self) -> None:
        """Show the list of everything where that is long and nobody named a part of it."""
        session = self._session
        if self._navigator is None or session is None or not self.opens_home:
            return
        if len(self.store.places.keys) > LISTED_FIRST and not session.is_chosen and session.script is None:
            self._navigator.show_home(marks_shown=False)

    @property
    def _keys_of_source(self) -> tuple[Binding, ...]:
        """Keys that mean something where the state is from: a running cluster, or answers of brokers."""
        live = LIVE if self._session is not None and self._session.feed is not None else ()
        return (*live, DIFFERENCES) if self._navigator is not None and self.store.snapshots else live

    def _follow(self, feed: Feed) -> None:
        """Show what a running cluster says from now on. Readings come from another thread, and wait for their turn."""
        loop = asyncio.get_running_loop()
        self.store.listen(lambda _: self._say_what_is_in_view(feed))
        self._say_what_is_in_view(feed)
        feed.start(
            lambda session: loop.call_soon_threadsafe(self._in_context, self.store.arrive, session),
            lambda trouble: loop.call_soon_threadsafe(self._in_context, self.store.miss, trouble),
            lambda progress: loop.call_soon_threadsafe(self._in_context, self.store.progress, progress),
        )

    def _say_what_is_in_view(self, feed: Feed) -> None:
        topics = self.store.topics_in_view
        above = self._navigator is not None and self._navigator.shows_brokers
        feed.show(topics, brokers=above or not topics)

    def _in_context(self, take: Callable[[Any], None], what: Any) -> None:
        if self.is_running:
            self.call_later(take, what)

    def action_newest(self) -> None:
        """Show the newest reading of a running cluster; steps of a what-if are left."""
        self.store.show_newest()

    def action_what_if(self) -> None:
        """Keep the picture for a what-if; once there are steps, list them with the lines that would do them."""
        from engine.views.admin_lines import admin_lines
        from tui.live.what_if import BEGUN, WhatIfScreen

        if self._navigator is None:
            return
        self.store.keep_picture()
        if self.store.timeline.cursor:
            lines, change = admin_lines(self.store.timeline), self.store.shown.change_since(0)
            self.push_screen(WhatIfScreen(lines, change, self.colours))
        else:
            self._navigator.screen.sentence = "done", BEGUN

    def action_differences(self) -> None:
        """List where the model and the brokers disagree at the moment that is shown."""
        from tui.live.differences import DifferencesScreen, nothing_compared

        of = "" if self.store.live is not None else self.store.shown.title
        differences = self.store.differences
        if differences.compared or self._navigator is None:
            self.push_screen(DifferencesScreen(differences, of))
        else:
            self._navigator.screen.sentence = "refusal", nothing_compared(of, steps=self.store.timeline.cursor)

    def on_unmount(self) -> None:
        """Ask a running cluster nothing more."""
        if self._opening is not None and self._opening.reading is not None:
            self._opening.reading.stop()
        if self._session is not None and self._session.feed is not None:
            self._session.feed.stop()

    def on_ready(self) -> None:
        """Load what is opened once the frame is painted. A worker, so that keys and signals are handled meanwhile."""
        if self._opening is not None:
            run_beside(self, partial(self._open, self._opening))

    async def _open(self, opening: Opening) -> None:
        try:
            # A reading only asks, so that nobody has to wait for it when the app is left.
            load = asyncio.to_thread if opening.reading is None else in_background
            self._session, self.store = await load(_loaded, opening)
        except Exception as error:
            self.failure = error
            self.exit(return_code=1)
            return
        screen = self._first_screen()
        with self.batch_update():
            await self.push_screen(screen)
            self._list_first()
        self._latest = self.set_timer(TYPING_AT_LATEST_S, self._type_early_keys)
        screen.call_after_refresh(self.call_later, self._type_early_keys)
        # The first refresh lays out, the second paints: what competes with it for the processor waits for both.
        screen.call_after_refresh(screen.call_after_refresh, run_beside, self, _import_the_rest)

    async def on_event(self, event: events.Event) -> None:
        """Keep keys that come before there is anything to show."""
        if self._early is not None and isinstance(event, events.Key) and self._waits(event):
            self._early.append(event)
            return
        if self._navigator is not None and isinstance(event, events.Key):
            self._navigator.screen.leave_caption()
        await super().on_event(event)

    def _waits(self, key: events.Key) -> bool:
        """Whether a key is kept until there is something to show; those that leave work before."""
        reads = self._navigator is None and self._opening is not None and self._opening.reading is not None
        leaving = (*self._keymap.get("quit", "q").split(","), "ctrl+c")
        # A forwarded one has been to the focus already and comes up from there.
        return not key.is_forwarded and key.key not in leaving and not (reads and key.key == STOP_READING.key)

    async def _type_early_keys(self) -> None:
        """Carry out one key after the other: what the first one opens gets the second one."""
        if self._latest is not None:
            self._latest.stop()
        if not self._early:
            self._early = None
            return
        self._latest = self.set_timer(TYPING_AT_LATEST_S, self._type_early_keys)
        receiver = self.focused or self.screen
        await super().on_event(self._early.popleft())
        self._follow_key(receiver)

    def _follow_key(self, node: DOMNode | None) -> None:
        """Go the way that a key goes, from the focus up to the app, behind it; then type the next one."""
        if isinstance(node, Widget):
            node.call_later(self._follow_key, node.parent)
        else:
            self.screen.call_after_refresh(self.set_timer, TYPING_S, self._type_early_keys)

    def watch_theme(self) -> None:
        """Drawings take the palette that suits the theme, also a built-in one."""
        if self._navigator is not None:
            self._navigator.paint(self.colours)

    async def action_switch_theme(self) -> None:
        await self.switch_theme(theme_name("light" if self.current_theme.dark else "dark"))

    async def action_quit(self) -> None:
        """Leave with exit code 0, or 1 after a script whose expectations failed. Steps are on disk already."""
        failed = self._navigator is not None and self._navigator.stage.failed_expectations
        self.exit(0, return_code=1 if failed else 0)

    def action_help(self) -> None:
        from tui.kit.help import RING_LEGEND, HelpScreen, key_groups

        everywhere = [binding for binding in self.BINDINGS if isinstance(binding, Binding)]
        front = self._navigator.screen if self._navigator is not None else None
        everywhere += self._keys_of_source
        groups = [*(GROUPS if front is None else front.key_groups), ("everywhere", [*everywhere, PALETTE])]
        self.push_screen(HelpScreen([*key_groups(groups, self), RING_LEGEND if front is None else front.legend]))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette: every key of the screen by its words, then what works everywhere."""
        if isinstance(screen, RingsideScreen):
            yield from key_commands(screen.key_groups, screen)
        if self._navigator is not None and screen is self._navigator.screen:
            for place, key in enumerate(self.store.places.keys):
                if key != self.store.shown.key:
                    by = place - self.store.shown.place
                    title = self.store.places.title(place)
                    yield SystemCommand(f"Show {title}", "", partial(self._show, by))
        for name in self.contexts().names() if self.contexts is not None else ():
            yield SystemCommand(f"Cluster {name} of your settings", "", partial(self._choose_context, name))
        if self.opens_demos:
            from engine.scenarios.script.run import SHIPPED_SCRIPTS, shipped_script

            for name in SHIPPED_SCRIPTS:
                title = f"Demo {name}: {shipped_script(name).title}"
                yield SystemCommand(title, "", partial(self._open_demo, name))
        yield SystemCommand("Choose a theme, each is shown while it is marked", "", self.search_themes)
        everywhere = (binding for binding in self.BINDINGS if isinstance(binding, Binding))
        yield from key_commands((("everywhere", (*self._keys_of_source, *everywhere)),), self)

    def _choose_context(self, name: str) -> None:
        refused = self.open_context(name)
        if refused is not None and self._navigator is not None:
            self._navigator.screen.complain(refused)

    def _open_demo(self, name: str) -> None:
        self.wanted_demo = name
        self.exit(0)

    def _show(self, by: int) -> None:
        self.store.show_subscription(by)


def _loaded(opening: Opening) -> tuple[Session, Store]:
    """What takes long between the first paint and the first state; runs in a thread."""
    from tui.navigator import screen_of

    session = opening.load()
    store = _store_of(session)
    screen_of(store.shown.kind)  # so that making the screen finds it loaded
    return session, store


async def _import_the_rest() -> None:
    """In a thread that nobody waits for: there is a picture, and the first key may ask for another screen."""
    from tui.navigator import import_the_rest

    await in_background(import_the_rest)


def _store_of(session: Session) -> Store:
    from tui.kit.store import Store

    store = Store(session)
    store.prepare()
    return store


class OpeningScreen(Screen[None]):
    """Painted before engine and numpy are loaded, so that the terminal answers at once."""

    BINDINGS: ClassVar[list[BindingType]] = [STOP_READING]

    def __init__(self, opening: Opening, *, mono: bool) -> None:
        super().__init__()
        self._opening = opening
        self._stopped = False
        self.set_class(mono, "-mono")

    def compose(self) -> ComposeResult:
        choose_layout(self, self.app.size)
        yield PlainStatic(" ringside", id="status")
        yield SentenceLine(id="sentence")
        with Container(id="body"):
            yield PlainStatic(id="ring", classes="panel")
            with Vertical(id="side"):
                yield PlainStatic(id="consumers", classes="panel")
                yield PlainStatic(id="bundles", classes="panel")
            yield PlainStatic(id="events", classes="panel")
        yield PlainStatic(id="timeline")
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Say what is opened."""
        name_panels(self, PANEL_TITLES)
        self.query_one(KeyFooter).keys = key_hints(BINDINGS, self.app)
        self._say(f"opening {self._opening.name} …")
        reading = self._opening.reading
        if reading is not None:
            loop = asyncio.get_running_loop()
            reading.watch(lambda done: loop.call_soon_threadsafe(self._progress, done))

    def _say(self, text: str) -> None:
        self.query_one(SentenceLine).sentence = ("hint", text)

    def _progress(self, done: str) -> None:
        if self.is_attached and not self._stopped:
            self._say(f"reading {self._opening.name}: {done}; esc stops it and shows what was read until then")

    def action_stop_reading(self) -> None:
        """Show what was read so far."""
        if self._opening.reading is not None:
            self._opening.reading.stop()
            self._stopped = True
            self._say(f"stopped reading {self._opening.name}; opening what was read …")

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)
