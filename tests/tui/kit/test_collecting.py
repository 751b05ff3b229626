"""Garbage is collected seldom while a screen is open, and still collected."""

from __future__ import annotations

import gc
import weakref

from tui.kit.collecting import THRESHOLDS, collect_seldom


class Circle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_is_there_is_exempt_and_what_comes_is_collected_now_and_then() -> None:
    before = gc.get_threshold()
    try:
        gc.disable()
        collect_seldom()
        assert gc.isenabled() and gc.get_freeze_count() and gc.get_threshold() == THRESHOLDS
        circle = weakref.ref(Circle())
        kept = [[at] for at in range(2 * THRESHOLDS[0])]
        assert circle() is None and kept
    finally:
        gc.set_threshold(*before)
        gc.enable()
