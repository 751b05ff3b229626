"""The narrow slices of a view that the screen of producers holds besides the common ones."""

from __future__ import annotations

from textual.reactive import var

from engine.views.producers_model import (
    CountsView,
    ProducerRow,
    ProducersStatus,
    ProducerStep,
    ProducersView,
    StatisticsView,
)
from tui.kit.common_screen import CommonScreen
from tui.producers.hints import producers_hint, producers_hint_with


class ProducersSlices(CommonScreen):
    """State, and what it makes the screen say."""

    status: var[ProducersStatus | None] = var(None)
    view: var[ProducersView | None] = var(None)
    producers: var[tuple[ProducerRow, ...]] = var(())
    producers_listed: var[tuple[ProducerRow, ...]] = var((), init=False)
    counts: var[CountsView | None] = var(None)
    steps: var[tuple[ProducerStep, ...]] = var((), init=False)
    deliveries: var[tuple[str, ...]] = var((), init=False)
    statistics: var[StatisticsView | None] = var(None, init=False)
    column: var[int] = var(0)
    by_producer: var[bool] = var(False)
    key: var[str | None] = var(None)

    listed = "producer"
    events_number = 5
    _shown: ProducersView | None = None

    @property
    def in_front(self) -> bool:
        return self.store.shows_producers

    @property
    def now(self) -> ProducersView:
        """The view of the shown topic; where the store shows something else, the last one there was."""
        view = self.store.producers_view or self._shown
        assert view is not None, "this screen is shown for topics with producers"
        return view

    def hint(self) -> str:
        return producers_hint(self.now)

    def hint_with(self, notice: str) -> str:
        return producers_hint_with(self.now, notice)
