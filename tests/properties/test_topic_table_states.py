"""A state in columns says what the same state of plain values says, along every walk of commands, undo and redo."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bundles.bulk_flow import first_fit_cuts
from engine.bundles.flow import FlowLimits, flow_or_qps_as_proposed, flow_or_qps_equally_divide
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import topic_findings
from engine.cluster import facts
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
from engine.cluster.facts import active_consumers, bundles_of, choices, partition_names, topic_loads
from engine.cluster.invariants import faults
from engine.cluster.moves import moves
from engine.cluster.owners import owner_ids
from engine.cluster.partitions import partition_columns
from engine.cluster.state import ClusterState, Load, Topic
from engine.cluster.timeline import Timeline
from engine.cluster.topic_table import LoadTable, TopicTable
from engine.config import SPLIT_ALGORITHMS
from engine.errors import Rejection
from engine.failover.choose import choose_many
from engine.failover.model import Consumer
from engine.names import partition_index
from engine.views.dashboard import (
    busiest_partition_of,
    dashboard_view,
    partitions_of,
    topic_explanation,
    topics_of_bundle,
)
from engine.views.details import SplitPreviewView
from engine.views.large_bundle import RoundingDecidesError, flow_cuts, inside_of, proposed_cuts, topic_warnings
from engine.views.model import DashboardView
from engine.views.splits import split_preview
from engine.views.table import Busiest
from tests.engine.views.states import FLAG, NAMESPACE, cluster, topic_name

NAMES = ("c-1", "c-11", "c-2", "c-2", "", "\ue000", "\U0001f600")
LOCALS = ("x", "y", "z", "stray-partition-3", "é")
PLAIN = cluster(["c-1", "c-2", "c-11"], {"x": 5, "y": 0, "stray-partition-3": 0, "w": 7})


def in_columns(state: ClusterState) -> ClusterState:
    """The same state with its topics and its traffic in columns."""
    topics = TopicTable.of(state.topics)
    (subscription,) = state.subscriptions
    return replace(
        state,
        topics=topics,
        loads=LoadTable.of(topics, state.loads),
        subscriptions=(replace(subscription, topics=topics.names),),
    )


ids = st.integers(0, 8)
steps = st.one_of(
    st.builds(AddConsumer, st.just("sub"), st.sampled_from(NAMES), st.sampled_from([0, 0, 0, 1])),
    st.builds(KillConsumer, st.just("sub"), ids),
    st.builds(KillConsumer, st.just("sub"), ids),
    st.builds(RenameConsumer, st.just("sub"), ids, st.sampled_from(NAMES)),
    st.builds(SetPriorityLevel, st.just("sub"), ids, st.sampled_from([0, 1])),
    st.builds(SetSetting, st.just(FLAG), st.sampled_from(["true", "false"])),
    st.builds(SetRelease, st.sampled_from(["2.11", "3.0", "4.2"])),
    st.builds(AddTopic, st.sampled_from([topic_name(each) for each in LOCALS]), st.integers(0, 4)),
    st.builds(RemoveTopic, st.sampled_from([topic_name(each) for each in LOCALS])),
    st.builds(RepartitionTopic, st.sampled_from([topic_name(each) for each in LOCALS]), st.integers(1, 9)),
    st.builds(SplitBundle, st.just(NAMESPACE), st.just("0x00000000_0x40000000"), st.just("range_equally_divide")),
    st.sampled_from([-2, -1, 1, 3]),
)


def told(view: DashboardView) -> tuple[object, ...]:
    """What a view says, apart from the order of its topics."""
    ring = view.ring
    columns = (ring.topic_hashes.tolist(), ring.topic_owners.tolist(), ring.topic_moved.tolist())
    topics = dict(zip(ring.topic_names, zip(*columns, strict=True), strict=True))
    rows = [
        replace(row, msgs_per_sec=round(row.msgs_per_sec, 6), rate_share=round(row.rate_share, 9))
        for row in view.consumers
    ]
    return (
        view.status, rows, replace(view.foot, max_over_mean_rate=round(view.foot.max_over_mean_rate, 6)), topics,
        ring.points.tolist(), ring.point_owners.tolist(), ring.changed_arcs.tolist(), ring.lit, ring.centre,
        ring.first_partitions_only, view.namespaces, view.events, view.timeline, view.notices,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=14))
def test_the_dashboard_of_columns_is_the_one_of_plain_values(walk: Sequence[Command | int]) -> None:
    """After every step of a walk both say the same: rows, ring, tree, events, notices, rows of a consumer, answers."""
    plain, large = Timeline.start(PLAIN), Timeline.start(in_columns(PLAIN))
    for step in walk:
        if isinstance(step, int):
            plain, large = plain.step_by(step), large.step_by(step)
        else:
            (plain, refused), (large, also) = plain.submit(step), large.submit(step)
            assert refused == also
        assert large.state.topics == plain.state.topics and large.state.loads == plain.state.loads
        assert not faults(large.state)
        view = dashboard_view(large)
        assert told(view) == told(dashboard_view(plain))
        for row in view.consumers:
            assert sorted(partitions_of(large, 0, row.consumer_id), key=lambda each: each.name) == sorted(
                partitions_of(plain, 0, row.consumer_id), key=lambda each: each.name
            )
            assert busiest_partition_of(large, 0, row.consumer_id) == busiest_partition_of(plain, 0, row.consumer_id)
        bundle = view.namespaces[0].roots[1].range_text
        assert sorted(map(repr, topics_of_bundle(large, NAMESPACE, bundle))) == sorted(
            map(repr, topics_of_bundle(plain, NAMESPACE, bundle))
        )
        for text in (
            topic_name("w-partition-3"),
            "y",
            "t/n/w",
            "w-partition-2",
            "partition-3",
            "x-part",
            "3",
            "tit",
            "w-p",
        ):
            mine, theirs = topic_explanation(large, 0, text), topic_explanation(plain, 0, text)
            if isinstance(theirs, Rejection):  # names are listed in another order
                assert isinstance(mine, Rejection) and mine.error == theirs.error, text
            else:
                assert mine == theirs, text
        assert topic_loads(large.state, NAMESPACE) == topic_loads(plain.state, NAMESPACE)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, min_size=1, max_size=10))
def test_moves_and_active_consumers_are_those_of_plain_values(walk: Sequence[Command | int]) -> None:
    """Facts in bulk equal the plain ones, between neighbouring states and from the first to the last."""
    plain, large = Timeline.start(PLAIN), Timeline.start(in_columns(PLAIN))
    for step in walk:
        if isinstance(step, int):
            continue
        before = large.state, plain.state
        plain, large = plain.submit(step)[0], large.submit(step)[0]
        for old_large, old_plain in (before, (large.initial, plain.initial)):
            wanted, found = moves(old_plain, plain.state, "sub"), moves(old_large, large.state, "sub")
            for name in ("moved", "taken_up", "orphaned"):
                assert sorted(getattr(found, name)) == sorted(getattr(wanted, name)), name
            for name in ("least", "partitions", "unacked_at_risk", "gained", "lost"):
                assert getattr(found, name) == getattr(wanted, name), name
        mine, theirs = large.state.subscriptions[0], plain.state.subscriptions[0]
        assert dict(active_consumers(large.state, mine)) == dict(active_consumers(plain.state, theirs))
        by_name = dict(zip(partition_names(large.state, mine), choices(large.state, mine), strict=False))
        assert by_name == dict(zip(partition_names(plain.state, theirs), choices(plain.state, theirs), strict=False))


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


def split_told(view: SplitPreviewView) -> tuple[object, ...]:
    """A preview with sums that were added in another order rounded alike."""
    options = [
        replace(
            option,
            pieces=tuple(
                replace(
                    piece,
                    msgs_per_sec=round(piece.msgs_per_sec, 6),
                    bytes_per_sec=round(piece.bytes_per_sec, 6),
                    rate_share=round(piece.rate_share, 9),
                )
                for piece in option.pieces
            ),
            warnings=tuple(
                replace(
                    warning, msgs_per_sec=round(warning.msgs_per_sec, 6), bytes_per_sec=round(warning.bytes_per_sec, 6)
                )
                for warning in option.warnings
            ),
        )
        for option in view.options
    ]
    return (
        view.namespace, view.range_text, view.lower, view.upper, view.topics, round(view.msgs_per_sec, 6),
        round(view.bytes_per_sec, 6), options, list(view.topic_names), list(view.topic_hashes),
        list(view.topic_msgs_per_sec), view.problem,
    )  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(tables, limited, st.none() | st.lists(st.integers(0, 2**31), min_size=1, max_size=3).map(tuple))
def test_a_split_preview_of_columns_is_the_one_of_plain_values(
    table: Sequence[tuple[int, int, float, float, bool]],
    chosen: dict[str, int | str],
    positions: tuple[int, ...] | None,
) -> None:
    """Cuts, pieces, refusals, warnings and requests of all algorithms, for each bundle and for a range that is none."""
    plain = cluster(["c-1"], {f"x{number}": count for number, count, *_ in table})
    names = [name for topic in plain.topics.values() for name in topic.partition_names()]
    loads = {
        name: Load(rate_in, rate_out, rate_in * 100, rate_out * 7)
        for name, (_, _, rate_in, rate_out, known) in zip(names, table, strict=False)
        if known
    }
    plain = replace(plain, loads=loads, settings=replace(plain.settings, **chosen))  # type: ignore[arg-type]
    large = in_columns(plain)
    for bundle in (*map(str, bundles_of(plain, NAMESPACE)), "0x00000000_0x00000010", "LARGEST"):
        wanted = split_preview(plain, NAMESPACE, bundle, positions=positions)
        assert split_told(split_preview(large, NAMESPACE, bundle, positions=positions)) == split_told(wanted)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(LOCALS), rates, st.booleans()), max_size=40),
    st.sampled_from([1, 45, 1_000]),
)
def test_twins_and_limits_of_columns_are_those_of_plain_values(
    table: Sequence[tuple[int, str, float, bool]], limit: int
) -> None:
    """With hashes that meet all the time: flow cuts, the proposed cut and the warnings, list order included."""
    topics = TopicTable.of(
        {
            f"persistent://t/n/{name}{at}": Topic(f"persistent://t/n/{name}{at}")
            for at, (_, name, *_) in enumerate(table)
        }
    )
    order = np.array(sorted(range(len(table)), key=lambda at: table[at][0]), dtype=np.int32)
    loads = LoadTable.of(
        topics,
        {name: Load(rate, 0.0, rate * 3) for name, (_, _, rate, known) in zip(topics, table, strict=True) if known},
    )
    flow = (loads.rates[0] + loads.rates[1])[order], (loads.rates[2] + loads.rates[3])[order]
    inside = inside_of(loads, order, np.array([table[at][0] for at in order.tolist()], dtype=np.int64), flow)
    listed = [
        TopicLoad(name, at, rate if known else 0.0, 0.0, rate * 3 if known else 0.0, 0.0, known)
        for name, (at, _, rate, known) in sorted(zip(topics, table, strict=True))
    ]
    limits = FlowLimits(limit, 2_000, 0)
    assert topic_warnings(inside, limits) == tuple(topic_findings(listed, limits))
    with suppress(RoundingDecidesError):  # the caller asks topic by topic then
        assert flow_cuts(inside, limits) == flow_or_qps_equally_divide(listed, limits)
    with suppress(RoundingDecidesError):
        assert proposed_cuts(inside) == flow_or_qps_as_proposed(listed)


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
    wanted = flow_or_qps_equally_divide(listed, limits)
    found = first_fit_cuts(hashes, msgs[last], np.zeros(len(hashes)), limits)
    assert found == (wanted or ())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5_000), st.sampled_from([1, 3, 10**6]))
def test_the_busiest_partitions_come_first_however_far_one_looks(seed: int, count: int, different: int) -> None:
    """Ranks are those of a whole stable sort, asked from either end, many partitions of one rate included."""
    random = np.random.default_rng(seed)
    rates = random.integers(0, different, count).astype(np.float64)
    places = np.sort(random.choice(10**6, size=count, replace=False))
    wanted = places[np.argsort(-rates, kind="stable")].tolist()
    ranked, backwards = Busiest(places, rates), Busiest(places, rates)
    assert [ranked.place(rank) for rank in range(count)] == wanted
    assert [backwards.place(rank) for rank in reversed(range(count))] == wanted[::-1]


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
    state = in_columns(PLAIN)
    assert isinstance(state.topics, TopicTable)
    columns = partition_columns(state.topics, state.subscriptions[0])
    pairs = [(name, partition_index(name)) for name in columns.names]
    behaviour = facts.behaviour_in(state)
    for consumers in lists:
        found = owner_ids(columns, consumers, consistent_hashing=ring, behaviour=behaviour)
        chosen = choose_many(consumers, pairs, consistent_hashing=ring, behaviour=behaviour)
        wanted = [each.active.consumer_id for each in chosen] or [-1] * len(pairs)
        assert found.tolist() == wanted
        assert not found.flags.writeable and found.dtype == np.int32
