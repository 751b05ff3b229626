"""A batch that was not made by key goes whole to the owner of its first key."""

from __future__ import annotations

import pytest

from engine.cluster.commands import SendKeys
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.keyshared.model import owner_of_key
from tests.engine.cluster.key_states import KEY, key_cluster, shared
from tests.engine.cluster.support import after

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
