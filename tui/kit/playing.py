"""Playing: the steps ahead follow by themselves, or a demo script tells its story.

Time is passed in, so a test plays an hour at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, field
from textual.timer import Timer

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from tui.kit.store import Store

if TYPE_CHECKING:
    from engine.scenarios.script.model import Action, Script

STEP_SECONDS: Final = 1.0
"""Between two steps of the timeline."""
TICK_SECONDS: Final = 0.25
"""How finely a script's time passes."""


class Player:
    """Hands out the actions of a script, each once, in their order."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.elapsed_seconds = 0.0
        self._next = 0

    @property
    def finished(self) -> bool:
        """Whether every action was handed out."""
        return self._next >= len(self.script.lines)

    def advance(self, seconds: float) -> tuple[Action, ...]:
        """Let time pass; the actions whose time has come."""
        self.elapsed_seconds += seconds
        start = self._next
        lines = self.script.lines
        while self._next < len(lines) and lines[self._next].at_seconds <= self.elapsed_seconds:
            self._next += 1
        return tuple(line.action for line in lines[start : self._next])


class Stage(Struct):
    """How far a demo script is: all screens that it plays on share one.

    ``due`` are actions whose time has come and that wait for the screen they belong to. ``interval_seconds`` is the
    pace while something plays, 0 while nothing does. ``captioned`` is the timeline as the script left it, which is what
    the caption is about; ``left`` is the one that playing left last, None while a step of it is computed.
    """

    player: Player | None = None
    caption: str = ""
    failed_expectations: int = 0
    due: deque[Action] = field(default_factory=deque)
    interval_seconds: float = 0.0
    begun: bool = False
    captioned: Timeline | None = None
    left: Timeline | None = None

    @property
    def over(self) -> bool:
        """Whether there is no script, or nothing of it left."""
        return (self.player is None or self.player.finished) and not self.due


class Performer(Protocol):
    """What playing needs of a screen."""

    playing: bool

    @property
    def in_front(self) -> bool: ...
    def set_interval(self, interval: float, callback: Callable[[], None]) -> Timer: ...
    def complain(self, rejection: Rejection | str | None) -> None: ...
    def show_ring_as(self, view: str) -> None: ...
    def show_migration(self, opens: bool) -> None: ...
    def select_text(self, text: str) -> None: ...


class Playback:
    """Plays on one screen. A script's commands go to the store like typed ones, so all keys keep working.

    A step of the user's own pauses it; a script that is then played on goes back to where it was left.
    Where an action brings another screen to the front, that one goes on with what is due.
    """

    def __init__(self, performer: Performer, store: Store, stage: Stage) -> None:
        self.stage = stage
        self._performer = performer
        self._store = store
        self._timer: Timer | None = None
        self._expects_refusal = False

    def begin(self, *, by_itself: bool) -> None:
        """Play a script's first moment, once for all screens, and with ``by_itself`` what follows."""
        if self.stage.player is not None and not self.stage.begun:
            self.stage.begun = True
            self.play_on(0.0)
            if by_itself:
                self.toggle()

    def toggle(self) -> None:
        """Start or stop playing."""
        if self._timer is not None:
            self.pause()
        elif not self.stage.over:
            if self._has_other_step and self.stage.left is not None:
                self._store.go_back_to(self.stage.left)
            self._start(TICK_SECONDS)
        elif self._store.can_redo:
            self._start(STEP_SECONDS)
        else:
            self._performer.complain("there is no step ahead to play; home goes back to the first one")

    def pause(self) -> None:
        """Stop here."""
        self.stage.interval_seconds = 0.0
        self.hold()

    def hold(self) -> None:
        """Stop on this screen; another one may go on."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._performer.playing = False

    def take_over(self) -> None:
        """Go on where the screen before stopped."""
        self._act_due()
        if self.stage.interval_seconds and self._timer is None and self._performer.in_front:
            self._tick()

    def play_on(self, seconds: float) -> None:
        """Let time pass: the script's lines that are due, or one step of the timeline."""
        stage = self.stage
        if stage.player is None or stage.over:
            self._store.step_by(1)
            self._leave()
        else:
            stage.due.extend(stage.player.advance(seconds))
            self._act_due()
        more = not stage.over if stage.player is not None else self._store.can_redo
        if not more:
            self.pause()

    def yield_to_user(self) -> bool:
        """Pause where a step was taken that playing did not take; whether it was so."""
        if self.stage.begun and self.stage.left is None and not self._store.computing.what:
            self.stage.captioned = self._store.timeline  # its own step, which was computed beside the screen
            self._leave()
        interrupted = bool(self.stage.interval_seconds) and self._has_other_step
        if interrupted:
            self.pause()
        return interrupted

    @property
    def _has_other_step(self) -> bool:
        return self.stage.left is not None and self._store.timeline is not self.stage.left

    def _leave(self) -> None:
        """Remember where playing is."""
        self.stage.left = None if self._store.computing.what else self._store.timeline

    def _start(self, seconds: float) -> None:
        self._performer.complain(None)
        self.stage.interval_seconds = seconds
        self._leave()
        self._tick()

    def _tick(self) -> None:
        seconds = self.stage.interval_seconds

        def tick() -> None:
            if not self.yield_to_user():
                self.play_on(seconds)

        self._performer.playing = True
        self._timer = self._performer.set_interval(seconds, tick)

    def _act_due(self) -> None:
        """Do what is due as long as this screen is the one to do it on, each once the step before it is there."""
        due = self.stage.due
        while due and self._performer.in_front and not self._store.computing.what:
            action = due.popleft()
            following = due[0] if due else None
            self._expects_refusal = following is not None and _expects_refusal(following)
            self._act(action)

    def _act(self, action: Action) -> None:
        from engine.scenarios.script.model import Do, Expectation, Say, Select, Show

        match action:
            case Say(text):
                self.stage.caption, self.stage.captioned = text, self._store.timeline
                self._leave()
                self._performer.complain(None)
            case Do(text):
                refused = self._store.submit_line(text)
                self._leave()
                self.stage.captioned = self._store.timeline
                self._performer.complain(None if self._expects_refusal else refused)
            case Show(view):
                self._performer.show_migration(view == "migration")
                if view != "migration":
                    self._performer.show_ring_as(view)
            case Select(text):
                self._performer.select_text(text)
            case Expectation() if not action.is_refusal:
                from engine.scenarios.script.expectations import unmet

                reason = unmet(action, self._store.timeline)
                if reason:
                    self.stage.failed_expectations += 1
                    self._performer.complain(f"the script expects {action.text}, but {reason}")


def _expects_refusal(action: Action) -> bool:
    from engine.scenarios.script.model import Expectation

    return isinstance(action, Expectation) and action.is_refusal
