"""What a screen of a subscription is, whatever its type: keys for time and place, views that follow, what flashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.binding import Binding
from textual.timer import Timer

from engine.cluster.timeline_commands import End, Home, Redo, Undo
from engine.views.model import EventLine, RingView
from tui.lines import event_line
from tui.screens.common_playing import CommonPlaying
from tui.screens.help import Group
from tui.store import Store
from tui.widgets.line_table import Lines, LineTable
from tui.widgets.ring_panel import RingLook, RingPanel

FLASH_FRAMES = 8
FLASH_FRAME_SECONDS = 0.09


class CommonScreen(CommonPlaying):
    """The last link that both screens share; what they do to the cluster is their own."""

    key_groups: ClassVar[Sequence[tuple[str, Sequence[Binding]]]] = ()
    """All keys by what they are for, for help and palette."""
    legend: ClassVar[Group] = ("", ())
    """What the drawing shows, for the help."""
    flashes = False
    events_number = 4
    """The digit that goes to the events."""
    events_noun = "partition"
    """What a step moves."""
    ready = False
    """Whether there are panels that can show something."""
    _flash_timer: Timer | None = None

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

    def action_subscription(self, by: int) -> None:
        self.store.show_subscription(by)

    def next_look(self) -> None:
        """The next view of the ring; one consumer is lit only where one is selected."""
        self.look = self.query_one(RingPanel).look_in_use.following()
        if self.look is RingLook.FOCUS and self.selected < 0:
            self.look = RingLook.RING

    def select_by(self, ids: list[int], by: int) -> None:
        """The consumer ``by`` places further, round the end."""
        if ids:
            at = ids.index(self.selected) if self.selected in ids else -1
            self.selected = ids[(at + by) % len(ids)]

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
        colours, noun = self.colours, self.events_noun
        table = self.query_one("#events", LineTable)
        table.lines = Lines(len(lines), lambda index, width: event_line(lines[-1 - index], width, colours, noun))
        table.cursor = 0
        table.border_title = f"{self.events_number} events ({len(lines):,})"

    def flash(self, ring: RingView) -> None:
        """Let what changed stand out and settle in a few frames; a next step starts it again."""
        if not self.flashes or not (ring.changed_arcs.any() or ring.topic_moved.any()):
            return
        if self._flash_timer is not None:
            self._flash_timer.stop()
        self.intensity = 1.0
        self._flash_timer = self.set_interval(FLASH_FRAME_SECONDS, self._settle, repeat=FLASH_FRAMES)

    def _settle(self) -> None:
        self.intensity = max(0.0, self.intensity - 1.0 / FLASH_FRAMES)

    def write_foot(self) -> None:
        """The line below the table, in as many words as fit."""
        raise NotImplementedError

    def on_resize(self, event: events.Resize) -> None:
        """Choose the arrangement for this size, and the words that fit."""
        self.arrange_panels(event)
        self.call_after_refresh(self.write_foot)
