"""The screen of keys on a partitioned topic: all partitions, one of them, and where a key goes."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from engine.scenarios.synthetic import synthetic_keys
from tests.oracles.hashes import java_string_hash
from tests.tui.key_scenes import keys_app, keys_screen
from tests.tui.screens_under_test import after_keys, run, text_of
from tui.app import RingsideApp

PARTITIONS = 4
KEYS = [f"order-{number}" for number in range(30)]


def app_with_partitions(*lines: str) -> RingsideApp:
    return keys_app(synthetic_keys(30, 3, partitions=PARTITIONS).state, *lines)


def shown_partition(app: RingsideApp) -> int:
    return keys_screen(app).now.status.partition


def test_the_status_line_says_how_many_partitions_there_are() -> None:
    assert "4 partitions" in after_keys(app_with_partitions())
    assert "partition" not in after_keys(keys_app())


def test_one_partition_has_its_keys_alone() -> None:
    app = app_with_partitions("send order-1 order-2 order-3")

    async def narrowed(pilot: Pilot[object]) -> None:
        await pilot.press("P", "2", "enter")
        view = keys_screen(app).now
        assert view.status.partition == 2
        assert set(view.ring.topic_names) == {key for key in KEYS if java_string_hash(key) % PARTITIONS == 2}
        sent = [key for key in ("order-1", "order-2", "order-3") if java_string_hash(key) % PARTITIONS == 2]
        assert sum(row.unacked for row in view.consumers) == len(sent)
        assert len(view.deliveries) == len(sent)
        assert "partition 2 of 4" in text_of(app)
        await pilot.press("P")
        await pilot.press("backspace", "enter")
        assert shown_partition(app) == -1

    run(app, narrowed)


def test_parentheses_go_round_and_a_step_keeps_the_partition() -> None:
    app = app_with_partitions()

    async def gone_round(pilot: Pilot[object]) -> None:
        seen = []
        for _ in range(PARTITIONS + 1):
            await pilot.press(")")
            seen.append(shown_partition(app))
        assert seen == [0, 1, 2, 3, -1]
        await pilot.press("(")
        assert shown_partition(app) == 3
        await pilot.press("x")
        assert (shown_partition(app), len(keys_screen(app).now.consumers)) == (3, 2)

    run(app, gone_round)


@pytest.mark.parametrize("typed", ["9", "x"])
def test_a_partition_that_is_not_there_is_refused(typed: str) -> None:
    app = app_with_partitions()

    async def refused(pilot: Pilot[object]) -> None:
        await pilot.press("P", typed, "enter")
        assert shown_partition(app) == -1
        assert ("0 to 3" if typed == "9" else "not a number") in text_of(app)

    run(app, refused)


def test_without_partitions_the_keys_say_so() -> None:
    for key in "P()":
        assert "the topic has no partitions" in after_keys(keys_app(), key)


def test_the_explanation_of_a_key_says_its_partition() -> None:
    app = app_with_partitions()

    async def explained(pilot: Pilot[object]) -> None:
        assert keys_screen(app).explain("order-7") is None
        remarks = {remark.label: remark.text for remark in keys_screen(app).remarks}
        assert remarks["partition"].startswith(f"{java_string_hash('order-7') % PARTITIONS} of 0 to 3: ")
        assert remarks["slots"]

    run(app, explained)


def test_what_waits_names_its_partition() -> None:
    screen = after_keys(app_with_partitions("kill worker-0", "kill worker-1", "kill worker-2", "send order-5"))
    assert "part" in screen
    assert f"{java_string_hash('order-5') % PARTITIONS:>4} " in screen


def test_a_script_selects_a_partition_and_all_of_them() -> None:
    app = app_with_partitions()

    async def selected(pilot: Pilot[object]) -> None:
        screen = keys_screen(app)
        for text, partition in (("partition 3", 3), ("partition all", -1)):
            screen.select_text(text)
            assert shown_partition(app) == partition
        screen.select_text("partition 4")
        assert shown_partition(app) == -1

    run(app, selected)


def test_partitions_that_differ_are_counted_together_and_the_drawn_one_is_named() -> None:
    app = keys_app(
        synthetic_keys(30, 3, mode="auto-split", partitions=PARTITIONS).state,
        "kill worker-0",
        "add worker-9",
        "topic partitions topic-0 6",
    )

    async def summed(pilot: Pilot[object]) -> None:
        screen = keys_screen(app)
        view = screen.now
        assert (view.status.partition, view.status.drawn_partition) == (-1, 0)
        assert view.foot.slots == sum(row.slots for row in view.consumers) == 6 * 65_535
        assert "6 partitions that differ" in text_of(app)
        each = [screen.store.shown.keys_view_of(partition) for partition in range(6)]
        assert {each_view.status.drawn_partition for each_view in each} == {-1}
        assert each[0].ring.point_owners.tolist() == view.ring.point_owners.tolist()
        assert each[5].ring.point_owners.tolist() != view.ring.point_owners.tolist()
        for at, row in enumerate(view.consumers):
            assert row.slots == sum(each_view.consumers[at].slots for each_view in each)
            assert row.ranges == sum(each_view.consumers[at].ranges for each_view in each)
        assert view.foot.keys == sum(each_view.foot.keys for each_view in each)

    run(app, summed)
