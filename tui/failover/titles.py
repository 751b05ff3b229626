"""Titles of the main screen's panels, for printers without Textual and the frame that precedes the engine."""

from __future__ import annotations

from typing import Final

PANEL_TITLES: Final = {
    "ring": "[1] hash ring",
    "consumers": "[2] consumers",
    "bundles": "[3] bundles",
    "events": "[4] events",
}
