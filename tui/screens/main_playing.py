"""Playing: the steps that are ahead follow by themselves, or a demo script tells its story."""

from __future__ import annotations

from typing import Final

from textual.timer import Timer

from engine.errors import Rejection
from engine.scenarios.expectations import Expectation, unmet
from engine.scenarios.script_model import Action, Do, Say, Select, Show
from engine.scenarios.selecting import Selection, resolve_selection
from tui.player import Player
from tui.screens.main_questions import MainQuestions
from tui.widgets.ring_panel import RingLook

STEP_SECONDS: Final = 1.0
"""Between two steps of the timeline."""
TICK_SECONDS: Final = 0.25
"""How finely a script's time passes."""
_LOOKS: Final = {"ring": RingLook.RING, "map": RingLook.HASH_MAP, "focus": RingLook.FOCUS}


class MainPlaying(MainQuestions):
    """``space`` starts and stops. A script's commands go to the store like typed ones, so all keys keep working."""

    player: Player | None = None
    _play_timer: Timer | None = None
    _expects_refusal = False

    def action_play(self) -> None:
        """Start or stop playing."""
        if self._play_timer is not None:
            self.pause()
        elif self.player is not None and not self.player.finished:
            self._start(TICK_SECONDS)
        elif self.store.view.timeline.can_redo:
            self._start(STEP_SECONDS)
        else:
            self.complain("there is no step ahead to play; home goes back to the first one")

    def _start(self, seconds: float) -> None:
        self.complain(None)
        self.playing = True
        self._play_timer = self.set_interval(seconds, lambda: self.play_on(seconds))

    def pause(self) -> None:
        """Stop where we are."""
        if self._play_timer is not None:
            self._play_timer.stop()
            self._play_timer = None
        self.playing = False

    def play_on(self, seconds: float) -> None:
        """Let ``seconds`` pass: the script's lines that are due, or one step of the timeline."""
        if self.player is None or self.player.finished:
            self.store.step_by(1)
        else:
            actions = self.player.advance(seconds)
            for at, action in enumerate(actions):
                following = actions[at + 1] if at + 1 < len(actions) else None
                self._expects_refusal = isinstance(following, Expectation) and following.kind == "refused"
                self._act(action)
        more = not self.player.finished if self.player is not None else self.store.view.timeline.can_redo
        if not more:
            self.pause()

    def _act(self, action: Action) -> None:
        match action:
            case Say(text):
                self.caption = text
                self.complain(None)
            case Do(text):
                refused = self.store.submit_line(text)
                self.complain(None if self._expects_refusal else refused)
            case Show(view):
                self.look = _LOOKS[view]
            case Select(text):
                self._select(resolve_selection(self.store.timeline, text, self.store.subscription))
            case Expectation() if action.kind != "refused":
                reason = unmet(action, self.store.timeline)
                if reason:
                    self.failed_expectations += 1
                    self.complain(f"the script expects {action.text}, but {reason}")

    def _select(self, found: Selection | Rejection) -> None:
        if isinstance(found, Rejection):
            self.complain(found)
        elif found.kind == "consumer":
            self.selected = found.consumer_id
        elif found.kind == "topic":
            self.complain(self.explain(found.topic))
        else:
            self.mark_bundle(found.namespace, found.range_text)
