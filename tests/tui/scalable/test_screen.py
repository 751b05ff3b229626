"""The screen of a scalable topic: its keys change the simulation or answer a question, and time goes both ways."""

from __future__ import annotations

from textual.pilot import Pilot

from engine.scalable.routing import hashes_of_key
from tests.tui.scalable_scenes import TOPIC, scalable_app, scalable_screen
from tests.tui.screens_under_test import run, text_of
from tui.scalable.panels import RingView, ring_picture


def test_keys_carry_out_what_they_say_and_undo_takes_it_back() -> None:
    app = scalable_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = scalable_screen(app)
        await pilot.press("t", *"k1", "space", *"k2", "space", *"k3", "enter")
        await pilot.press("o", "O", "full_stop", "m", "X", "a", *"new", "enter", "x")
        await pilot.pause()
        texts = [step.text for step in app.store.timeline.steps]
        assert texts == [
            "segment send k1 k2 k3",
            "consumer ack worker-1 of billing",
            "consumer ack all of billing",
            "wait 2000",
            "segment split 0",
            "consumer lose worker-1 of billing",
            "consumer join new to billing",
            "consumer close worker-1 of billing",
        ]
        assert screen.now.view.next.active == 3
        assert [row.name for row in screen.now.consumers] == ["new", "worker-2", "worker-3"]
        await pilot.press("home")
        await pilot.pause()
        assert screen.now.view.next.active == 2
        assert [row.name for row in screen.now.consumers] == ["worker-1", "worker-2", "worker-3"]

    run(app, story, (120, 40))


def test_questions_are_answered_beside_the_ring_and_again_after_a_step() -> None:
    app = scalable_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = scalable_screen(app)
        await pilot.press("f", *"order-1", "enter")
        await pilot.pause()
        assert screen.key_hash == hashes_of_key("order-1").segment_hash
        assert ring_picture(screen.now.pieces, key_hash=screen.key_hash).dots.highlighted == 0
        (owner,) = [one.text for one in screen.remarks if one.label == "gets it"]
        assert owner.startswith("billing: worker-")
        await pilot.press("escape")
        assert screen.key_hash == -1
        for key, label in (("w", "fine"), ("b", "next"), ("s", "split"), ("h", "closes")):
            await pilot.press(key)
            await pilot.pause()
            assert label in [one.label for one in screen.remarks], key
        await pilot.press("w", "t", *"k1", "enter", "m")
        await pilot.pause()
        assert next(one.label for one in screen.remarks if one.main) == "waits"

    run(app, story, (120, 40))


def test_v_goes_from_the_ring_to_one_consumer_to_the_tree() -> None:
    app = scalable_app("segment split 0")

    async def story(pilot: Pilot[int]) -> None:
        screen = scalable_screen(app)
        modes = []
        for _ in range(3):
            await pilot.press("v")
            modes.append(screen.mode)
        assert modes == [RingView.FOCUS, RingView.TREE, RingView.RING]

    run(app, story, (80, 24))


def test_v_leaves_the_tree_out_where_it_has_a_panel() -> None:
    app = scalable_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("v", "v")
        assert scalable_screen(app).mode is RingView.RING

    run(app, story, (120, 40))


def test_the_ring_has_stripes_where_several_share_and_nobody_where_a_segment_waits() -> None:
    app = scalable_app()
    view = app.store.shown.scalable_view_of("")
    assert view is not None
    assert [(piece.segment, piece.dealt) for piece in view.pieces] == [(0, (0, 1)), (1, (2,))]
    assert set(ring_picture(view.pieces).arcs.owners.tolist()) == {0, 1, 2}
    assert app.store.submit_line("segment split 1") is None
    after = app.store.shown.scalable_view_of("")
    assert after is not None
    assert [(piece.segment, piece.dealt, piece.reading) for piece in after.pieces] == [
        (0, (0, 1), (0, 1)),
        (2, (), (2,)),
        (3, (), (2,)),
    ]
    assert ring_picture(after.pieces).sides is not None
    assert [(one.segment, one.generation, one.active, one.waits) for one in after.tree] == [
        (0, 0, True, False),
        (2, 1, True, True),
        (3, 1, True, True),
        (1, 0, False, False),
    ]


def test_other_subscriptions_of_the_topic_are_shown_in_turn() -> None:
    app = scalable_app("consumer join r-1 checkpoint to audit", "consumer join q-1 queue to jobs")

    async def story(pilot: Pilot[int]) -> None:
        screen = scalable_screen(app)
        shown = []
        for _ in range(3):
            shown.append(screen.now.status.subscription)
            await pilot.press("right_parenthesis")
            await pilot.pause()
        assert shown == ["audit", "billing", "jobs"]
        assert "jobs" in text_of(app) or screen.now.status.subscription == "audit"

    run(app, story)


def test_the_topic_is_found_by_its_name_and_listed() -> None:
    app = scalable_app()
    matches = app.store.search_index().find("orders/orders")
    assert [(match.kind, match.name) for match in matches] == [("subscription", TOPIC)]
    (consumer,) = app.store.search_index().find("worker-2")
    assert (consumer.kind, consumer.place) == ("consumer", 0)
    (row,) = app.store.listing().rows
    assert (row.key, row.type, row.consumers, row.idle) == (TOPIC, "Scalable", 3, 0)
