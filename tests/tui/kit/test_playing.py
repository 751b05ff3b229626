"""Demo scripts on the screen: captions, commands, selections, and expectations that count."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip

from engine.cluster.timeline import Timeline
from engine.scenarios.script.model import Do, Script
from engine.scenarios.script.run import SHIPPED_SCRIPTS, parse_script, shipped_script, start_of
from tests.tui.key_scenes import keys_app
from tests.tui.screens_under_test import main_screen, run, text_of
from tests.virtual_time import VirtualLoop
from tui.app import RingsideApp
from tui.drawing.ring_picture import GHOST_S, SETTLED_S
from tui.kit.help import HelpScreen
from tui.kit.playing import Player
from tui.kit.ring_panel import RingPanel, ViewMode
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session

STORY = """# A small story
new topics 12 consumers 3
say Three consumers
at 2
say One leaves
kill billing-1
view map
select billing-2
at 5
expect totals.consumers = 7
say The end
"""


def script_of(text: str) -> Script:
    script = parse_script(text, "story")
    assert isinstance(script, Script), script
    return script


def app_for(script: Script) -> RingsideApp:
    opened = start_of(script)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    return RingsideApp(Session(timeline, script=script), animate=False, depth="truecolor")


def test_a_player_hands_out_each_action_once_when_its_time_has_come() -> None:
    player = Player(script_of(STORY))
    counts = [len(player.advance(seconds)) for seconds in (0.0, 1.9, 0.1, 0.0, 10.0)]
    assert counts == [1, 0, 4, 0, 2]
    assert player.finished


def test_captions_commands_views_and_selections_reach_the_screen() -> None:
    app = app_for(script_of(STORY))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        assert "» Three consumers" in text_of(app)
        await pilot.press("space")
        assert screen.playing
        screen.playback.play_on(2.0)
        await pilot.pause()
        assert "» One leaves" in text_of(app)
        assert [row.name for row in screen.consumers] == ["billing-0", "billing-2"]
        assert screen.query_one(RingPanel).view_mode is ViewMode.HASH_MAP
        assert screen.selected == 2
        await pilot.press("space")
        assert not screen.playing

    run(app, story)


def test_a_script_opens_the_preview_of_a_migration_and_closes_it() -> None:
    app = app_for(shipped_script("scalable-preview"))

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, DashboardScreen)
        screen.playback.play_on(6.0)
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        assert "partition 3 → segment 7, place 3" in text_of(app)
        screen.playback.play_on(14.0)
        await pilot.pause()
        assert app.screen is screen
        assert screen.playback.stage.failed_expectations == 0

    run(app, story)


def test_a_failed_expectation_is_reported_and_the_exit_code() -> None:
    app = app_for(script_of(STORY))

    async def story(pilot: Pilot[int]) -> None:
        main_screen(app).playback.play_on(60.0)
        await pilot.pause()
        await pilot.press("q")

    run(app, story)
    assert app.return_code == 1


def test_a_caption_after_a_failed_expectation_still_tells_of_it() -> None:
    """The next caption takes the place of the reason, not of the failure."""
    text = "scene pip392\nsay before\nexpect totals.idle_consumers = 3\nat 1\nsay afterwards\n"
    app = app_for(script_of(text))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        assert "expects totals.idle_consumers = 3" in screen.sentence[1]
        screen.playback.play_on(2.0)
        await pilot.pause()
        assert screen.sentence == ("caption", "afterwards (1 expectation failed)")

    run(app, story)


def test_a_caption_is_about_the_state_that_the_script_made() -> None:
    """After a step of one's own the line above shows that step, until the script's next line."""
    app = app_for(script_of(STORY.replace("expect totals.consumers = 7\n", "")))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        screen.playback.play_on(2.0)
        await pilot.pause()
        assert screen.sentence == ("caption", "One leaves")
        await pilot.press("c")
        await pilot.pause()
        assert screen.sentence[0] == "hint" and screen.sentence[1].startswith("The flag is on")
        screen.playback.play_on(60.0)
        await pilot.pause()
        assert screen.sentence == ("caption", "The end")
        await pilot.press("u")
        await pilot.pause()
        assert screen.sentence[0] == "hint"

    run(app, story)


@pytest.mark.parametrize("keys", ["left_square_bracket", "c", "home"])
def test_a_step_of_ones_own_pauses_a_script_which_then_goes_on_where_it_was(keys: str) -> None:
    app = app_for(script_of(STORY.replace("= 7", "= 2")))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        await pilot.press("space")
        screen.playback.play_on(2.0)
        await pilot.pause()
        left = app.store.timeline
        assert screen.playing and left.length == 1
        await pilot.press("v")
        await pilot.pause()
        assert screen.playing  # a look is not a step
        await pilot.press(keys)
        await pilot.pause()
        assert not screen.playing and app.store.timeline is not left
        await pilot.press("space")
        assert screen.playing and app.store.timeline.current == left.current
        assert app.store.timeline.state == left.state
        screen.playback.play_on(60.0)
        await pilot.pause()
        assert screen.playback.stage.failed_expectations == 0

    run(app, story)


@pytest.mark.parametrize("name", SHIPPED_SCRIPTS)
def test_shipped_scripts_play_to_their_end_without_a_failure(name: str) -> None:
    script = shipped_script(name)
    app = app_for(script)

    async def story(pilot: Pilot[int]) -> None:
        def front() -> DashboardScreen[Any]:
            return next(one for one in reversed(app.screen_stack) if isinstance(one, DashboardScreen))

        while not front().playback.stage.over:
            front().playback.play_on(1.0)
            await pilot.pause()
        assert front().playback.stage.failed_expectations == 0
        assert app.store.timeline.length > 0

    run(app, story)
    assert any(isinstance(line.action, Do) for line in script.lines)


def test_an_animated_app_plays_by_itself() -> None:
    script = script_of(STORY)
    opened = start_of(script)
    app = RingsideApp(
        Session(Timeline.start(opened.state, opened.seed, opened.source), script=script), depth="truecolor"
    )

    async def story(pilot: Pilot[int]) -> None:
        assert main_screen(app).playing
        await pilot.press("space")
        assert not main_screen(app).playing

    run(app, story)


@pytest.mark.parametrize("frame_s", [0.0, 0.05, 0.1, 0.2, 2.0])
@pytest.mark.parametrize(("kind", "victim"), [("partitions", "billing-0"), ("keys", "worker-0")])
def test_a_change_flashes_and_settles_however_long_a_frame_takes(kind: str, victim: str, frame_s: float) -> None:
    opened = start_of(script_of(STORY))
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    app = RingsideApp(Session(timeline), depth="truecolor") if kind == "partitions" else keys_app(animate=True)

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, DashboardScreen)
        ring = screen.query_one(RingPanel)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        seen: list[float] = []

        def draw_slowly(width: int, height: int) -> list[Strip]:
            loop.now += frame_s
            seen.append(ring.intensity)
            return RingPanel.draw(ring, width, height)

        ring.draw = draw_slowly  # type: ignore[method-assign]
        assert app.store.submit_line(f"kill {victim}") is None
        screen.show_now()
        assert ring.intensity == 1.0
        begun = loop.now
        while ring.intensity > 0.0:
            await pilot.pause()
            assert loop.now < begun + SETTLED_S + 3 * frame_s + 0.2
        settling = len(seen)
        while ring.ghost > 0.0:
            await pilot.pause()
            assert loop.now < begun + GHOST_S + 6 * frame_s + 0.2
        assert len(seen) - settling <= 4, "the ring before fades in few paints"
        await pilot.pause()
        assert seen == sorted(seen, reverse=True)
        assert seen[-1] == 0.0
        flashed = [str(list(ring.render_line(y))) for y in range(ring.size.height)]
        frames = len(seen)
        await asyncio.sleep(60.0)
        assert len(seen) == frames, "nothing is painted for a change that has settled"
        ring.forget()
        assert flashed == [str(list(ring.render_line(y))) for y in range(ring.size.height)]

    run(app, story)


def test_a_flash_goes_from_the_old_picture_to_the_new_one() -> None:
    """Fresh, changed arcs look as before; settled, as if there had been no animation."""
    opened = start_of(script_of(STORY))
    app = RingsideApp(
        Session(Timeline.start(opened.state, opened.seed, opened.source)), animate=False, depth="truecolor"
    )

    async def story(pilot: Pilot[int]) -> None:
        panel = main_screen(app).query_one(RingPanel)

        def drawn() -> list[str]:
            return [str(list(panel.render_line(y))) for y in range(panel.size.height)]

        def differing(one: list[str], other: list[str]) -> int:
            return sum(a != b for a, b in zip(one, other, strict=True))

        await pilot.press("c")
        await pilot.pause()
        before = drawn()
        await pilot.press("x")
        await pilot.pause()
        settled = drawn()
        pictures = []
        for intensity in (1.0, 0.5, 0.0):
            panel.intensity = intensity
            await pilot.pause()
            pictures.append(drawn())
        assert pictures[2] == settled
        assert differing(pictures[0], before) < differing(settled, before)
        assert differing(pictures[1], settled) > 0

    run(app, story)


def test_sent_keys_run_on_few_lines_and_another_subject_ends_the_motion() -> None:
    app = keys_app(animate=True)

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, DashboardScreen)
        ring, loop = screen.query_one(RingPanel), asyncio.get_running_loop()
        painted: list[int] = []
        refresh = ring.refresh

        def counting(*regions: Region, **how: bool) -> RingPanel:
            painted.append(sum(region.height for region in regions))
            return refresh(*regions, **how)

        assert app.store.submit_line("send order-1") is None
        screen.show_now()
        await pilot.pause()
        begun = loop.time()
        assert ring.ring is not None and len(ring.ring.sent) == 1
        assert ring.intensity > 0.0 == ring.ghost
        ring.refresh = counting  # type: ignore[method-assign, assignment]
        while ring.intensity > 0.0:
            await pilot.pause()
        assert loop.time() < begun + SETTLED_S + 0.2
        assert painted and max(painted) < ring.size.height / 2
        assert app.store.submit_line("add newcomer") is None
        screen.show_now()
        assert ring.ghost == 1.0
        ring.ring = replace(ring.ring)
        assert ring.ghost == ring.intensity == 0.0

    run(app, story)


def test_nothing_flashes_without_animation() -> None:
    app = app_for(script_of(STORY))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c")
        await pilot.pause()
        ring = main_screen(app).query_one(RingPanel)
        assert ring.intensity == ring.ghost == 0.0

    run(app, story)


def test_the_last_caption_goes_with_the_first_key_after_the_end_and_no_earlier_one() -> None:
    app = app_for(script_of(STORY))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        await pilot.press("v")
        assert screen.sentence == ("caption", "Three consumers")
        await pilot.press("space")
        screen.playback.play_on(5.0)
        await pilot.pause()
        assert screen.sentence == ("caption", "The end (1 expectation failed)")
        await pilot.press("j")
        await pilot.pause()
        assert screen.sentence[0] == "hint"

    run(app, story)


def test_a_script_waits_for_a_step_that_is_computed_beside_the_screen() -> None:
    """What it says is about the state after that step, and so is what it expects."""
    script = script_of(
        "new keys 4 consumers 60 mode auto-split\n"
        "say All of them come back\n"
        "share consistent-auto-split\n"
        "expect status.mode = consistent-auto-split\n"
    )
    app = app_for(script)

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, DashboardScreen)
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.store.timeline.cursor == 1
        assert not screen.playback.stage.due and not screen.playback.stage.failed_expectations
        assert screen.sentence == ("caption", "All of them come back")

    run(app, story)
