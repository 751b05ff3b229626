"""What our applications share: themes, colour depth, output without control characters, ASCII on demand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, ClassVar, Final, Protocol

from msgspec.structs import replace
from rich.cells import cell_len
from rich.segment import Segment
from textual import events, on
from textual.app import App
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.color import Color
from textual.command import Provider
from textual.css.stylesheet import Stylesheet
from textual.driver import Driver
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme, ThemeProvider

from engine.text import visible
from themes.palettes import THEMES, Depth, Palette, ThemeName, hex_colour, palette
from tui.drawing.colour import mix, readable
from tui.drawing.glyphs import ascii_text
from tui.kit.background import run_beside
from tui.kit.bindings import EVERYWHERE, Binding
from tui.kit.command_palette import PALETTE_ID, PlainCommandPalette, PlainCommands

CONSUMER_COLOURS: Final = 24
"""How many ``consumer-N`` variables every theme has; palettes with fewer colours repeat."""
_DEPTH_OF_COLOUR_SYSTEM: Final[dict[str | None, Depth]] = {
    "truecolor": "truecolor",
    "256": "256",
    "standard": "16",
    "windows": "16",
    None: "mono",
}


def depth_of(colour_system: str | None, *, mono: bool) -> Depth:
    """The palette depth for what Rich found out about the terminal (``Console.color_system``)."""
    return "mono" if mono else _DEPTH_OF_COLOUR_SYSTEM.get(colour_system, "truecolor")


def theme_name(theme: str) -> str:
    """The name of a theme in Textual's list.

    >>> theme_name("dark"), theme_name("nord")
    ('ringside-dark', 'nord')
    """
    return f"ringside-{theme}" if theme in THEMES else theme


@lru_cache(maxsize=8)
def variables_of(colours: Palette) -> dict[str, str]:
    """Every variable of ours for stylesheets: the roles of the palette and ``consumer-0`` to ``consumer-23``."""
    cycle = {f"consumer-{i}": hex_colour(colours.consumer_colour(i)) for i in range(CONSUMER_COLOURS)}
    return colours.variables() | cycle


def textual_theme(theme: ThemeName, depth: Depth) -> Theme:
    """One of our themes at a colour depth, as Textual wants it."""
    colours = palette(theme, depth)
    hexes = colours.variables()
    cursor = hexes["accent"]
    return Theme(
        name=theme_name(theme),
        primary=hexes["accent"],
        secondary=hexes["dim"],
        accent=hexes["accent"],
        foreground=hexes["text"],
        background=hexes["background"],
        surface=hexes["surface"],
        panel=hexes["ring-track"],
        success=hexes["good"],
        warning=hexes["warn"],
        error=hexes["bad"],
        dark=theme == "dark",
        variables=variables_of(colours)
        | {
            "border": hexes["rim"],
            "border-blurred": hexes["rim"],
            "block-cursor-background": cursor,
            "block-cursor-foreground": hexes["background"],
            "block-cursor-blurred-background": hexes["ring-track"],
            "block-cursor-blurred-foreground": hexes["text"],
            "block-cursor-text-style": "bold",
            "input-cursor-background": hexes["text"],
            "input-cursor-foreground": hexes["background"],
            "footer-key-foreground": hexes["accent"],
            "scrollbar": hexes["rim"],
            "scrollbar-background": hexes["background"],
            "scrollbar-corner-color": hexes["background"],
        },
    )


def colours_of(theme: Theme, depth: Depth) -> Palette:
    """The palette for a theme: consumers keep their colours, ground and words are the theme's, as far as they are read.

    Terminals of few colours keep ours, whose colours they have.
    """
    ours = palette("dark" if theme.dark else "light", depth)
    if depth != "truecolor" or theme.name in map(theme_name, THEMES):
        return ours
    generated = theme.to_color_system().generate()
    ground, surface, text, accent = (
        Color.parse(generated[name]).rgb for name in ("background", "surface", "foreground", "accent")
    )
    grounds = ground, surface
    text = readable(text, grounds, WORDS_CONTRAST)
    return replace(
        ours,
        background=ground,
        surface=surface,
        text=text,
        dim=readable(mix(ground, text, 0.6), grounds),
        accent=readable(accent, grounds),
        ring_track=mix(ground, text, 0.15),
        rim=mix(ground, text, 0.3),
        active=readable(ours.active, grounds),
        standby=readable(ours.standby, grounds),
        good=readable(ours.good, grounds),
        warn=readable(ours.warn, grounds),
        bad=readable(ours.bad, grounds),
    )


THEME: Final = "theme"
"""The group of work that shows a theme."""
WORDS_CONTRAST: Final = 4.5
"""Of words and their ground; what stands back has ``LEAST_CONTRAST``."""
SHEETS_KEPT = 128
"""More than all widgets and screens have."""


class ParsedOnce(Stylesheet):
    """Keeps what it has parsed, by the variables of the theme. Rules are only read once they are parsed.

    Textual parses all style sheets again whenever a screen brings one of its own and whenever the theme changes: half
    of the time that a first dialog takes to open.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._kept: dict[frozenset[tuple[str, str]], LRUCache[tuple[Any, ...], Any]] = {}
        self._parse_cache = self._kept_for(self._variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Use other variables; rules that were parsed with the present ones are kept."""
        self._parse_cache = LRUCache(SHEETS_KEPT)  # the stock method empties it
        super().set_variables(variables)
        self._parse_cache = self._kept_for(variables)

    def reparse(self) -> None:
        """Parse what has not been parsed with the present variables."""
        self.parse()

    def prepare(self, variables: dict[str, str]) -> None:
        """Parse all sheets with other variables, so that changing to these takes less time."""
        ahead = ParsedOnce(variables=variables)
        ahead.source = self.source.copy()
        ahead._parse_cache = self._kept_for(variables)
        ahead.parse()

    def _kept_for(self, variables: Mapping[str, str]) -> LRUCache[tuple[Any, ...], Any]:
        return self._kept.setdefault(frozenset(variables.items()), LRUCache(SHEETS_KEPT))


COMMANDS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)
"""Control characters, those that turn the direction of writing, ends of lines, and halves of surrogate pairs."""


class VisibleFilter(LineFilter):
    """Removes characters that would command the terminal.

    Texts show their hidden characters as escapes long before (``engine.text``); this is for what a text field holds
    and for what was forgotten. Columns stay as they were arranged: what has no width goes, what has one is replaced.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same segments without commands; O(characters), without a copy where there are none."""
        if not COMMANDS.search("".join([text for text, _, _ in segments])):
            return segments
        return [
            Segment(text if control else COMMANDS.sub(_replaced, text), style, control)
            for text, style, control in segments
        ]


class Hides(Protocol):
    """A secret that knows where it is in a text: brokers may repeat what a cluster was asked with."""

    def __hash__(self) -> int: ...

    def hide(self, text: str) -> str:
        """The text without it."""

    def cover(self, text: str) -> str:
        """The same, as long as before."""


class SecretFilter(LineFilter):
    """Covers a secret, also where it goes over several colours."""

    def __init__(self, secret: Hides) -> None:
        super().__init__()
        self._secret = secret

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same segments with asterisks in its place."""
        line = "".join([text for text, _, _ in segments])
        shown = self._secret.cover(line)
        if shown == line:
            return segments
        ends = accumulate(len(text) for text, _, _ in segments)
        return [
            Segment(shown[end - len(text) : end], style, control)
            for end, (text, style, control) in zip(ends, segments, strict=True)
        ]


def _replaced(match: re.Match[str]) -> str:
    return "\ufffd" * cell_len(match[0])


class AsciiFilter(LineFilter):
    """Writes every line in ASCII, for terminals and fonts without box drawing: each character becomes one as wide."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same segments in ASCII."""
        return [Segment(ascii_text(text), style, control) for text, style, control in segments]


VISIBLE: Final = VisibleFilter()
ASCII: Final = AsciiFilter()


class InTurn(LineFilter):
    """One filter after the other. Textual keeps a line for each filter, and a line is what a paint makes most of."""

    def __init__(self, filters: tuple[LineFilter, ...]) -> None:
        super().__init__()
        self.filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return what the last of them leaves."""
        for each in self.filters:
            segments = each.apply(segments, background)
        return segments


_covering = lru_cache(maxsize=2)(SecretFilter)
_in_turn = lru_cache(maxsize=8)(InTurn)


class ThemedApp(App[int]):
    """``depth`` overrules what the terminal says about its colours; ``mono`` is ``depth="mono"``."""

    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {PlainCommands}
    BINDINGS: ClassVar[list[BindingType]] = [
        *EVERYWHERE,
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(
        self, *, theme: str = "dark", mono: bool = False, depth: Depth | None = None, ascii_only: bool = False
    ) -> None:
        self._depth: Depth | None = "mono" if mono else depth
        self._ascii_only = ascii_only
        self._palettes: dict[tuple[str, Depth], Palette] = {}
        self._theme_before = ""
        """The theme in force while another is being chosen."""
        self.writes_files = True
        """Whether tables and pictures can be written to files; not for visitors from elsewhere."""
        self.secret: Hides | None = None
        """What is taken out of all that is shown, copied or exported."""
        super().__init__()
        depth_used = self.depth
        for name in ("dark", "light"):
            self.register_theme(textual_theme(name, depth_used))
        self.theme = theme_name(theme)
        self.stylesheet = ParsedOnce(variables=self.get_css_variables())

    async def on_event(self, event: events.Event) -> None:
        """Let others have their turn before each key or click, however many came at once.

        Also before one that the focused widget and the screen had no use for: its action happens here as well.
        """
        if isinstance(event, events.InputEvent):
            await asyncio.sleep(0)
        await super().on_event(event)

    def on_resize(self, event: events.Resize) -> None:
        """Paint all again where the window is as large as before: it was smaller meanwhile, and forgot what it cut."""
        if event.size == self.screen.outer_size:
            self.screen.refresh()

    async def switch_theme(self, name: str) -> None:
        """Change the theme: parse in one turn of the event loop, apply in another, as each takes its time."""
        if isinstance(self.stylesheet, ParsedOnce):
            self.stylesheet.prepare(self._variables_with(self.available_themes[name]))
            await asyncio.sleep(0)
        self.theme = name

    def refresh_css(self, animate: bool = True) -> None:
        """As the stock one, but arranging what is in front and styling what is below it have turns of their own."""
        self.stylesheet.set_variables(self.get_css_variables())
        self.stylesheet.reparse()
        self.stylesheet.update(self, animate=animate)
        for screen in self.screen_stack:
            if screen is self.screen:
                screen.refresh(layout=True)
            else:
                self.call_later(self._style_below, screen, animate)
            screen._css_update_count = self._css_update_count

    async def _style_below(self, screen: Screen[Any], animate: bool) -> None:
        """Style a screen that is not in front, in a turn of its own: messages that wait are handled in one turn."""
        await asyncio.sleep(0)
        self.stylesheet.update(screen, animate=animate)

    def _variables_with(self, theme: Theme) -> dict[str, str]:
        """What ``get_css_variables`` gives with a theme."""
        colours = self._colours_with(theme)
        ours = variables_of(colours)
        own = {"foreground": hex_colour(colours.text), "accent": hex_colour(colours.accent)}
        return {**ours, **theme.to_color_system().generate(), **theme.variables, **own}

    def _colours_with(self, theme: Theme) -> Palette:
        key = theme.name, self.depth
        if key not in self._palettes:
            self._palettes[key] = colours_of(theme, self.depth)
        return self._palettes[key]

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from tui.kit.terminal import TerminalDriver

        return TerminalDriver

    @property
    def depth(self) -> Depth:
        return self._depth or depth_of(self.console.color_system, mono=self.no_color)

    @property
    def colours(self) -> Palette:
        """What drawings are painted with: our palette, on the ground of the theme where that is one of Textual's."""
        return self._colours_with(self.current_theme)

    def get_css_variables(self) -> dict[str, str]:
        """Those of the theme and our own, with words in colours that are read on the ground of the theme."""
        self.theme_variables = self._variables_with(self.current_theme)
        return self.theme_variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The stock filters, one for a secret, one for characters that command a terminal, and perhaps for ASCII."""
        secret = [_covering(self.secret)] if self.secret is not None else []
        return (_in_turn((*super().get_line_filters(), *secret, VISIBLE, *([ASCII] if self._ascii_only else []))),)

    def action_command_palette(self) -> None:
        """The palette, unless one is open, or was closed and is not gone yet."""
        if not any(screen.id == PALETTE_ID for screen in self._nodes):
            self.push_screen(PlainCommandPalette(id=PALETTE_ID))

    def search_themes(self) -> None:
        """The list of themes, a palette like that of the commands; each is shown while it is marked."""
        self._theme_before = self.theme
        self.push_screen(PlainCommandPalette(providers=[ThemeProvider], placeholder="Search for themes…"))

    @on(PlainCommandPalette.OptionHighlighted)
    def _theme_marked(self, message: PlainCommandPalette.OptionHighlighted) -> None:
        name = str(message.highlighted_event.option.prompt).splitlines()[0].strip()
        if self._theme_before and name in self.available_themes:
            run_beside(self, partial(self.switch_theme, name), group=THEME, exclusive=True)

    @on(PlainCommandPalette.Closed)
    def _palette_closed(self, message: PlainCommandPalette.Closed) -> None:
        """Go back to the theme before where none was chosen."""
        self.workers.cancel_group(self, THEME)
        before, self._theme_before = self._theme_before, ""
        if before and not message.option_selected:
            self.theme = before

    def copy_to_clipboard(self, text: str) -> None:
        """As the stock one, with a question mark for half a character, which no terminal could be sent."""
        super().copy_to_clipboard(without_secret(self, text).encode("utf-8", "replace").decode("utf-8"))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """As the stock one, but the message is shown as it is."""
        super().notify(visible(message), title=visible(title), severity=severity, timeout=timeout, markup=False)


def without_secret(app: App[Any], text: str) -> str:
    """A text of an app as it may be copied or saved."""
    return app.secret.hide(text) if isinstance(app, ThemedApp) and app.secret is not None else text
