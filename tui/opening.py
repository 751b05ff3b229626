"""The picture before the first state: the frame of the main screen, and what is being opened."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.screen import Screen

from tui.failover.bindings import BINDINGS
from tui.failover.titles import PANEL_TITLES
from tui.kit.footer import KeyFooter, key_hints
from tui.kit.layouts import arrange, name_panels
from tui.kit.plain_text import PlainStatic
from tui.kit.sentence_line import SentenceLine


class OpeningScreen(Screen[None]):
    """Painted before engine and numpy are loaded, so that the terminal answers at once."""

    def __init__(self, opening: str, *, mono: bool) -> None:
        super().__init__()
        self._opening = opening
        self.set_class(mono, "-mono")

    def compose(self) -> ComposeResult:
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
        self.query_one(KeyFooter).keys = key_hints(BINDINGS)
        self.query_one(SentenceLine).sentence = ("hint", f"opening {self._opening} …")

    def on_resize(self, event: events.Resize) -> None:
        arrange(self, event.size)
