"""Verdicts: the word follows the shares of the busiest, and the numbers are those of a count by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from engine.cluster.commands import AddConsumer, Command, KillConsumer, SetPriorityLevel, SetSetting
from engine.cluster.state import ClusterState, behaviour_in
from engine.cluster.tables.topics import Load
from engine.compare.verdict import Evenness, Verdict, carried_out, evenness, evenness_of, flag_change, judge, preview
from engine.config import FLAG
from engine.failover.choose import choose_many
from engine.names import partition_index
from tests.engine.views.states import cluster, clusters

SIX = [f"billing-{at}" for at in range(6)]


def verdict(state: ClusterState, command: Command) -> Verdict:
    result = preview(state, command, "sub")
    assert isinstance(result, Verdict), result
    return result


def silent(state: ClusterState) -> ClusterState:
    """The same without a message."""
    return ClusterState(
        release=state.release,
        settings=state.settings,
        topics=state.topics,
        loads=dict.fromkeys(state.loads, Load()),
        subscriptions=state.subscriptions,
        namespaces=state.namespaces,
        next_consumer_id=state.next_consumer_id,
    )


def test_the_ring_is_worse_where_modulo_is_perfect_and_modulo_better_back() -> None:
    state = silent(cluster(SIX, {"orders": 12}))
    on = verdict(state, flag_change(state))
    assert (on.judgement, on.judged_by) == ("worse", "items")
    assert on.before.max_over_mean == 1.0
    assert on.after.max_over_mean > 1.0
    flagged = carried_out(state, flag_change(state))
    assert isinstance(flagged, ClusterState)
    back = verdict(flagged, flag_change(flagged))
    assert (back.judgement, back.before, back.after) == ("better", on.after, on.before)
    assert back.moved == on.moved > on.least > 0


def test_the_ring_is_better_where_one_consumer_has_every_partition_0() -> None:
    state = cluster(["a", "b", "c"], {f"t{at}": 1 for at in range(30)})
    result = verdict(state, flag_change(state))
    assert result.judgement == "better"
    assert (result.before.idle, result.after.idle) == (2, 0)


def test_messages_count_before_partitions() -> None:
    even, skewed = np.array([2, 2]), np.array([3, 1])
    light = evenness_of(skewed, np.array([5.0, 5.0]), 4)
    heavy = evenness_of(even, np.array([9.0, 1.0]), 4)
    assert judge(heavy, light) == ("better", "messages")
    assert judge(light, heavy) == ("worse", "messages")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([2, 2], [2, 2, 0], ("even", "nothing")),
        ([2, 2, 0], [2, 2], ("even", "nothing")),
        ([2, 2], [2, 1, 1], ("even", "nothing")),
        ([2, 2], [1, 1, 1, 1], ("better", "items")),
        ([3, 0, 1], [3, 1, 0], ("even", "nothing")),
        ([3, 1, 0], [2, 2, 0], ("better", "items")),
        ([2, 2, 0, 0], [2, 1, 1, 0], ("better", "idle")),
        ([4], [], ("worse", "nobody")),
        ([], [4], ("better", "nobody")),
        ([], [], ("even", "nothing")),
    ],
)
def test_judgement_by_shares(before: list[int], after: list[int], expected: tuple[str, str]) -> None:
    def side(counts: list[int]) -> Evenness:
        return evenness_of(np.array(counts, dtype=np.int64), np.zeros(len(counts)), 4)

    assert judge(side(before), side(after)) == expected


def test_the_loss_of_the_active_consumer_hands_over_everything_and_overloads_nobody_more_than_it_was() -> None:
    state = cluster(["a", "b", "c"], {f"t{at}": 1 for at in range(30)})
    [active, standby] = (verdict(state, KillConsumer("sub", consumer_id)) for consumer_id in (0, 2))
    assert active.before.max_over_mean == 3.0 and (active.before.busiest, active.after.busiest) == (30, 30)
    assert (active.judgement, active.judged_by, active.moved, active.least) == ("even", "lost", 30, 30)
    assert (standby.judgement, standby.judged_by, standby.moved) == ("even", "nothing", 0)
    alone = carried_out(state, KillConsumer("sub", 0))
    assert isinstance(alone, ClusterState)
    back = verdict(alone, AddConsumer("sub", "a"))  # nobody lost anything: b is connected still
    assert (back.judgement, back.judged_by, back.moved) == ("even", "nothing", 30)


@pytest.mark.parametrize(
    ("before", "after", "lost", "expected"),
    [
        ([16, 12], [16, 12], 3, ("even", "lost")),  # nobody gets more than the busiest had
        ([20, 12], [16, 12], 3, ("even", "lost")),  # a consumer that goes makes nothing better
        ([16, 12], [20, 8], 3, ("worse", "items")),
        ([100, 100], [104, 96], 0, ("even", "nothing")),  # less than 5 % of the larger share
        ([100, 100], [106, 94], 0, ("worse", "items")),
        ([106, 94], [100, 100], 0, ("better", "items")),
    ],
)
def test_small_differences_and_losses_are_neither_better_nor_worse(
    before: list[int], after: list[int], lost: int, expected: tuple[str, str]
) -> None:
    sides = [evenness_of(np.array(counts), None, sum(counts)) for counts in (before, after)]
    assert judge(*sides, lost) == expected


def test_a_newcomer_that_relieves_nobody_is_even_and_a_loss_is_worse() -> None:
    state = silent(cluster(["a", "b"], {"x": 2}))
    assert verdict(state, AddConsumer("sub", "c")).judgement == "even"
    assert verdict(state, KillConsumer("sub", 0)).judgement == "worse"
    assert verdict(state, SetPriorityLevel("sub", 0, 1)).judgement == "worse"


def test_traffic_and_unacknowledged_messages_of_what_moves_are_reported() -> None:
    state = cluster(["a", "b"], {"x": 4})  # rates and unacknowledged messages 1, 2, 3, 4
    result = verdict(state, KillConsumer("sub", 1))
    assert (result.moved, result.least, result.msgs_per_sec, result.unacked_at_risk) == (2, 2, 6.0, 6)


def test_what_is_refused_is_not_judged() -> None:
    state = cluster(["a"], {"x": 1})
    result = preview(state, KillConsumer("sub", 9), "sub")
    assert not isinstance(result, Verdict)


@given(clusters)
def test_numbers_are_those_of_a_count_by_the_scalar_rule(state: ClusterState) -> None:
    [subscription] = state.subscriptions
    names = [name for topic in state.topics.values() for name in topic.partition_names()]
    flag = state.settings.activeConsumerFailoverConsistentHashing
    behaviour = behaviour_in(state)
    chosen = choose_many(
        subscription.consumers,
        [(name, partition_index(name)) for name in names],
        consistent_hashing=flag,
        behaviour=behaviour,
    )
    counts = Counter(choice.active.consumer_id for choice in chosen)
    rates: Counter[int] = Counter()
    for name, choice in zip(names, chosen, strict=bool(chosen)):
        rates[choice.active.consumer_id] += state.loads[name].msg_rate_out
    result = evenness(state, subscription)
    assert result.items == len(names)
    assert result.owned == sum(counts.values())
    assert result.busiest == max(counts.values(), default=0)
    assert result.busiest_msgs_per_sec == pytest.approx(max(rates.values(), default=0.0))
    size = max((choice.cohort_size for choice in chosen), default=result.consumers)
    assert result.consumers == size
    assert result.idle == size - len(counts)


def test_the_flag_of_a_state_is_turned_over() -> None:
    off, on = cluster(["a"], {"x": 1}), cluster(["a"], {"x": 1}, flag=True)
    assert (flag_change(off), flag_change(on)) == (SetSetting(FLAG, "true"), SetSetting(FLAG, "false"))
