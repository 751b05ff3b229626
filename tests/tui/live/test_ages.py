"""Parts of a picture that are of different ages: what the line says of them, and what is no difference yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from msgspec import structs
from textual.pilot import Pilot

from engine.verify.report import FactKind
from engine.views.reported.model import Agreement, Disagreement
from tests.tui.live.test_live import BEGAN_MS, ORIGIN, Hand, app_with, reading
from tests.tui.screens_under_test import run
from tui.cli.pictures import Pictures, confirmed, of_one_age
from tui.kit.live_line import Freshness, freshness_parts

ORDERS: Final = "persistent://public/default/orders"
KEYS: Final = "persistent://public/default/keys x"


def differs(topic: str, kind: FactKind = FactKind.ACTIVE_PARTITION) -> Agreement:
    return Agreement(5, (Disagreement(kind.value, topic, "billing", "a", "b", "rule"),))


def test_what_was_not_read_again_confirms_no_difference() -> None:
    now = differs(f"{ORDERS}-partition-1")
    facts = {disagreement.fact for disagreement in now.disagreements}
    assert confirmed(now, facts) == now
    assert confirmed(now, facts, (), {ORDERS}) == Agreement(4)
    assert confirmed(now, facts, facts, {ORDERS}) == now
    assert confirmed(now, (), (), ()) == Agreement(4)


def test_levels_inferred_from_statistics_of_two_times_make_no_difference() -> None:
    moment = Pictures().session(reading(0)).seen[-1]
    inferred = differs(f"{ORDERS}-partition-1", FactKind.ACTIVE_INFERRED_LEVELS)
    assert of_one_age(inferred, moment) == inferred
    assert of_one_age(inferred, structs.replace(moment, older={KEYS: 1})) == inferred
    snapshot = moment.snapshot
    other = replace(snapshot.topics[f"{ORDERS}-partition-0"], name="persistent://public/default/other")
    two = structs.replace(moment, snapshot=structs.replace(snapshot, topics={**snapshot.topics, other.name: other}))
    assert of_one_age(inferred, structs.replace(two, older={ORDERS: 1})) == Agreement(4)
    known = differs(f"{ORDERS}-partition-1")
    assert of_one_age(known, structs.replace(two, older={ORDERS: 1})) == known


def test_the_line_says_how_old_what_is_in_view_and_the_rest_are() -> None:
    freshness = Freshness(ORIGIN, 10.0, BEGAN_MS, BEGAN_MS, view_ms=BEGAN_MS - 20_000, rest_ms=BEGAN_MS - 50_000)
    text = "".join(piece for piece, _ in freshness_parts(freshness, BEGAN_MS + 2000))
    assert "read 22 s ago" in text
    assert "52 s ago" in text


def test_the_feed_knows_what_each_screen_shows() -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.in_view == (frozenset({ORDERS}), False)
        await pilot.press("n")
        await pilot.pause()
        topics, brokers = feed.in_view
        assert (topics != {ORDERS}, len(topics), brokers) == (True, 1, False)
        await pilot.press("n")
        await pilot.pause()
        await pilot.press("B")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert feed.in_view[1]
        await pilot.press("escape")
        await pilot.pause()
        assert feed.arrived is not None
        feed.arrived(pictures.newer(replace(reading(10), older={ORDERS: BEGAN_MS - 5000})))
        await pilot.pause()
        assert not feed.in_view[1]
        live = app.store.live
        assert live is not None
        assert live.rest_ms == BEGAN_MS - 5000

    run(app, story)
