"""A what-if on a running cluster: how its steps are done there, as lines that a shell takes as they are."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.config import FLAG
from engine.views.admin_lines import NOTHING, admin_lines, dynamic_settings, pasted
from tests.releases import known
from tests.tui.live.test_live import Hand, app_with, at, names, reading
from tests.tui.screens_under_test import cluster, run, text_of
from tui.cli.pictures import Pictures
from tui.cli.session import applied
from tui.live.what_if import WhatIfScreen

__all__ = ["at"]


def words_of(*lines: str, state: ClusterState | None = None) -> list[list[str]]:
    """The words of the shell lines for steps, without the comments."""
    timeline = Timeline.start(cluster() if state is None else state)
    for line in lines:
        timeline = applied(timeline, line)
    return [shlex.split(line) for line in pasted(admin_lines(timeline)).splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("topic add persistent://shop/orders/x partitions 3", ["topics", "create-partitioned-topic", "3"]),
        ("topic add persistent://shop/orders/x", ["topics", "create", "persistent://shop/orders/x"]),
        ("topic remove persistent://shop/orders/order-1", ["topics", "delete-partitioned-topic", "--force"]),
        ("topic partitions persistent://shop/orders/order-1 5", ["topics", "update-partitioned-topic", "5"]),
        ("split shop/orders/0x00000000_0x80000000", ["namespaces", "split-bundle", "0x00000000_0x80000000"]),
        ("split shop/orders/LARGEST", ["namespaces", "split-bundle", "--bundle-type", "LARGEST"]),
        ("set loadBalancerNamespaceBundleMaxTopics=7", ["brokers", "update-dynamic-config", "7"]),
    ],
)
def test_what_pulsar_admin_can_do_is_a_line(step: str, words: list[str]) -> None:
    (line,) = words_of(step)
    assert line[0] == "pulsar-admin"
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize(
    "step",
    [
        "add c-9",
        "kill billing-0",
        "priority billing-0 3",
        "set activeConsumerFailoverConsistentHashing=true",
        "release 3.0.7",
    ],
)
def test_what_it_cannot_do_is_a_comment_with_a_reason(step: str) -> None:
    timeline = applied(Timeline.start(cluster()), step)
    (line,) = admin_lines(timeline)
    assert (line.line, bool(line.remark)) == ("", True)
    assert words_of(step) == []


def test_names_from_outside_stay_one_word() -> None:
    evil = "persistent://shop/orders/x; rm -rf $HOME `id` 'y'"
    (words,) = words_of(f'topic add "{evil}"')
    assert words[-1] == evil
    assert pasted(admin_lines(applied(Timeline.start(cluster()), 'add "a\\nreboot"'))).count("\n") == 0


def test_steps_behind_the_cursor_are_not_done() -> None:
    timeline = applied(Timeline.start(cluster()), "topic add persistent://shop/orders/x")
    assert pasted(admin_lines(timeline.undo())) == NOTHING


def test_a_setting_is_dynamic_or_for_a_restart() -> None:
    classic = "subscriptionKeySharedUseClassicPersistentImplementation"
    of_4_2, of_5_0 = (dynamic_settings(behaviour) for behaviour in map(known, ("4.2.4", "5.0.1")))
    assert of_4_2 - of_5_0 == {classic}
    assert not {FLAG, "subscriptionKeySharedUseConsistentHashing"} & of_4_2
    started = Timeline.start(replace(cluster(), release="5.0.1"))
    (line,) = admin_lines(applied(started, f"set {classic} true"))
    assert (line.line, "5.0.1 does not have" in line.remark) == ("", True)


def test_w_keeps_the_picture_then_lists_the_steps_and_y_copies_the_lines(at: Callable[[float], None]) -> None:
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures)

    async def story(pilot: Pilot[int]) -> None:
        assert feed.arrived is not None
        await pilot.press("W")
        feed.arrived(pictures.newer(reading(10, without="c-1")))
        await pilot.pause()
        assert names(app) == ["c-0", "c-1", "c-2"]
        assert app.store.submit_line("add c-9") is None
        assert app.store.submit_line("set loadBalancerNamespaceBundleMaxTopics=7") is None
        await pilot.press("W")
        await pilot.pause()
        assert isinstance(app.screen, WhatIfScreen)
        assert "pulsar-admin brokers" in text_of(app)
        await pilot.press("y")
        assert app.clipboard.splitlines()[-1].startswith("pulsar-admin brokers update-dynamic-config")
        await pilot.press("escape", "f5")
        await pilot.pause()
        assert names(app) == ["c-0", "c-2"]

    run(app, story, (180, 40))
