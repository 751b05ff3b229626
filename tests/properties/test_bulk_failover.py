"""Failover in bulk equals the scalar theory, consumer for consumer, where points meet and where they do not."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bulk_hashing import murmur3_bulk
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.failover.bulk import assign, sort_topics
from engine.failover.bulk_ring import NOBODY, assign_modulo, build_rings, cohorts, rings_of
from engine.failover.choose import choose_many, cohort, sort_consumers
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing
from engine.hashing import utf8
from tests.properties import strategies

BITS = st.sampled_from((8, 11, 16, 31))
FLEETS = st.lists(strategies.cohorts(max_size=6, levels=2) | st.just(()), min_size=1, max_size=5)
"""The consumers of several subscriptions; some have none."""

BEFORE_3_0 = behaviour_of("2.11.0")
assert isinstance(BEFORE_3_0, ReleaseBehaviour)

Fleet = list[tuple[Consumer, ...]]


def names_and_levels(fleet: Fleet) -> tuple[list[list[str]], list[list[int]]]:
    names = [[consumer.name for consumer in consumers] for consumers in fleet]
    return names, [[consumer.priority_level for consumer in consumers] for consumers in fleet]


def hashes_worth_asking(ring: FailoverRing) -> np.ndarray:
    """The ends of the space, all points, and their neighbours."""
    near = np.concatenate((ring.points - 1, ring.points, ring.points + 1, [0, ring.space - 1]))
    return np.unique(near[(near >= 0) & (near < ring.space)])


@settings(max_examples=60, deadline=None)
@given(FLEETS)
def test_cohorts_are_the_sorted_consumers_of_the_first_level(fleet: Fleet) -> None:
    result = cohorts(*names_and_levels(fleet))
    for number, consumers in enumerate(fleet):
        expected = [consumer.consumer_id for consumer in cohort(sort_consumers(consumers))]
        assert result.members[result.start[number] : result.start[number + 1]].tolist() == expected


@settings(max_examples=60, deadline=None)
@given(FLEETS, BITS)
def test_every_ring_of_many_owns_hashes_as_the_scalar_ring_does(fleet: Fleet, bits: int) -> None:
    rings = build_rings(*names_and_levels(fleet), bits=bits)
    assert rings.key.tolist() == sorted(rings.key.tolist())
    for number, consumers in enumerate(fleet):
        if not consumers:
            assert rings.look_up(number, np.array([0, 5])).tolist() == [NOBODY, NOBODY]
            continue
        leading = cohort(sort_consumers(consumers))
        ring = FailoverRing(tuple(consumer.name for consumer in leading), 2**bits)
        asked = hashes_worth_asking(ring)
        expected = [leading[index].consumer_id for index in ring.owner_indices(asked).tolist()]
        assert rings.look_up(number, asked).tolist() == expected
        sorted_owners = ring.owners_of_sorted(asked.astype(np.int32)).tolist()
        assert [leading[index].consumer_id for index in sorted_owners] == expected


@settings(max_examples=40, deadline=None)
@given(strategies.cohorts(max_size=6), BITS)
def test_every_claimant_of_a_point_is_kept_the_owner_first(consumers: tuple[Consumer, ...], bits: int) -> None:
    rings = build_rings([[consumer.name for consumer in consumers]], bits=bits)
    order = sort_consumers(consumers)
    ring = FailoverRing(tuple(consumer.name for consumer in order), 2**bits)
    claimed = zip(rings.points_of(0).tolist(), rings.owners_of(0).tolist(), strict=True)
    for point, run in groupby(claimed, key=lambda each: each[0]):
        # In the scalar ring the last claim owns a point.
        expected = [order[claim.owner_index].consumer_id for claim in reversed(ring.claims(point))]
        assert [owner for _, owner in run] == expected


@settings(max_examples=30, deadline=None)
@given(FLEETS, st.integers(1, 20), st.integers(1, 2_000))
def test_the_size_of_a_batch_changes_nothing(fleet: Fleet, points: int, batch: int) -> None:
    names, levels = names_and_levels(fleet)
    whole = build_rings(names, levels, points=points, bits=11)
    parts = [build_rings([each], [level], points=points, bits=11) for each, level in zip(names, levels, strict=True)]
    assert np.concatenate([part.owner for part in parts]).tolist() == whole.owner.tolist()
    assert np.concatenate([part.points_of(0) for part in parts]).tolist() == (whole.key & (2**31 - 1)).tolist()
    batched = rings_of(cohorts(names, levels), names, points=points, bits=11, batch_points=batch)
    assert batched.key.tolist() == whole.key.tolist()
    assert batched.owner.tolist() == whole.owner.tolist()


@settings(max_examples=60, deadline=None)
@given(
    FLEETS,
    st.lists(st.tuples(st.integers(0, 4), strategies.topics()), max_size=20),
    st.booleans(),
    st.sampled_from((CURRENT, BEFORE_3_0)),
)
def test_the_active_consumers_are_those_of_the_scalar_choice(
    fleet: Fleet, topics: list[tuple[int, tuple[str, int]]], flag: bool, behaviour: ReleaseBehaviour
) -> None:
    topics = [(number % len(fleet), topic) for number, topic in topics]
    names, levels = names_and_levels(fleet)
    result, rings = cohorts(names, levels), build_rings(names, levels)
    number = np.array([number for number, _ in topics], dtype=np.int64)
    hashes = murmur3_bulk([name for _, (name, _) in topics])
    indices = np.array([index for _, (_, index) in topics], dtype=np.int64)
    outcome = assign(result, rings, number, hashes, indices, consistent_hashing=flag, behaviour=behaviour)
    expected = []
    for at, topic in topics:
        choices = choose_many(fleet[at], [topic], consistent_hashing=flag, behaviour=behaviour)
        expected.append(choices[0].active.consumer_id if choices else NOBODY)
    assert outcome.tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=40), strategies.cohorts(max_size=4), st.sampled_from((4, 6)))
def test_cutting_sorted_topics_is_looking_each_up(
    hashes: list[int], consumers: tuple[Consumer, ...], bits: int
) -> None:
    ring = FailoverRing(tuple(consumer.name for consumer in consumers), 2**bits)
    topics = sort_topics(np.array(hashes, dtype=np.int64))
    assert topics.row.tolist() == sorted(range(len(hashes)), key=lambda at: hashes[at])
    assert ring.owners_of_sorted(topics.hash).tolist() == [ring.owner_index(value) for value in sorted(hashes)]


def test_a_name_in_characters_and_in_halves_of_characters_is_one_name() -> None:
    """To Java they are equal, so of two such namesakes the one that connected first is first in order."""
    whole = [chr(0x1F600 + at) for at in range(30)]
    halves = [chr(0xD800 + (ord(each) - 0x10000) // 0x400) + chr(0xDC00 + ord(each) % 0x400) for each in whole]
    assert list(map(utf8, halves)) == list(map(utf8, whole)) and not set(halves) & set(whole)
    for names in (whole + halves, halves + whole):
        consumers = [Consumer(at, name) for at, name in enumerate(names)]
        expected = [consumer.consumer_id for consumer in sort_consumers(consumers)]
        assert cohorts([names]).members.tolist() == expected
        hashes = np.arange(0, 2**31, 2**22, dtype=np.int32)
        order = sort_consumers(consumers)
        owners = FailoverRing(tuple(consumer.name for consumer in order)).owners_of_sorted(hashes).tolist()
        assert [order[index].consumer_id for index in owners] == build_rings([names]).look_up(0, hashes).tolist()


def test_nothing_at_all_is_assigned_to_nobody() -> None:
    nothing = build_rings([])
    assert (len(nothing), len(nothing.key)) == (0, 0)
    empty = build_rings([[]])
    assert empty.look_up(0, np.array([1])).tolist() == [NOBODY]
    assert assign_modulo(cohorts([[]]), 0, np.array([1])).tolist() == [NOBODY]


def test_a_ring_costs_twelve_bytes_a_point() -> None:
    rings = build_rings([[f"consumer-{at}" for at in range(50)]])
    assert rings.key.nbytes + rings.owner.nbytes == 12 * 50 * 100
