"""Derived facts: they agree with the rules asked one by one, and are computed once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.cluster.commands import AddConsumer, KillConsumer, RemoveTopic, RenameConsumer, RepartitionTopic, SetSetting
from engine.cluster.moves import moves
from engine.cluster.owners import active_consumers, partition_names
from engine.cluster.tables.topics import Load
from engine.config import BrokerSettings
from engine.failover.choose import choose
from engine.hashing import murmur3_32
from engine.memo import REMEMBERED_ANSWERS, Remembered
from engine.names import partition_index
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster

FLAG = "activeConsumerFailoverConsistentHashing"


@given(flag=st.booleans(), release=st.sampled_from(["2.11.0", "3.0.7", "4.0.0", "4.0.1"]), count=st.integers(0, 5))
def test_every_partition_has_the_consumer_that_the_rule_alone_gives(flag: bool, release: str, count: int) -> None:
    """One active consumer per partition, and the release decides whether the flag is heard."""
    state = replace(
        cluster("abcde"[:count], settings=BrokerSettings(activeConsumerFailoverConsistentHashing=flag)), release=release
    )
    subscription = state.subscriptions[0]
    from engine.config import behaviour_of

    for name, active in active_consumers(state, subscription).items():
        alone = choose(
            subscription.consumers,
            name,
            partition_index(name),
            consistent_hashing=flag,
            behaviour=behaviour_of(release),
        )
        assert active == (alone.active if alone else None)


def test_names_stand_in_hash_order() -> None:
    state = cluster(partitions=2)
    names = [*partition_names(state, state.subscriptions[0])]

    assert sorted(names) == [AUDIT, f"{ORDERS}-partition-0", f"{ORDERS}-partition-1"]
    assert names == sorted(names, key=murmur3_32)


def test_an_answer_is_shared_while_nothing_it_depends_on_changes() -> None:
    state = cluster()
    first = active_consumers(state, state.subscriptions[0])
    unrelated = after(state, SetSetting("maxConsumersPerTopic", "9"))
    related = after(state, SetSetting(FLAG, "true"))

    assert active_consumers(unrelated, unrelated.subscriptions[0]) is first
    assert active_consumers(related, related.subscriptions[0]) is not first


def test_a_flag_that_the_release_does_not_know_changes_no_answer() -> None:
    old = replace(cluster(), release="4.0.0")
    flagged = after(old, SetSetting(FLAG, "true"))

    assert active_consumers(flagged, flagged.subscriptions[0]) is active_consumers(old, old.subscriptions[0])


def test_a_memory_keeps_a_bounded_number_of_answers_and_never_mixes_them_up() -> None:
    """The parts stay alive with the answer, so a new object cannot get the identity of a remembered one."""
    memory: Remembered[int] = Remembered()
    for number in range(10 * REMEMBERED_ANSWERS):
        part = [number]
        assert memory.get((part,), (), lambda part=part: part[0]) == number
        assert memory.get((part,), (), lambda: -1) == number
    assert len(memory._answers) == REMEMBERED_ANSWERS


def test_F05_moves_tell_what_waits_unacknowledged_at_the_old_consumer() -> None:
    """Six partitions of a, b, c by modulo; b leaves: index mod 2 instead of mod 3 moves 1, 2, 3 and 4."""
    loads = {f"{ORDERS}-partition-{n}": Load(unacked_messages=10**n) for n in range(6)}
    before = replace(cluster(loads=loads), topics={**cluster().topics})
    state = after(before, RemoveTopic(AUDIT))

    result = moves(state, after(state, KillConsumer("billing", 1)), "billing")

    assert [name[-1] for name in result.moved] == ["1", "2", "3", "4"]
    assert result.unacked_at_risk == 11110
    assert (result.partitions, result.least) == (6, 2)
    assert result.lost == {1: 2, 2: 1, 0: 1}
    assert result.gained == {2: 2, 0: 2}


def test_partitions_that_nobody_had_or_nobody_has_are_no_moves() -> None:
    empty, one = cluster([]), after(cluster([]), AddConsumer("billing", "a"))

    assert len(moves(empty, one, "billing").taken_up) == 7
    assert len(moves(one, after(one, KillConsumer("billing", 0)), "billing").orphaned) == 7
    for pair in ((empty, one), (one, after(one, KillConsumer("billing", 0)))):
        result = moves(*pair, "billing")
        assert (len(result.moved), result.least) == (0, 0)


def test_new_partitions_do_not_move() -> None:
    state = cluster()

    assert len(moves(state, after(state, RepartitionTopic(ORDERS, 12)), "billing").moved) == 0


def test_a_consumer_that_comes_back_under_another_name_takes_its_partitions_as_a_stranger() -> None:
    state = cluster(["a"])
    result = moves(state, after(state, RenameConsumer("billing", 0, "z")), "billing")

    assert (len(result.moved), result.least, result.gained, result.lost) == (7, 7, {1: 7}, {0: 7})


def test_an_unknown_subscription_has_no_moves() -> None:
    assert moves(cluster(), cluster(), "nobody").partitions == 0


@given(
    names=st.lists(st.sampled_from(["a", "c1", "c11", "x"]), min_size=1, max_size=6), flag=st.booleans(), data=st.data()
)
def test_no_change_moves_fewer_than_the_least(names: list[str], flag: bool, data: st.DataObject) -> None:
    state = cluster(names, partitions=20, settings=BrokerSettings(activeConsumerFailoverConsistentHashing=flag))
    killed = data.draw(st.integers(0, len(names) - 1))
    result = moves(state, after(state, KillConsumer("billing", killed), AddConsumer("billing", "new")), "billing")

    assert result.least <= len(result.moved)
    assert sum(result.gained.values()) == sum(result.lost.values()) == len(result.moved)
