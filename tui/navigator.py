"""Which screen is in front: each kind of subscription has its own, and so have producers. All share one store.

A screen is imported when it is first shown: one is enough for the first picture. ``import_the_rest`` follows that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

from textual.app import App

from engine.admin.facts import Snapshot
from engine.scenarios.embedded import DEFAULT_SCENE
from themes.palettes import Palette
from tui.kit.background import in_background, run_beside
from tui.kit.playing import Stage
from tui.kit.screen import DashboardScreen
from tui.kit.shown import Kind
from tui.kit.store import Store

if TYPE_CHECKING:
    from engine.views.brokers.model import BrokersInput
    from engine.views.failover.splits import SplitPreviewView
    from engine.views.listing import Listing
    from engine.views.search import Match
    from tui.brokers.screen import BrokersScreen
    from tui.bundles.screen import BundlesScreen
    from tui.home.screen import HomeScreen
    from tui.kit.typed_commands import Typed

NOTHING_KNOWN = "no load of a broker was read, so nothing is known of brokers: "
PREVIEWED_AT_ONCE: Final = 100_000
"""Topics; what each algorithm would make of a bundle among more takes longer than a key may."""
EMBEDDED = f"scene {DEFAULT_SCENE}"
EMBEDDED_BROKERS = "an example"
NO_REPORT_HERE: Final = "No load report is here, so these are the brokers of an example cluster, not of this one."
AnyScreen = DashboardScreen[Any]


def screen_of(kind: Kind) -> type[AnyScreen]:
    """Which screen shows what."""
    match kind:
        case "failover":
            from tui.failover.screen import MainScreen

            return MainScreen
        case "keys":
            from tui.keys.screen import KeysScreen

            return KeysScreen
        case "producers":
            from tui.producers.screen import ProducersScreen

            return ProducersScreen
        case "scalable":
            from tui.scalable.screen import ScalableScreen

            return ScalableScreen
        case "reported":
            from tui.reported.screen import ReportedScreen

            return ReportedScreen


def import_the_rest() -> None:
    """Have every other screen loaded before somebody asks for it, and what the first key of the main screen needs."""
    import engine.cluster.grammar.reading
    import engine.cluster.journal.file
    import engine.cluster.keys.decide
    import engine.cluster.producers.decide
    import engine.views.keys.view
    import engine.views.producers.view
    import engine.views.scalable.answers  # noqa: F401
    import tui.brokers.screen
    import tui.bundles.screen
    import tui.bundles.split_preview
    import tui.failover.dialogs
    import tui.failover.explaining
    import tui.home.screen
    import tui.kit.diff_screen
    import tui.kit.picker  # noqa: F401

    for kind in get_args(Kind):
        screen_of(kind)


class Navigator:
    """Makes a screen when it is first shown, keeps it, and brings the right one to the front when the store changes.

    ``colours``, ``animate`` and ``ascii_only`` are those that screens are made with.
    """

    def __init__(
        self,
        app: App[Any],
        store: Store,
        stage: Stage,
        colours: Palette,
        *,
        animate: bool,
        ascii_only: bool,
        more_commands: Callable[[], Mapping[str, Typed]],
        listing: Callable[[], Listing],
        open_elsewhere: Callable[[str, str], bool],
    ) -> None:
        self._app = app
        self._store = store
        self._colours = colours
        self._animate = animate
        self._ascii_only = ascii_only
        self._screens: dict[Kind, AnyScreen] = {}
        self._forecast: BundlesScreen | None = None
        self._brokers: BrokersScreen | None = None
        self._home: HomeScreen | None = None
        self._brokers_of: tuple[Snapshot, ...] = ()
        self.stage = stage
        self.more_commands = more_commands
        self._listing = listing
        self._open_elsewhere = open_elsewhere
        store.listen(lambda _changed: self.turn())
        store.listen(lambda _changed: self._renew_brokers())
        store.listen(lambda _changed: self._renew_home())

    @property
    def screen(self) -> AnyScreen:
        """The screen for what the store shows."""
        kind = self._store.shown.kind
        if kind not in self._screens:
            screen = self._make(kind)
            screen.on_front = self.turn
            screen.on_brokers = self.show_brokers
            screen.on_home = self.show_home
            screen.on_chosen = self.go_to
            screen.more_commands = self.more_commands
            self._store.listen(screen.post_message)
            # So that it outlives its time in front; the screens of another cluster may still have theirs.
            self._app.install_screen(screen, f"{kind} {id(self)}")
            self._screens[kind] = screen
        return self._screens[kind]

    def _make(self, kind: Kind) -> AnyScreen:
        how: dict[str, Any] = {"animate": self._animate, "ascii_only": self._ascii_only, "stage": self.stage}
        if kind == "failover":
            how["bundle_screens"] = self
        return screen_of(kind)(self._store, self._colours, **how)

    def leave(self) -> None:
        """Give up all screens but the one that the app began with, once others are in front."""
        for screen in self._screens.values():
            if screen not in self._app.screen_stack:
                self._app.uninstall_screen(screen)
                screen.remove()

    def turn(self) -> None:
        """Bring the right screen to the front, unless a dialog is above the other one."""
        shown = self._app.screen
        if not isinstance(shown, DashboardScreen) or shown.in_front:
            return
        # The first one stays below the other: it is the one to go back to.
        if self.screen in self._app.screen_stack:
            self._app.pop_screen()
        else:
            self._app.push_screen(self.screen)

    def go_to(self, match: Match) -> None:
        """Show the subscription that something belongs to, and mark it there."""
        if match.place >= 0:
            self._store.show_subscription(match.place - self._store.shown.place)
        # A screen that has just been pushed is not there yet.
        self.screen.call_after_refresh(self.screen.go_to, match)

    def paint(self, colours: Palette) -> None:
        """Give all screens other colours."""
        self._colours = colours
        for screen in (*self._screens.values(), self._forecast, self._brokers, self._home):
            if screen is not None and screen.is_attached:
                screen.colours = colours

    def show_home(self, *, marks_shown: bool = True) -> None:
        """List everything that can be shown; what is chosen there is opened."""
        from tui.home.screen import HomeScreen

        if self._home is None or not self._home.is_attached:
            marked = self._store.shown.key if marks_shown else ""
            self._home = HomeScreen(self._listing, marked, self.open_listed, self._colours, self.more_commands())
            self._app.push_screen(self._home)

    def open_listed(self, key: str, cluster: str = "") -> None:
        """Show what a row of the list is about, maybe in another cluster."""
        if self._open_elsewhere(cluster, key):
            return
        places = self._store.places.keys
        if key in places:  # a newer reading may lack it
            self._store.show_subscription(places.index(key) - self._store.shown.place)

    def _renew_home(self) -> None:
        if self._home is not None and self._home.is_attached:
            self._home.renew()

    # the screens about bundles, which go above the main screen

    def preview_split(self, namespace: str, range_text: str) -> None:
        """Show what each algorithm would make of a bundle; what is chosen there is carried out here."""
        compute = partial(self._store.shown.previews, namespace, range_text)
        if len(self._store.timeline.state.topics) <= PREVIEWED_AT_ONCE:
            self._open_preview(compute())
        else:
            run_beside(self._app, partial(self._preview_later, compute), group="split preview", exclusive=True)

    async def _preview_later(self, compute: Callable[[], SplitPreviewView]) -> None:
        shown = self._store.shown
        view = await in_background(compute)
        if self._store.shown is shown and self._app.screen is self.screen:
            self._open_preview(view)

    def _open_preview(self, view: SplitPreviewView) -> None:
        from tui.bundles.split_preview import SplitPreviewScreen

        main = self.screen
        self._app.push_screen(
            SplitPreviewScreen(
                view,
                lambda line: main.done(self._store.submit_line(line)),
                self._colours,
                ascii_only=self._ascii_only,
            )
        )

    def show_forecast(self, namespace: str) -> None:
        """Show a namespace over time."""
        from tui.bundles.screen import BundlesScreen

        state = self._store.timeline.state
        self._forecast = BundlesScreen(
            state,
            namespace,
            self._colours,
            ascii_only=self._ascii_only,
            reported_brokers=len({broker for snapshot in self._store.snapshots for broker in snapshot.broker_loads}),
        )
        self._app.push_screen(self._forecast)
        self._store.announce()

    def show_brokers(self) -> str:
        """Show the brokers that load reports are about; what is missing where there is none, else ""."""
        from engine.admin.shed_inputs import without_reports
        from engine.scenarios.broker_scenes import embedded_brokers
        from engine.views.brokers.view import brokers_input
        from tui.brokers.screen import BrokersScreen

        snapshots = self._store.snapshots
        if any(snapshot.broker_loads for snapshot in snapshots):
            self._brokers = BrokersScreen(self._reported_brokers(), self._colours, ascii_only=self._ascii_only)
        elif self._store.timeline.source == EMBEDDED:
            given = brokers_input(embedded_brokers(), source=EMBEDDED_BROKERS, about=NO_REPORT_HERE)
            self._brokers = BrokersScreen(given, self._colours, ascii_only=self._ascii_only)
        else:
            return NOTHING_KNOWN + without_reports(snapshots[-1].configuration if snapshots else {})
        self._brokers_of = snapshots
        self._app.push_screen(self._brokers)
        self._store.announce()
        return ""

    @property
    def shows_brokers(self) -> bool:
        """Whether a screen about the load of brokers or bundles is open."""
        return any(screen in (self._brokers, self._forecast) for screen in self._app.screen_stack)

    def _reported_brokers(self) -> Callable[[], BrokersInput]:
        """What works out the brokers of the moments up to the one that is shown; with many, it takes a while."""
        from engine.admin.shed_inputs import shed_inputs_of
        from engine.views.brokers.view import brokers_input

        snapshots, timeline, live = self._store.snapshots, self._store.timeline, self._store.live
        source, release = timeline.source, timeline.state.release
        if live is not None:
            source = f"{source} at {datetime.fromtimestamp(live.shown_ms / 1000, UTC):%H:%M:%S} UTC"

        def given() -> BrokersInput:
            inputs = shed_inputs_of(snapshots)
            assert inputs is not None, "one of them has a load report"
            return brokers_input(inputs, inputs.version or release, source)

        return given

    def _renew_brokers(self) -> None:
        """Show newer load reports of a running cluster where its brokers are in front or below a dialog."""
        screen, snapshots = self._brokers, self._store.snapshots
        if screen is None or not screen.is_attached or _same(snapshots, self._brokers_of):
            return
        if any(snapshot.broker_loads for snapshot in snapshots):
            self._brokers_of = snapshots
            screen.renew(self._reported_brokers())


def _same(some: tuple[Snapshot, ...], others: tuple[Snapshot, ...]) -> bool:
    """Whether these are the same objects; comparing what is in them would take long."""
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
