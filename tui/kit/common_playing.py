"""Playing: the steps that are ahead follow by themselves, or a demo script tells its story."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from engine.scenarios.expectations import Expectation, unmet
from engine.scenarios.script_model import Action, Do, Say, Select, Show
from tui.kit.common_list import CommonList
from tui.kit.ring_panel import RingLook

STEP_SECONDS: Final = 1.0
"""Between two steps of the timeline."""
TICK_SECONDS: Final = 0.25
"""How finely a script's time passes."""
_LOOKS: Final = {"ring": RingLook.RING, "map": RingLook.HASH_MAP, "focus": RingLook.FOCUS}


class CommonPlaying(CommonList):
    """``space`` starts and stops. A script's commands go to the store like typed ones, so all keys keep working.

    Where an action brings another screen to the front, that one goes on with what is due.
    """

    _play_timer: Timer | None = None
    _expects_refusal = False

    def begin(self, *, by_itself: bool) -> None:
        """The script's first moment, once for all screens."""
        if self.stage.player is not None and not self.stage.begun:
            self.stage.begun = True
            self.play_on(0.0)
            if by_itself:
                self.action_play()

    def action_play(self) -> None:
        """Start or stop playing."""
        if self._play_timer is not None:
            self.pause()
        elif not self.stage.over:
            self._start(TICK_SECONDS)
        elif self.store.can_redo:
            self._start(STEP_SECONDS)
        else:
            self.complain("there is no step ahead to play; home goes back to the first one")

    def _start(self, seconds: float) -> None:
        self.complain(None)
        self.stage.interval_seconds = seconds
        self._tick()

    def _tick(self) -> None:
        seconds = self.stage.interval_seconds
        self.playing = True
        self._play_timer = self.set_interval(seconds, lambda: self.play_on(seconds))

    def pause(self) -> None:
        """Stop where we are."""
        self.stage.interval_seconds = 0.0
        self._hold()

    def _hold(self) -> None:
        if self._play_timer is not None:
            self._play_timer.stop()
            self._play_timer = None
        self.playing = False

    def on_screen_suspend(self) -> None:
        """Another screen goes on; below a dialog this one does."""
        if not self.in_front:
            self._hold()

    def take_over(self) -> None:
        """Go on where the screen before stopped."""
        self.act_due()
        if self.stage.interval_seconds and self._play_timer is None and self.in_front:
            self._tick()

    def play_on(self, seconds: float) -> None:
        """Let ``seconds`` pass: the script's lines that are due, or one step of the timeline."""
        if self.stage.player is None or self.stage.over:
            self.store.step_by(1)
        else:
            self.stage.due.extend(self.stage.player.advance(seconds))
            self.act_due()
        more = not self.stage.over if self.stage.player is not None else self.store.can_redo
        if not more:
            self.pause()

    def act_due(self) -> None:
        """Do what is due as long as this screen is the one to do it on."""
        due = self.stage.due
        while due and self.in_front:
            action = due.popleft()
            following = due[0] if due else None
            self._expects_refusal = isinstance(following, Expectation) and following.kind == "refused"
            self._act(action)

    def _act(self, action: Action) -> None:
        match action:
            case Say(text):
                self.stage.caption, self.stage.told_at = text, self.store.timeline
                self.complain(None)
            case Do(text):
                refused = self.store.submit_line(text)
                self.stage.told_at = self.store.timeline
                self.complain(None if self._expects_refusal else refused)
            case Show(view):
                self.look = _LOOKS[view]
            case Select(text):
                self.select_text(text)
            case Expectation() if action.kind != "refused":
                reason = unmet(action, self.store.timeline)
                if reason:
                    self.stage.failed_expectations += 1
                    self.complain(f"the script expects {action.text}, but {reason}")

    def select_text(self, text: str) -> None:
        """Put the cursor on what a script selects."""
        raise NotImplementedError
