"""The modes by name: which settings and slots each has, and which selector it gives to consumers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.config import CURRENT, BrokerSettings
from engine.errors import InputError, Rejection
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.model import Consumer
from engine.keyshared.policies import KeyPolicy, key_policies_of, selector_of, settings_under, slot_space

SETTINGS = BrokerSettings()
NAMES = (Consumer(0, "a"), Consumer(1, "b"), Consumer(2, "c"))
RANGES = (Consumer(0, "a", ((0, 20_000),)), Consumer(1, "b", ((20_001, 65_535),)))


def test_modes_are_read_by_name_each_once() -> None:
    assert key_policies_of("all") == tuple(KeyPolicy)
    assert key_policies_of(" sticky,auto_split,, sticky") == (KeyPolicy.STICKY, KeyPolicy.AUTO_SPLIT)
    for text in ("", " , ", "sticky, best"):
        with pytest.raises(InputError):
            key_policies_of(text)


def test_only_the_ring_hashes_consistently() -> None:
    on = {policy for policy in KeyPolicy if settings_under(policy, SETTINGS).subscriptionKeySharedUseConsistentHashing}
    assert on == {KeyPolicy.CONSISTENT_AUTO_SPLIT}
    ring, *others = (slot_space(policy, SETTINGS, CURRENT) for policy in (KeyPolicy.CONSISTENT_AUTO_SPLIT, *KeyPolicy))
    assert {other.high for other in others} == {others[0].high, ring.high} and ring != others[0]


@pytest.mark.parametrize("policy", KeyPolicy)
def test_the_selector_is_that_of_a_broker_in_this_mode(policy: KeyPolicy) -> None:
    consumers = RANGES if policy is KeyPolicy.STICKY else NAMES
    selector = selector_of(policy, consumers, SETTINGS, CURRENT)
    assert selector is not None and not isinstance(selector, str)
    declared = consumers
    if policy is KeyPolicy.CONSISTENT_STICKY:
        nodes = node_ranges(SETTINGS.subscriptionKeySharedConsistentHashingReplicaPoints, len(NAMES))
        assert not isinstance(nodes, Rejection)
        pairs = [tuple((piece.start, piece.end) for piece in node) for node in nodes]
        declared = tuple(replace(consumer, declared=own) for consumer, own in zip(NAMES, pairs, strict=True))
    sticky = policy in (KeyPolicy.STICKY, KeyPolicy.CONSISTENT_STICKY)
    mode = KeySharedMode.STICKY if sticky else KeySharedMode.AUTO_SPLIT
    broker = assemble(declared, mode, settings_under(policy, SETTINGS), CURRENT)
    assert not isinstance(broker, Rejection | JoinRefused)
    for slot in range(selector.slots.low, selector.slots.high + 1, 97):
        assert selector.owner(slot) == broker.owner(slot)


def test_a_mode_that_does_not_apply_has_no_selector_and_a_refusal_names_the_consumer() -> None:
    assert selector_of(KeyPolicy.STICKY, NAMES, SETTINGS, CURRENT) is None
    clash = (RANGES[0], Consumer(1, "late", ((5, 9),)))
    refused = selector_of(KeyPolicy.STICKY, clash, SETTINGS, CURRENT)
    assert isinstance(refused, str) and "'late'" in refused
