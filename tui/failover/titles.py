"""The titles of the panels of the main screen, for its frame too, which stands before the engine is loaded."""

from __future__ import annotations

from typing import Final

PANEL_TITLES: Final = {"ring": "1 hash ring", "consumers": "2 consumers", "bundles": "3 bundles", "events": "4 events"}
