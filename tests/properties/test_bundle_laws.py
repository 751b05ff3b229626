"""Laws of bundles: L3 (ranges cover the space without overlap) and L6 (a split changes boundaries and nothing else)."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.bundles.boundaries import (
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    SplitResult,
    compare_bundles,
    default_boundaries,
    namespace_bundles,
    parse_range,
    split_bundles,
)
from engine.bundles.columns import topics_in
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import SplitPlan
from engine.bundles.preview import preview_all
from engine.bundles.split import carry_out, plan_split
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, SPECIFIED_POSITIONS_DIVIDE, SPLIT_ALGORITHMS, BrokerSettings
from engine.errors import Rejection

# Narrow stretches at both ends of the space and in its middle, where widths of 1 and 2 and shared hashes are common.
NARROW = st.one_of(
    st.integers(0, 12), st.integers(2**31 - 6, 2**31 + 6), st.integers(FULL_UPPER_BOUND - 12, FULL_UPPER_BOUND)
)
POSITIONS = st.one_of(NARROW, st.integers(0, FULL_UPPER_BOUND))


@st.composite
def bundle_lists(draw: st.DrawFn) -> NamespaceBundles:
    """Lists that cover the whole space, of up to nine bundles."""
    inner = draw(st.sets(POSITIONS.filter(lambda position: 0 < position < FULL_UPPER_BOUND), max_size=8))
    built = namespace_bundles("t/n", [0, *sorted(inner), FULL_UPPER_BOUND])
    assert isinstance(built, NamespaceBundles)
    return built


RATES = st.sampled_from([0.0, -1.0, 1.0, 99.5, 100.0, 100.5, 5000.0, 1e308, float("inf"), float("nan")])


@st.composite
def topic_lists(draw: st.DrawFn) -> list[TopicLoad]:
    hashes = draw(st.lists(POSITIONS, max_size=8))
    return [
        TopicLoad(f"persistent://t/n/{i}", h, draw(RATES), 0.0, draw(RATES), 0.0, draw(st.booleans()))
        for i, h in enumerate(hashes)
    ]


def settings_for(algorithm: str) -> BrokerSettings:
    return BrokerSettings(
        defaultNamespaceBundleSplitAlgorithm=algorithm,
        loadBalancerNamespaceBundleMaxMsgRate=100,
        loadBalancerNamespaceBundleMaxBandwidthMbytes=1,
    )


@given(bundle_lists(), st.lists(POSITIONS, min_size=1, max_size=5))
@settings(max_examples=80, deadline=None)
def test_L3_every_hash_is_in_exactly_one_bundle_and_look_up_names_it(
    bundles: NamespaceBundles, positions: list[int]
) -> None:
    edges = [edge + step for edge in bundles.boundaries for step in (-1, 0, 1)]
    for position in [*positions, *(edge for edge in edges if 0 <= edge <= FULL_UPPER_BOUND)]:
        assert [bundles.find(position)] == [bundle for bundle in bundles if bundle.includes(position)]


@given(bundle_lists())
@settings(max_examples=50, deadline=None)
def test_L3_neighbours_touch_and_no_bundle_is_empty(bundles: NamespaceBundles) -> None:
    assert all(left.upper == right.lower and compare_bundles("t/n", left, "t/n", right) == -1
               for left, right in pairwise(bundles))  # fmt: skip
    assert all(bundle.width > 0 for bundle in bundles)
    assert sum(bundle.width for bundle in bundles) == FULL_UPPER_BOUND
    assert [parse_range(str(bundle)) for bundle in bundles] == list(bundles)


@given(st.integers(1, 5000))
@settings(max_examples=50, deadline=None)
def test_L3_default_bundles_differ_in_the_last_only(count: int) -> None:
    boundaries = default_boundaries(count)
    assert isinstance(boundaries, tuple)
    bundles = namespace_bundles("t/n", boundaries)
    assert isinstance(bundles, NamespaceBundles)
    widths = [bundle.width for bundle in bundles]
    assert len(widths) == count
    assert len(set(widths[:-1])) <= 1
    assert widths[-1] >= max(widths) - 1


@given(bundle_lists(), st.data())
@settings(max_examples=100, deadline=None)
def test_L6_children_make_up_their_parent_and_the_rest_stays(bundles: NamespaceBundles, data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(bundles.bundles))
    cuts = data.draw(st.lists(st.one_of(POSITIONS, st.integers(target.lower - 1, target.upper + 1)), max_size=4))
    number = data.draw(st.integers(-2, 6))
    result = split_bundles(bundles, target, number, cuts)
    sound = target.can_split and (
        all(target.lower < cut < target.upper for cut in cuts) and len(set(cuts)) == len(cuts)
        if cuts
        else 1 <= number <= target.width
    )
    assert isinstance(result, SplitResult) is sound
    if isinstance(result, SplitResult):
        assert result.children[0].lower == target.lower
        assert result.children[-1].upper == target.upper
        assert all(left.upper == right.lower for left, right in pairwise(result.children))
        assert all(child.width > 0 for child in result.children)
        assert set(result.bundles.bundles) == set(bundles.bundles) - {target} | set(result.children)
        assert namespace_bundles("t/n", result.bundles.boundaries) == result.bundles


@given(bundle_lists(), topic_lists(), st.sampled_from(SPLIT_ALGORITHMS), st.lists(POSITIONS, max_size=3), st.data())
@settings(max_examples=100, deadline=None)
def test_L6_a_planned_split_leaves_every_topic_in_exactly_one_bundle(
    bundles: NamespaceBundles, topics: list[TopicLoad], algorithm: str, positions: list[int], data: st.DataObject
) -> None:
    target = data.draw(st.sampled_from(bundles.bundles))
    plan = plan_split(
        "t/n", bundles, str(target), algorithm, positions, topics=topics, settings=settings_for(algorithm)
    )
    if isinstance(plan, Rejection):
        assert plan.status == 412
        return
    here = [topic.name for topic in topics_in(target, topics)]
    dealt = [name for child in plan.children for name in child.topics]
    if plan.changes:
        assert sorted(dealt) == sorted(here)
        assert sorted(n for b in plan.after for n in (t.name for t in topics_in(b, topics))) == sorted(
            t.name for t in topics
        )
        assert set(bundles.boundaries) < set(plan.after.boundaries)
        said = {warning.bundle for warning in plan.warnings if warning.code == "empty-child"}
        assert said == {str(child.bundle) for child in plan.children if not child.topics}
    else:
        assert plan.after == bundles
        assert {"nothing-to-split", "never-answered"} & {warning.code for warning in plan.warnings}
    again = carry_out(plan, bundles)
    assert isinstance(again, SplitResult)
    assert again.bundles == plan.after


@given(topic_lists(), st.lists(POSITIONS, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_L6_topics_of_one_hash_never_part(topics: list[TopicLoad], positions: list[int]) -> None:
    """Whatever the algorithm, and also for the rule as first proposed."""
    lines = preview_all(
        NamespaceBundles("t/n", (0, FULL_UPPER_BOUND)),
        str(BundleRange(0, FULL_UPPER_BOUND)),
        topics,
        settings_for(FLOW_OR_QPS_EQUALLY_DIVIDE),
        positions=positions,
    )
    assert isinstance(lines, tuple)
    position_of = {topic.name: topic.hash for topic in topics}
    for line in lines:
        if isinstance(line.plan, SplitPlan):
            homes = [{position_of[name] for name in child.topics} for child in line.plan.children]
            assert sum(map(len, homes)) == len(set().union(*homes))


@given(bundle_lists(), st.lists(POSITIONS, min_size=1, max_size=3), st.data())
@settings(max_examples=60, deadline=None)
def test_L6_splits_of_different_bundles_can_come_in_either_order(
    bundles: NamespaceBundles, positions: list[int], data: st.DataObject
) -> None:
    """B02: neither wipes out the other's cut."""
    assume(len(bundles) > 1)
    one, other = data.draw(st.permutations(bundles.bundles))[:2]
    two = [TopicLoad(f"persistent://t/n/{i}", bundle.lower, 1.0) for bundle in (one, other) for i in range(2)]
    plans = [
        plan_split(
            "t/n",
            bundles,
            str(bundle),
            SPECIFIED_POSITIONS_DIVIDE,
            [*positions, bundle.lower + 1],
            topics=two,
            settings=BrokerSettings(),
        )
        for bundle in (one, other)
    ]
    assume(all(isinstance(plan, SplitPlan) for plan in plans))
    ends = []
    for order in (plans, plans[::-1]):
        current = bundles
        for plan in order:
            assert isinstance(plan, SplitPlan)
            result = carry_out(plan, current)
            assert isinstance(result, SplitResult)
            current = result.bundles
        ends.append(current)
    assert ends[0] == ends[1]
