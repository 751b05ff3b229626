"""Events change what they name and nothing else; an event that does not fit is a broken assumption."""

from __future__ import annotations

import pytest

from engine.cluster.commands import SplitBundle
from engine.cluster.events import (
    BundleWasSplit,
    ConsumerAdded,
    ConsumerRemoved,
    Event,
    NamespaceSeen,
    ReleaseChanged,
    SettingChanged,
    TopicAdded,
    TopicRemoved,
    TopicRepartitioned,
)
from engine.cluster.evolve import evolve, objection
from engine.cluster.state import BundleSplit
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster

UNFIT: list[Event] = [
    ConsumerAdded("nobody", 3, "d", 0),
    ConsumerAdded("billing", 2, "d", 0),
    ConsumerRemoved("billing", 3),
    ConsumerRemoved("nobody", 0),
    SettingChanged("maxConsumersPerTopic", "x"),
    SettingChanged("unknown", "1"),
    TopicAdded(ORDERS, 1, ()),
    TopicAdded("persistent://shop/eu/new", 1, ("nobody",)),
    TopicAdded("persistent://shop/eu/new", -1, ()),
    TopicRemoved("persistent://shop/eu/new"),
    TopicRepartitioned(AUDIT, 3),
    TopicRepartitioned(ORDERS, 3),
    TopicRepartitioned("persistent://shop/eu/new", 3),
    NamespaceSeen("shop/eu", (0, 0xFFFFFFFF)),
    NamespaceSeen("shop/us", (0, 7)),
    BundleWasSplit("shop/us", 0, 0x40000000, (5,), "range_equally_divide"),
    BundleWasSplit("shop/eu", 0, 0x50000000, (5,), "range_equally_divide"),
    BundleWasSplit("shop/eu", 0, 0x40000000, (), "range_equally_divide"),
    BundleWasSplit("shop/eu", 0, 0x40000000, (7, 7), "range_equally_divide"),
    BundleWasSplit("shop/eu", 0, 0x40000000, (0,), "range_equally_divide"),
]


@pytest.mark.parametrize("event", UNFIT, ids=lambda event: repr(event)[:70])
def test_an_event_that_does_not_fit_is_objected_to_and_asserted(event: Event) -> None:
    assert objection(cluster(), event)
    with pytest.raises(AssertionError, match="does not fit the state"):
        evolve(cluster(), event)


def test_parts_that_an_event_does_not_touch_stay_the_same_objects() -> None:
    """Remembered facts are found by identity, so sharing is what makes an unchanged answer free."""
    before = cluster()

    changed = evolve(before, SettingChanged("maxConsumersPerTopic", "9"))
    grown = evolve(before, TopicAdded("persistent://shop/eu/x", 0, ()))

    assert changed.topics is before.topics and changed.subscriptions is before.subscriptions
    assert grown.subscriptions[0] is before.subscriptions[0] and grown.loads == before.loads
    assert before == cluster(), "the state before is as it was"


def test_the_release_is_taken_as_it_is_written() -> None:
    assert evolve(cluster(), ReleaseChanged("3.0.7")).release == "3.0.7"


def test_splits_are_kept_in_order_beside_the_first_boundaries() -> None:
    state = after(
        cluster(), SplitBundle("shop/eu", "0x00000000_0x40000000"), SplitBundle("shop/eu", "0x00000000_0x20000000")
    )

    assert state.namespaces["shop/eu"].initial_boundaries == cluster().namespaces["shop/eu"].initial_boundaries
    assert state.namespaces["shop/eu"].splits == (
        BundleSplit(0, 0x40000000, (0x20000000,), "range_equally_divide"),
        BundleSplit(0, 0x20000000, (0x10000000,), "range_equally_divide"),
    )
