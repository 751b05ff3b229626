"""The choice of the active consumer: order, cohort, the rule in force, one topic and many."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cluster.owners import owner_ids
from engine.cluster.partitions import partition_columns
from engine.cluster.state import Subscription
from engine.cluster.tables.topics import Topic, TopicTable
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.failover.bulk_ring import cohorts as cohorts_of
from engine.failover.choose import Rule, choose, choose_many, cohort, rule_in_force, sort_consumers
from engine.failover.model import Consumer
from tests.properties.strategies import cohorts, topics


def release(version: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    return behaviour


def test_lower_level_first_then_utf16_order_then_connect_order() -> None:
    consumers = [
        Consumer(1, "b"),
        Consumer(2, "\uffee"),
        Consumer(3, "\U0001f600"),
        Consumer(4, "a", 1),
        Consumer(5, "b"),
        Consumer(6, "B"),
        Consumer(7, "z", -3),
        Consumer(8, ""),
    ]
    assert [consumer.consumer_id for consumer in sort_consumers(consumers)] == [7, 8, 6, 1, 5, 3, 2, 4]


TOP, LOW, MID = Consumer(0, "top", -2), Consumer(1, "low", 2**31 - 1), Consumer(2, "mid", 0)
BACK = Consumer(3, "low", 2**31 - 1)


@pytest.mark.parametrize(
    ("connected", "order"),
    [
        ([TOP], "top"),
        ([TOP, LOW], "low top"),
        ([TOP, LOW, MID], "low top mid"),
        ([TOP, MID], "top mid"),
        ([TOP, MID, BACK], "top mid low"),
        ([MID, BACK], "mid low"),
    ],
    ids=lambda found: found if isinstance(found, str) else "",
)
def test_levels_that_overflow_are_in_the_order_that_a_broker_of_4_2_4_reported(
    connected: list[Consumer], order: str
) -> None:
    """Its list after each join and leave of one recording: -2 less 2147483647 overflows and is positive."""
    consumers = sort_consumers(connected)
    assert " ".join(consumer.name for consumer in consumers) == order
    names, levels = [each.name for each in connected], [consumer.priority_level for consumer in connected]
    leading = cohorts_of([names], [levels])
    assert [connected[at].name for at in leading.members.tolist()] == [each.name for each in cohort(consumers)]


@given(st.lists(st.sampled_from([-(2**31), -2, 0, 7, 2**31 - 1]), min_size=1, max_size=9), st.booleans())
def test_levels_that_overflow_have_one_owner_in_every_form(levels: list[int], flag: bool) -> None:
    consumers = tuple(Consumer(at, f"c-{at % 4}", level) for at, level in enumerate(levels))
    topics = [(f"persistent://t/n/x-partition-{at}", at) for at in range(12)]
    expected = [each.active.consumer_id for each in choose_many(consumers, topics, consistent_hashing=flag)]
    table = TopicTable.of([Topic("persistent://t/n/x", 12)])
    subscription = Subscription("s", "s", "t/n", ("persistent://t/n/x",), consumers)
    columns = partition_columns(table, subscription)
    ids = owner_ids(columns, consumers, consistent_hashing=flag, behaviour=CURRENT)
    assert {columns.names[at]: int(owner) for at, owner in enumerate(ids)} == {
        name: owner for (name, _), owner in zip(topics, expected, strict=True)
    }


def test_the_cohort_is_the_leading_level() -> None:
    order = sort_consumers([Consumer(1, "a", 5), Consumer(2, "b", 5), Consumer(3, "c", 6)])
    assert [consumer.consumer_id for consumer in cohort(order)] == [1, 2]
    assert cohort(()) == ()


@pytest.mark.parametrize(
    ("version", "partition_index", "flag", "rule"),
    [
        ("4.2.4", 0, False, Rule.MODULO),
        ("4.2.4", 0, True, Rule.RING),
        ("4.2.4", -1, False, Rule.RING),
        ("4.2.4", -1, True, Rule.RING),
        ("4.0.0", 0, True, Rule.MODULO),
        ("4.0.1", 0, True, Rule.RING),
        ("3.0.7", 0, True, Rule.MODULO),
        ("3.0.7", -1, True, Rule.RING),
        ("2.11.0", -1, True, Rule.FIRST_CONNECTED),
        ("2.11.0", 3, True, Rule.MODULO),
    ],
)
def test_the_rule_depends_on_partitions_flag_and_release(
    version: str, partition_index: int, flag: bool, rule: Rule
) -> None:
    assert rule_in_force(partition_index, consistent_hashing=flag, behaviour=release(version)) is rule


def test_before_3_0_the_first_connected_consumer_stays_whatever_level_and_name() -> None:
    consumers = [Consumer(1, "z", 9), Consumer(2, "a", 0)]
    choice = choose(consumers, "persistent://t/n/x", -1, consistent_hashing=True, behaviour=release("2.11.0"))
    assert choice is not None and choice.active.consumer_id == 1
    assert choice.order == tuple(consumers) and choice.cohort_size == 2 and choice.topic_hash is None
    after = choose(consumers[1:], "persistent://t/n/x", -1, consistent_hashing=True, behaviour=release("2.11.0"))
    assert after is not None and after.active.consumer_id == 2


def test_nobody_connected_means_nobody_active() -> None:
    assert choose([], "persistent://t/n/x", -1, consistent_hashing=True) is None
    assert choose_many([], [("persistent://t/n/x", -1)], consistent_hashing=True) == []


@settings(max_examples=60, deadline=None)
@given(cohorts(levels=3), st.lists(topics(), max_size=6), st.booleans(), st.sampled_from(["4.2.4", "4.0.0", "2.11.0"]))
def test_many_topics_at_once_are_chosen_like_one_by_one(
    consumers: tuple[Consumer, ...], some: list[tuple[str, int]], flag: bool, version: str
) -> None:
    behaviour = release(version)
    many = choose_many(consumers, some, consistent_hashing=flag, behaviour=behaviour)
    assert many == [choose(consumers, *topic, consistent_hashing=flag, behaviour=behaviour) for topic in some]
    for choice in many:
        assert choice.order[choice.index] == choice.active
        assert choice.index < choice.cohort_size
        assert sorted(choice.order, key=lambda c: c.consumer_id) == list(consumers)
        assert (choice.topic_hash is not None) == (choice.rule is Rule.RING)


def test_the_level_of_the_cohort_wins_over_every_name() -> None:
    consumers = [Consumer(1, "a", 1), Consumer(2, "b", 1), Consumer(3, "zzz", 0)]
    for index in range(5):
        choice = choose(consumers, f"persistent://t/n/x-partition-{index}", index, consistent_hashing=bool(index % 2))
        assert choice is not None and choice.active.consumer_id == 3 and choice.cohort_size == 1


def test_the_default_release_is_the_current_one() -> None:
    one = [Consumer(1, "a"), Consumer(2, "b")]
    topic = ("persistent://t/n/x-partition-1", 1)
    assert choose(one, *topic, consistent_hashing=True) == choose(
        one, *topic, consistent_hashing=True, behaviour=CURRENT
    )
