"""The view of a Key_Shared subscription: rows, foot, ring, gaps, luck and status agree with the state."""

from __future__ import annotations

import pytest

from engine.cluster.timeline import Timeline
from engine.config import CURRENT
from engine.keyshared.fairness import fairness_of
from engine.scenarios.synthetic import synthetic_keys
from engine.views.keys.view import key_colours, keys_view
from tests.engine.views.key_states import KEY, TOPIC, after

KEYS = " ".join(f"k{number}" for number in range(50))
STATES = {
    "ring": ("add a", "add b", "add c"),
    "halved": ("share auto-split", "add a", "add b", "add c"),
    "gaps": ("share sticky", "add a ranges 0-99,200-40000", "add b ranges 50000-60000"),
    "nodes": ("share consistent-sticky points 8", "add a", "add b"),
    "classic": (
        "release 4.2.4",
        "set subscriptionKeySharedUseClassicPersistentImplementation true",
        "add a",
        "add b",
    ),
    "name_i": ("release 2.11.0", "add c-1", "add c-11", "add c-1"),
    "name_nul_i": ("release 3.2.3", "add c", "add c", "add d"),
    "indexed_replace": ("release 3.3.2", "add c", "add c", "add d"),
    "legacy sticky": ("release 4.0.0", "share sticky", "add a ranges 0-99,200-40000"),
}


@pytest.mark.parametrize("name", STATES)
def test_every_number_is_what_the_selector_does_slot_by_slot(name: str) -> None:
    timeline = after(*STATES[name], f"send {KEYS}", f"send {KEYS}", "ack all count 30")
    view = keys_view(timeline, KEY)
    subscription = timeline.state.key_subscriptions[0]
    selector, delivery = subscription.delivery.selector, subscription.delivery
    assert sum(row.slots for row in view.consumers) + view.foot.unowned_slots == view.foot.slots
    step = 1 if selector.slots.size < 100_000 else 1_000_003
    probes = range(max(selector.slots.low, 1), selector.slots.high + 1, step)
    for row in view.consumers:
        hits = sum(selector.owner(slot) == row.consumer_id for slot in probes)
        if step == 1:
            assert row.slots - hits in (0, 1), "slot 0 occurs in old releases and is not probed"
        else:
            assert abs(hits / len(probes) - row.share) < 0.05
        owned = [key for key in subscription.keys if selector.owner(selector.slots.slot_of_key(key)) == row.consumer_id]
        assert row.keys == len(owned)
        assert row.messages == sum(subscription.keys[key] for key in owned) == 2 * len(owned)
        assert row.unacked == len(delivery.pending[row.consumer_id])
    held = sum(row.unacked for row in view.consumers)
    assert held + view.foot.waiting == len(delivery.backlog)
    assert view.foot.waiting == sum(row.messages for row in view.waits)


@pytest.mark.parametrize("name", STATES)
def test_a_slot_of_the_ring_belongs_to_the_first_point_at_or_after_it(name: str) -> None:
    timeline = after(*STATES[name])
    view = keys_view(timeline, KEY)
    selector = timeline.state.key_subscriptions[0].delivery.selector
    ends, owners = view.ring.points.tolist(), view.ring.point_owners.tolist()
    assert ends == sorted(set(ends)) and ends[-1] == selector.slots.high
    ids = [row.consumer_id for row in view.consumers]
    shared = name in ("name_i", "name_nul_i")
    for end, owner in list(zip(ends, owners, strict=True))[:200]:
        there = selector.owner(end)
        assert shared or there == (ids[owner] if owner >= 0 else None)


def test_gaps_are_listed_widest_first_with_the_keys_and_messages_in_them() -> None:
    view = keys_view(after(*STATES["gaps"], f"send {KEYS}"), KEY)
    assert [(gap.start, gap.end) for gap in view.gaps] == [(40_001, 49_999), (60_001, 65_535), (100, 199)]
    assert sum(gap.waiting for gap in view.gaps) == view.foot.waiting == view.foot.unowned_keys
    assert {row.reason for row in view.waits} == {"no owner"} and {row.owner for row in view.waits} == {-1}
    assert [row.declared for row in view.consumers] == ["0-99,200-40000", "50000-60000"]


def test_the_status_names_mode_form_and_order() -> None:
    reported = {name: keys_view(after(*lines), KEY).status for name, lines in STATES.items()}
    assert {name: status.form for name, status in reported.items()} == {
        "ring": "16-bit ring, 100 points each",
        "halved": "ranges halved",
        "gaps": "declared ranges",
        "nodes": "declared ranges from 8 points a node",
        "classic": "31-bit ring of the classic dispatcher, 100 points each",
        "name_i": "31-bit ring, 100 points each, form name_i",
        "name_nul_i": "31-bit ring, 100 points each, form name_nul_i",
        "indexed_replace": "31-bit ring, 100 points each, form indexed_replace",
        "legacy sticky": "declared ranges, end points only",
    }
    assert [name for name, status in reported.items() if status.client_side] == ["nodes"]
    assert {status.points for name, status in reported.items() if "ring" in status.form} == {100}
    assert reported["nodes"].points == 8
    assert reported["classic"].order_rule.startswith("recently joined: ")
    assert reported["ring"].order_rule.startswith("draining hashes: ")
    assert reported["gaps"].order_rule.startswith("nothing keeps keys in order")
    assert (reported["ring"].topic, reported["ring"].subscriptions, reported["ring"].release) == (
        TOPIC,
        (KEY,),
        CURRENT.label,
    )


def test_a_colour_stays_with_its_consumer_and_is_never_given_again() -> None:
    first = after("add a", "add b")
    later = after("kill a", "add c", "rename b to d", start=first)
    colours = key_colours(later.state.key_subscriptions[0])
    assert [(row.name, row.tag, row.colour) for row in keys_view(later, KEY).consumers] == [
        ("c", "C", 2),
        ("d", "D", 3),
    ]
    assert {number: colours[number] for number in (0, 1)} == key_colours(first.state.key_subscriptions[0])


def test_luck_without_keys_or_consumers_is_nothing_to_judge() -> None:
    for lines in ((), ("add a", "add b"), ("send k",)):
        luck = keys_view(after(*lines), KEY).luck
        assert luck.verdict == "nothing to judge"
        assert luck.sentence == "no known key has an owner; a sent message makes its key known"


def test_uneven_points_are_a_verdict_of_their_own() -> None:
    few = ("set subscriptionKeySharedConsistentHashingReplicaPoints 3", "add a", "add b", "add c")
    many = " ".join(f"k{number}" for number in range(2_000))
    luck = keys_view(after(*few, f"send {many}"), KEY).luck
    assert luck.verdict == "chance of the points"
    assert luck.observed_max > luck.high_max
    assert "the points fell so by chance that one of 3 consumers has " in luck.sentence


def test_points_of_the_ring_and_those_lost_are_reported_by_consumer() -> None:
    timeline = Timeline.start(synthetic_keys(10, 30).state)
    view = keys_view(timeline, timeline.state.key_subscriptions[0].key)
    selector = timeline.state.key_subscriptions[0].delivery.selector
    lost = {consumer.consumer_id: consumer.lost_points for consumer in fairness_of(selector).consumers}
    assert {row.consumer_id: row.lost_points for row in view.consumers} == lost
    assert {row.points for row in view.consumers} == {100}


def test_the_middle_of_the_ring_says_how_many_by_which_rule_and_who_has_most() -> None:
    assert keys_view(after(), KEY).ring.centre == ("no consumers", "every message waits", "press a to add one")
    centre = keys_view(after("add a", "add b", f"send {KEYS}"), KEY).ring.centre
    assert centre[:2] == ("2 consumers", "ring: 100 points each")
    assert centre[2].endswith(" of 50 keys")
    assert keys_view(after(*STATES["gaps"]), KEY).ring.centre[-1].endswith("slots unowned")


def test_what_the_last_step_sent_is_shown_with_its_slot_and_consumer_until_the_next_step() -> None:
    lines = ("add a", "add b", "send order-1 times 2", "send order-7 times 2")
    ring = keys_view(after(*lines), KEY).ring
    at = list(ring.topic_names).index("order-7")
    assert ring.sent == ((int(ring.topic_hashes[at]), int(ring.topic_owners[at])),) * 2
    assert keys_view(after(*lines, "wait 10"), KEY).ring.sent == ()
    blocked = after("share sticky", "add a ranges 0-1", "send order-1")  # nobody has its slot
    assert keys_view(blocked, KEY).ring.sent == ()
