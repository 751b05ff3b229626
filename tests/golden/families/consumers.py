"""Checkers of the vectors about consumers: hashes, partition index, the Failover choice and its notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.errors import Rejection
from engine.failover.choose import choose, levels_overflow, sort_once
from engine.failover.explain import explain_choice
from engine.failover.handover import connect, disconnect
from engine.failover.model import Consumer
from engine.failover.state import Connection, DispatcherState, Notified, Outcome, Terms
from engine.hashing import (
    java_string_hash,
    murmur3_32,
    murmur3_32_raw,
    utf8,
)
from engine.keyshared.model import SlotSpace
from engine.names import partition_index
from tests.golden.harness import checks
from tests.golden.load_lines import release_in_force
from tests.java_text import java_string_hash_of_bytes

Line = dict[str, Any]


@checks("murmur3")
def check_hashes(line: Line) -> None:
    """Raw and masked murmur3, the Java hash (ill-formed bytes too) and the three kinds of slot."""
    if line["kind"] == "string":
        data = utf8(line["s"])
        assert java_string_hash(line["s"]) == line["java"]
        assert murmur3_32(line["s"]) == line["murmur3hash32"]
        assert murmur3_32_raw(line["s"]) == line["raw"]
    else:
        data = bytes.fromhex(line["hex"])
    assert java_string_hash_of_bytes(data) == line["java"]
    assert murmur3_32_raw(data) == line["raw"]
    hash_value = murmur3_32(data)
    assert hash_value == line["murmur3_32"] == line["murmur3hash32"]
    assert SlotSpace(1, 65_535).slot(hash_value) == line["slot_ring"]
    assert SlotSpace(0, 65_535).slot(hash_value) == line["slot_65536"]
    assert SlotSpace(1, 2_147_483_646).slot(hash_value) == line["slot_classic"]


@checks("partition_index")
def check_partition_index(line: Line) -> None:
    """The partition index a topic name ends with."""
    assert partition_index(line["topic"]) == line["partitionIndex"]


def connected_in(line: Line) -> Sequence[Consumer]:
    """The consumers in connect order, but sorted once where the difference of two levels overflows: the class that made
    the vectors sorted its whole list once, where a broker sorts at every join, and only there the two differ.
    """
    consumers = [Consumer(at, each["name"], each["priority"]) for at, each in enumerate(line["consumers"])]
    return sort_once(consumers) if levels_overflow([consumer.priority_level for consumer in consumers]) else consumers


@checks("failover")
def check_choice(line: Line) -> None:
    """The sorted order and the active consumer; the explanation names the same one."""
    consumers = connected_in(line)
    topic, index, flag = line["topic"], line["partitionIndex"], line["consistent"]
    asked = {"consistent_hashing": flag, "behaviour": release_in_force()}
    choice = choose(consumers, topic, index, **asked)
    assert choice is not None
    assert [consumer.consumer_id for consumer in choice.order] == line["order"]
    assert choice.active.consumer_id == line["selected"]
    assert choice.active.name == line["selectedName"]
    assert choice.index == line["selectedIndex"]
    why = explain_choice(consumers, topic, index, **asked)
    assert why is not None and why.choice == choice
    if why.ring is not None:
        assert why.ring.claims[-1].consumer == choice.active
    else:
        assert why.modulo is not None and why.modulo.remainder == line["selectedIndex"]


@checks("failover_sequences")
def check_sequence(line: Line) -> None:
    """Connects and disconnects with the notices of each step; no delay and no pending read."""
    state = DispatcherState(
        Terms(
            line["topic"],
            line["partitionIndex"],
            consistent_hashing=line["consistent"],
            max_consumers=line["maxConsumers"],
            delay_ms=0,
            behaviour=release_in_force(),
        )
    )
    for number, step in enumerate(line["steps"]):
        outcome: Outcome | Rejection
        if step["op"] == "add":
            outcome = connect(state, Connection(Consumer(step["id"], step["name"], step["priority"])))
        else:
            outcome = disconnect(state, step["id"])
        notified: list[list[object]] = []
        if isinstance(outcome, Rejection):
            assert f"{outcome.error}Exception" == step["error"], f"step {number}"
            assert outcome.message == step["message"], f"step {number}"
        else:
            assert "error" not in step, f"step {number} is refused by Pulsar"
            state = outcome.state
            notified = [[e.consumer_id, e.is_active] for e in outcome.effects if isinstance(e, Notified)]
        assert [connection.consumer_id for connection in state.connections] == step["order"], f"step {number}"
        assert state.active_id == step["active"], f"step {number}"
        assert notified == step["notified"], f"step {number}"
        if "removeAgainError" in step:
            again = disconnect(state, step["id"])
            assert isinstance(again, Rejection), f"step {number}"
            assert f"{again.error}Exception" == step["removeAgainError"], f"step {number}"
            assert again.message == step["removeAgainMessage"], f"step {number}"
