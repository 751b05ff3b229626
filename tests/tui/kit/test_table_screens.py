"""The screens of brokers and of bundles over time: rows are sorted, copied and exported as in other tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.broker_scenes import brokers_app, brokers_screen
from tests.tui.bundle_scenes import bundles_app
from tests.tui.screens_under_test import app_of, cluster, run, until
from tui.brokers.screen import BrokersScreen
from tui.bundles.screen import BundlesScreen
from tui.kit.columns import Order
from tui.kit.help import HelpScreen
from tui.kit.line_table import RowsTable
from tui.kit.prompt import Prompt
from tui.kit.table_screens import TableScreen


async def opened(pilot: Pilot[int]) -> BundlesScreen:
    """The forecast of the marked bundle's namespace, computed."""
    await pilot.press("b")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, BundlesScreen)
    return screen


def test_brokers_are_sorted_by_what_they_use_and_the_marked_one_stays_marked() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        table = screen.table
        await pilot.press("comma", "semicolon")
        names = [row.broker for row in table.listed]
        assert names == sorted(names, reverse=True)
        marked = table.listed[table.cursor].broker
        await pilot.press("comma")
        shares = [row.bars[0].share for row in table.listed]
        assert shares == sorted(shares, reverse=True)
        assert table.listed[table.cursor].broker == marked
        await pilot.press("home", "x")
        assert [change.broker for change in screen.question.changes] == [marked]
        assert table.order.descending

    run(app, story, (160, 40))


def test_the_order_after_the_last_column_is_that_of_no_column() -> None:
    """Also where there are no rows, and so no column to sort by."""
    app = app_of(cluster(("only",), topics=1))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("h")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        table = app.screen.query_one(RowsTable)
        orders = []
        for _ in range(9):
            await pilot.press("comma")
            orders.append(table.order.key)
        assert "" in orders and len(set(orders)) > 1
        assert [row.name for row in table.listed]

    run(app, story)


def test_bundles_are_sorted_without_their_tree_and_split_ones_come_last() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = await opened(pilot)
        await pilot.press("end")
        in_tree = [row.range_text for row in screen.table.listed]
        screen.table.sort_by("msgs_per_sec")
        rows = screen.table.listed
        rates = [row.msgs_per_sec for row in rows if not row.split_in]
        assert rates == sorted(rates, reverse=True)
        assert [bool(row.split_in) for row in rows] == sorted(bool(row.split_in) for row in rows)
        assert any(row.split_in for row in rows)
        screen.table.sort_by("")
        assert screen.table.order == Order("", descending=False)
        assert [row.range_text for row in screen.table.listed] == in_tree

    run(app, story, (160, 40))


@pytest.mark.parametrize(("make", "kind"), [(brokers_app, BrokersScreen), (bundles_app, BundlesScreen)])
def test_rows_are_copied_and_exported(
    make: object, kind: type[TableScreen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = make()  # type: ignore[operator]

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen if kind is BrokersScreen else await opened(pilot)
        assert isinstance(screen, kind)
        await pilot.press("y")
        assert app.clipboard.splitlines()[0].split("\t")[1] in {
            getattr(row, "broker" if kind is BrokersScreen else "range_text") for row in screen.table.listed
        }
        await pilot.press("e", "enter")
        await pilot.pause()
        assert screen.sentence[0] == "done"
        rows = list(csv.DictReader((tmp_path / kind.filename).open()))
        assert len(rows) == len(screen.table.listed)
        assert {"broker"} <= set(rows[0])
        await pilot.press("e", "enter")
        await until(app, lambda text: "is there already" in " ".join(text.split()))
        await pilot.press("escape")
        assert app.screen is screen

    run(app, story, (160, 40))


async def command(pilot: Pilot[int], text: str) -> None:
    """Type a command, and wait for what it computes."""
    await pilot.press("colon", *["space" if each == " " else each for each in text], "enter")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def test_brokers_take_typed_commands() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        await command(pilot, "kill broker-2:8080")
        assert [(change.kind, change.broker) for change in screen.question.changes] == [("dies", "broker-2:8080")]
        await command(pilot, "shedder uni")
        assert screen.question.shedder == "UniformLoadShedder"
        await command(pilot, "shedder transfer")
        assert (screen.question.load_manager, screen.question.shedder) == ("extensible", "TransferShedder")
        await command(pilot, "manager modular")
        await command(pilot, "set loadBalancerBrokerThresholdShedderPercentage=20")
        assert screen.question.settings == (("loadBalancerBrokerThresholdShedderPercentage", "20"),)
        await command(pilot, "placement round")
        assert screen.question.placement is not None and screen.question.placement.startswith("RoundRobin")
        await command(pilot, "cycle 7")
        assert screen.cycle == 7
        await command(pilot, "add")
        assert screen.question.changes[-1].kind == "joins"
        await command(pilot, "undo")
        assert screen.question.changes[-1].kind == "dies"

    run(app, story, (160, 40))


def test_bundles_over_time_take_typed_commands() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = await opened(pilot)
        await command(pilot, "algorithm topic")
        assert screen.shown_tree.algorithm == "topic_count_equally_divide"
        await command(pilot, "manager ext")
        assert screen.question.load_manager == "extensible"
        await command(pilot, "brokers 5")
        await command(pilot, "growth 1.25")
        assert (screen.question.brokers, screen.question.growth_per_cycle) == (5, 1.25)
        await command(pilot, "rule proposed")
        assert screen.rule == "proposed"
        await command(pilot, "cycle 3")
        assert screen.cycle == 3
        await command(pilot, f"namespace {screen.namespaces[0]}")
        assert screen.view is not None

    run(app, story, (160, 40))


@pytest.mark.parametrize("make", [brokers_app, bundles_app])
@pytest.mark.parametrize("text", ["nonsense", "cycle 99", "cycle x", "manager x", "manager"])
def test_what_cannot_be_typed_is_refused_and_the_line_stays(make: object, text: str) -> None:
    app = make()  # type: ignore[operator]

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen if make is brokers_app else await opened(pilot)
        assert isinstance(screen, TableScreen)
        await command(pilot, text)
        assert screen.query_one(Prompt).is_open
        await pilot.press("escape")
        await command(pilot, "help")
        assert isinstance(app.screen, HelpScreen)

    run(app, story, (160, 40))
