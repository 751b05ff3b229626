"""Pictures of the list of everything. Each docstring says what must be visible; look at a picture before you accept it.

``pytest tests/snapshots --snapshot-update`` draws them anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from tests.patience import HANG_S
from tests.tui.home.test_home import many, rows
from themes.palettes import Depth, ThemeName
from tui.app import RingsideApp

pytestmark = pytest.mark.real_time
Compare = Callable[..., bool]


async def listed(pilot: Pilot[int]) -> None:
    """Wait for the rows, which come from a thread."""
    app = pilot.app
    assert isinstance(app, RingsideApp)
    async with asyncio.timeout(HANG_S):
        while rows(app) <= 0:
            await pilot.pause()
    await pilot.press("down")
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=["80x24", "120x40", "200x60"])
def test_all_subscriptions(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Verdict, names, evenness with bars in the consumers' colours; the marked row in words below."""
    assert snap_compare(many(), run_before=listed, terminal_size=size)


@pytest.mark.parametrize(("theme", "depth"), [("light", "truecolor"), ("dark", "mono")])
def test_other_colours(snap_compare: Compare, theme: ThemeName, depth: Depth) -> None:
    """In light every letter can be read; without colours the bars are made of letters."""
    assert snap_compare(many(theme=theme, depth=depth), run_before=listed, terminal_size=(120, 40))
