"""Verdicts on the screen: advised only where it helps, coloured by its effect, shown before the change; and heirs."""

from __future__ import annotations

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from engine.cluster.state import ClusterState
from engine.cluster.tables.topics import Load
from engine.cluster.timeline import Timeline
from engine.views.comparing.heirs import HeirsView, LossesView
from tests.tui.key_scenes import before_a_move, in_mode, keys_app
from tests.tui.screens_under_test import after_keys, app_of, cluster, main_screen, run, text_of
from tui.app import RingsideApp
from tui.failover.screen import status_parts
from tui.failover.words import flag_helps, state_hint
from tui.kit.diff_screen import DiffScreen
from tui.kit.heirs_screen import HeirsScreen
from tui.kit.line_table import LineTable
from tui.kit.prompt import Prompt
from tui.kit.ring_panel import RingPanel, ViewMode
from tui.kit.session import Against, Session
from tui.kit.side_ring import SideRing

SIX = tuple(f"billing-{at}" for at in range(6))


def perfect() -> ClusterState:
    """12 partitions over 6 consumers by modulo, all of one rate: nothing can be more even."""
    state = cluster(SIX, topics=1, partitions=12)
    return replace(state, loads=dict.fromkeys(state.loads, Load(0.0, 5.0, 0.0, 500.0)))


def rule_style(app: RingsideApp) -> str:
    view = app.store.shown.failover_view
    return next(style for text, style in status_parts(view.status, "", 200) if view.status.rule_text in text)


def test_what_modulo_serves_perfectly_is_left_alone_and_good() -> None:
    app = app_of(perfect())
    assert app.store.shown.failover_view.flag_change is not None
    assert app.store.shown.failover_view.flag_change.judgement == "worse"
    assert not flag_helps(app.store.shown.failover_view)
    assert "Press c" not in state_hint(app.store.shown.failover_view)
    assert "$good" in rule_style(app)


def test_the_flag_that_made_it_worse_is_not_good_and_c_is_advised_back() -> None:
    app = app_of(perfect())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c")
        await pilot.pause()
        view = app.store.shown.failover_view
        assert view.events[-1].verdict is not None
        assert view.events[-1].verdict.judgement == "worse"
        assert flag_helps(view)
        assert "$good" not in rule_style(app)
        assert "worse" in text_of(app)

    run(app, story)


def test_c_is_advised_where_one_consumer_has_everything() -> None:
    app = app_of()
    assert flag_helps(app.store.shown.failover_view)
    assert "$warn" in rule_style(app)
    assert app.store.shown.failover_view.status.flag_change == "better"


def test_a_command_is_judged_while_it_is_typed_and_nothing_is_done() -> None:
    app = app_of(perfect())

    async def story(pilot: Pilot[int]) -> None:
        before = main_screen(app).sentence
        await pilot.press("colon", *"kill billing-")
        await pilot.pause()
        assert main_screen(app).sentence == before
        await pilot.press("0")
        await app.workers.wait_for_complete()
        await pilot.pause()
        kind, text = main_screen(app).sentence
        assert kind == "preview"
        assert "worse" in text
        assert app.store.timeline.cursor == 0
        await pilot.press("escape")
        await pilot.pause()
        assert main_screen(app).sentence == before
        assert not main_screen(app).query_one(Prompt).is_open

    run(app, story)


def test_the_dialog_of_a_new_consumer_judges_it_and_its_level() -> None:
    app = app_of(perfect())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        label = app.screen.query_one("#verdict")
        assert str(label.render()).startswith("similar shares")
        app.screen.query_one("#priority", Input).value = "3"
        await pilot.pause()
        assert "nothing moves" in str(label.render())

    run(app, story)


async def answered(pilot: Pilot[int]) -> None:
    """Wait for what is computed beside the screen."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def test_h_lists_heirs_and_a_every_failure_and_enter_opens_one() -> None:
    app = app_of(cluster(SIX, topics=1, partitions=12))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "h")
        await answered(pilot)
        screen = app.screen
        assert isinstance(screen, HeirsScreen)
        heirs = screen._shown
        assert isinstance(heirs, HeirsView)
        assert heirs.gone == ("billing-0",)
        assert screen.query_one(LineTable).lines.count == len(heirs.rows) == heirs.verdict.moved
        await pilot.press("a")
        await answered(pilot)
        losses = screen._shown
        assert isinstance(losses, LossesView)
        assert screen.query_one(LineTable).lines.count == 6
        await pilot.press("enter")
        await answered(pilot)
        assert isinstance(screen._shown, HeirsView)
        assert screen._shown.gone == (losses.rows[0].name,)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is main_screen(app)
        assert app.store.timeline.cursor == 1

    run(app, story)


def test_h_on_keys_lists_known_keys() -> None:
    app = keys_app(before_a_move())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("h")
        await answered(pilot)
        assert "known key" in text_of(app)

    run(app, story)


def test_h_without_consumers_is_reported() -> None:
    assert "no consumer that could go" in after_keys(app_of(cluster(())), "h")


def test_d_compares_the_last_step_an_earlier_one_and_the_other_rule() -> None:
    app = app_of(cluster(SIX, topics=1, partitions=12))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "x", "d")
        await answered(pilot)
        screen = app.screen
        assert isinstance(screen, DiffScreen)
        assert screen.since == 1
        assert screen.change is not None
        assert {row.before for row in screen.change.rows} == {"billing-0"}
        await pilot.press("left_square_bracket")
        await answered(pilot)
        assert screen.since == 0
        whole = screen.change
        assert whole.verdict.moved == len(whole.rows)
        await pilot.press("c")
        await answered(pilot)
        assert screen.change is not whole
        assert screen.change.verdict == app.store.shown.failover_view.flag_change
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is main_screen(app)

    run(app, story)


def test_d_draws_both_states_side_by_side() -> None:
    app = app_of(perfect())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "d")
        await app.workers.wait_for_complete()
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, DiffScreen)
        before, after = (screen.query_one(f"#{side}", RingPanel) for side in "ab")
        assert before.ring is not None and after.ring is not None
        assert (before.ring.lit, after.ring.lit) == (False, True)
        assert before.weights == (2, 2, 2, 2, 2, 2)
        assert after.weights == tuple(row.active_partitions for row in app.store.shown.failover_view.consumers)
        changed = int((before.ring.topic_owners != after.ring.topic_owners).sum())
        assert screen.change is not None
        assert changed == screen.change.verdict.moved == len(screen.change.rows)
        assert [column.label for column in screen.table.lines.columns(200)][:3] == ["topic", "A", "B"]
        await pilot.press("v")
        await pilot.pause()
        assert {before.view_mode, after.view_mode} == {ViewMode.HASH_MAP}
        await pilot.press("c")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert (before.ring.lit, after.ring.lit) == (True, False)
        await pilot.press("up", "escape")
        await pilot.pause()
        assert app.screen is main_screen(app)

    run(app, story)


def test_d_before_the_first_step_compares_the_rules() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("d")
        await answered(pilot)
        assert isinstance(app.screen, DiffScreen) and app.screen.change is not None
        assert app.screen.change.verdict == app.store.shown.failover_view.flag_change

    run(app, story)


def beside(before: ClusterState, now: ClusterState) -> RingsideApp:
    other, shown = (Timeline.start(state, 7, "a test") for state in (before, now))
    return RingsideApp(Session(shown, against=Against(("monday", "tuesday"), other)), animate=False, depth="truecolor")


def test_d_compares_another_dump_first_and_o_does_after_a_step() -> None:
    app = beside(cluster(("a", "b", "c"), partitions=12), cluster(("d", "c", "b"), partitions=12))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("d")
        await answered(pilot)
        screen = app.screen
        assert isinstance(screen, DiffScreen) and screen.change is not None
        first = screen.change
        assert {row.before for row in first.rows} >= {"a"} and {row.after for row in first.rows} >= {"d"}
        before, after = (screen.query_one(f"#{side}", SideRing) for side in "ab")
        now = {row.name: (row.tag, row.colour) for row in after.rows}
        then = {row.name: (row.tag, row.colour) for row in before.rows}
        assert {name: then[name] for name in ("b", "c")} == {name: now[name] for name in ("b", "c")}
        assert then["a"] not in now.values()
        assert "monday → tuesday" in text_of(app) and "Other dump" in text_of(app)
        await pilot.press("escape", "x", "d")
        await answered(pilot)
        assert isinstance(app.screen, DiffScreen) and app.screen.since == 0
        assert "step 0 → step 1" in text_of(app)
        await pilot.press("o")
        await answered(pilot)
        assert "monday → tuesday, step 1" in text_of(app)
        assert app.screen.change is not None and app.screen.change.verdict != first.verdict

    run(app, story)


def test_d_of_keys_compares_another_dump_though_there_is_no_step_and_no_other_rule() -> None:
    app = beside(in_mode("auto-split", consumers=3), in_mode("auto-split", consumers=4))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("d")
        await answered(pilot)
        assert isinstance(app.screen, DiffScreen) and app.screen.change is not None
        assert {row.after for row in app.screen.change.rows} == {"worker-3"}

    run(app, story)


def test_without_another_dump_there_is_no_key_for_it() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("d", "o")
        await answered(pilot)
        assert "Other rule" in text_of(app) and "Other dump" not in text_of(app)

    run(app, story)


def test_d_of_keys_before_the_first_step_opens_nothing() -> None:
    assert "no step was taken yet" in after_keys(keys_app(before_a_move()), "d")
