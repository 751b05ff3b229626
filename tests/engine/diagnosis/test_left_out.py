"""Whichever member the answers of a recording lack, nothing else is claimed: only less."""

from __future__ import annotations

import json
import random
from typing import Final

import pytest

from engine.admin.topics import decode_named_stats
from tests.engine.diagnosis.left_out import RECORDED, SAMPLES, STALLS, new_claims, whole

WHOLE: Final = frozenset({"slow-consumer-a", "keyshared-draining-a", "ghost-a"})
"""Of these every member is left out, of the others so many; ``left_out`` does it with all."""
TRIED: Final = 10


SOME: Final = (*random.Random("stalls").sample(STALLS, 20), *random.Random("recorded").sample(RECORDED, 30))


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_left_out_makes_no_other_claim(name: str) -> None:
    recording = whole(name)
    assert len(recording.members) > 30
    members = recording.members if name in WHOLE else random.Random(name).sample(recording.members, TRIED)
    assert {member: claims for member in members if (claims := new_claims(recording, member))} == {}


@pytest.mark.parametrize("name", SOME)
def test_what_a_recording_of_a_cluster_lacks_makes_no_other_claim(name: str) -> None:
    recording = whole(name)
    members = random.Random(name).sample(recording.members, min(2, len(recording.members)))
    assert {member: claims for member in members if (claims := new_claims(recording, member))} == {}


def test_a_draining_entry_without_its_slot_costs_itself_alone() -> None:
    draining = [{"unackMsgs": 3}, {"hash": 5, "unackMsgs": 2}, {"hash": None}]
    topic = {"msgRateIn": 1.5, "subscriptions": {"s": {"consumers": [{"drainingHashes": draining}]}}}
    decoded = decode_named_stats(json.dumps({"persistent://t/n/x": topic}).encode(), "a.json")
    (facts,) = decoded.good.values()
    assert [(entry.hash, entry.unacked) for entry in facts.subscriptions[0].consumers[0].draining] == [(5, 2)]
    assert [problem.path.rpartition(".")[2] for problem in decoded.problems] == [
        "drainingHashes[0]",
        "drainingHashes[2]",
    ]
    assert decoded.set_aside == 0
