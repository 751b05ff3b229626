"""The narrow slices of a view that the screen for Key_Shared subscriptions holds besides the common ones."""

from __future__ import annotations

from textual.reactive import var

from engine.views.keys_model import GapRow, KeyConsumerRow, KeysStatus, KeysView, LuckView, WaitRow
from tui.keys.hints import keys_hint, keys_hint_with
from tui.kit.common_consumers import ConsumerScreen


class KeysSlices(ConsumerScreen):
    """State, and what it makes the screen say."""

    status: var[KeysStatus | None] = var(None)
    consumers: var[tuple[KeyConsumerRow, ...]] = var(())
    consumers_listed: var[tuple[KeyConsumerRow, ...]] = var((), init=False)
    waits: var[tuple[WaitRow, ...]] = var((), init=False)
    gaps: var[tuple[GapRow, ...]] = var((), init=False)
    deliveries: var[tuple[str, ...]] = var((), init=False)
    waiting: var[frozenset[int]] = var(frozenset())
    luck: var[LuckView | None] = var(None)

    events_number = 5
    events_noun = "slot"
    _shown: KeysView | None = None

    @property
    def in_front(self) -> bool:
        return self.store.shows_keys

    @property
    def now(self) -> KeysView:
        """The view of the shown subscription; where the store shows another kind, the last one there was."""
        view = self.store.keys_view or self._shown
        assert view is not None, "this screen is shown for Key_Shared subscriptions"
        return view

    def hint(self) -> str:
        return keys_hint(self.now)

    def hint_with(self, notice: str) -> str:
        return keys_hint_with(self.now, notice)
