"""Heirs: all single failures at once are what one failure after another gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from engine.cluster.state import ClusterState, behaviour_in
from engine.compare.heirs import Loss, losses, one_loss, without
from engine.failover.choose import choose_many
from engine.names import partition_index
from tests.engine.views.states import cluster, clusters


def numbers(loss: Loss) -> tuple[object, ...]:
    after = loss.after
    return (
        loss.consumer.consumer_id,
        loss.items,
        pytest.approx(loss.msgs_per_sec),
        loss.moved,
        loss.heirs,
        loss.judgement,
        after.consumers,
        after.busiest,
        pytest.approx(after.busiest_msgs_per_sec),
        after.idle,
        pytest.approx(after.max_over_mean),
        pytest.approx(after.max_over_mean_rate),
    )


def assert_equal_to_single_losses(state: ClusterState) -> None:
    [subscription] = state.subscriptions
    outcome = losses(state, subscription)
    assert len(outcome) == len(subscription.consumers)
    by_id = {loss.consumer.consumer_id: loss for loss in outcome}
    for consumer in subscription.consumers:
        expected, result = one_loss(state, subscription, consumer), by_id[consumer.consumer_id]
        assert numbers(result) == numbers(expected), consumer
    worst = [(loss.after.owned - loss.after.items, -loss.after.busiest_msgs_per_sec) for loss in outcome]
    assert [(a, round(b, 6)) for a, b in worst] == sorted((a, round(b, 6)) for a, b in worst)


@settings(max_examples=150)
@given(clusters)
def test_all_losses_at_once_are_the_single_ones(state: ClusterState) -> None:
    assert_equal_to_single_losses(state)


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("rate", [0.0, 1.5])
def test_a_wider_cluster(flag: bool, rate: float) -> None:
    names = [f"c-{at}" for at in range(23)]  # c-1 and c-11 share points
    assert_equal_to_single_losses(cluster(names, {"x": 300, "y": 57}, flag=flag, rate=rate))


def test_heirs_on_the_ring_are_those_of_the_scalar_choice() -> None:
    state = cluster(["a", "b", "c"], {"x": 40}, flag=True)
    [subscription] = state.subscriptions
    topics = [(name, partition_index(name)) for name in next(iter(state.topics.values())).partition_names()]

    def owners(among: list[int]) -> dict[str, int]:
        consumers = [consumer for consumer in subscription.consumers if consumer.consumer_id in among]
        chosen = choose_many(consumers, topics, consistent_hashing=True, behaviour=behaviour_in(state))
        return {name: choice.active.consumer_id for (name, _), choice in zip(topics, chosen, strict=True)}

    before = owners([0, 1, 2])
    for loss in losses(state, subscription):
        left = [number for number in (0, 1, 2) if number != loss.consumer.consumer_id]
        after = owners(left)
        assert loss.moved == loss.items == sum(before[name] != after[name] for name in before)
        assert loss.after.busiest == max(sum(owner == number for owner in after.values()) for number in left)
        assert loss.heirs == len({after[name] for name in before if before[name] == loss.consumer.consumer_id})


def test_under_modulo_bystanders_move_too() -> None:
    state = cluster(["a", "b", "c"], {"x": 12})
    result = losses(state, state.subscriptions[0])
    assert {loss.items for loss in result} == {4}
    assert max(loss.moved for loss in result) > 4


def test_the_last_one_leaves_nobody() -> None:
    [loss] = losses(state := cluster(["a"], {"x": 3}), state.subscriptions[0])
    assert (loss.judgement, loss.busiest, loss.after.owned, loss.moved) == ("worse", None, 0, 3)


def test_the_only_one_of_a_level_hands_over_to_the_next_level() -> None:
    state = cluster(["a", "b", "c"], {"x": 4}, levels=[0, 1, 1])
    result = losses(state, state.subscriptions[0])
    by_name = {loss.consumer.name: loss for loss in result}
    assert (by_name["a"].after.consumers, by_name["a"].after.busiest, by_name["a"].heirs) == (2, 2, 2)
    assert [(by_name[name].items, by_name[name].judgement) for name in "bc"] == [(0, "even"), (0, "even")]


def test_several_at_once() -> None:
    state = cluster(["a", "b", "c"], {"x": 4})
    left = without(state, "sub", {0, 2})
    assert [consumer.name for consumer in left.subscriptions[0].consumers] == ["b"]
