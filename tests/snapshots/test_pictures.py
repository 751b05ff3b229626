"""Pictures of the hero screens. Each docstring says what must be visible; look at a picture before you accept it.

``pytest tests/snapshots --snapshot-update`` draws them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.cluster.timeline import Timeline
from engine.scenarios.embedded import embedded
from tests.tui.key_scenes import before_a_move, in_mode, keys_app, with_a_gap
from tests.tui.producer_scenes import hundred_app, mixed_app, producers_app
from tui.app import RingsideApp
from tui.kit.session import Session

SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)
Compare = Callable[..., bool]


def app_of(scene: str = "pip392", **how: Any) -> RingsideApp:
    """A still app on an embedded scene."""
    opened = embedded(scene)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    return RingsideApp(Session(timeline, notes=opened.notes), **({"animate": False, "depth": "truecolor"} | how))


@pytest.mark.parametrize("size", [SMALL, MIDDLE, LARGE], ids=["80x24", "120x40", "200x60"])
class TestTheStoryOfTheFlag:
    """The first screen and the first key, at every size."""

    def test_flag_off(self, snap_compare: Compare, size: tuple[int, int]) -> None:
        """Muted arcs, all dots in the colour of billing-0, ``mod 10`` in the middle, the hint names ``c``."""
        assert snap_compare(app_of(), terminal_size=size)

    def test_flag_on(self, snap_compare: Compare, size: tuple[int, int]) -> None:
        """Arcs and dots have their owners' colours, shares stand in the table, 89 of 100 moved."""
        assert snap_compare(app_of(), press=["c"], terminal_size=size)


class TestViews:
    """The three views of one state."""

    def test_hash_map(self, snap_compare: Compare) -> None:
        """The hash space wrapped over rows, each row with its first hash, topics as marks."""
        assert snap_compare(app_of(), press=["c", "v"], terminal_size=MIDDLE)

    def test_one_consumer_lit(self, snap_compare: Compare) -> None:
        """Only billing-1 has its colour, in the ring, the band and the dots; its row is marked."""
        assert snap_compare(app_of(), press=["c", "j", "v", "v"], terminal_size=MIDDLE)


class TestQuestions:
    """Answers to why and where."""

    def test_explanation(self, snap_compare: Compare) -> None:
        """The topic stands out on the ring; beside it the answer, then rule, point, heirs, hash, bytes, bundle."""
        assert snap_compare(app_of(), press=["c", "f", "enter"], terminal_size=MIDDLE)

    def test_split_preview(self, snap_compare: Compare) -> None:
        """Five cards with axis, cuts, both sides' topics and rates, refusals in words, and the admin lines."""
        assert snap_compare(app_of("flow-split"), press=["s"], terminal_size=MIDDLE)


class TestLooks:
    """The same screen in other clothes."""

    def test_light(self, snap_compare: Compare) -> None:
        """Light ground, the same arrangement, readable words."""
        assert snap_compare(app_of(theme="light"), press=["c"], terminal_size=MIDDLE)

    def test_mono(self, snap_compare: Compare) -> None:
        """No colour at all: letters on the ring, tags in the table, the marked row reversed."""
        assert snap_compare(app_of(mono=True), press=["c"], terminal_size=MIDDLE)


@pytest.mark.parametrize("size", [SMALL, MIDDLE, LARGE], ids=["80x24", "120x40", "200x60"])
class TestKeys:
    """The screen of a Key_Shared subscription, at every size."""

    def test_waiting(self, snap_compare: Compare, size: tuple[int, int]) -> None:
        """The ring of slots with its band, marks at two keys that wait; who waits for whom, and what ends it."""
        lines = ("add worker-3", "wait 10", "send order-1 times 3", "send order-7")
        assert snap_compare(keys_app(before_a_move(), *lines), terminal_size=size)

    def test_gap(self, snap_compare: Compare, size: tuple[int, int]) -> None:
        """Two dark arcs that nobody has, the waiting keys in them, the gaps with their slots, the scale of luck."""
        assert snap_compare(keys_app(with_a_gap()), terminal_size=size)


class TestKeysInOtherClothes:
    """Other modes, views and colours of that screen."""

    def test_auto_split_on_the_map(self, snap_compare: Compare) -> None:
        """Five consumers of halves and quarters, the first one killed; the slots row by row, labelled in decimal."""
        assert snap_compare(keys_app(in_mode("auto-split", 5)), press=["x", "v"], terminal_size=MIDDLE)

    def test_client_side(self, snap_compare: Compare) -> None:
        """The status line says that this is a technique of clients; a few points a node make uneven arcs."""
        assert snap_compare(keys_app(in_mode("consistent-sticky points 4")), terminal_size=MIDDLE)

    def test_one_consumer_lit(self, snap_compare: Compare) -> None:
        """Only worker-1 has its colour."""
        assert snap_compare(keys_app(), press=["j", "v", "v"], terminal_size=MIDDLE)

    def test_explanation(self, snap_compare: Compare) -> None:
        """The key stands out on the ring; beside it owner, rule, what it waits for, bytes, hash, slot, point, heirs."""
        app = keys_app(before_a_move(), "add worker-3", "send order-1 times 3")
        assert snap_compare(app, press=["f", "enter"], terminal_size=MIDDLE)

    def test_modes(self, snap_compare: Compare) -> None:
        """Four modes with a sentence each, the one in force named, points for the last."""
        assert snap_compare(keys_app(), press=["m", "down", "down", "down"], terminal_size=MIDDLE)

    def test_light(self, snap_compare: Compare) -> None:
        """Light ground, the same arrangement, readable words."""
        assert snap_compare(keys_app(with_a_gap(), theme="light"), terminal_size=MIDDLE)

    def test_mono(self, snap_compare: Compare) -> None:
        """No colour at all: letters on the ring, dots for nobody, reversed marks at what waits."""
        assert snap_compare(keys_app(with_a_gap(), mono=True), terminal_size=MIDDLE)


@pytest.mark.parametrize("size", [SMALL, MIDDLE, LARGE], ids=["80x24", "120x40", "200x60"])
class TestProducers:
    """The screen of producers, at every size."""

    def test_mixed(self, snap_compare: Compare, size: tuple[int, int]) -> None:
        """Blocks in the colour of their reason, a red column below the cross, bars of the partitions, mixtures."""
        assert snap_compare(mixed_app(), terminal_size=size)

    def test_a_hundred_on_a_thousand(self, snap_compare: Compare, size: tuple[int, int]) -> None:
        """Dust of a hundredth of the matrix, the numbers of every way to start, three lines and where the topic is."""
        assert snap_compare(hundred_app(), terminal_size=size)


class TestProducersInOtherClothes:
    """Other views and colours of that screen."""

    def test_explanation(self, snap_compare: Compare) -> None:
        """The partition is marked; beside the matrix where the message goes, what it opens, bytes, other clients."""
        assert snap_compare(mixed_app(), press=["f", "ctrl+u", *"order-1", "enter"], terminal_size=MIDDLE)

    def test_few(self, snap_compare: Compare) -> None:
        """Large cells with gaps, dots where the last step opened."""
        assert snap_compare(producers_app(4, 8, "producer send all times 2"), terminal_size=MIDDLE)

    def test_light_by_producer(self, snap_compare: Compare) -> None:
        """Light ground; rows in the colours of their tags."""
        assert snap_compare(mixed_app(theme="light"), press=["v"], terminal_size=MIDDLE)

    def test_mono(self, snap_compare: Compare) -> None:
        """No colour at all: a letter for each reason, x for lost connections, lines of letters."""
        assert snap_compare(mixed_app(mono=True), terminal_size=MIDDLE)
