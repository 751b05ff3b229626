"""Which screen stands in front: each kind of subscription has its own, and so have producers. All share one store."""

from __future__ import annotations

from typing import Any

from textual.app import App

from themes.palettes import Palette
from tui.failover.screen import MainScreen
from tui.keys.screen import KeysScreen
from tui.kit.common_screen import CommonScreen
from tui.kit.player import Stage
from tui.kit.store import Store
from tui.producers.screen import ProducersScreen


class Front:
    """Makes a screen when it is first wanted, keeps it, and brings the right one to the front when the store changes.

    ``colours``, ``animate`` and ``ascii_only`` are those that screens are made with.
    """

    def __init__(
        self, app: App[Any], store: Store, stage: Stage, colours: Palette, *, animate: bool, ascii_only: bool
    ) -> None:
        self._app = app
        self._store = store
        self._colours = colours
        self._animate = animate
        self._ascii_only = ascii_only
        self._made: dict[type[CommonScreen], CommonScreen] = {}
        self.stage = stage
        store.tell(lambda _changed: self.turn())

    @property
    def screen(self) -> CommonScreen:
        """The screen for the subscription that the store shows."""
        kind: type[KeysScreen | MainScreen | ProducersScreen] = MainScreen
        if self._store.shows_keys:
            kind = KeysScreen
        elif self._store.shows_producers:
            kind = ProducersScreen
        if kind not in self._made:
            screen = kind(
                self._store, self._colours, animate=self._animate, ascii_only=self._ascii_only, stage=self.stage
            )
            screen.on_front = self.turn
            self._store.tell(screen.post_message)
            self._app.install_screen(screen, kind.__name__)  # so that it outlives its time in front
            self._made[kind] = screen
        return self._made[kind]

    def turn(self) -> None:
        """Bring the right screen to the front; not while a dialog stands above the other one."""
        shown = self._app.screen
        if not isinstance(shown, CommonScreen) or shown.in_front:
            return
        # The first one stays below the other: it is the one to go back to.
        if self.screen in self._app.screen_stack:
            self._app.pop_screen()
        else:
            self._app.push_screen(self.screen)

    def paint(self, colours: Palette) -> None:
        """Give all screens other colours."""
        self._colours = colours
        for screen in self._made.values():
            if screen.is_attached:
                screen.colours = colours
