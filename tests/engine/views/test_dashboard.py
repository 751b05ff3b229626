"""The main screen's facts: table, ring, tree, events, timeline, status, at ordinary and at extreme states."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    KillConsumer,
    SetRelease,
    SetSetting,
    SplitBundle,
)
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.failover.ring import failover_ring
from engine.hashing import HASH_SPACE_SIZE
from engine.scenarios.synthetic import synthetic_state
from engine.views.failover.dashboard import dashboard_view, partitions_of, topics_of_bundle
from engine.views.failover.model import BundleNode, DashboardView, RuleInForce
from engine.views.failover.ring import CENTRE_WIDTH
from engine.views.failover.table import letter_tag, max_over_mean
from tests.engine.views.states import FLAG, NAMESPACE, cluster, clusters, submitted, topic_name


def leaves(nodes: tuple[BundleNode, ...]) -> list[BundleNode]:
    return [leaf for node in nodes for leaf in (leaves(node.children) if node.children else [node])]


def contradictions(view: DashboardView) -> list[str]:
    """What does not hold of a screen and should of each, by name; nothing where all does."""
    count, ring, foot = len(view.consumers), view.ring, view.foot
    owners = ring.topic_owners
    active = [row.active_partitions for row in view.consumers]
    lengths = {len(owners), len(ring.topic_names), len(ring.topic_hashes), len(ring.topic_moved)}
    looks = {len({row.colour for row in view.consumers}), len({row.tag for row in view.consumers})}
    holds = {
        "active partitions add up": sum(active) == (foot.partitions if count else 0),
        "consumers are counted": foot.consumers == count,
        "topics have one of everything": len(lengths) == 1,
        "owners are there": all(-1 <= owner < count for owner in owners.tolist()),
        "owners agree with the table": active == [int((owners == at).sum()) for at in range(count)],
        "points have one of everything": len({len(ring.points), len(ring.point_owners), len(ring.changed_arcs)}) == 1,
        "points ascend": bool(np.all(np.diff(ring.points) > 0)),
        "the centre has room": len(ring.centre) <= 4 and all(len(line) <= CENTRE_WIDTH for line in ring.centre),
        "colours and tags tell consumers apart": looks == {count},
    }
    if count:
        holds["shares of the ring add up"] = sum(row.ring_share for row in view.consumers) == pytest.approx(1)
        holds["points add up"] = sum(row.ring_points for row in view.consumers) == len(ring.points)
        rates = sum(row.msgs_per_sec for row in view.consumers)
        holds["rates add up"] = rates == pytest.approx(foot.msgs_per_sec)
    for namespace in view.namespaces:
        parts, of = leaves(namespace.roots), f" of {namespace.name}"
        rates = sum(leaf.msgs_per_sec for leaf in parts)
        holds["bundles are counted" + of] = namespace.bundles == len(parts)
        holds["topics add up" + of] = namespace.topics == sum(leaf.topics for leaf in parts)
        holds["bundles touch" + of] = all(left.upper == right.lower for left, right in pairwise(parts))
        holds["rates add up" + of] = rates == pytest.approx(namespace.msgs_per_sec)
    if view.timeline.cursor:
        last = view.events[-1]
        holds["the last step is shown"] = last.step == view.status.step == view.timeline.cursor
        moved = last.moved == int(ring.topic_moved.sum()) and last.least <= last.moved <= last.partitions
        holds["moves are counted"] = moved
    return [name for name, held in holds.items() if not held]


@settings(max_examples=60, deadline=None)
@given(clusters)
def test_every_screen_is_consistent_with_itself(state: ClusterState) -> None:
    timeline = Timeline.start(state)
    assert contradictions(dashboard_view(timeline)) == []
    for command in (
        AddConsumer("sub", "c-12"),
        SetSetting(FLAG, "false" if state.settings.text_of(FLAG) == "true" else "true"),
        AddTopic(topic_name("new"), 2),
        KillConsumer("sub", state.next_consumer_id),
        SplitBundle(NAMESPACE, "0x00000000_0x40000000", "range_equally_divide"),
        SetRelease("2.11.0"),
    ):
        timeline, _ = timeline.submit(command)
        assert contradictions(dashboard_view(timeline)) == []


@pytest.mark.parametrize(
    ("topics", "partitions", "consumers"),
    [(0, 0, 0), (0, 1, 3), (3, 0, 0), (5, 0, 1), (1, 500, 3), (30, 1, 1000), (200, 3, 40)],
)
def test_empty_and_extreme_states_have_a_screen(topics: int, partitions: int, consumers: int) -> None:
    for flag in (False, True):
        state = synthetic_state(topics, partitions, consumers, consistent_hashing=flag).state
        view = dashboard_view(Timeline.start(state))
        assert contradictions(view) == []
        assert view.foot.consumers == consumers and view.foot.partitions == topics * max(partitions, 1)


def test_a_state_of_nothing_has_a_screen() -> None:
    view = dashboard_view(Timeline.start(ClusterState()))
    assert contradictions(view) == []
    assert view.status.rule is RuleInForce.NOBODY and view.status.subscription == ""
    assert view.namespaces == () and [line.kind for line in view.events] == ["open"]


def test_tags_are_letters_in_the_order_of_the_alphabet() -> None:
    tags = [letter_tag(number) for number in range(800)]
    assert len(set(tags)) == 800
    assert sorted(tags, key=lambda tag: (len(tag), tag)) == tags


def test_tags_and_colours_stay_when_others_come_and_go() -> None:
    timeline = submitted(Timeline.start(cluster(["b", "d", "a"], {"x": 4})), AddConsumer("sub", "c"))
    tags = {row.name: (row.tag, row.colour) for row in dashboard_view(timeline).consumers}
    assert tags == {"b": ("A", 0), "d": ("B", 1), "a": ("C", 2), "c": ("D", 3)}
    timeline = submitted(timeline, KillConsumer("sub", 1), AddConsumer("sub", "d"))
    later = {row.name: (row.tag, row.colour) for row in dashboard_view(timeline).consumers}
    assert later == {"b": ("A", 0), "a": ("C", 2), "c": ("D", 3), "d": ("E", 4)}
    assert {row.name: row.tag for row in dashboard_view(timeline.home()).consumers} == {"b": "A", "d": "B", "a": "C"}


def test_nothing_is_marked_as_changed_at_the_opening_nor_after_going_back_to_it() -> None:
    timeline = submitted(Timeline.start(cluster(["a", "b"], {"x": 8}, flag=True)), AddConsumer("sub", "c"))
    assert dashboard_view(timeline).ring.changed_arcs.any()
    view = dashboard_view(timeline.home())
    assert not view.ring.changed_arcs.any() and not view.ring.topic_moved.any()
    assert not any(row.gained or row.lost for row in view.consumers)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True), st.sampled_from("abcdefgh"))
def test_changed_arcs_are_those_whose_hashes_have_another_owner(names: list[str], newcomer: str) -> None:
    timeline = submitted(Timeline.start(cluster(names, {"x": 2}, flag=True)), AddConsumer("sub", newcomer))
    view = dashboard_view(timeline)
    old, new = failover_ring(tuple(sorted(names))), failover_ring(tuple(sorted([*names, newcomer])))
    if newcomer in names:
        # The newcomer stands behind its namesake and takes over all its points: every arc of that name is another's.
        own = [at for at, row in enumerate(view.consumers) if row.name == newcomer][-1]
        assert np.array_equal(view.ring.changed_arcs, view.ring.point_owners == own)
        return
    edges = np.unique(np.concatenate([old.points, new.points]))
    hashes = np.unique(np.concatenate([edges, (edges + 1) % HASH_SPACE_SIZE]))
    was = np.array(old.names)[old.owner_indices(hashes)]
    now = np.array(new.names)[new.owner_indices(hashes)]
    at = np.searchsorted(new.points, hashes[was != now])
    expected = np.zeros(len(new), dtype=bool)
    expected[at % len(new)] = True
    assert np.array_equal(view.ring.changed_arcs, expected)


def test_the_middle_of_the_ring_offers_the_flag_only_where_it_helps() -> None:
    many = {f"topic-{at}": 1 for at in range(40)}
    names = ["a", "b", "c"]
    assert dashboard_view(Timeline.start(cluster(names, many))).ring.centre[-1] == "press c to spread"
    assert len(dashboard_view(Timeline.start(cluster(names, many, flag=True))).ring.centre) == 3
    even = dashboard_view(Timeline.start(cluster(names, {"x": 300}))).ring.centre
    assert "press c to spread" not in even, "modulo spreads 300 partitions better than any ring"
    old = dashboard_view(Timeline.start(cluster(names, many, release="4.0.0"))).ring.centre
    assert "press c to spread" not in old, "4.0.0 does not know the flag"


def test_hidden_characters_of_the_busiest_consumer_are_visible_in_the_middle() -> None:
    centre = dashboard_view(Timeline.start(cluster(["a\ud800\x1b"], {"x": 4}))).ring.centre
    assert centre[2] == r"a\ud800\x1b: 4 of 4"
    long = dashboard_view(Timeline.start(cluster(["\u202e" * 40], {"x": 4}))).ring.centre
    assert long[2] == r"\u202e\u202e\u202…: 4 of 4"


def test_standbys_have_no_points_and_do_not_count_as_idle() -> None:
    view = dashboard_view(Timeline.start(cluster(["a", "b", "c"], {"x": 4}, levels=[0, 1, 1])))
    assert [(row.name, row.standby, row.ring_points) for row in view.consumers] == [
        ("a", False, 100),
        ("b", True, 0),
        ("c", True, 0),
    ]
    assert view.foot.idle_consumers == 0 and view.foot.max_over_mean_partitions == 1
    assert view.ring.centre[0] == "1 of 3 consumers"


def test_before_3_0_nobody_stands_by_for_topics_without_partitions_and_the_ring_decides_nothing() -> None:
    state = cluster(["late", "a"], {"x": 4, "y": 0}, levels=[3, 0], release="2.11.0")
    view = dashboard_view(Timeline.start(state))
    assert view.status.rule is RuleInForce.MIXED and not view.ring.lit
    assert [(row.name, row.standby, row.active_partitions) for row in view.consumers] == [
        ("a", False, 4),
        ("late", False, 1),
    ]
    assert "standby" not in [notice.code for notice in view.notices]


def test_unevenness_is_the_largest_over_the_mean() -> None:
    assert max_over_mean([3, 1, 2]) == 1.5 and max_over_mean([0, 0]) == 0 == max_over_mean([])


def test_opened_rows_of_all_consumers_are_all_partitions_with_their_bundles() -> None:
    state = synthetic_state(60, 2, 7, consistent_hashing=True).state
    timeline = submitted(Timeline.start(state), KillConsumer("billing", 3))
    view = dashboard_view(timeline)
    rows = [row for consumer in view.consumers for row in partitions_of(timeline, 0, consumer.consumer_id)]
    assert sorted(row.name for row in rows) == sorted(view.ring.topic_names)
    assert sum(row.moved for row in rows) == view.events[-1].moved
    for row in rows:
        inside = topics_of_bundle(timeline, "public/default", row.bundle)
        assert row.name in [topic.name for topic in inside], "both ways agree"
    assert len(partitions_of(timeline, 0, 3)) == 0


def test_the_status_line_tells_the_rule_the_flag_and_the_place_in_time() -> None:
    timeline = Timeline.start(cluster(["a", "b"], {"x": 4, "y": 0}), 7, "here")
    timeline = submitted(timeline, SetRelease("4.0.0")).undo()
    status = dashboard_view(timeline, problems=3).status
    assert status.rule is RuleInForce.MIXED and "modulo 2" in status.rule_text and "hash ring" in status.rule_text
    assert (status.step, status.steps, status.seed, status.source, status.problems) == (0, 1, 7, "here", 3)
    assert status.flag_known and not dashboard_view(timeline.redo()).status.flag_known
    plain = dashboard_view(Timeline.start(cluster(["a", "b"], {"x": 4}))).status
    assert plain.rule_text == "modulo: partition index mod 2"
    ring = dashboard_view(Timeline.start(cluster(["a", "b"], {"x": 4}, flag=True))).status
    assert ring.rule_text == "hash ring: 100 points a consumer"


def test_colours_go_by_id_where_the_opened_consumers_stand_otherwise() -> None:
    state = cluster(["a", "b", "c"], {"x": 1})
    (subscription,) = state.subscriptions
    turned = structs.replace(state, subscriptions=(replace(subscription, consumers=subscription.consumers[::-1]),))
    assert [row.tag for row in dashboard_view(Timeline.start(turned)).consumers] == ["A", "B", "C"]


def test_a_row_tells_what_the_last_step_gave_and_took() -> None:
    timeline = submitted(Timeline.start(cluster(["a", "b", "c"], {"x": 6})), KillConsumer("sub", 0))
    rows = {row.name: row for row in dashboard_view(timeline).consumers}
    # By modulo 3 b had 1 and 4, c had 2 and 5; by modulo 2 b has 0, 2, 4 and c has 1, 3, 5.
    assert (rows["b"].gained, rows["b"].lost, rows["b"].active_partitions) == (2, 1, 3)
    assert (rows["c"].gained, rows["c"].lost, rows["c"].active_partitions) == (2, 1, 3)
    back = submitted(timeline, AddConsumer("sub", "a"))
    rows = {row.name: row for row in dashboard_view(back).consumers}
    assert (rows["a"].gained, rows["a"].lost) == (2, 0) and (rows["b"].gained, rows["b"].lost) == (1, 2)


def test_the_busiest_partition_of_a_consumer_stands_first() -> None:
    rows = partitions_of(Timeline.start(cluster(["a"], {"x": 12})), 0, 0)
    assert [row.msgs_per_sec for row in rows] == [float(rate) for rate in range(12, 0, -1)]
    assert [row.partition_index for row in rows] == list(range(11, -1, -1))
    quiet = partitions_of(Timeline.start(cluster(["a"], {"x": 3}, rate=0.0)), 0, 0)
    assert [row.partition_index for row in quiet] == [0, 1, 2]


def test_the_status_tells_in_which_namespace_the_shown_subscription_stands() -> None:
    """Of two subscriptions of one name each has its own; none has an empty one."""
    state = cluster(["a", "b"], {"x": 4})
    (first,) = state.subscriptions
    second = replace(first, key=f"{first.key}#2", namespace="other/place", topics=())
    timeline = Timeline.start(structs.replace(state, subscriptions=(first, second)))
    reported = [dashboard_view(timeline, subscription=at).status for at in (0, 1)]
    assert [each.namespace for each in reported] == [NAMESPACE, "other/place"]
    assert dashboard_view(Timeline.start(ClusterState())).status.namespace == ""
