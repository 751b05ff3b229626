"""Pictures of scalable topics. Each docstring says what must be visible; look at a picture before you accept it.

``pytest tests/snapshots --snapshot-update`` draws them anew.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from engine.cluster.timeline import Timeline
from engine.scenarios.embedded import embedded
from themes.palettes import Depth, ThemeName
from tui.app import RingsideApp
from tui.kit.session import Session

pytestmark = pytest.mark.real_time
Compare = Callable[..., bool]
SPLIT = ("segment split 0", "segment send order-1 order-2 order-3 order-4 times 5", "wait 5000")


def app_of(scene: str, *lines: str, theme: ThemeName = "dark", depth: Depth = "truecolor") -> RingsideApp:
    opened = embedded(scene)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    app = RingsideApp(Session(timeline, seen=opened.seen), animate=False, theme=theme, depth=depth)
    for line in lines:
        refused = app.store.submit_line(line)
        assert refused is None, (line, refused)
    return app


def pressed(*keys: str) -> Callable[[Pilot[int]], object]:
    async def story(pilot: Pilot[int]) -> None:
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await pilot.pause()

    return story


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("scene", ["scalable-sharing", "scalable-migrate"])
def test_as_reported(snap_compare: Compare, scene: str, size: tuple[int, int]) -> None:
    """Shared segments in stripes; of the migrated topic everything waits, and the old consumer is inside the ring."""
    assert snap_compare(app_of(scene), terminal_size=size)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_after_a_split(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Both halves are bare, their consumer is inside, and the answer of w is on the right."""
    assert snap_compare(app_of("scalable-order", *SPLIT), run_before=pressed("w"), terminal_size=size)


@pytest.mark.parametrize("key", ["b", "s", "h"])
def test_answers(snap_compare: Compare, key: str) -> None:
    """What comes next, what a change moves, who inherits."""
    assert snap_compare(app_of("scalable-sharing"), run_before=pressed(key), terminal_size=(120, 40))


@pytest.mark.parametrize(("theme", "depth"), [("light", "truecolor"), ("dark", "mono")])
def test_other_colours(snap_compare: Compare, theme: ThemeName, depth: Depth) -> None:
    """The same in light and in letters."""
    app = app_of("scalable-order", *SPLIT, theme=theme, depth=depth)
    assert snap_compare(app, terminal_size=(120, 40))
