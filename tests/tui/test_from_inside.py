"""What can be reached from inside: the branches of the timeline, and the demos."""

from __future__ import annotations

from textual.pilot import Pilot

from engine.cluster.commands import TimelineCommand
from engine.cluster.grammar.reading import parse_command
from engine.cluster.timeline import BranchSummary, Timeline, navigate
from engine.errors import Rejection
from engine.scenarios.script.run import SHIPPED_SCRIPTS, shipped_script
from tests.tui.screens_under_test import app_of, cluster, main_screen, text_of
from tests.tui.screens_under_test import run as play
from tui.kit.help import HelpScreen


def timeline_after(*lines: str) -> Timeline:
    timeline = Timeline.start(cluster())
    for line in lines:
        command = parse_command(line, timeline.state, "billing")
        assert not isinstance(command, Rejection), line
        if isinstance(command, TimelineCommand):
            timeline = navigate(timeline, command).timeline
        else:
            timeline, refused = timeline.submit(command)
            assert refused is None, line
    return timeline


def test_a_branch_is_described_by_its_own_steps() -> None:
    timeline = timeline_after("add a", "add b", "undo", "kill billing-1", "kill billing-2", "home", "add c")
    assert timeline.branch_summaries == (
        BranchSummary(1, 2, False, 0, "add a", "add b"),
        BranchSummary(2, 3, False, 1, "kill billing-1", "kill billing-2"),
        BranchSummary(3, 1, True, 0, "add c", "add c"),
    )
    assert timeline_after().branch_summaries == ()
    assert [summary.first for summary in timeline_after("add a", "undo").branch_summaries] == ["add a"]


def test_the_command_line_lists_branches_and_goes_to_one() -> None:
    app = app_of(cluster())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("x", "u", "c", "colon", *"branches", "enter")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        shown = text_of(app)
        assert "* 2" in shown
        assert "kill billing-0" in shown
        await pilot.press("escape", "colon", *"branch 1", "enter")
        await pilot.pause()
        assert len(main_screen(app).now.consumers) == 2

    play(app, story)


def test_the_palette_has_every_demo_where_somebody_opens_them() -> None:
    app = app_of(cluster())

    async def story(pilot: Pilot[int]) -> None:
        def titles() -> set[str]:
            return {command.title for command in app.get_system_commands(app.screen)}

        demos = {f"Demo {name}: {shipped_script(name).title}" for name in SHIPPED_SCRIPTS}
        assert not demos & titles()
        app.opens_demos = True
        assert demos <= titles()
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"demo keys-blocked", "enter")
        await pilot.pause()

    play(app, story)
    assert app.wanted_demo == "keys-blocked"
