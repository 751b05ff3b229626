"""The slice that all panels read agrees with the scalar rule, name by name."""

from __future__ import annotations

from hypothesis import given, settings

from engine.cluster.commands import AddConsumer, KillConsumer, SetSetting
from engine.cluster.moves import moves
from engine.cluster.state import ClusterState, behaviour_in
from engine.cluster.timeline import Timeline
from engine.failover.choose import choose, sort_consumers
from engine.failover.model import Consumer
from engine.names import partition_index
from engine.views.failover.model import RuleInForce
from engine.views.failover.slice import NO_SUBSCRIPTION, Slice, changes_between, slice_by_key, slice_of, subscription_at
from tests.engine.views.states import FLAG, cluster, clusters, submitted


def active_consumers(view: Slice) -> list[Consumer | None]:
    """Those of the partitions, in their order."""
    return [view.order[at] if at >= 0 else None for at in view.owners.active.tolist()]


@settings(max_examples=80, deadline=None)
@given(clusters)
def test_every_partition_has_the_owner_that_the_scalar_choice_names(state: ClusterState) -> None:
    now = slice_of(state, state.subscriptions[0])
    flag = state.settings.activeConsumerFailoverConsistentHashing
    for name, position in zip(now.topics.names, now.owners.active.tolist(), strict=True):
        index = partition_index(name)
        expected = choose(
            state.subscriptions[0].consumers, name, index, consistent_hashing=flag, behaviour=behaviour_in(state)
        )
        assert (position == -1) == (expected is None)
        if expected is not None:
            assert now.order[position] == expected.active
    assert now.order == sort_consumers(state.subscriptions[0].consumers)


@settings(max_examples=60, deadline=None)
@given(clusters)
def test_changes_balance_and_agree_with_the_moves_of_the_state(state: ClusterState) -> None:
    before = slice_of(state, state.subscriptions[0])
    timeline = submitted(Timeline.start(state), AddConsumer("sub", "newcomer"))
    timeline = submitted(
        timeline, SetSetting(FLAG, "false" if before.state.settings.text_of(FLAG) == "true" else "true")
    )
    now = slice_of(timeline.state, timeline.state.subscriptions[0])
    changes = changes_between(before, now)
    result = moves(state, timeline.state, "sub")
    names = [name for name, moved in zip(now.topics.names, changes.moved.tolist(), strict=True) if moved]
    assert sorted(names) == sorted(result.moved)
    for consumer in {*before.order, *now.order}:
        had = active_consumers(before).count(consumer)
        has = active_consumers(now).count(consumer)
        gained, lost = changes.gained.get(consumer.consumer_id, 0), changes.lost.get(consumer.consumer_id, 0)
        assert had + gained - lost == has


def test_the_rule_in_force_is_one_word() -> None:
    def rule(topics: dict[str, int], **more: object) -> RuleInForce:
        state = cluster(["a", "b"], topics, **more)  # type: ignore[arg-type]
        return slice_of(state, state.subscriptions[0]).rule

    assert rule({"x": 3}) is RuleInForce.MODULO
    assert rule({"x": 3}, flag=True) is RuleInForce.RING
    assert rule({"x": 3, "y": 0}) is RuleInForce.MIXED
    assert rule({"x": 3, "y": 0}, flag=True) is RuleInForce.RING
    assert rule({"y": 0}, release="2.11.0") is RuleInForce.FIRST_CONNECTED
    assert rule({}) is RuleInForce.MODULO
    nobody = cluster([], {"x": 3})
    assert slice_of(nobody, nobody.subscriptions[0]).rule is RuleInForce.NOBODY


def test_a_name_that_looks_like_a_partition_is_one_although_nobody_made_it_partitioned() -> None:
    state = cluster(["a", "b"], {"x-partition-3": 0})
    now = slice_of(state, state.subscriptions[0])
    assert now.rule is RuleInForce.MODULO and active_consumers(now)[0] == now.order[1]


def test_a_state_without_subscriptions_has_an_empty_slice() -> None:
    state = ClusterState()
    assert subscription_at(state, 3) is NO_SUBSCRIPTION
    empty = slice_by_key(state, "")
    assert empty is not None and len(empty.topics) == 0 and empty.ring is None
    assert slice_by_key(state, "gone") is None


def test_the_last_subscription_is_shown_past_the_end() -> None:
    state = cluster(["a"], {"x": 1})
    assert subscription_at(state, 9) is state.subscriptions[0] is subscription_at(state, -1)


def test_losing_the_last_consumer_leaves_partitions_alone_and_moves_nothing() -> None:
    timeline = submitted(Timeline.start(cluster(["a"], {"x": 3})), KillConsumer("sub", 0))
    before = slice_by_key(timeline.initial, "sub")
    now = slice_by_key(timeline.state, "sub")
    assert before is not None and now is not None
    changes = changes_between(before, now)
    assert not changes.moved.any() and changes.lost == {0: 3} and changes.gained == {}
