"""The table of topics against the rules applied topic by topic, along every walk of commands, undo and redo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.bundles import bulk_splits
from engine.bundles.algorithms import FlowLimits
from engine.bundles.bulk_splits import piece_ends
from engine.bundles.columns import LoadColumns, PickedNames, topics_in
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import SplitPlan, topic_findings
from engine.bundles.preview import preview_all
from engine.cluster.bundles import topic_loads
from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    SplitBundle,
)
from engine.cluster.journal.invariants import faults
from engine.cluster.moves import moves
from engine.cluster.owners import active_consumers, owner_ids
from engine.cluster.partitions import partition_columns
from engine.cluster.state import ClusterState, behaviour_in, bundles_of
from engine.cluster.tables.topics import Load
from engine.cluster.timeline import Timeline
from engine.config import SPLIT_ALGORITHMS
from engine.errors import Rejection
from engine.failover.choose import choose_many
from engine.failover.model import Consumer
from engine.hashing import crc32_hash, murmur3_32
from engine.names import partition_index
from engine.views.failover.dashboard import busiest_partition_of, dashboard_view, partitions_of, topics_of_bundle
from engine.views.failover.splits import split_preview
from engine.views.failover.table import SORTED_AT_ONCE, Busiest
from tests.engine.bundles.scalar_algorithms import flow_or_qps_as_proposed, flow_or_qps_equally_divide
from tests.engine.views.states import FLAG, NAMESPACE, cluster, topic_name

NAMES = ("c-1", "c-11", "c-2", "c-2", "", "\ue000", "\U0001f600")
LOCALS = ("x", "y", "z", "stray-partition-3", "é")
OPENING = cluster(["c-1", "c-2", "c-11"], {"x": 5, "y": 0, "stray-partition-3": 0, "w": 7})


def names_of(state: ClusterState) -> list[str]:
    """All partitions of the subscription, topic by topic."""
    return [name for topic in state.subscriptions[0].topics for name in state.topics[topic].partition_names()]


def chosen(state: ClusterState) -> Mapping[str, Consumer | None]:
    """The active consumer of each, one by one."""
    pairs = [(name, partition_index(name)) for name in names_of(state)]
    flag, behaviour = state.settings.text_of(FLAG) == "true", behaviour_in(state)
    choice = choose_many(
        state.subscriptions[0].consumers,
        pairs,
        consistent_hashing=flag and behaviour.knows_failover_consistent_hashing,
        behaviour=behaviour,
    )
    return {name: choice[at].active if choice else None for at, (name, _) in enumerate(pairs)}


ids = st.integers(0, 8)
steps = st.one_of(
    st.builds(AddConsumer, st.just("sub"), st.sampled_from(NAMES), st.sampled_from([0, 0, 0, 1])),
    st.builds(KillConsumer, st.just("sub"), ids),
    st.builds(KillConsumer, st.just("sub"), ids),
    st.builds(RenameConsumer, st.just("sub"), ids, st.sampled_from(NAMES)),
    st.builds(SetPriorityLevel, st.just("sub"), ids, st.sampled_from([0, 1])),
    st.builds(SetSetting, st.just(FLAG), st.sampled_from(["true", "false"])),
    st.builds(SetRelease, st.sampled_from(["2.11", "3.0", "4.2"])),
    st.builds(AddTopic, st.sampled_from([topic_name(local) for local in LOCALS]), st.integers(0, 4)),
    st.builds(RemoveTopic, st.sampled_from([topic_name(local) for local in LOCALS])),
    st.builds(RepartitionTopic, st.sampled_from([topic_name(local) for local in LOCALS]), st.integers(1, 9)),
    st.builds(SplitBundle, st.just(NAMESPACE), st.just("0x00000000_0x40000000"), st.just("range_equally_divide")),
    st.sampled_from([-2, -1, 1, 3]),
)


def after(timeline: Timeline, step: Command | int) -> Timeline:
    return timeline.step_by(step) if isinstance(step, int) else timeline.submit(step)[0]


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=14))
def test_the_dashboard_says_what_the_rules_say_of_each_partition(walk: Sequence[Command | int]) -> None:
    """After every step of a walk: rows, ring, tree, rows of a consumer and of a bundle."""
    timeline = Timeline.start(OPENING)
    for step in walk:
        timeline = after(timeline, step)
        state, view = timeline.state, dashboard_view(timeline)
        actives = chosen(state)
        assert not faults(state)
        assert dict(active_consumers(state, state.subscriptions[0])) == actives
        owners = [view.consumers[place].consumer_id if place >= 0 else None for place in view.ring.topic_owners]
        assert dict(zip(view.ring.topic_names, owners, strict=True)) == {
            name: None if active is None else active.consumer_id for name, active in actives.items()
        }
        assert view.ring.topic_hashes.tolist() == sorted(map(murmur3_32, actives))
        for row in view.consumers:
            mine = [name for name, active in actives.items() if active and active.consumer_id == row.consumer_id]
            loads = {name: state.loads.get(name, Load()).msg_rate_out for name in mine}
            assert row.active_partitions == len(mine)
            assert np.isclose(row.msgs_per_sec, sum(loads.values()))
            listed = partitions_of(timeline, 0, row.consumer_id)
            assert [each.name for each in listed] == sorted(mine, key=lambda name: (-loads[name], name))
            assert busiest_partition_of(timeline, 0, row.consumer_id) == (listed[0].name if listed else "")
        every = [name for topic in state.topics.values() for name in topic.partition_names()]
        for root in view.namespaces[0].roots:
            inside = [name for name in every if root.lower <= crc32_hash(name) < root.upper]
            assert root.topics == len(inside)
            rows = topics_of_bundle(timeline, NAMESPACE, root.range_text)
            assert [row.name for row in rows] == sorted(inside, key=lambda name: (crc32_hash(name), name))


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, min_size=1, max_size=10))
def test_moves_are_those_that_comparing_name_by_name_finds(walk: Sequence[Command | int]) -> None:
    """Between neighbouring states, and from the first to the last."""
    timeline = Timeline.start(OPENING)
    for step in walk:
        before, timeline = timeline.state, after(timeline, step)
        for earlier in (before, timeline.initial):
            was, now = chosen(earlier), chosen(timeline.state)
            result = moves(earlier, timeline.state, "sub")
            kept = [name for name in now if name in was]
            moved = [
                (name, old.consumer_id, new.consumer_id)
                for name in kept
                if (old := was[name]) and (new := now[name]) and old.consumer_id != new.consumer_id
            ]
            assert sorted(result.moved) == sorted(name for name, *_ in moved)
            assert result.gained == Counter(new for *_, new in moved) and result.lost == Counter(
                old for _, old, _ in moved
            )
            assert sorted(result.taken_up) == sorted(name for name in kept if not was[name] and now[name])
            assert sorted(result.orphaned) == sorted(name for name in kept if was[name] and not now[name])
            waiting = (earlier.loads.get(name, Load()).unacked_messages for name, *_ in moved)
            assert (result.partitions, result.unacked_at_risk) == (len(now), sum(waiting))


rates = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, 40.0, 900.0])
tables = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), rates, rates, st.booleans()), max_size=14)
limited = st.fixed_dictionaries(
    {
        "loadBalancerNamespaceBundleMaxMsgRate": st.sampled_from([1, 50, 1_000, 30_000]),
        "flowOrQpsDifferenceThresholdPercentage": st.sampled_from([0, 10]),
        "defaultNamespaceBundleSplitAlgorithm": st.sampled_from(SPLIT_ALGORITHMS),
        "loadBalancerNamespaceMaximumBundles": st.sampled_from([2, 128]),
    }
)


def rounded(plan: SplitPlan | Rejection | None) -> object:
    """A plan with sums that were added in another order rounded alike, and the topics of a child in no order."""
    if not isinstance(plan, SplitPlan):
        return plan
    children = [
        (child.bundle, sorted(child.topics), round(child.msgs_per_sec, 6), round(child.bytes_per_sec, 6))
        for child in plan.children
    ]
    warnings = [
        replace(warning, msgs_per_sec=round(warning.msgs_per_sec, 6), bytes_per_sec=round(warning.bytes_per_sec, 6))
        for warning in plan.warnings
    ]
    return plan.cuts, plan.algorithm, plan.positions, children, plan.after, plan.status, warnings


@settings(max_examples=80, deadline=None)
@given(tables, limited, st.none() | st.lists(st.integers(0, 2**31), min_size=1, max_size=3).map(tuple))
def test_a_split_preview_is_the_one_of_topics_listed_one_by_one(
    table: Sequence[tuple[int, int, float, float, bool]],
    chosen: dict[str, int | str],
    positions: tuple[int, ...] | None,
) -> None:
    """Cuts, pieces, refusals and warnings of all algorithms, for bundles, words and a range that is none."""
    state = cluster(["c-1"], {f"x{number}": count for number, count, *_ in table})
    loads = {
        name: Load(rate_in, rate_out, rate_in * 100, rate_out * 7)
        for name, (_, _, rate_in, rate_out, known) in zip(names_of(state), table, strict=False)
        if known
    }
    state = structs.replace(state, loads=loads, settings=structs.replace(state.settings, **chosen))  # type: ignore[arg-type]
    bundles, listed = bundles_of(state, NAMESPACE), [*topic_loads(state, NAMESPACE)]
    for text in (*map(str, bundles), "0x00000000_0x00000010", "LARGEST", "HOT"):
        view = split_preview(state, NAMESPACE, text, positions=positions)
        expected = preview_all(bundles, text, listed, state.settings, behaviour_in(state), positions=positions)
        if isinstance(expected, Rejection):
            assert view.problem == expected
            continue
        parent = next(line.plan.parent for line in expected if isinstance(line.plan, SplitPlan))
        inside = sorted(topics_in(parent, listed), key=lambda load: load.hash)
        assert [*view.topic_names] == [load.name for load in inside]
        assert [*view.topic_msgs_per_sec] == [load.msgs_per_sec for load in inside]
        assert (view.lower, view.upper, view.topics) == (parent.lower, parent.upper, len(inside))
        for option, line in zip(view.options, expected, strict=True):
            assert (option.algorithm, option.as_proposed) == (line.algorithm, line.as_proposed)
            assert option.admin_line == line.command and option.positions_from == line.positions_from
            if isinstance(line.plan, Rejection):
                assert option.refusal == line.plan
                continue
            cuts, _, mine, children, _, status, warnings = rounded(line.plan)  # type: ignore[misc]
            assert option.cuts == (cuts or ()) and option.positions == mine
            assert option.status == (status if line.refusal is None else line.refusal.status)
            assert rounded(replace(line.plan, warnings=option.warnings))[-1] == warnings  # type: ignore[index]
            assert [
                (piece.range_text, piece.topics, round(piece.msgs_per_sec, 6), round(piece.bytes_per_sec, 6))
                for piece in option.pieces
            ] == [(str(bundle), len(names), *sums) for bundle, names, *sums in children]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(LOCALS), rates, st.booleans()), max_size=40),
    st.sampled_from([1, 45, 1_000]),
)
def test_twins_and_limits_of_columns_are_those_of_the_scalar_rules(
    table: Sequence[tuple[int, str, float, bool]], limit: int
) -> None:
    """With hashes that meet all the time: flow cuts, the proposed cut and the warnings, list order included."""
    listed = [
        TopicLoad(f"persistent://t/n/{name}{at}", here, *((rate, 0.0, rate * 3, 0.0) if known else ()), has_stats=known)
        for at, (here, name, rate, known) in enumerate(table)
    ]
    numbers = [[load.msg_rate_in, load.msg_rate_out, load.throughput_in_bytes_per_sec, 0.0] for load in listed]
    columns = LoadColumns(
        PickedNames([load.name for load in listed], np.arange(len(listed))),
        np.array([load.hash for load in listed], dtype=np.int64),
        np.array(numbers).reshape(-1, 4).T,
        np.array([load.has_stats for load in listed], dtype=np.bool_),
    )
    assert [*columns] == listed
    limits = FlowLimits(limit, 2_000, 0)
    # By hash, where a stable sort keeps those of one hash in their order, sums of these numbers are the same.
    for each in (columns, columns.take(np.argsort(columns.hashes, kind="stable"))):
        assert bulk_splits.flow_or_qps_equally_divide(each, limits) == flow_or_qps_equally_divide(listed, limits)
        assert bulk_splits.flow_or_qps_as_proposed(each) == flow_or_qps_as_proposed(listed)
    assert topic_findings(columns, limits) == topic_findings(listed, limits)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([3, 40, 900, 100_000]), st.sampled_from([0.0, 0.01]))
def test_pieces_of_a_long_bundle_are_those_of_the_scalar_rule(seed: int, limit: int, twins: float) -> None:
    """Short pieces and such that are longer than what is added up at a time; sums are the same doubles."""
    random = np.random.default_rng(seed)
    hashes = np.sort(random.choice(2**32, size=12_000, replace=False))
    hashes[1:][random.random(len(hashes) - 1) < twins] = 0
    hashes = np.sort(np.maximum.accumulate(hashes))
    msgs = random.pareto(1.2, len(hashes)) + 0.001
    last = np.searchsorted(hashes, hashes, side="right") - 1
    limits = FlowLimits(limit, 100_000, 0)
    listed = [
        TopicLoad(str(at), here, rate)
        for at, (here, rate) in enumerate(zip(hashes.tolist(), msgs.tolist(), strict=True))
    ]
    expected = flow_or_qps_equally_divide(listed, limits)
    at = np.array(piece_ends(msgs[last], np.zeros(len(hashes)), limits), dtype=np.int64)
    before, here = hashes[at - 1], hashes[at]
    assert tuple((before + (here - before) // 2 + 1).tolist()) == (expected or ())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5_000), st.sampled_from([1, 3, 10**6]))
def test_the_busiest_partitions_come_first_however_far_one_looks(seed: int, count: int, different: int) -> None:
    """By rate and then by name, asked from either end; among too many of one rate to page through, as they stand."""
    random = np.random.default_rng(seed)
    rates = random.integers(0, different, count).astype(np.float64)
    places = np.sort(random.choice(10**6, size=count, replace=False))
    names = range(10**6, 0, -1) if count <= SORTED_AT_ONCE else range(10**6)
    order = sorted(range(count), key=lambda at: (-rates[at], names[places[at]]))
    expected = places[order].tolist()
    ranked, backwards = Busiest(places, rates, names), Busiest(places, rates, names)  # type: ignore[arg-type]
    assert [ranked.place(rank) for rank in range(count)] == expected
    assert [backwards.place(rank) for rank in reversed(range(count))] == expected[::-1]


consumer_lists = st.lists(
    st.builds(Consumer, st.integers(0, 12), st.sampled_from(["a", "a1", "a11", "b", "b"]), st.sampled_from([0, 0, 1])),
    max_size=9,
    unique_by=lambda each: each.consumer_id,
).map(tuple)


@settings(max_examples=80, deadline=None)
@given(st.lists(consumer_lists, min_size=1, max_size=8), st.booleans())
def test_owners_depend_on_who_is_connected_and_not_on_who_was_before(
    lists: Sequence[tuple[Consumer, ...]], ring: bool
) -> None:
    """Whatever lists came before, the owners are those that the broker's rules choose, topic by topic."""
    columns = partition_columns(OPENING.topics, OPENING.subscriptions[0])
    pairs = [(name, partition_index(name)) for name in columns.names]
    behaviour = behaviour_in(OPENING)
    for consumers in lists:
        result = owner_ids(columns, consumers, consistent_hashing=ring, behaviour=behaviour)
        chosen = choose_many(consumers, pairs, consistent_hashing=ring, behaviour=behaviour)
        expected = [each.active.consumer_id for each in chosen] or [-1] * len(pairs)
        assert result.tolist() == expected
        assert not result.flags.writeable and result.dtype == np.int32
