"""Each key does what its words say, seen in the state and on the screen."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input, Static

from engine.cluster.state import consumers_of
from engine.views.failover.model import RuleInForce
from engine.views.failover.splits import SplitTopic
from tests.tui.screens_under_test import after_keys, app_of, cluster, main_screen, run, text_of
from tui.app import RingsideApp
from tui.bundles.split_preview import GROUPS as SPLIT_GROUPS
from tui.bundles.split_preview import SplitPreviewScreen
from tui.failover.bindings import BINDINGS
from tui.failover.bundle_tree import BundleTree
from tui.failover.dialogs import AddConsumerScreen, PartitionsScreen
from tui.kit.bindings import key_text
from tui.kit.help import HelpScreen, KeyLines
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.prompt import Prompt
from tui.kit.ring_panel import RingPanel, ViewMode
from tui.kit.suggesting import Question, question_of


def names(app: RingsideApp) -> list[str]:
    return [row.name for row in app.store.shown.failover_view.consumers]


def test_first_screen_says_what_is_seen_and_which_key_to_press() -> None:
    screen = after_keys(app_of())
    assert (
        "billing-0 is active for all 12 partitions: each topic has one, and index 0 mod 3 = 0. Press c to use the hash"
        " ring." in screen
    )
    assert "modulo: partition index mod 3" in screen


def test_c_lets_the_ring_decide_and_back() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c")
        assert app.store.shown.failover_view.status.rule is RuleInForce.RING
        assert app.store.shown.failover_view.ring.lit
        await pilot.press("c")
        assert app.store.shown.failover_view.status.rule is RuleInForce.MODULO

    run(app, story)


def test_c_on_a_release_without_the_flag_says_so_and_changes_nothing() -> None:
    app = app_of(cluster(release="3.0.0"))
    screen = after_keys(app, "c")
    assert "Pulsar 3.0.0 does not know activeConsumerFailoverConsistentHashing" in screen
    assert app.store.shown.failover_view.status.steps == 0


def test_x_kills_the_selected_consumer_and_selects_its_neighbour() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("j", "x")
        await pilot.pause()
        assert names(app) == ["billing-0", "billing-2"]
        assert main_screen(app).selected == 2

    run(app, story)


def test_x_without_consumers_is_reported_and_not_a_crash() -> None:
    assert "there is no consumer to kill" in after_keys(app_of(cluster(())), "x")


def test_killing_the_last_consumer_leaves_an_empty_table() -> None:
    app = app_of(cluster(("only",)))
    screen = after_keys(app, "x")
    assert names(app) == []
    assert "Nobody consumes this subscription. Press a to connect a consumer." in screen


def test_a_offers_the_next_name_and_enter_connects_it() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert isinstance(app.screen, AddConsumerScreen)
        assert app.screen.query_one("#name", Input).value == "billing-3"
        await pilot.press("enter")
        await pilot.pause()
        assert names(app) == ["billing-0", "billing-1", "billing-2", "billing-3"]
        assert main_screen(app).selected == 3

    run(app, story)


def test_a_takes_a_priority_level_and_names_what_is_wrong_with_it() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a", "tab")
        await pilot.press("backspace", "minus", "enter")
        await pilot.pause()
        assert "'-' is not a priority level" in text_of(app)
        await pilot.press("backspace", "5", "enter")
        await pilot.pause()
        assert [(row.name, row.priority_level, row.standby) for row in app.store.shown.failover_view.consumers][-1] == (
            "billing-3",
            5,
            True,
        )

    run(app, story)


def test_a_shows_a_refusal_inline_and_keeps_what_was_typed() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("colon", *"set maxConsumersPerSubscription 3", "enter")
        await pilot.press("a", "enter")
        await pilot.pause()
        assert isinstance(app.screen, AddConsumerScreen)
        assert "3" in str(app.screen.query_one(".dialog--error").render())
        assert app.screen.query_one("#name", Input).value == "billing-3"
        assert len(names(app)) == 3

    run(app, story)


def test_u_undoes_and_ctrl_r_does_it_again() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "u")
        assert not app.store.shown.failover_view.status.consistent_hashing
        await pilot.press("ctrl+r")
        assert app.store.shown.failover_view.status.consistent_hashing
        await pilot.press("u", "u")
        await pilot.pause()
        assert "nothing to undo" in text_of(app)

    run(app, story)


def test_brackets_step_braces_step_ten_home_and_end_go_to_the_ends() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        for at in range(12):
            assert app.store.submit_line(f"add extra-{at}") is None
        steps = []
        for key in (
            "left_square_bracket",
            "left_curly_bracket",
            "home",
            "right_square_bracket",
            "right_curly_bracket",
            "end",
        ):
            await pilot.press(key)
            steps.append(app.store.shown.failover_view.status.step)
        assert steps == [11, 1, 0, 1, 11, 12]

    run(app, story)


def test_space_plays_the_steps_ahead_and_stops_at_the_last() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "c", "home", "space")
        screen = main_screen(app)
        assert screen.playing
        await pilot.press("space")
        assert not screen.playing
        screen.playback.play_on(1.0)
        assert app.store.shown.failover_view.status.step == 1
        screen.playback.play_on(1.0)
        await pilot.press("space")
        await pilot.pause()
        assert "there is no step ahead to play" in text_of(app)

    run(app, story)


def test_v_goes_round_the_three_views() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        panel = main_screen(app).query_one(RingPanel)
        seen = [panel.view_mode_in_use]
        pictures = []
        for _ in range(3):
            await pilot.press("v")
            await pilot.pause()
            seen.append(panel.view_mode_in_use)
            pictures.append(tuple(panel.render_line(y) for y in range(panel.size.height)))
        assert seen == [ViewMode.RING, ViewMode.HASH_MAP, ViewMode.FOCUS, ViewMode.RING]
        assert len(set(map(str, pictures))) == 3

    run(app, story)


def test_density_picks_the_hash_map_for_many_consumers() -> None:
    app = app_of(cluster([f"c-{at}" for at in range(60)]))
    assert "v: hash map (auto)" in after_keys(app)


def test_f_explains_the_busiest_topic_of_the_selected_consumer() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "f", "enter")
        await pilot.pause()
        topic = main_screen(app).topic
        owner = app.store.shown.explain(topic)
        screen = text_of(app)
        assert f"{owner.active_consumer}, one of 3 consumers" in screen
        for word in ("point", "heirs", "hash", "bytes", "bundle", "flag off"):
            assert word in screen
        assert main_screen(app).query_one(RingPanel).picture().dots.highlighted is not None
        await pilot.press("escape")
        await pilot.pause()
        assert main_screen(app).topic == ""
        assert "[2] 3 consumers" in text_of(app)

    run(app, story)


def test_f_on_an_unknown_topic_keeps_the_prompt_open_and_says_why() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "ctrl+u", *"nothing", "enter")
        await pilot.pause()
        assert main_screen(app).query_one(Prompt).is_open
        assert "no topic 'nothing'" in text_of(app)

    run(app, story)


def test_explanation_follows_the_state() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "enter")
        await pilot.pause()
        assert "partition index 0 mod 3 consumers = 0" in text_of(app)
        await pilot.press("c")
        await pilot.pause()
        assert "so the hash ring decides" in text_of(app)

    run(app, story)


def test_typing_replaces_the_proposed_topic_and_tab_completes_it() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f")
        await pilot.pause()
        await pilot.press(*"persistent://shop/orders/order-5")
        await pilot.pause()
        await pilot.press("tab", "enter")
        await pilot.pause()
        assert main_screen(app).topic == "persistent://shop/orders/order-5-partition-0"

    run(app, story)


def test_enter_on_a_consumer_lists_its_partitions_and_escape_closes() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, PartitionsScreen)
        assert "billing-0 is active for 12 partitions" in text_of(app)
        assert "order-11-partition-0" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is main_screen(app)

    run(app, story)


def test_enter_on_a_partition_explains_it() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert main_screen(app).topic.endswith("order-11-partition-0")

    run(app, story)


def test_s_previews_all_algorithms_and_enter_splits_the_model() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("3", "down", "s")
        await pilot.pause()
        assert isinstance(app.screen, SplitPreviewScreen)
        screen = text_of(app)
        assert "range_equally_divide" in screen
        assert "topic_count_equally_divide" in screen
        assert "pulsar-admin namespaces split-bundle shop/orders" in screen
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is main_screen(app)
        assert app.store.shown.failover_view.namespaces[0].bundles == 3
        assert "split: range_equally_divide" in text_of(app)

    run(app, story)


def test_a_tall_preview_lists_where_the_marked_algorithm_puts_each_topic() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("3", "down", "s", "down")
        await pilot.pause()
        table: RowsTable[SplitTopic] = app.screen.query_one("#topics", RowsTable)
        assert table.display
        pieces = {row.goes_to for row in table.listed}
        assert len(pieces) == 2
        await pilot.press("up")
        await pilot.pause()
        assert {row.goes_to for row in table.listed} != pieces

    run(app, story, size=(200, 60))


def test_question_mark_in_the_preview_tells_its_own_keys() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("s")
        assert "? Help" in text_of(app)
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        text = "\n".join(line.render().plain for line in app.screen.query(KeyLines))
        for binding in (binding for _, bindings in SPLIT_GROUPS for binding in bindings):
            assert f"  {binding.tooltip}" in text
        assert "Add a consumer" not in text
        await pilot.press("escape")
        assert isinstance(app.screen, SplitPreviewScreen)

    run(app, story)


def test_an_undone_split_closes_its_bundle_and_a_redone_one_opens_it() -> None:
    """What is no parent any more has no open mark; the children come back with the step."""
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("3", "down", "s", "enter", "u")
        await pilot.pause()
        assert "▶ 0x00000000_0x80000000" in text_of(app)
        await pilot.press("ctrl+r")
        await pilot.pause()
        screen = text_of(app)
        assert "▼ 0x00000000_0x80000000" in screen
        assert "▶ * 0x00000000_0x40000000" in screen

    run(app, story)


@pytest.mark.parametrize("card", range(5))
def test_every_algorithm_that_cuts_can_be_applied(card: int) -> None:
    """What the preview shows is what the model then has."""
    app = app_of(cluster(topics=40))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("s", *["down"] * card)
        await pilot.pause()
        preview = app.screen
        assert isinstance(preview, SplitPreviewScreen)
        option = preview._view.options[card]
        await pilot.press("enter")
        await pilot.pause()
        if option.command_text:
            assert app.store.shown.failover_view.namespaces[0].bundles == 1 + len(option.pieces)
        else:
            assert "cuts nothing here" in text_of(app)
            assert app.store.shown.failover_view.namespaces[0].bundles == 2

    run(app, story)


def test_a_refused_algorithm_tells_the_refusal_and_no_answer_it_never_gets() -> None:
    """flow_or_qps_equally_divide is refused by name, so what a broker would answer otherwise is not shown."""
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("s")
        await pilot.pause()
        screen = text_of(app)
        assert "ClassCastException" in screen
        assert "204" not in screen
        assert screen.count("no Pulsar has this rule") == 1

    run(app, story)


def test_y_copies_the_exact_admin_line() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("s", "y")
        await pilot.pause()
        assert isinstance(app.screen, SplitPreviewScreen)
        assert app.clipboard == app.screen._view.options[0].admin_line
        assert app.clipboard.startswith("pulsar-admin namespaces split-bundle shop/orders")

    run(app, story)


def test_opening_a_bundle_lists_its_topics_and_they_stay_after_a_step() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("3", "down", "enter")
        await pilot.pause()
        assert "order-" in text_of(app)
        await pilot.press("c")
        await pilot.pause()
        assert "order-" in text_of(app)

    run(app, story)


def test_a_long_topic_list_is_shown_in_parts() -> None:
    app = app_of(cluster(topics=500))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("3", "down", "enter")
        await pilot.pause()
        tree = main_screen(app).query_one(BundleTree)
        bundle = tree.root.children[0].children[0]
        total = app.store.shown.failover_view.namespaces[0].roots[0].topics
        assert len(bundle.children) == 101
        assert str(bundle.children[-1].label) == f"… and {total - 100} topics more (enter)"
        tree.move_cursor(bundle.children[-1])
        await pilot.press("enter")
        await pilot.pause()
        assert len(bundle.children) == 201

    run(app, story)


def test_colon_runs_the_grammar_with_errors_beside_what_was_typed_and_a_history() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        prompt = main_screen(app).query_one(Prompt)
        await pilot.press("colon", *"ad x", "enter")
        await pilot.pause()
        assert prompt.is_open
        assert "unknown command 'ad'" in text_of(app)
        await pilot.press("ctrl+u", *"add worker", "enter")
        await pilot.pause()
        assert not prompt.is_open
        assert "worker" in names(app)
        await pilot.press("colon", "up")
        assert prompt.query_one(Input).value == "add worker"
        await pilot.press("escape")
        assert not prompt.is_open

    run(app, story)


def test_digits_focus_panels_and_z_zooms_one() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        for key, panel in (("1", "ring"), ("2", "table"), ("3", "bundles"), ("4", "events")):
            await pilot.press(key)
            assert screen.focused is not None
            assert screen.focused.id == panel
        await pilot.press("1", "z")
        await pilot.pause()
        assert screen.query_one("#ring").size.width > 110
        assert "[2] 3 consumers" not in text_of(app)
        await pilot.press("z")
        await pilot.pause()
        assert "[2] 3 consumers" in text_of(app)

    run(app, story)


def test_tab_reaches_every_panel() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        seen = set()
        for _ in range(5):
            await pilot.press("tab")
            assert app.focused is not None
            seen.add(app.focused.id)
        assert seen == {"ring", "table", "bundles", "events"}

    run(app, story)


def test_j_and_k_on_the_ring_select_consumers_in_the_table() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("1", "j", "j", "k")
        await pilot.pause()
        assert main_screen(app).selected == 1
        assert main_screen(app).query_one("#table", LineTable).cursor == 1

    run(app, story)


def test_help_opens_and_closes() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        assert app.screen is main_screen(app)

    run(app, story)


@pytest.mark.parametrize(
    "keys", [("q",), ("ctrl+c",), ("colon", "ctrl+c"), ("a", "ctrl+c"), ("s", "ctrl+c"), ("s", "q")]
)
def test_q_and_ctrl_c_quit_with_code_0(keys: tuple[str, ...]) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press(*keys)

    run(app, story)
    assert app.return_code == 0


def test_command_palette_runs_a_key_by_its_words() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        commands = {command.title: command for command in app.get_system_commands(app.screen)}
        commands["Toggle the consistent-hashing flag (c)"].callback()
        await pilot.pause()
        assert app.store.shown.failover_view.status.consistent_hashing

    run(app, story)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_help_tells_every_key_and_what_the_ring_shows(size: tuple[int, int]) -> None:
    """Scrolled to where it is not in sight at once; a long line goes on below itself."""
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        lines = app.screen.query(KeyLines)
        text = "\n".join(line.render().plain for line in lines)
        for binding in BINDINGS:
            assert f" {key_text(binding.key, binding)}  {binding.tooltip}" in text
        for keys in ("arrows", "pgup pgdn", "g G", "enter", "tab", "q ctrl+c", "f2", "ctrl+p", "outside"):
            assert f" {keys}  " in text
        for line in lines:
            assert all(cell_len(row) <= line.size.width for row in line.render().plain.split("\n"))
            assert line.size.height >= line.render().plain.count("\n") + 1

    run(app, story, size)


def test_an_explanation_with_wide_names_breaks_where_its_cells_end() -> None:
    """Two cells a letter: counted as one, a row would be broken a second time, after one word."""
    app = app_of(cluster(names=("a", "バイト-éü🙂", "c")))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f", "enter")
        await pilot.pause()
        panel = main_screen(app).query_one("#explain")
        result = panel.query_one(Static)
        rows = result.render().plain.split("\n")
        assert any("バイト" in row for row in rows)
        assert all(cell_len(row) <= panel.scrollable_content_region.width for row in rows)

    run(app, story, (80, 24))


def test_groups_of_keys_stand_apart_also_where_one_column_is_below_the_other() -> None:
    """At 80 cells "panels" follows "time", with an empty line between them as between all others."""
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        first, second = app.screen.query(KeyLines)
        assert second.region.y == first.region.bottom + 1

    run(app, story, (80, 24))


def test_tab_completes_a_command_and_goes_through_what_else_fits() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("colon", *"ki", "tab")
        line = main_screen(app).query_one(Input)
        assert line.value == "kill "
        names = consumers_of(main_screen(app).store.timeline.state, "billing")
        for name in [*(name for _, name in names), names[0][1]]:
            await pilot.press("tab")
            assert line.value == f"kill {name}"
        await pilot.press("space", "tab")
        assert line.value == f"kill {names[0][1]} of"
        await pilot.press("escape", "colon", *"bran", "tab")
        assert line.value == "branch "
        await pilot.press("tab", "escape", "colon", *"suggest ", "tab")
        assert isinstance(question_of(line.value), Question)

    run(app, story)


def test_a_click_on_a_footer_key_does_what_the_key_does() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        footer = main_screen(app).query_one("#keys")
        column = footer.render().plain.index("Ring on/off")
        await pilot.click("#keys", offset=(column + 2, 0))
        await pilot.pause()
        assert app.store.shown.failover_view.status.consistent_hashing

    run(app, story)


def test_a_click_on_a_consumer_selects_it_and_a_second_one_opens_it() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.click("#table", offset=(5, 3))
        await pilot.pause()
        assert main_screen(app).selected == 2
        await pilot.click("#table", offset=(5, 3))
        await pilot.pause()
        assert isinstance(app.screen, PartitionsScreen)

    run(app, story)


def test_a_preview_among_very_many_topics_opens_once_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.navigator.PREVIEWED_AT_ONCE", 0)
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("s")
        await pilot.pause()
        assert isinstance(app.screen, SplitPreviewScreen)

    run(app, story)
