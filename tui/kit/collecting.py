"""Garbage is collected seldom while a screen is open, so that no key waits for it."""

from __future__ import annotations

import gc
from typing import Final

THRESHOLDS: Final = (50_000, 10, 20)
"""Python's own numbers (700, 10, 10) look some forty times for garbage while one key is answered, and go through all
that the steps before have left nearly every time: up to a third of what the press costs."""


def collect_seldom() -> None:
    """Exempt what is there from collection, and look seldom for garbage in the rest from now on."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
