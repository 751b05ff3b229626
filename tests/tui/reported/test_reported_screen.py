"""The screen of Shared and Exclusive subscriptions: listed, opened, asked why, and nothing computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.engine.diagnosis.answers import consumer, stats
from tests.engine.diagnosis.samples import dump
from tests.tui.reported_scenes import app_on
from tests.tui.screens_under_test import run, text_of
from tui.failover.screen import MainScreen
from tui.kit.why_panel import WhyPanel
from tui.reported.screen import ReportedScreen

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """One topic with a subscription of each kind."""
    subs = {
        "failover": stats("Failover", [consumer("f-0")], activeConsumerName="f-0", msgBacklog=3),
        "shared": stats(
            "Shared", [consumer("s-0", unackedMessages=4, availablePermits=0)], msgBacklog=9, unackedMessages=4
        ),
        "exclusive": stats("Exclusive", [consumer("e-0", availablePermits=7)], activeConsumerName="e-0", msgBacklog=5),
        "nobody": stats("None", [], msgBacklog=11),
    }
    answer = {"publishers": [{}], "subscriptions": {name: each["subscriptions"]["s"] for name, each in subs.items()}}
    file = tmp_path / "admin" / "v2" / "persistent" / "t" / "n" / "x" / "stats.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(answer))
    return tmp_path


def test_all_subscriptions_are_places_and_can_be_gone_through(mixed: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        store = pilot.app.store  # type: ignore[attr-defined]
        assert store.places.keys == ("failover", "shared", "exclusive", "nobody")
        kinds = [type(pilot.app.screen)]
        for _ in range(4):
            await pilot.press("n")
            await pilot.pause()
            kinds.append(type(pilot.app.screen))
        assert kinds == [MainScreen, ReportedScreen, ReportedScreen, ReportedScreen, MainScreen]

    run(app_on(mixed), story)


@pytest.mark.parametrize("mono", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_shared_subscription_shows_what_was_reported(mixed: Path, size: tuple[int, int], mono: bool) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("n")
        await pilot.pause()
        shown = text_of(pilot.app)
        assert "Shared, as reported" in shown and "!A s-0" in shown and "backlog 9" in shown
        assert "hash ring" not in shown and "of ring" not in shown
        view = pilot.app.store.shown.reported_view  # type: ignore[attr-defined]
        (row,) = view.consumers
        assert (row.reported.permits, row.reported.unacked, row.reported.obstacles) == (0, 4, ("no-permits",))
        assert [(topic.backlog, topic.unacked, topic.blocked) for topic in view.topics] == [(9, 4, True)]

    run(app_on(mixed, mono=mono), story, size)


def test_an_exclusive_subscription_names_its_active_consumer(mixed: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("n", "n")
        await pilot.pause()
        view = pilot.app.store.shown.reported_view  # type: ignore[attr-defined]
        assert (view.status.type, view.topics[0].active) == ("Exclusive", 0)
        assert (view.consumers[0].reported.permits, view.consumers[0].reported.waiting) == (7, 5)
        await pilot.press("n")
        await pilot.pause()
        view = pilot.app.store.shown.reported_view  # type: ignore[attr-defined]
        assert (view.status.type, view.consumers, view.reported.backlog) == ("None", (), 11)

    run(app_on(mixed), story)


def test_why_works_and_goes_to_a_consumer(tmp_path: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app.screen, ReportedScreen)
        await pilot.press("w")
        await pilot.pause()
        panel = pilot.app.screen.query_one(WhyPanel)
        assert panel.diagnosis is not None and panel.diagnosis.causes[0].id == "slow_consumer"
        await pilot.press("enter")
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, ReportedScreen)
        (by,) = panel.diagnosis.causes[0].by
        assert [row.name for row in screen.consumers if row.consumer_id == screen.selected] == [by]

    run(app_on(dump("slow-consumer-a", tmp_path)), story)


def test_a_dump_without_anything_computed_has_its_bundles_too(tmp_path: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        assert isinstance(pilot.app.screen, ReportedScreen)
        await pilot.press("p")
        await pilot.pause()
        assert isinstance(pilot.app.screen, MainScreen) and pilot.app.screen.has_class("-bundles-only")
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ReportedScreen)

    run(app_on(dump("slow-consumer-a", tmp_path)), story)


def test_keys_that_compute_say_why_not_and_details_open(mixed: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("n", "a")
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, ReportedScreen) and screen.sentence[0] == "refusal"
        await pilot.press("f")
        await pilot.pause()
        assert {remark.label for remark in screen.remarks} >= {"permits", "unacked", "client"}
        await pilot.press("escape", "3", "1", "i")
        await pilot.pause()

    run(app_on(mixed), story)


def test_a_step_changes_nothing_of_it(mixed: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        store = pilot.app.store  # type: ignore[attr-defined]
        await pilot.press("x", "n")
        await pilot.pause()
        assert store.timeline.cursor == 1
        assert store.shown.reported_view.reported.computed_from == 0
        assert store.shown.reported_view.consumers[0].reported.unacked == 4

    run(app_on(mixed), story)


def test_moments_are_scrubbed_and_steps_begin_behind_the_last(tmp_path: Path) -> None:
    for at, names in enumerate((["a"], ["a", "b"], ["b"])):
        place = tmp_path / f"2026-11-22T09-48-0{at}Z/admin/v2/persistent/t/n/x"
        place.mkdir(parents=True)
        who = [consumer(name, availablePermits=at) for name in names]
        answer = stats("Failover", who, activeConsumerName=names[0], msgBacklog=10 * at)
        (place / "stats.json").write_text(json.dumps(answer))

    async def story(pilot: Pilot[int]) -> None:
        store = pilot.app.store  # type: ignore[attr-defined]

        async def after(*keys: str) -> tuple[tuple[int, int], list[str], list[str]]:
            await pilot.press(*keys)
            await pilot.pause()
            view = store.shown.failover_view
            names = [row.name for row in view.consumers]
            return store.moment, names, [event.kind for event in view.reported.events]

        assert await after() == ((3, 3), ["b"], ["joined", "permits", "backlog", "left", "active", "backlog"])
        assert await after("left_square_bracket") == ((2, 3), ["a", "b"], ["joined", "permits", "backlog"])
        assert [row.reported.permits for row in store.shown.failover_view.consumers] == [1, 1]
        assert "* 2 + b joined" in text_of(pilot.app)
        assert await after("home") == ((1, 3), ["a"], [])
        await pilot.press("x")
        await pilot.pause()
        assert store.timeline.length == 0 and pilot.app.screen.sentence[0] == "refusal"  # type: ignore[attr-defined]
        assert (await after("end"))[0] == (3, 3)
        await pilot.press("a", *"z", "enter")
        await pilot.pause()
        assert store.timeline.cursor == 1 and store.shown.failover_view.reported.computed_from == 1
        assert (await after("home"))[:2] == ((1, 3), ["a"])
        assert (await after("right_square_bracket", "right_square_bracket"))[:2] == ((3, 3), ["b"])
        assert store.timeline.cursor == 0
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert store.timeline.cursor == 1 and len(store.shown.failover_view.consumers) == 2

    run(app_on(tmp_path), story)


@pytest.mark.parametrize("size", SIZES)
def test_a_load_report_alone_shows_bundles_with_rates_and_owner(size: tuple[int, int]) -> None:
    async def story(pilot: Pilot[int]) -> None:
        shown = text_of(pilot.app)
        assert "0x40000000_0x80000000" in shown and "127.0.0.1:40983" in shown and "419 in+out/s" in shown
        assert "seen 2026-11-21 11:03:43Z" in shown
        await pilot.press("b")
        await pilot.pause()
        assert isinstance(pilot.app.screen, MainScreen) and pilot.app.screen.sentence[0] == "refusal"

    report = Path(__file__).parents[2] / "recordings" / "pip392-flag-on" / "03-load-report.json.gz"
    run(app_on(report), story, size)


def test_a_subscription_that_a_moment_does_not_have_comes_back_with_the_next(tmp_path: Path) -> None:
    for at, subs in enumerate((["old"], ["old", "new"])):
        place = tmp_path / f"2026-11-22T09-48-0{at}Z/admin/v2/persistent/t/n/x"
        place.mkdir(parents=True)
        one = stats("Shared", [consumer("a")])["subscriptions"]["s"]
        (place / "stats.json").write_text(json.dumps({"publishers": [], "subscriptions": dict.fromkeys(subs, one)}))

    async def story(pilot: Pilot[int]) -> None:
        store = pilot.app.store  # type: ignore[attr-defined]
        await pilot.press("n")
        await pilot.pause()
        assert store.shown.name == ("t/n", "new")
        assert [event.kind for event in store.shown.reported_view.reported.events] == ["new"]
        await pilot.press("home")
        await pilot.pause()
        assert store.shown.name == ("t/n", "old")
        await pilot.press("end")
        await pilot.pause()
        assert store.shown.name == ("t/n", "new")

    run(app_on(tmp_path), story)
