"""A selector made at one go is the one that single joins make, and refuses whom they refuse."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import BrokerSettings, behaviour_of
from engine.errors import Rejection
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble, selector_for
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.ring import RingSelector
from engine.keyshared.sticky import policy_problem
from tests.engine.keyshared.selectors import accepted

RELEASES = ("2.11.0", "3.0.7", "3.3.2", "4.0.0", "4.0.7")
NAMES = st.lists(st.sampled_from(["a", "b", "c-1", "c-11", ""]), max_size=8)
RANGE = st.tuples(st.integers(0, 40), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def joined_singly(
    consumers: Sequence[Consumer], mode: KeySharedMode, broker: BrokerSettings, release: str
) -> Selector | JoinRefused:
    selector: Selector = accepted(selector_for(mode, broker, accepted(behaviour_of(release))))
    for consumer in consumers:
        after = selector.join(consumer)
        if isinstance(after, Rejection):
            return JoinRefused(consumer, after)
        selector = after
    return selector


@given(NAMES, st.sampled_from(RELEASES), st.booleans())
@settings(max_examples=60, deadline=None)
def test_ring_and_auto_split_are_those_of_single_joins(names: list[str], release: str, ring: bool) -> None:
    consumers = [Consumer(number, name) for number, name in enumerate(names)]
    broker = BrokerSettings(
        subscriptionKeySharedUseConsistentHashing=ring, subscriptionKeySharedConsistentHashingReplicaPoints=5
    )
    result = assemble(consumers, KeySharedMode.AUTO_SPLIT, broker, accepted(behaviour_of(release)))
    assert result == joined_singly(consumers, KeySharedMode.AUTO_SPLIT, broker, release)


@given(st.lists(st.lists(RANGE, min_size=1, max_size=3), max_size=6), st.sampled_from(RELEASES))
@settings(max_examples=100, deadline=None)
def test_sticky_is_that_of_single_joins_and_refuses_the_same_consumer(
    declared: list[list[tuple[int, int]]], release: str
) -> None:
    fine = [tuple(ranges) for ranges in declared if policy_problem(tuple(ranges)) is None]
    consumers = [Consumer(number, f"c-{number}", ranges) for number, ranges in enumerate(fine)]
    result = assemble(consumers, KeySharedMode.STICKY, BrokerSettings(), accepted(behaviour_of(release)))
    assert result == joined_singly(consumers, KeySharedMode.STICKY, BrokerSettings(), release)


def test_a_point_that_a_newcomer_takes_away_for_good_is_lost_in_one_go_too() -> None:
    """One of the 500 points of c-0 is one of c-109's, on the ring of 31 bits that 3.3.2 has."""
    consumers = [Consumer(0, "c-0"), Consumer(1, "c-109")]
    broker = BrokerSettings(subscriptionKeySharedConsistentHashingReplicaPoints=500)
    result = assemble(consumers, KeySharedMode.AUTO_SPLIT, broker, accepted(behaviour_of("3.3.2")))
    assert isinstance(result, RingSelector)
    assert [len(member.lost) for member in result.members] == [1, 0]
    assert result == joined_singly(consumers, KeySharedMode.AUTO_SPLIT, broker, "3.3.2")


def test_one_consumer_more_than_slots_is_refused_as_pulsar_does() -> None:
    consumers = [Consumer(number, str(number)) for number in range(65_537)]
    result = assemble(
        consumers, KeySharedMode.AUTO_SPLIT, BrokerSettings(subscriptionKeySharedUseConsistentHashing=False)
    )
    assert isinstance(result, JoinRefused)
    assert result.consumer.name == "65536"
    assert result.rejection.message == "No more range can assigned to new consumer, assigned consumers 65536"


@pytest.mark.parametrize("release", ["2.11.0", "4.0.7"])
def test_a_hundred_thousand_ranges_are_judged_and_as_many_as_there_are_slots_are_taken(release: str) -> None:
    """The first that overlaps is named, in a file of 100,000 consumers as in one of few."""
    behaviour = accepted(behaviour_of(release))
    consumers = [Consumer(number, f"c-{number}", ((number % 65_536,) * 2,)) for number in range(100_000)]
    refused = assemble(consumers, KeySharedMode.STICKY, BrokerSettings(), behaviour)
    assert isinstance(refused, JoinRefused)
    assert refused.consumer.name == "c-65536"
    assert refused.rejection.message == "Range conflict with consumer Consumer{consumerId=0, consumerName=c-0}"
    result = assemble(consumers[:65_536], KeySharedMode.STICKY, BrokerSettings(), behaviour)
    assert not isinstance(result, (Rejection, JoinRefused))
    assert result.owner(40_000) == 40_000


def test_the_clients_own_check_comes_first_and_its_words_are_kept() -> None:
    consumers = [Consumer(0, "good", ((0, 9),)), Consumer(1, "far", ((10, 65_536),))]
    refused = assemble(consumers, KeySharedMode.STICKY, BrokerSettings())
    assert isinstance(refused, JoinRefused)
    assert refused.consumer.name == "far"
    assert refused.rejection.message == "Ranges must be [0, 65535] but provided range is [10, 65536]"
    nothing = assemble([Consumer(0, "empty", None)], KeySharedMode.STICKY, BrokerSettings())
    assert isinstance(nothing, JoinRefused)
    assert nothing.rejection.message == "Ranges for KeyShared policy must not be empty."


def test_points_below_one_make_no_ring() -> None:
    broker = BrokerSettings(subscriptionKeySharedConsistentHashingReplicaPoints=0)
    refusal = assemble([], KeySharedMode.AUTO_SPLIT, broker)
    assert isinstance(refusal, Rejection)
    assert refusal.field == "points"
