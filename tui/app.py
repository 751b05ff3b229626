"""The application: themes, the keys that work everywhere, and the main screen. State belongs to the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from engine.cluster.timeline import Timeline
from engine.scenarios.script_model import Script
from engine.views.model import Notice
from themes import stylesheet
from themes.palettes import Depth, Palette, ThemeName, palette
from tui.look import depth_of, textual_theme, theme_name, variables_of
from tui.plain_ascii import AsciiFilter
from tui.player import Player
from tui.screens.help import HelpScreen, key_groups
from tui.screens.main import MainScreen
from tui.screens.main_bindings import GROUPS
from tui.store import Journal, Store
from tui.wording import safe_name


class RingsideApp(App[int]):
    """A view of one timeline.

    ``subscription`` is the place of the one to show first, ``problems`` and ``notes`` are what opening the state had to
    tell. ``depth`` overrules what the terminal says about its colours; ``mono`` is ``depth="mono"``. With
    ``animate=False`` nothing moves by itself, so ``space`` starts a ``script``; otherwise it plays from the beginning.
    """

    TITLE = "Ringside"
    CSS_PATH = stylesheet("main")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?", tooltip="All keys"),
        Binding("q", "quit", "Quit", tooltip="Quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
        Binding("f2", "switch_theme", "Theme", show=False, tooltip="Dark or light"),
    ]

    def __init__(
        self,
        timeline: Timeline,
        *,
        subscription: int = 0,
        problems: int = 0,
        notes: tuple[Notice, ...] = (),
        animate: bool = True,
        theme: ThemeName = "dark",
        mono: bool = False,
        depth: Depth | None = None,
        ascii_only: bool = False,
        journal: Journal | None = None,
        script: Script | None = None,
    ) -> None:
        self._theme_name: ThemeName = theme
        self._depth: Depth | None = "mono" if mono else depth
        super().__init__()
        self.store = Store(timeline, subscription=subscription, problems=problems, notes=notes, journal=journal)
        self._script = script
        self._animate_changes = animate
        self._ascii_only = ascii_only
        if not animate:
            self.animation_level = "none"
        depth_used = self.depth
        for name in ("dark", "light"):
            self.register_theme(textual_theme(name, depth_used))
        self.theme = theme_name(theme)

    @property
    def depth(self) -> Depth:
        """The colour depth in use."""
        return self._depth or depth_of(self.console.color_system, mono=self.no_color)

    @property
    def colours(self) -> Palette:
        """The palette in use."""
        return palette(self._theme_name, self.depth)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables for themes that do not define them, so that every built-in theme works."""
        return variables_of(palette("dark" if self.current_theme.dark else "light", self.depth))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The stock filters, and with ``ascii_only`` the one that leaves nothing but ASCII."""
        return [*super().get_line_filters(), *([AsciiFilter()] if self._ascii_only else [])]

    def get_default_screen(self) -> Screen[None]:
        """The main screen, bound to the store."""
        screen = MainScreen(self.store, self.colours, animate=self._animate_changes, ascii_only=self._ascii_only)
        screen.player = Player(self._script) if self._script is not None else None
        self.store.tell(screen.post_message)
        return screen

    def watch_theme(self) -> None:
        """Drawings take the palette that suits the theme, also a built-in one."""
        self._theme_name = "dark" if self.current_theme.dark else "light"
        for screen in self.screen_stack if self._screen_stacks else ():
            if isinstance(screen, MainScreen):
                screen.colours = self.colours

    def action_switch_theme(self) -> None:
        self.theme = theme_name("light" if self._theme_name == "dark" else "dark")

    async def action_quit(self) -> None:
        """Leave with exit code 0, or 1 after a script whose expectations failed. Steps are on disk already."""
        failed = any(isinstance(screen, MainScreen) and screen.failed_expectations for screen in self.screen_stack)
        self.exit(0, return_code=1 if failed else 0)

    def action_help(self) -> None:
        everywhere = [binding for binding in self.BINDINGS if isinstance(binding, Binding)]
        palette_key = Binding(self.COMMAND_PALETTE_BINDING, "command_palette", tooltip="All commands by name")
        groups = [*GROUPS, ("everywhere", [*everywhere, palette_key])]
        self.push_screen(HelpScreen(key_groups(groups)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette: every key of the main screen by its words, then what works everywhere."""
        if isinstance(screen, MainScreen):
            for _, bindings in GROUPS:
                for binding in bindings:
                    if binding.action != "none" and binding.tooltip:
                        yield SystemCommand(
                            binding.description,
                            binding.tooltip,
                            lambda action=binding.action: self._run(screen, action),
                        )
            status = self.store.view.status
            for place, key in enumerate(status.subscriptions):
                if key != status.subscription:
                    by = place - self.store.subscription
                    yield SystemCommand(f"Show {safe_name(key)}", "Show this subscription", partial(self._show, by))
        yield SystemCommand("Help", "All keys", self.action_help)
        yield SystemCommand("Theme", "Dark or light", self.action_switch_theme)
        yield SystemCommand("Quit", "Leave Ringside", self.action_quit)

    def _show(self, by: int) -> None:
        self.store.show_subscription(by)

    def _run(self, screen: MainScreen, action: str) -> None:
        self.call_later(screen.run_action, action)
