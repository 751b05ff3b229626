"""Where no Failover subscription is, the bundles have the room, with the traffic of the marked one."""

from __future__ import annotations

from textual.pilot import Pilot

from tests.tui.bundle_scenes import bundles_app
from tests.tui.screens_under_test import main_screen, run
from tui.failover.bundle_tree import BundleTree
from tui.kit.flow_panel import FlowPanel


async def drawn(pilot: Pilot[int]) -> None:
    for _ in range(3):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()


def test_the_marked_bundle_is_drawn_and_a_split_one_with_its_cut() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        panel, tree = main_screen(app).query_one(FlowPanel), main_screen(app).query_one(BundleTree)
        await drawn(pilot)
        assert panel.display and panel.picture is not None
        assert (panel.picture.lower, panel.picture.upper) == (0xC0000000, 0xFFFFFFFF)  # the one with most traffic
        await pilot.press("g", "down")
        await drawn(pilot)
        assert panel.picture.lower == 0x00000000 and len(panel.picture.cuts) == 1
        app.store.submit_line("split ring/ddflowmsgrate4x60/0x00000000_0x40000000")
        main_screen(app).show_now()
        await drawn(pilot)
        assert panel.picture.cuts == (0x23B8EC31,)
        await pilot.press("down")
        await drawn(pilot)
        assert tree.cursor_line == 2 and (panel.picture.lower, panel.picture.cuts) == (0, ())

    run(app, story)


def test_a_small_screen_has_no_room_for_it() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await drawn(pilot)
        assert not main_screen(app).query_one(FlowPanel).display

    run(app, story, size=(80, 24))
