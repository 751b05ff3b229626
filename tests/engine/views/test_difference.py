"""Two states side by side: what a hand would find, whatever the ids of consumers are."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from engine.cluster.commands import KillConsumer, SetSetting
from engine.cluster.owners import active_consumers
from engine.cluster.state import ClusterState, Namespace
from engine.compare.matching import renamed
from engine.compare.verdict import carried_out
from engine.documents import document
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.limit import parse_limit
from engine.views.comparing.difference import DifferenceView, difference_of, difference_view
from tests.engine.views.states import FLAG, NAMESPACE, cluster, clusters, topic_name


def after(state: ClusterState, *commands: KillConsumer | SetSetting) -> ClusterState:
    for command in commands:
        result = carried_out(state, command)
        assert not isinstance(result, Rejection), result
        state = result
    return state


def reported_anew(state: ClusterState, by: int = 40) -> ClusterState:
    """The same cluster as another dump has it: other ids, another order, a table of topics of its own."""
    [one] = state.subscriptions
    consumers = tuple(Consumer(by + at, each.name, each.priority_level) for at, each in enumerate(one.consumers))
    return structs.replace(
        state,
        topics=dict(state.topics),
        loads=dict(state.loads),
        subscriptions=(replace(one, consumers=consumers, topics=tuple(one.topics)),),
        next_consumer_id=by + len(consumers),
    )


def diff(before: ClusterState, later: ClusterState, *, one_history: bool = False) -> DifferenceView:
    return difference_view(before, later, ("a", "b"), one_history=one_history)


def test_a_dump_beside_itself_has_no_difference() -> None:
    state = cluster(["a", "b", "b"], {"x": 5, "y": 0}, flag=True)
    view = diff(state, reported_anew(state))
    [one] = view.subscriptions
    assert one.verdict is not None
    assert (one.verdict.moved, one.verdict.judgement, len(one.rows)) == (0, "even", 0)
    assert (view.settings, view.bundles, view.topics_appeared, one.came, one.left) == ((), (), (), (), ())


@given(clusters, clusters)
def test_one_subscription_differs_as_it_does_among_all(before: ClusterState, later: ClusterState) -> None:
    [one] = diff(before, reported_anew(later)).subscriptions
    alone = difference_of(before, reported_anew(later), one.key)
    assert alone is not None
    assert (alone.verdict, alone.came, alone.left, [*alone.rows]) == (one.verdict, one.came, one.left, [*one.rows])
    assert difference_of(structs.replace(before, subscriptions=()), later, one.key) is None


@given(clusters, clusters)
def test_rows_are_the_partitions_whose_owner_has_another_name(before: ClusterState, later: ClusterState) -> None:
    # Namesakes cannot be told apart by a name, so the oracle leaves them out.
    names = [consumer.name for one in (before, later) for consumer in one.subscriptions[0].consumers]
    if len(set(names)) < len(before.subscriptions[0].consumers) or any(
        len({consumer.name for consumer in one.subscriptions[0].consumers}) < len(one.subscriptions[0].consumers)
        for one in (before, later)
    ):
        return

    def owners(state: ClusterState) -> dict[str, str | None]:
        consumers = active_consumers(state, state.subscriptions[0])
        return {name: consumer.name if consumer is not None else None for name, consumer in consumers.items()}

    was, now = owners(before), owners(later)
    [one] = diff(before, reported_anew(later)).subscriptions
    expected = {
        name: (was.get(name), now.get(name))
        for name in {*was, *now}
        if name not in was or name not in now or was[name] != now[name]
    }
    assert {row.name: (row.before, row.after) for row in one.rows} == expected
    for row in one.rows:
        if row.name not in was:
            assert row.kind == "appeared"
        elif row.name not in now:
            assert row.kind == "vanished"
        else:
            assert row.kind == ("taken up" if row.before is None else "orphaned" if row.after is None else "moved")


def test_consumers_that_came_left_and_were_likely_renamed() -> None:
    before = cluster(["billing-7f9c-aaaa1", "billing-7f9c-bbbb2"], {"x": 4})
    later = cluster(["billing-7f9c-aaaa1", "billing-7f9c-bbbb3"], {"x": 4})
    [one] = diff(before, reported_anew(later)).subscriptions
    assert (one.came, one.left) == (("billing-7f9c-bbbb3",), ("billing-7f9c-bbbb2",))
    assert one.renamed == (("billing-7f9c-bbbb2", "billing-7f9c-bbbb3"),)
    assert {row.after for row in one.rows} == {"billing-7f9c-bbbb3"}


def test_topics_settings_and_bundles_that_differ() -> None:
    before = cluster(["a"], {"orders-v1": 2, "audit": 1})
    later = cluster(["a"], {"orders-v2": 2, "audit": 1}, flag=True)
    later = structs.replace(later, namespaces={NAMESPACE: Namespace(NAMESPACE, (0, 0x80000000, 0xFFFFFFFF))})
    view = diff(before, later)
    assert [each.name for each in view.settings] == [FLAG]
    assert view.topics_appeared == (topic_name("orders-v2"),)
    assert view.topics_vanished == (topic_name("orders-v1"),)
    assert view.topics_renamed == ((topic_name("orders-v1"), topic_name("orders-v2")),)
    [bundles] = view.bundles
    assert (bundles.before, bundles.after, bundles.boundaries_gone) == (4, 2, (0x40000000, 0xC0000000))


def test_a_subscription_of_one_side_has_no_verdict() -> None:
    before = cluster(["a"], {"x": 1})
    view = diff(before, structs.replace(before, subscriptions=()))
    assert [(subscription.presence, subscription.verdict) for subscription in view.subscriptions] == [
        ("vanished", None)
    ]
    assert view.sums.items == 0
    view = diff(structs.replace(before, subscriptions=()), before)
    assert [subscription.presence for subscription in view.subscriptions] == ["appeared"]


def test_sums_and_limits() -> None:
    before = cluster(["a", "b"], {"x": 10})
    view = diff(before, after(before, KillConsumer("sub", 1)), one_history=True)
    sums = view.sums
    assert (sums.items, sums.moved, sums.worse) == (10, 5, 1)

    def holds(text: str) -> bool:
        limit = parse_limit(text, ("moved", "worse", "idle"), ("moved",))
        assert not isinstance(limit, Rejection), limit
        return limit.holds(getattr(sums, limit.name), sums.items)

    assert [holds(text) for text in ("moved>49%", "moved>=50%", "moved>50%", "moved<5", "moved<=5")] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert holds("worse>0")
    assert not holds("idle>0")


def test_the_document_has_every_row() -> None:
    before = cluster(["a", "b"], {"x": 10})
    view = diff(before, after(before, SetSetting(FLAG, "true")), one_history=True)
    plain = document(view)
    [one] = plain["subscriptions"]
    assert len(one["handovers"]) == one["verdict"]["moved"] == plain["sums"]["moved"]


@given(st.lists(st.text("abc-1", max_size=6), max_size=5), st.lists(st.text("abc-1", max_size=6), max_size=5))
def test_nothing_is_renamed_twice(gone: list[str], came: list[str]) -> None:
    pairs = renamed(gone, came)
    assert len({old for old, _ in pairs}) == len({new for _, new in pairs}) == len(pairs)
    assert all(old in gone and new in came for old, new in pairs)
