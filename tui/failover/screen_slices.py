"""The narrow slices of a view that the main screen holds besides the common ones."""

from __future__ import annotations

from textual.reactive import var

from engine.views.model import ConsumerRow, DashboardView, NamespaceNode, StatusView
from tui.failover.hints import hint, with_notice
from tui.kit.common_consumers import ConsumerScreen


class MainSlices(ConsumerScreen):
    """State, and what it makes the screen say."""

    status: var[StatusView | None] = var(None)
    consumers: var[tuple[ConsumerRow, ...]] = var(())
    consumers_listed: var[tuple[ConsumerRow, ...]] = var((), init=False)
    weights: var[tuple[int, ...]] = var(())
    namespaces: var[tuple[NamespaceNode, ...]] = var(())

    _shown: DashboardView | None = None

    @property
    def in_front(self) -> bool:
        return not self.store.shows_keys and not self.store.shows_producers

    @property
    def now(self) -> DashboardView:
        return self.store.view

    def hint(self) -> str:
        return hint(self.store.view)

    def hint_with(self, notice: str) -> str:
        return with_notice(self.store.view, notice)
