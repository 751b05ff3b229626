"""What a screen of a subscription or of producers is: its lines, keys for time and place, and views that follow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding

from engine.cluster.timeline_commands import End, Home, Redo, Undo
from engine.views.model import EventLine
from themes.palettes import Palette
from tui.kit.bindings import Groups
from tui.kit.common_playing import CommonPlaying
from tui.kit.event_lines import event_line
from tui.kit.footer import KeyFooter
from tui.kit.framed import key_hints
from tui.kit.help import Group
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.player import Stage
from tui.kit.prompt import Prompt
from tui.kit.store import Store
from tui.kit.timeline_line import TimelineLine


class CommonScreen(CommonPlaying):
    """The last link that all sisters share; what they do to the cluster is their own."""

    key_groups: ClassVar[Groups] = ()
    """All keys by what they are for, for help and palette."""
    legend: ClassVar[Group] = ("", ())
    """What the drawing shows, for the help."""
    flashes = False
    """Whether anything moves by itself."""
    events_number = 4
    """The digit that goes to the events."""
    events_noun = "partition"
    """What a step moves."""
    explanation_title: ClassVar[str] = "where does it go, and why"
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Keys that mean something on a sister screen, and why they do not here."""
    ready = False
    """Whether there are panels that can show something."""

    def __init__(
        self, store: Store, colours: Palette, *, animate: bool, ascii_only: bool, stage: Stage | None = None
    ) -> None:
        super().__init__()
        self.set_reactive(CommonScreen.colours, colours)
        self.store = store
        self.stage = stage or Stage()
        self.flashes = animate
        self.ascii_only = ascii_only

    def compose_below(self) -> ComposeResult:
        """The lines below the panels."""
        cls = CommonScreen
        yield TimelineLine(id="timeline", ascii_only=self.ascii_only).data_bind(cls.timeline, cls.playing, cls.colours)
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")
        yield PlainStatic(id="too-small")

    def on_mount(self) -> None:
        """Name the panels and show the first view."""
        self.name_panels()
        explanation = self.query_one("#explain")
        set_title(explanation, self.explanation_title)
        set_subtitle(explanation, "escape closes")
        self.query_one(KeyFooter).keys = key_hints([key for key in self.BINDINGS if isinstance(key, Binding)])
        self.make_ready()

    def make_ready(self) -> None:
        """Everything is mounted: show the first view, and let a script begin or go on."""
        self.ready = True
        self.set_class(self.colours.mono, "-mono")
        self.show_now()
        self.begin(by_itself=self.flashes)
        self.take_over()

    # time

    def action_undo(self) -> None:
        self.complain(self.store.submit(Undo()))

    def action_redo(self) -> None:
        self.complain(self.store.submit(Redo()))

    def action_home(self) -> None:
        self.complain(self.store.submit(Home()))

    def action_end(self) -> None:
        self.complain(self.store.submit(End()))

    def action_step(self, count: int) -> None:
        self.store.step_by(count)
        self.complain(None)

    # place

    def on_key(self, event: events.Key) -> None:
        """A key of a sister screen says why it does nothing here; all others are none of ours."""
        told = self.elsewhere.get(event.character or "")
        if told:
            event.stop()
            self.complain(told)

    def action_subscription(self, by: int) -> None:
        if len(self.store.subscriptions) > 1:
            self.store.show_subscription(by)
        else:
            self.complain("there is no other subscription, and no other topic with producers, to show")

    # views

    def show_now(self) -> None:
        """Take the slices of the store's view, if it is another one than before."""
        raise NotImplementedError

    def on_screen_resume(self) -> None:
        """Catch up with what changed below another screen."""
        if self.on_front is not None:
            self.on_front()
        if self.in_front and self.ready:
            self.show_now()
            self.take_over()

    @on(Store.Changed)
    def _store_changed(self) -> None:
        if self.ready and self.in_front:
            self.show_now()

    def watch_event_lines(self, lines: tuple[EventLine, ...]) -> None:
        """Newest first."""
        table = self.list_newest_first("events", lines, partial(event_line, noun=self.events_noun))
        set_title(table, f"{self.events_number} events ({len(lines):,})")

    def on_resize(self, event: events.Resize) -> None:
        """Choose the arrangement for this size, and the words that fit."""
        self.arrange_panels(event)
        self.call_after_refresh(self.write_foot)

    def watch_colours(self) -> None:
        """Lines that carry colours are made again."""
        self.set_class(self.colours.mono, "-mono")
        if self._shown is not None:
            self.write_lines()

    def write_lines(self) -> None:
        """Make all lines that carry colours."""
        raise NotImplementedError
