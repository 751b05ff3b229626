"""What the screens of subscriptions share: a ring and consumers, who come, go, and are selected."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.timer import Timer

from engine.cluster.commands import AddConsumer, KillConsumer
from engine.errors import Rejection
from engine.views.keys_model import KeysView
from engine.views.model import DashboardView, RingView
from tui.kit.common_screen import CommonScreen
from tui.kit.ring_panel import RingLook, RingPanel

FLASH_FRAMES = 8
FLASH_FRAME_SECONDS = 0.09


class ConsumerScreen(CommonScreen):
    """Failover and Key_Shared alike."""

    _flash_timer: Timer | None = None

    @property
    def now(self) -> DashboardView | KeysView:
        """The view that is shown; each of the two screens has its own kind."""
        raise NotImplementedError

    # change

    def add(self, command: AddConsumer) -> Rejection | None:
        """Connect a consumer and select it."""
        refused = self.done(self.store.submit(command))
        if refused is None:
            added = [row.consumer_id for row in self.now.consumers if row.name == command.name]
            self.selected = max(added, default=self.selected)
        return refused

    def action_kill(self) -> None:
        if self.selected < 0:
            self.complain("there is no consumer to kill" + ("; a adds one" if self.store.subscription_key else ""))
            return
        ids = [row.consumer_id for row in self.now.consumers]
        at = ids.index(self.selected) if self.selected in ids else 0
        others = [*ids[at + 1 :], *ids[:at][::-1]]  # those below first, then the nearest above
        refused = self.store.submit(KillConsumer(self.store.subscription_key, self.selected))
        if refused is None:
            self.selected = others[0] if others else -1
        self.complain(refused)

    # selecting

    def keep_selected(self, ids: Sequence[int]) -> None:
        """Who is gone cannot stay selected."""
        if self.selected not in ids:
            self.selected = ids[0] if ids else -1

    @on(RingPanel.Step)
    def _stepped_on_ring(self, message: RingPanel.Step) -> None:
        """The consumer so many places further, round the end."""
        ids = [row.consumer_id for row in self.now.consumers]
        if ids:
            at = ids.index(self.selected) if self.selected in ids else -1
            self.selected = ids[(at + message.by) % len(ids)]

    # the ring

    def action_next_look(self) -> None:
        """The next view of the ring; one consumer is lit only where one is selected."""
        self.look = self.query_one(RingPanel).look_in_use.following()
        if self.look is RingLook.FOCUS and self.selected < 0:
            self.look = RingLook.RING

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
