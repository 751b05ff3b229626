"""Why not the others: every consumer but the active one has its reason, and the reason is true."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import ReleaseBehaviour, behaviour_of
from engine.failover.choose import Rule
from engine.failover.explain import Rival, WhyNot, explain_choice, rivals_of
from engine.failover.model import Consumer
from engine.hashing import HASH_SPACE_SIZE, murmur3_32
from tests.properties.strategies import cohorts, topics

TOPIC = "persistent://t/n/x-partition-3"


def rivals(*consumers: Consumer, flag: bool, topic: str = TOPIC, index: int = 3, version: str = "4.2.4") -> list[Rival]:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    why = explain_choice(consumers, topic, index, consistent_hashing=flag, behaviour=behaviour)
    assert why is not None
    return list(rivals_of(why))


def test_by_modulo_the_place_or_the_level_keeps_a_consumer_out() -> None:
    result = rivals(Consumer(1, "c"), Consumer(2, "a"), Consumer(3, "b", 1), flag=False)
    assert [(each.consumer.name, each.why_not, each.place) for each in result] == [
        ("a", WhyNot.OTHER_PLACE, 0),
        ("b", WhyNot.LOWER_PRIORITY, 2),
    ]
    assert all(each.point is None and each.distance is None for each in result)


def test_before_3_0_whoever_came_later_is_kept_out_of_a_topic_without_partitions() -> None:
    came = (Consumer(1, "c"), Consumer(2, "a"))
    result = rivals(*came, flag=True, topic="persistent://t/n/x", index=-1, version="2.11.0")
    assert [(each.consumer.name, each.why_not) for each in result] == [("a", WhyNot.CAME_LATER)]


def test_equal_names_claim_one_point_and_the_later_one_has_it() -> None:
    result = rivals(Consumer(1, "a"), Consumer(2, "a"), flag=True)
    assert [(each.consumer.consumer_id, each.why_not, each.point) for each in result] == [(1, WhyNot.LOST_POINT, None)]


def test_a_consumer_whose_points_are_all_taken_has_none() -> None:
    result = rivals(Consumer(1, "a"), Consumer(2, "a"), Consumer(3, "b"), flag=True)
    first = next(each for each in result if each.consumer.consumer_id == 1)
    assert first.why_not in (WhyNot.NO_POINT, WhyNot.LOST_POINT)
    assert first.distance is None


@settings(max_examples=60, deadline=None)
@given(cohorts(levels=2), topics(), st.booleans())
def test_on_the_ring_the_distance_is_that_of_the_nearest_point_that_is_its_own(
    consumers: tuple[Consumer, ...], topic: tuple[str, int], flag: bool
) -> None:
    why = explain_choice(consumers, *topic, consistent_hashing=flag)
    assert why is not None
    result = rivals_of(why)
    assert [each.place for each in result] == [at for at in range(len(consumers)) if at != why.choice.index]
    assert [each.consumer for each in result] == [why.choice.order[each.place] for each in result]
    if why.rule is not Rule.RING:
        return
    # The last name in order that hashes to a point owns it.
    owners = {murmur3_32(f"{each.name}{j}"): at for at, each in enumerate(why.cohort) for j in range(100)}
    for each in result:
        own = [(point - murmur3_32(topic[0])) % HASH_SPACE_SIZE for point, at in owners.items() if at == each.place]
        assert each.distance == (min(own) if own else None)
        lower = each.place >= len(why.cohort)
        assert (each.why_not is WhyNot.LOWER_PRIORITY) is lower
        if each.why_not is WhyNot.FARTHER_POINT:
            assert each.distance is not None and why.ring is not None and each.distance > why.ring.distance
