"""What each mode moves when the number of nodes changes, against selectors whose nodes leave and join one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from engine.hashing import murmur3_32
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.scaling_modes import (
    FOLLOWED_LEAVES,
    NOBODY,
    ModeMoves,
    NodeChange,
    ScalingMode,
    SlotOwners,
    auto_split_moves,
    moves_of,
    node_name,
    ring_moves,
)
from tests.engine.keyshared.selectors import accepted, auto_split, ring

KEYS = [f"key-{number}".encode() for number in range(500)]
HASHES = np.array([murmur3_32(key) for key in KEYS], dtype=np.int64)
CHANGES = [
    NodeChange(4, (), (4,)),
    NodeChange(5, (1,), ()),
    NodeChange(3, (0, 2), (3, 4)),
    NodeChange(1, (), (1, 2, 3)),
]


def stepwise(selector: Selector, change: NodeChange) -> tuple[Selector, Selector]:
    for node in range(change.before):
        selector = accepted(selector.join(Consumer(node, node_name(node))))
    before = selector
    for node in change.leaving:
        selector = selector.leave(node)
    for node in change.joining:
        selector = accepted(selector.join(Consumer(node, node_name(node))))
    return before, selector


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", [ScalingMode.AUTO_SPLIT, ScalingMode.CONSISTENT_AUTO_SPLIT])
def test_what_moves_is_counted_slot_by_slot_and_key_by_key(mode: ScalingMode, change: NodeChange) -> None:
    if mode is ScalingMode.AUTO_SPLIT:
        moves, (before, after) = auto_split_moves(change, HASHES), stepwise(auto_split(), change)
    else:
        moves, (before, after) = ring_moves(20, change, HASHES), stepwise(ring(points=20), change)
    owners = [(before.owner(slot), after.owner(slot)) for slot in range(1, 65_536)]
    moved = [(was, now) for was, now in owners if was != now]
    stayers = [(was, now) for was, now in moved if was not in change.leaving and now not in change.joining]
    assert (moves.mode, moves.needs_stop, moves.refusal) == (mode, False, None)
    assert moves.moved_share == pytest.approx(len(moved) / 65_535)
    assert moves.between_stayers == pytest.approx(len(stayers) / 65_535)
    largest = max(Counter(now for _, now in owners).values())
    assert moves.max_over_mean == pytest.approx(largest * len(after.consumers) / 65_535)
    slots = [before.slots.slot_of_key(key) for key in KEYS]
    assert moves.moved_keys == sum(before.owner(slot) != after.owner(slot) for slot in slots)


def test_by_hand_with_six_slots_of_which_one_does_not_occur() -> None:
    """Node 1 leaves, node 3 joins: slots 2, 3 and 5 move, of which 3 goes from one that stays to another."""
    owners = SlotOwners(np.array([NOBODY, 0, 1, 0, 2, 0]), np.array([NOBODY, 0, 2, 2, 2, 3]))
    change = NodeChange(3, (1,), (3,))
    moves = moves_of(ScalingMode.CONSISTENT_STICKY, owners, np.array([2, 2, 1, 5]), change, needs_stop=True)
    assert moves == ModeMoves(ScalingMode.CONSISTENT_STICKY, True, 3 / 5, 1 / 5, 3, 3 * 3 / 5)


@pytest.mark.parametrize(
    ("change", "after", "least"),
    [
        (NodeChange(4, (), (4,)), 5, 1 / 5),
        (NodeChange(5, (1,), ()), 4, 1 / 5),
        (NodeChange(2, (0,), (2,)), 2, 0.0),
        (NodeChange(1, (), (1, 2, 3)), 4, 3 / 4),
    ],
)
def test_equal_shares_need_the_difference_to_move(change: NodeChange, after: int, least: float) -> None:
    assert (change.after, change.least_share) == (after, pytest.approx(least))


def test_slot_zero_is_folded_for_keys_too() -> None:
    """The empty key hashes to 0: it is at slot 1, which the newcomer takes from the only node."""
    nothing = np.array([0], dtype=np.int64)
    change = NodeChange(1, (), (1,))
    for mode, moves in (("auto", auto_split_moves(change, nothing)), ("ring", ring_moves(20, change, nothing))):
        before, after = stepwise(auto_split() if mode == "auto" else ring(points=20), change)
        assert moves.moved_keys == (before.owner(1) != after.owner(1))
    assert auto_split_moves(change, nothing).moved_keys == 1


def test_leaves_are_followed_one_by_one_up_to_a_limit() -> None:
    many = NodeChange(FOLLOWED_LEAVES // 4 + 1, (0, 1, 2, 3), ())
    refused = auto_split_moves(many, HASHES)
    assert refused.refusal is not None and refused.refusal.error == "TooManyLeaves"
    assert (refused.moved_share, refused.between_stayers, refused.moved_keys, refused.max_over_mean) == (0, 0, 0, 0)
    assert (refused.needs_stop, refused.refusal.field) == (False, "to")
    too_many = auto_split_moves(NodeChange(65_537, (), ()), HASHES)
    assert too_many.refusal is not None and too_many.refusal.error == "ConsumerAssign"
    newcomers = auto_split_moves(NodeChange(65_536, (), (65_536,)), HASHES)
    assert newcomers.refusal is not None and newcomers.refusal.error == "ConsumerAssign"
    assert (too_many.needs_stop, newcomers.needs_stop) == (False, False)
