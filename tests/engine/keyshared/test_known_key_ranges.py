"""Single slots of known keys: each node has its share, in the order of the list, and nobody has anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.keyshared.consistent_sticky import known_key_ranges, known_key_slot
from engine.keyshared.model import Consumer, Selector, owner_of_key
from engine.keyshared.sticky import RangeConflict, sticky_selector
from engine.ranges import HashRange
from tests.engine.keyshared.selectors import accepted

KEYS = st.lists(st.binary(max_size=6), min_size=1, max_size=40)


@given(KEYS, st.integers(1, 9), st.integers(0, 3))
def test_node_i_has_size_keys_from_i_times_size_on_and_their_slots(keys: list[bytes], nodes: int, spare: int) -> None:
    distinct = list(dict.fromkeys(keys))
    size = -(-len(distinct) // nodes) + spare
    split = accepted(known_key_ranges(keys, nodes, size))
    assert (split.size, len(split.keys), len(split.ranges)) == (size, nodes, nodes)
    for node in range(nodes):
        share = distinct[node * size : (node + 1) * size]
        assert list(split.keys[node]) == share
        assert list(split.ranges[node]) == [
            HashRange(slot, slot) for slot in dict.fromkeys(known_key_slot(key) for key in share)
        ]
    assert split.slots == len({known_key_slot(key) for key in distinct})
    assert known_key_ranges(keys, nodes) == known_key_ranges(keys, nodes, -(-len(distinct) // nodes))


def test_every_known_key_reaches_its_node_at_the_broker_and_others_nobody() -> None:
    keys = [f"order-{number}".encode() for number in range(30)]
    split = accepted(known_key_ranges(keys, 4))
    selector: Selector = accepted(sticky_selector())
    for node, pieces in enumerate(split.ranges):
        declared = tuple((piece.start, piece.end) for piece in pieces)
        selector = accepted(selector.join(Consumer(node, f"node-{node}", declared)))
    assert not split.shared
    for node, share in enumerate(split.keys):
        assert {owner_of_key(selector, key) for key in share} == {node}
    assert owner_of_key(selector, b"order-30") is None


def test_a_slot_of_two_nodes_is_named_and_the_broker_refuses_the_second() -> None:
    other = next(
        key for key in (f"{number}".encode() for number in range(10**6)) if known_key_slot(key) == known_key_slot(b"a")
    )
    split = accepted(known_key_ranges([b"a", other], 2))
    assert [(each.slot, each.node, each.other) for each in split.shared] == [(known_key_slot(b"a"), 0, 1)]
    first, second = (tuple((piece.start, piece.end) for piece in pieces) for pieces in split.ranges)
    selector = accepted(accepted(sticky_selector()).join(Consumer(0, "node-0", first)))
    assert isinstance(selector.join(Consumer(1, "node-1", second)), RangeConflict)
    together = accepted(known_key_ranges([b"a", other], 1))
    assert len(together.ranges[0]) == 1 and not together.shared


@pytest.mark.parametrize(
    ("keys", "nodes", "size", "field"),
    [
        ([], 4, None, "keys"),
        ([b"a"], 0, None, "nodes"),
        ([b"a"], 10**9, None, "nodes"),
        ([b"a"], 1, 0, "size"),
        ([b"a", b"b", b"c"], 2, 1, "size"),
        ([b"a", b"b"], 1, -1, "size"),
    ],
)
def test_what_cannot_be_is_refused_by_the_argument_at_fault(
    keys: list[bytes], nodes: int, size: int | None, field: str
) -> None:
    refusal = known_key_ranges(keys, nodes, size)
    assert isinstance(refusal, Rejection)
    assert refusal.field == field
