"""Joining, leaving and renaming in a Key_Shared subscription; nodes keep their indices."""

from __future__ import annotations

import pytest

from engine.cluster.commands import Acknowledge, AddConsumer, KillConsumer, RenameConsumer, SendKeys, ShareKeys
from engine.cluster.decide import decide
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.keys.state import KeyConsumerJoined, KeyConsumerLeft
from engine.cluster.keys.subscriptions import nodes_of
from engine.cluster.state import ClusterState
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.model import owner_of_key
from tests.engine.cluster.key_states import KEY, key_cluster, shared, who
from tests.engine.cluster.support import after

POINTS = 6


def nodes(*names: str) -> ClusterState:
    return key_cluster(*names, mode="consistent-sticky", points=POINTS)


def indices(state: ClusterState) -> dict[str, int]:
    """Name -> node index, by what each declares."""
    result = node_ranges(POINTS, len(shared(state).consumers))
    assert isinstance(result, tuple)
    declared = [tuple((piece.start, piece.end) for piece in pieces) for pieces in result]
    return {consumer.name: declared.index(consumer.declared or ()) for consumer in shared(state).consumers}


def test_ids_go_on_behind_those_of_other_subscriptions_and_are_never_given_twice() -> None:
    state = key_cluster("a", "b")
    assert who(state) == [(3, "a"), (4, "b")]
    state = after(state, KillConsumer(KEY, 4), AddConsumer(KEY, "b"), AddConsumer("billing", "x"))
    assert who(state) == [(3, "a"), (5, "b")]
    assert state.subscriptions[0].consumers[-1].consumer_id == 6


def test_a_newcomer_of_a_ring_is_one_event_and_priority_plays_no_part() -> None:
    state = key_cluster("a")
    assert decide(state, AddConsumer(KEY, "b", 7)) == (KeyConsumerJoined(KEY, 4, "b", None),)
    assert decide(state, KillConsumer(KEY, 3)) == (KeyConsumerLeft(KEY, 3),)


def test_a_renamed_consumer_stands_last_with_the_ranges_it_declared() -> None:
    state = key_cluster("a", "b", mode="auto-split")
    state = after(state, ShareKeys(KEY, "sticky"))
    assert decide(state, RenameConsumer(KEY, 3, "z")) == (
        KeyConsumerLeft(KEY, 3),
        KeyConsumerJoined(KEY, 5, "z", ((0, 32_767),)),
    )


def test_all_nodes_stop_when_one_comes_and_the_newcomer_gets_the_last_index() -> None:
    state = nodes("a", "b")
    outcome = decide(state, AddConsumer(KEY, "c"))
    assert isinstance(outcome, tuple)
    assert [type(event).__name__ for event in outcome] == ["KeyConsumerLeft"] * 2 + ["KeyConsumerJoined"] * 3
    assert indices(after(state, AddConsumer(KEY, "c"))) == {"a": 0, "b": 1, "c": 2}


def test_the_last_node_takes_over_the_index_of_one_that_goes() -> None:
    state = nodes("a", "b", "c", "d")
    assert indices(after(state, KillConsumer(KEY, 4))) == {"a": 0, "d": 1, "c": 2}
    assert indices(after(state, KillConsumer(KEY, 6))) == {"a": 0, "b": 1, "c": 2}
    assert indices(after(state, KillConsumer(KEY, 3), KillConsumer(KEY, 6))) == {"c": 0, "b": 1}


def test_the_only_node_simply_leaves_and_the_next_one_has_everything() -> None:
    state = nodes("a")
    assert decide(state, KillConsumer(KEY, 3)) == (KeyConsumerLeft(KEY, 3),)
    (consumer,) = shared(after(state, KillConsumer(KEY, 3), AddConsumer(KEY, "b"))).consumers
    starts, ends = zip(*consumer.declared, strict=True)
    assert starts == (0, *(end + 1 for end in ends[:-1])) and ends[-1] == 65_535


def test_a_renamed_node_keeps_its_index_though_it_stands_last() -> None:
    state = after(nodes("a", "b", "c"), RenameConsumer(KEY, 3, "z"))
    assert [name for _, name in who(state)] == ["b", "c", "z"]
    assert indices(state) == {"z": 0, "b": 1, "c": 2}
    assert [node.name for node in nodes_of(shared(state))] == ["z", "b", "c"]
    assert indices(after(state, AddConsumer(KEY, "d"))) == {"z": 0, "b": 1, "c": 2, "d": 3}
    assert indices(after(state, KillConsumer(KEY, 4))) == {"z": 0, "c": 1}
    more = after(state, ShareKeys(KEY, "consistent-sticky", 30))
    assert [name for _, name in who(more)] == ["z", "b", "c"]


def test_ranges_given_by_hand_stay_until_the_next_node_comes() -> None:
    state = nodes()
    state = after(state, AddConsumer(KEY, "hand", 0, ((0, 9),)))
    assert shared(state).consumers[0].declared == ((0, 9),)
    assert indices(after(state, AddConsumer(KEY, "b"))) == {"hand": 0, "b": 1}


def test_what_a_consumer_held_goes_to_its_heir_in_order() -> None:
    state = after(key_cluster("a", mode="auto-split"), SendKeys(KEY, ("k", "l", "k")))
    assert len(shared(state).delivery.pending[3]) == 3
    state = after(state, AddConsumer(KEY, "b"), KillConsumer(KEY, 3))
    assert sorted(shared(state).delivery.pending[4]) == [0, 1, 2]
    state = after(state, Acknowledge(KEY, 4, "k"))
    assert sorted(shared(state).delivery.backlog) == [1]


def test_acknowledging_takes_the_oldest_first_of_one_or_of_all() -> None:
    state = after(key_cluster("a", "b"), SendKeys(KEY, tuple(f"k{number}" for number in range(20))))
    held = {owner: sorted(messages) for owner, messages in shared(state).delivery.pending.items()}
    assert all(held.values())
    one = after(state, Acknowledge(KEY, 3, None, 2))
    assert sorted(shared(one).delivery.pending[3]) == held[3][2:]
    three = after(state, Acknowledge(KEY, None, None, 3))
    assert sorted(shared(three).delivery.backlog) == list(range(3, 20))
    assert not shared(after(state, Acknowledge(KEY))).delivery.backlog


KEYS = ("k0", "k1", "k2", "k3", "k4", "k5")


def held(command: SendKeys) -> dict[int, int]:
    """How many messages each consumer got."""
    delivery = shared(after(key_cluster("a", "b", "c"), command)).delivery
    return {owner: len(messages) for owner, messages in delivery.pending.items() if messages}


def test_all_messages_of_a_batch_go_to_one_consumer_and_single_ones_to_their_own() -> None:
    selector = shared(key_cluster("a", "b", "c")).delivery.selector
    first = owner_of_key(selector, KEYS[0].encode())
    assert first is not None
    owners = [owner_of_key(selector, key.encode()) for key in KEYS]
    assert len(set(owners)) > 1
    assert held(SendKeys(KEY, KEYS, batched=True)) == {first: 6}
    assert held(SendKeys(KEY, KEYS, 2, batched=True)) == {first: 12}
    assert held(SendKeys(KEY, KEYS)) == {owner: owners.count(owner) for owner in owners if owner is not None}


@pytest.mark.parametrize(
    "command",
    [
        SendKeys(KEY, KEYS, 1, True),
        SendKeys(KEY, ("a",), 3, True),
        SendKeys(KEY, ("batched", "times"), 1, False),
        SendKeys(KEY, ("batched",), 2, True),
    ],
)
def test_a_batch_is_written_as_it_is_read(command: SendKeys) -> None:
    state = key_cluster("a", "b")
    text = command_text(command, state)
    assert parse_command(text, state, KEY) == command
    assert parse_command(f"send a b batched times 3 to {KEY}", state, KEY) == SendKeys(KEY, ("a", "b"), 3, True)
