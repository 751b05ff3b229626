"""What a step moved between consumers, in each mode and form of the ring, and whom it should not have touched."""

from __future__ import annotations

import pytest

from engine.cluster.timeline import Timeline
from engine.keyshared.model import Selector
from engine.views.keys.model import KeysView
from engine.views.keys.view import keys_view
from engine.views.timeline import state_before
from tests.engine.views.key_states import KEY, after

THREE = ("add a", "add b", "add c")
MODES = {
    "auto-split": ("share auto-split", *THREE),
    "ring": THREE,
    "classic ring": ("set subscriptionKeySharedUseClassicPersistentImplementation true", *THREE),
    "equal parts": (*THREE, "share sticky"),
    "nodes": ("share consistent-sticky points 9", *THREE),
    "indexed_replace": ("release 3.3.2", *THREE),
}
SHARED_FORMS = {"name_i": "2.11.0", "name_nul_i": "3.2.3"}


def view(timeline: Timeline) -> KeysView:
    return keys_view(timeline, KEY)


def by_name(found: KeysView) -> dict[str, tuple[int, int, bool]]:
    return {row.name: (row.gained_slots, row.lost_slots, row.bystander) for row in found.consumers}


def selectors(timeline: Timeline) -> tuple[Selector, Selector]:
    earlier = state_before(timeline)
    assert earlier is not None
    return earlier.key_subscriptions[0].delivery.selector, timeline.state.key_subscriptions[0].delivery.selector


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "equal parts"])
def test_a_newcomer_takes_from_others_and_nobody_else_gains(mode: str) -> None:
    result = view(after(*MODES[mode], "add d"))
    rows = by_name(result)
    gained, lost, _ = rows.pop("d")
    assert gained > 0 == lost
    assert all(each == 0 for each, _, _ in rows.values())
    assert sum(each for _, each, _ in rows.values()) == gained == result.moves.slots == result.moves.least
    assert result.moves.bystanders == ()
    assert result.moves.sentence == f"{gained:,} slots moved, 0 of the known keys with them; nobody else lost any"


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("equal parts", "nodes")])
def test_who_leaves_loses_all_and_nobody_else_loses_any(mode: str) -> None:
    before = view(after(*MODES[mode]))
    result = view(after(*MODES[mode], "kill b"))
    rows = by_name(result)
    assert sum(gained for gained, _, _ in rows.values()) == result.moves.slots == before.consumers[1].slots
    assert all(lost == 0 and not bystander for _, lost, bystander in rows.values())


def test_where_ranges_are_declared_a_leave_leaves_a_gap_and_moves_nothing_between_others() -> None:
    result = view(after(*MODES["equal parts"], "kill b"))
    assert by_name(result) == {"a": (0, 0, False), "c": (0, 0, False)}
    assert (result.moves.slots, result.foot.unowned_slots) == (21_845, 21_845)
    assert [(gap.start, gap.end) for gap in result.gaps] == [(21_845, 43_689)]


@pytest.mark.parametrize("releases", [("3.0.3", "4.2.4"), ("4.2.4", "3.0.3")], ids="to ".join)
@pytest.mark.parametrize(("ranges", "slots"), [("1-3290", 3290), ("0-3290", 3290), ("5-9", 5)])
def test_slot_0_which_one_release_alone_has_moves_nowhere(releases: tuple[str, str], ranges: str, slots: int) -> None:
    """Without an owner it is a piece that ends at 0; where it does not occur, nothing of that is left."""
    old, new = releases
    timeline = after(f"release {old}", "share sticky", f"add a ranges {ranges}", f"release {new}")
    result = view(timeline)
    has_slot_0 = new == "3.0.3" and ranges.startswith("0-")
    assert by_name(result) == {"a": (0, 0, False)}
    assert [row.slots for row in result.consumers] == [slots + has_slot_0]
    assert (result.moves.slots, result.moves.least) == (0, 0)


def test_of_consistent_sticky_nodes_the_last_takes_over_the_index_that_is_free_and_its_own_slots_go_to_all() -> None:
    timeline = after("share consistent-sticky points 9", *THREE, "add d", "kill b")
    result = view(timeline)
    assert [row.name for row in result.consumers] == ["a", "d", "c"]
    earlier, now = selectors(timeline)
    had = {slot for slot in range(1, 65_536, 7) if earlier.owner(slot) == 3}
    kept = {slot for slot in had if now.owner(slot) == 3}
    lost = by_name(result)["d"][1]
    assert len(kept) < len(had)
    assert by_name(result)["d"] == (by_name(result)["d"][0], lost, lost > 0)
    if result.moves.bystanders:
        assert result.moves.sentence.endswith(
            "one other lost slots too: the last node takes over the index that is free"
        )


def test_the_last_node_leaves_without_moving_anything_between_the_others() -> None:
    result = view(after(*MODES["nodes"], "kill c"))
    assert result.moves.bystanders == ()
    assert result.moves.sentence.endswith("nobody else lost any")


@pytest.mark.parametrize("form", SHARED_FORMS)
def test_where_points_are_shared_a_namesake_takes_turns_and_bystanders_lose_slots(form: str) -> None:
    lines = (f"release {SHARED_FORMS[form]}", "add c", "add c", "add x")
    timeline = after(*lines, "add c")
    result = view(timeline)
    earlier, now = selectors(timeline)
    probes = range(0, 2**31 - 1, 65_537)
    swapped = {earlier.owner(slot) for slot in probes if now.owner(slot) not in (earlier.owner(slot), 3)}
    assert swapped and swapped <= {result.consumers[at].consumer_id for at in result.moves.bystanders}
    assert result.moves.sentence.endswith(
        "2 others lost slots too: consumers at one point take turns by slot mod how many, in this release"
    )
    assert sum(row.gained_slots for row in result.consumers) == result.moves.slots > result.moves.least


def test_in_the_oldest_form_other_names_share_points_too() -> None:
    """Bug pattern K08: c1 with number 0 makes the point of c with number 10."""
    result = view(after("release 2.11.0", "add c", "add z", "add c1"))
    lost_points = {row.name: row.lost_points for row in result.consumers}
    assert lost_points["c"] == lost_points["c1"] == 10 and lost_points["z"] == 0


def test_a_restart_moves_slots_and_makes_nobody_a_bystander() -> None:
    reported = {
        "share sticky": "all stopped and came back; keys have other slots now, and ",
        "set subscriptionKeySharedConsistentHashingReplicaPoints 7": "all stopped and came back: ",
        "set subscriptionKeySharedUseClassicPersistentImplementation true": "all stopped and came back; keys have "
        "other slots now, and ",
        "release 3.3.2": "all stopped and came back; keys have other slots now, and ",
    }
    for line, beginning in reported.items():
        result = view(after("release 4.2.5", *THREE, "send k1 k2 k3", line))
        assert result.moves.sentence.startswith(beginning), line
        assert result.moves.bystanders == () and not any(row.bystander for row in result.consumers)


def test_another_mode_with_the_same_slots_counts_what_moved() -> None:
    result = view(after("share auto-split", *THREE, "share sticky"))
    assert result.moves.sentence.startswith("all stopped and came back in another mode: ")
    assert result.moves.slots > 0 and result.moves.bystanders == ()


def test_other_points_of_nodes_are_reported_as_such() -> None:
    result = view(after(*MODES["nodes"], "share consistent-sticky points 30"))
    assert result.moves.sentence.startswith("all stopped and came back with other points: ")
    assert result.moves.bystanders == ()


def test_the_first_who_comes_and_the_last_who_goes_move_nothing_between_consumers() -> None:
    assert view(after("add a")).moves.sentence == "the first consumer has everything"
    assert view(after("add a", "kill a")).moves.sentence == "nobody is left: every message waits"
    assert view(after("add a", "send k")).moves.sentence == "no slot moved"
    assert view(after()).moves.sentence == "no slot moved"


def test_known_keys_that_moved_are_counted_and_marked() -> None:
    keys = [f"k{number}" for number in range(80)]
    timeline = after(*THREE, f"send {' '.join(keys)}", "add d")
    result = view(timeline)
    earlier, now = selectors(timeline)
    slots = [now.slots.slot_of_key(key.encode()) for key in keys]
    moved = {key for key, slot in zip(keys, slots, strict=True) if earlier.owner(slot) != now.owner(slot)}
    marks = zip(result.ring.topic_names, result.ring.topic_moved.tolist(), strict=True)
    assert {name for name, mark in marks if mark} == moved
    assert result.moves.keys == len(moved) > 0


def test_a_step_to_another_slot_space_tells_keys_that_moved_although_no_slot_can_be_compared() -> None:
    """Of the event and of the last step alike; within one space moved slots stand beside moved keys."""
    steps = (*THREE, "send k-1 k-2 k-3 k-4 k-5 k-6 k-7 k-8", "ack all")
    other_space = view(after(*steps, "share auto-split"))
    assert other_space.moves.slots == 0 < other_space.moves.keys
    line = other_space.events[-1]
    assert (line.moved, line.partitions, line.moved_keys) == (0, 0, other_space.moves.keys)
    same_space = view(after("share auto-split", *steps, "share sticky"))
    line = same_space.events[-1]
    assert (line.moved, line.moved_keys) == (same_space.moves.slots, same_space.moves.keys) and line.moved > 0
    assert line.partitions == same_space.foot.slots == 65_535


def test_the_rule_says_why_one_slot_less_occurs_than_the_hash_is_divided_by() -> None:
    """Only where slot 0 is folded into 1: a ring has slots from 1 on, and before 4.0 nothing is folded."""
    for mode in ("auto-split", "sticky"):
        result = view(after(f"share {mode}", *THREE)) if mode == "auto-split" else view(after(*THREE, f"share {mode}"))
        assert "slot = hash mod 65,536, 0 counting as 1, so 65,535 slots occur;" in result.status.rule_text
        assert sum(row.slots for row in result.consumers) == result.foot.slots == 65_535
        assert sum(row.share for row in result.consumers) == pytest.approx(1, abs=1e-12)
    assert "occur" not in view(after(*THREE)).status.rule_text
    old = view(after("release 3.3.2", "share auto-split", *THREE))
    assert old.foot.slots == 65_536 and "occur" not in old.status.rule_text
