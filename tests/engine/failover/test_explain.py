"""An explanation is the choice itself with its reasons, and what it promises for later comes true."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import ReleaseBehaviour, behaviour_of
from engine.failover.choose import Rule, choose
from engine.failover.explain import RuleReason, explain_choice
from engine.failover.model import Consumer
from engine.hashing import HASH_SPACE_SIZE, hashed_by_murmur3, murmur3_32
from tests.properties.strategies import cohorts, topics

THREE = (Consumer(1, "c"), Consumer(2, "a"), Consumer(3, "b"))


def release(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    return behaviour


@settings(max_examples=80, deadline=None)
@given(cohorts(levels=3), topics(), st.booleans(), st.sampled_from(["4.2.4", "3.0.7", "2.11.0"]))
def test_L4_the_explanation_names_the_owner_and_the_true_heirs(
    consumers: tuple[Consumer, ...], topic: tuple[str, int], flag: bool, version: str
) -> None:
    behaviour = release(version)
    why = explain_choice(consumers, *topic, consistent_hashing=flag, behaviour=behaviour)
    assert why is not None
    assert why.choice == choose(consumers, *topic, consistent_hashing=flag, behaviour=behaviour)
    assert why.topic_hash.value == murmur3_32(topic[0])
    assert {why.active, *why.standbys} == set(why.cohort)
    assert {*why.cohort, *why.lower_priority} == set(consumers)
    remaining, former = list(consumers), why.active
    for heir in why.heirs:
        remaining.remove(former)
        next_choice = choose(remaining, *topic, consistent_hashing=flag, behaviour=behaviour)
        assert next_choice is not None and next_choice.active == heir
        former = heir
    assert len(why.heirs) == min(2, len(consumers) - 1)
    if why.ring is not None:
        assert why.ring.claims[-1].consumer == why.active
        assert why.ring.claims[-1] in why.ring.owned_by
        assert all(claim.consumer == why.active for claim in why.ring.owned_by)
        for claim in why.ring.claims:
            assert claim.key.text == f"{claim.consumer.name}{claim.replica}"
            assert claim.key.value == why.ring.point
        assert (why.topic_hash.value + why.ring.distance) % HASH_SPACE_SIZE == why.ring.point
        assert why.ring.wrapped == (why.ring.point < why.topic_hash.value)
    if why.modulo is not None:
        assert why.modulo.dividend % why.modulo.divisor == why.modulo.remainder == why.choice.index
    assert (why.ring is not None, why.modulo is not None) == (why.rule is Rule.RING, why.rule is Rule.MODULO)


def reason_of(index: int, flag: bool, version: str) -> RuleReason:
    suffix = f"-partition-{index}" if index >= 0 else ""
    name = f"persistent://t/n/x{suffix}"
    why = explain_choice(THREE, name, index, consistent_hashing=flag, behaviour=release(version))
    assert why is not None
    return why.rule_reason


def test_the_reason_for_the_rule_is_given() -> None:
    assert reason_of(0, False, "4.2.4") is RuleReason.FLAG_IS_OFF
    assert reason_of(0, True, "4.2.4") is RuleReason.FLAG_IS_ON
    assert reason_of(0, True, "4.0.0") is RuleReason.RELEASE_IGNORES_FLAG
    assert reason_of(0, False, "4.0.0") is RuleReason.FLAG_IS_OFF
    assert reason_of(-1, False, "4.2.4") is RuleReason.NOT_PARTITIONED
    assert reason_of(-1, True, "4.2.4") is RuleReason.NOT_PARTITIONED
    assert reason_of(-1, True, "2.11.0") is RuleReason.NOT_PARTITIONED_BEFORE_3_0


def test_nobody_connected_has_no_explanation() -> None:
    assert explain_choice((), "persistent://t/n/x", -1, consistent_hashing=True) is None


def test_the_heir_of_the_last_one_of_a_level_comes_from_the_next_level() -> None:
    consumers = (Consumer(1, "a", 0), Consumer(2, "b", 7))
    why = explain_choice(consumers, "persistent://t/n/x", -1, consistent_hashing=False)
    assert why is not None
    assert why.active.consumer_id == 1 and why.heirs == (consumers[1],) and why.lower_priority == (consumers[1],)


def test_the_steps_to_a_hash_are_shown_for_both_functions() -> None:
    step = hashed_by_murmur3("é")
    assert (step.data, step.value) == (b"\xc3\xa9", murmur3_32("é"))
    assert step.raw & (HASH_SPACE_SIZE - 1) == step.value
