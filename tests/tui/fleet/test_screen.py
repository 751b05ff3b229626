"""The fleet screen: what its keys do, what is opened, and what stands where at every size."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.views.fleet import tables as schemas
from engine.views.fleet.runs import result_at
from engine.views.fleet.summary import Agreement, GroupTotals, summary_text
from tests import fleet_results
from tests.tui import fleet_scenes
from tests.tui.fleet_scenes import NAMESPACE, SUMMARY, large_result, small_result
from tests.tui.screens_under_test import text_of
from tui.cli import screen
from tui.cli.fleet import screen as fleet_screen
from tui.cli.fleet.screen import FleetPartApp, session_of
from tui.cli.session import shown_in
from tui.fleet.app import FleetApp
from tui.fleet.columns import FINDINGS, LISTS, NAMESPACES, SCALABLE, SUBSCRIPTIONS
from tui.fleet.screen import Chosen, Place, Spot
from tui.sources.fleet_listing import Columns
from tui.sources.fleet_results import read_results

SIZES = [(80, 24), (120, 40), (200, 60)]


def app_on(folder: Path, place: Place | None = None, *, ascii_only: bool = False) -> FleetApp:
    return FleetApp(read_results(result_at(folder)), place, depth="truecolor", ascii_only=ascii_only)


def play(app: FleetApp | FleetPartApp, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    """The screen as text after some keys."""
    seen: list[str] = []

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            seen.append(text_of(app))

    asyncio.run(run())
    return seen[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_result(tmp_path / "out")


ALWAYS = LISTS[:-1]
"""Most fleets have no scalable topic, and no list of them."""


def test_a_scalable_topic_is_listed_and_opened(folder: Path) -> None:
    numbers = dict.fromkeys(schemas.SCALE_FORECAST.names, 1) | {
        "namespace": "t/n", "topic": "topic://t/n/x", "score": 0.9, "next": "blocked", "reason": "max_segments",
        "step_segments": [], "controller": "b", "reported_reason": None,
    }  # fmt: skip
    row = tuple(numbers[name] for name in schemas.SCALE_FORECAST.names[1:])
    fleet_scenes.write(folder, schemas.SCALE_FORECAST, [row])
    app = app_on(folder)
    result = play(app, "6", "enter", size=(160, 40))
    assert "6 scalable" in result.splitlines()[1]
    assert "1 scalable topic" in result and "next: blocked (max_segments)" in " ".join(result.split())
    assert app.chosen == Chosen("", "t/n", topic="topic://t/n/x")
    assert "6 scalable" in play(app_on(folder), "shift+tab", size=(160, 40)).splitlines()[1]


@pytest.mark.parametrize("size", SIZES)
def test_the_first_screen_tells_the_fleet_the_worst_and_the_keys(folder: Path, size: tuple[int, int]) -> None:
    """At every size: what the fleet is, all lists, a full bar for the worst, its row in words, and the keys."""
    result = play(app_on(folder), size=size)
    lines = result.splitlines()
    assert "ringside fleet out · 1 broker · 2 namespaces · 15 topics" in lines[0]
    assert all(f"{digit} {each.title}" in lines[1] for digit, each in enumerate(ALWAYS, 1))
    assert SCALABLE.title not in lines[1], "there is no scalable topic"
    assert "1 warning" in lines[1] and "4 bad" in lines[1]
    first = next(at for at, line in enumerate(lines) if "billing" in line)
    assert NAMESPACE in lines[first] and "2.50" in lines[first] and "██████████" in lines[first]
    assert first < next(at for at, line in enumerate(lines) if "1.25" in line and "orders" in line)
    assert "busiest÷avg of 3 subscriptions, 1 without a number" in result and "the worst first" in result
    assert "the busiest has 2.50 times" in " ".join(result.replace("│", " ").split())
    assert all(words in lines[-1] for words in ("enter Open", "/ Filter", "s Sort", "e Export", "? Help", "q Quit"))


@pytest.mark.parametrize("size", SIZES)
def test_a_namespace_says_how_its_tenant_changed_over_the_runs(folder: Path, size: tuple[int, int]) -> None:
    tenant = GroupTotals("", NAMESPACE.partition("/")[0], 10, 4.0, None, 1_000, 7)
    for run_id, day, group in (
        ("earlier", 1, tenant),
        (fleet_results.RUN, 2, replace(tenant, topics=15, msg_rate_in=6.0, unknown={"storage_size_bytes": 2})),
    ):
        moment = datetime(2026, 11, day, tzinfo=UTC)
        summary = replace(SUMMARY, groups=(group,), snapshot_time=moment.isoformat())
        fleet_results.put_document(folder, "summary.json", summary_text(summary), run_id)
        fleet_results.put_moment(folder, moment, run_id)
    shown = " ".join(play(app_on(folder), "2", size=size).replace("│", " ").split())
    assert f"tenant {tenant.tenant}, 2 runs: topics 15 +50% ▅█, in/s 6" in shown
    assert "over the runs" not in shown and "runs: topics" not in play(app_on(folder), "1", size=size)
    if size[0] > 80:
        assert "in/s 6 +50% ▅█, stored bytes 1.0k+ ██, backlog bytes 7 +0% ██" in shown, "out/s is unknown"


@pytest.mark.parametrize("size", SIZES)
def test_columns_that_do_not_fit_are_counted(folder: Path, size: tuple[int, int]) -> None:
    result = play(app_on(folder), size=size)
    assert ("in a wider window" in result) == (size[0] < 200)
    assert "backlog v" in play(app_on(folder), *"ssssssssss", size=size), "what is sorted by is always shown"


def test_disagreement_and_failed_jobs_come_first(folder: Path) -> None:
    bad = replace(SUMMARY, agreement=Agreement(12, 11), failed={"lint": "no memory"})
    fleet_results.put_document(folder, "summary.json", summary_text(bad))
    first = play(app_on(folder)).splitlines()[0]
    assert first.index("lint FAILED") < first.index("1 of 12 reported")
    assert "DISAGREE" in play(app_on(folder), size=(200, 60)).splitlines()[0]


def test_in_ascii_nothing_else_is_drawn(folder: Path) -> None:
    for keys in ((), ("tab",), ("3",), ("4",), ("question_mark",)):
        assert play(app_on(folder, ascii_only=True), *keys).isascii(), keys


def test_tab_and_digits_go_through_the_lists_and_keep_each_place(folder: Path) -> None:
    """Order, filter and cursor of a list are there again when one comes back to it."""
    assert "2 namespaces, the worst first" in play(app_on(folder), "tab")
    assert "2 namespaces" in play(app_on(folder), "2")
    app = app_on(folder)
    result = play(app, "s", "slash", *"shop", "enter", "down", *["tab"] * len(ALWAYS))
    assert "by parts, highest first" in result and "filter: shop" in result
    again = app_on(folder)
    play(again, "s", "down", "2", "down", "shift+tab", "enter")
    assert again.place.spots[SUBSCRIPTIONS.table] == Spot("", "partitions", True, 1)
    assert again.place.spots[NAMESPACES.table].cursor == 1


def test_findings_are_read_in_full_and_open_where_they_are(folder: Path) -> None:
    """What, where, advice and numbers; one without a namespace has nothing to open."""
    result = play(app_on(folder), "3")
    for words in ("warning: billing-1 keeps 90", "what to do: give all numbers one width", "consumer billing-1",
                  "points_kept 90"):  # fmt: skip
        assert words in result
    app = app_on(folder)
    play(app, "3", "enter")
    assert app.chosen == Chosen("", NAMESPACE, "billing", True)
    nowhere = app_on(folder)
    assert "nothing to open" in play(nowhere, "3", "down", "enter") and nowhere.chosen is None


def test_what_was_set_aside_is_reported_with_reason_and_place(folder: Path) -> None:
    result = play(app_on(folder), "4")
    for words in ("is half a document", "b.json at $.topics[3], line 7", "4 records of topics set aside; job import",
                  "what to do: record it again, whole"):  # fmt: skip
        assert words in result
    assert "cannot be opened" in play(app_on(folder), "4", "enter")


def test_a_filter_narrows_while_it_is_typed_and_escape_takes_it_away(folder: Path) -> None:
    result = play(app_on(folder), "slash", *"loose")
    assert "1 of 3 subscriptions" in result and "billing" not in result
    assert "filter: loose" in play(app_on(folder), "slash", *"loose", "enter")
    assert "3 subscriptions, the worst first" in play(app_on(folder), "slash", *"loose", "enter", "escape")
    assert "none of 3 subscriptions" in play(app_on(folder), "slash", *"zzz", "enter", "down", "enter")


def test_sorting_goes_through_the_columns_and_turns_round(folder: Path) -> None:
    result = play(app_on(folder), "s")
    assert "3 subscriptions, by parts, highest first" in result and "parts v" in result and "parts of 3" in result
    again = play(app_on(folder), "s", "r")
    assert "by parts, lowest first" in again and "parts ^" in again
    assert "by subscription, a first" in play(app_on(folder), "S")
    assert "the worst first" in play(app_on(folder), "s", "r", "0")


def typed(text: str) -> list[str]:
    return ["colon", *("space" if each == " " else each for each in text), "enter"]


def test_commands_can_be_typed(folder: Path) -> None:
    assert "3 subscriptions, by parts, highest first" in play(app_on(folder), *typed("sort parts"))
    assert "by parts, lowest first" in play(app_on(folder), *typed("sort parts"), *typed("reverse"))
    assert "the worst first" in play(app_on(folder), *typed("sort parts"), *typed("worst"))
    assert "filter: loose" in play(app_on(folder), *typed("filter loose"))
    namespaces = LISTS[1].title
    assert play(app_on(folder), *typed(f"list {namespaces}")) == play(app_on(folder), "2")
    assert "commands after :" in play(app_on(folder), *typed("help"))
    for wrong in ("nonsense", "sort nothing", "list x"):
        assert f": {wrong}" in play(app_on(folder), *typed(wrong))


def test_home_and_end_go_to_the_first_and_the_last_row(folder: Path) -> None:
    for keys, cursor in ((("end",), 2), (("end", "home"), 0), (("G",), 2), (("end", "g"), 0)):
        app = app_on(folder, Place(NAMESPACES.table))
        play(app, "1", *keys, "2", "enter")
        assert app.place.spots[SUBSCRIPTIONS.table].cursor == cursor


def test_enter_opens_what_stands_under_the_cursor(folder: Path) -> None:
    """A subscription, a namespace; the place is kept, and the session shows the same consumers."""
    app = app_on(folder)
    play(app, "enter")
    assert app.chosen == Chosen("", NAMESPACE, "billing", True) and app.return_code == 0
    session = session_of(result_at(folder), app.chosen)
    assert [row.name for row in shown_in(session).failover_view.consumers] == ["billing-0", "billing-1", "billing-2"]
    other = app_on(folder)
    play(other, "tab", "down", "enter")
    assert other.chosen == Chosen("", "shop/loose", "", True) and other.place.shown == NAMESPACES.table
    assert other.place.spots[NAMESPACES.table].cursor == 1


def test_a_namespace_opens_at_its_worst_subscription(folder: Path) -> None:
    app = app_on(folder)
    play(app, "2", "enter")
    assert app.chosen == Chosen("", NAMESPACE, "", True, "billing")
    keys = {
        session_of(result_at(folder), replace(app.chosen, first=name)).subscription for name in ("billing", "orders")
    }
    assert keys == {0, 1} and session_of(result_at(folder), replace(app.chosen, first="gone")).subscription == 0


def test_one_comes_back_to_where_one_left(folder: Path) -> None:
    """Filter, order and cursor of before; a complaint says why something could not be opened."""
    place = Place(SUBSCRIPTIONS.table, {SUBSCRIPTIONS.table: Spot("shop", "subscription", False, 2)})
    app = FleetApp(read_results(result_at(folder)), place, depth="truecolor", complaint="nothing to show there")
    result = play(app)
    assert "nothing to show there" in result and "filter: shop" in result and "subscription ^" in result
    again = app_on(folder, place)
    play(again, "enter")
    assert again.chosen == Chosen("", NAMESPACE, "orders", True) and again.place == place


def part_app(folder: Path) -> FleetPartApp:
    session = session_of(result_at(folder), Chosen("", NAMESPACE, "", True))
    return FleetPartApp(session, animate=False, depth="truecolor")


def test_escape_in_the_simulator_closes_what_is_open_and_then_goes_back(folder: Path) -> None:
    """A zoomed panel, a prompt, the help and a refusal first; the way back stands among the keys and in the help."""
    app = part_app(folder)
    assert "esc Fleet" in play(app) and not app.went_back
    for keys, back in (
        (("escape",), True),
        (("z", "escape"), False),
        (("z", "escape", "escape"), True),
        (("colon", "escape"), False),
        (("question_mark", "escape"), False),
        (("q",), False),
    ):
        app = part_app(folder)
        result = play(app, *keys)
        assert app.went_back is back, keys
        assert back or keys == ("q",) or "esc Fleet" in result
    assert "Back to the fleet's lists" in play(part_app(folder), "question_mark")


def test_the_key_shared_screen_names_the_way_back_too(folder: Path) -> None:
    session = session_of(result_at(folder), Chosen("", NAMESPACE, "orders", None))
    app = FleetPartApp(session, animate=False, depth="truecolor")
    assert "esc Fleet" in play(app) and "worker-0" in play(FleetPartApp(session, animate=False, depth="mono"))


def test_the_loop_comes_back_with_escape_and_ends_with_q(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists, a part, the lists again at the same row, a part that cannot be shown, the part again, and out."""
    shown: list[object] = []
    moves = [("s", "down", "enter"), ("escape",), ("enter",), ("q",)]

    def run(app: FleetApp | FleetPartApp) -> int:
        shown.append(app)
        play(app, *moves[len(shown) - 1])
        return app.return_code or 0

    monkeypatch.setattr(screen, "run_screen", run)
    output = fleet_screen.Output(False, False, "dark", False, False, False)
    assert fleet_screen.open_fleet_screen(result_at(folder), output) == 0
    lists = [each for each in shown if isinstance(each, FleetApp)]
    assert len(shown) == 4 and len(lists) == 2
    assert (
        lists[1].place
        == lists[0].place
        == Place(SUBSCRIPTIONS.table, {SUBSCRIPTIONS.table: Spot("", "partitions", True, 1)})
    )


def test_an_export_is_written_where_it_says_and_a_refusal_stays_in_the_prompt(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With filter and order; the whole path is shown."""
    monkeypatch.chdir(tmp_path)
    result = play(app_on(folder), "S", "slash", *"orders", "enter", "e", "enter", size=(200, 60))
    assert f"2 rows written to {tmp_path / 'subscriptions.csv'}" in result
    lines = (tmp_path / "subscriptions.csv").read_text().splitlines()
    assert [line.split(",")[2].strip('"') for line in lines] == ["subscription", "billing", "orders"]
    assert "is there already" in play(app_on(folder), "e", "enter")
    play(app_on(folder), "3", "e", *"findings", "full_stop", *"json", "enter")
    assert [row["severity"] for row in json.loads((tmp_path / "findings.json").read_text())] == ["warning", "info"]


def test_the_command_palette_writes_no_picture_of_the_screen(folder: Path) -> None:
    app = app_on(folder)

    async def run() -> None:
        async with app.run_test() as pilot:
            await pilot.pause()
            titles = {command.title for command in app.get_system_commands(app.screen)}
            assert {
                "Theme",
                "Quit",
                "Only the rows that fit what is typed (/)",
            } <= titles and "Screenshot" not in titles

    asyncio.run(run())


def test_a_word_that_wants_a_number_says_so_when_the_filter_is_answered(folder: Path) -> None:
    asked = ("slash", "i", "d", "l", "e", "greater_than_sign")
    assert "idle>x needs a number" in play(app_on(folder), *asked, "x", "enter")
    assert "needs a number" not in play(app_on(folder), *asked, "x", "enter", "backspace", "1", "enter")
    assert "needs a number" not in play(app_on(folder), "slash", *"shop", "enter")


def test_help_lists_the_keys_the_filter_and_the_columns(folder: Path) -> None:
    result = play(app_on(folder), "question_mark", size=(200, 60))
    for words in ("Only the rows that fit", "Open the row in the simulator", "consumers that get nothing", "1 2 3 4",
                  "Write the rows", "type=key", "Quit"):  # fmt: skip
        assert words in result


def test_a_result_of_an_earlier_release_shows_the_columns_it_has(folder: Path) -> None:
    """Without message rates per subscription, which a row may lack, and without a summary."""
    (path,) = fleet_results.parts(folder, "worst_subscriptions")
    pq.write_table(pq.read_table(path).drop_columns(["msg_rate_out", "msg_backlog_entries"]), path)
    fleet_results.drop(folder, "summary.json")
    result = play(app_on(folder), size=(200, 60))
    assert "billing" in result and "msg/s" not in result and "ringside fleet report makes one" in result
    assert "3 subscriptions" in result.splitlines()[0] and "3 findings 2" in result.splitlines()[1]


def test_a_long_list_makes_the_rows_in_sight_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty thousand rows, the end and back, a filter: some hundred rows are made."""
    results: list[int] = []
    original = Columns.row

    def counting(self: Columns, place: int) -> object:
        results.append(place)
        return original(self, place)

    monkeypatch.setattr(Columns, "row", counting)
    app = app_on(large_result(tmp_path / "out", 50_000))
    result = play(app, "G", "s", "slash", *"ns-7")
    assert "of 50,000 subscriptions" in result and len(results) < 1_000


def test_every_heading_of_a_list_can_be_typed_into_a_filter() -> None:
    """No two headings of a list are alike, and none has a blank."""
    for each in LISTS:
        assert len(each.labels) == len(each.sortable) and all(" " not in label for label in each.labels)
    assert FINDINGS.labels["severity"] == "severity_level"
