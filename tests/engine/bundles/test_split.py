"""A split on request: refusals with Pulsar's status, what changes, and what to beware of."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from engine.bundles.boundaries import (
    FULL_UPPER_BOUND,
    BundleRange,
    NamespaceBundles,
    SplitRefusal,
    SplitResult,
    split_bundles,
)
from engine.bundles.loads import BundleAverage, TopicLoad, hottest_bundle, largest_bundle, with_partitions
from engine.bundles.plan import SplitPlan, pulsar_admin_command
from engine.bundles.split import carry_out, plan_split
from engine.config import CURRENT, FLOW_OR_QPS_EQUALLY_DIVIDE, BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection

MIB = 1_048_576
WHOLE = NamespaceBundles("t/n", (0, FULL_UPPER_BOUND))
HALVES = NamespaceBundles("t/n", (0, 0x80000000, FULL_UPPER_BOUND))
FLOW = BrokerSettings(
    defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE, loadBalancerNamespaceBundleMaxMsgRate=1000
)


def topics_at(*hashes: int, rate: float = 1.0) -> list[TopicLoad]:
    return [TopicLoad(f"persistent://t/n/{i}", h, rate, throughput_in_bytes_per_sec=10.0) for i, h in enumerate(hashes)]


def ask(
    bundles: NamespaceBundles = WHOLE,
    bundle: str | None = None,
    algorithm: str | None = "range_equally_divide",
    positions: list[int] | None = None,
    topics: list[TopicLoad] | None = None,
    **rest: Any,
) -> SplitPlan | Rejection:
    given = topics_at(10, 20, 30) if topics is None else topics
    text = str(bundles[0]) if bundle is None else bundle
    return plan_split(
        "t/n", bundles, text, algorithm, positions, topics=given, **({"settings": BrokerSettings()} | rest)
    )


def planned(*arguments: Any, **named: Any) -> SplitPlan:
    plan = ask(*arguments, **named)
    assert isinstance(plan, SplitPlan), plan
    return plan


def refusal_of(answer: object) -> Rejection:
    """The refusal, which says why."""
    assert isinstance(answer, Rejection), answer
    assert answer.message
    return answer


def named(answer: object) -> tuple[str, int]:
    """The name and the status of a refusal."""
    refusal = refusal_of(answer)
    return refusal.error, refusal.status


def of(release: str) -> ReleaseBehaviour:
    behaviour = behaviour_of(release)
    assert isinstance(behaviour, ReleaseBehaviour), behaviour
    return behaviour


def cuts_of(answer: object) -> tuple[int, ...] | None:
    assert isinstance(answer, SplitPlan), answer
    return answer.cuts


def codes(plan: SplitPlan) -> list[str]:
    return [warning.code for warning in plan.warnings]


class TestSplitBundles:
    def test_equal_parts_leave_the_remainder_to_the_last(self) -> None:
        result = split_bundles(WHOLE, WHOLE[0], 4)
        assert isinstance(result, SplitResult)
        assert result.bundles.boundaries == (0, 0x3FFFFFFF, 0x7FFFFFFE, 0xBFFFFFFD, FULL_UPPER_BOUND)

    def test_a_given_list_overrules_the_number(self) -> None:
        result = split_bundles(HALVES, HALVES[1], 99, [0xC0000000])
        assert isinstance(result, SplitResult)
        assert result.bundles.boundaries == (0, 0x80000000, 0xC0000000, FULL_UPPER_BOUND)
        assert result.children == (result.bundles[1], result.bundles[2])

    def test_one_part_changes_nothing(self) -> None:
        result = split_bundles(HALVES, HALVES[0], 1)
        assert isinstance(result, SplitResult)
        assert result.bundles == HALVES

    def test_B03_a_bundle_that_is_gone_is_distinguished_from_a_refusal(self) -> None:
        assert split_bundles(HALVES, WHOLE[0], 2) is None

    @pytest.mark.parametrize("cut", [0, 0x80000000, 0x80000001])
    def test_B08_a_cut_on_the_edge_or_outside_is_refused_at_once(self, cut: int) -> None:
        refusal = split_bundles(HALVES, HALVES[0], 2, [5, cut])
        assert isinstance(refusal, SplitRefusal)
        assert (refusal.error, refusal.stage) == ("IllegalArgumentException", "sync")

    @pytest.mark.parametrize(
        ("number", "cuts", "error"),
        [
            (2, [9, 9], "IllegalArgumentException"),
            (0, None, "ArithmeticException"),
            (-1, None, "ArrayIndexOutOfBoundsException"),
            (2**31, None, "IllegalArgumentException"),
        ],
    )
    def test_failures_nobody_listens_to(self, number: int, cuts: list[int] | None, error: str) -> None:
        bundles = NamespaceBundles("t/n", (0, 100, FULL_UPPER_BOUND))
        refusal = split_bundles(bundles, bundles[0], number, cuts)
        assert isinstance(refusal, SplitRefusal)
        assert (refusal.error, refusal.stage) == (error, "async")

    def test_a_million_parts_are_the_most_this_model_makes(self) -> None:
        refusal = split_bundles(WHOLE, WHOLE[0], 2**31)
        assert isinstance(refusal, SplitRefusal)
        assert refusal.error == "TooManyBundles"


class TestRefusals:
    def test_an_unknown_algorithm(self) -> None:
        refusal = refusal_of(ask(algorithm="flow_count_equally_divide"))
        assert (refusal.error, refusal.status) == ("RestException", 412)
        assert "supported algorithms are [range_equally_divide, topic_count_equally_divide" in refusal.message

    def test_an_algorithm_the_operator_took_off_the_list(self) -> None:
        only_range = BrokerSettings(supportedNamespaceBundleSplitAlgorithms=("range_equally_divide",))
        assert named(ask(algorithm="topic_count_equally_divide", settings=only_range)) == ("RestException", 412)

    def test_an_algorithm_the_release_does_not_know(self) -> None:
        old = behaviour_of("2.11.0")
        assert not isinstance(old, Rejection)
        assert named(ask(algorithm=FLOW_OR_QPS_EQUALLY_DIVIDE, settings=FLOW, behaviour=old)) == ("RestException", 412)
        as_default = planned(algorithm=None, settings=FLOW, behaviour=old)
        assert (as_default.algorithm, codes(as_default)) == (
            "range_equally_divide",
            ["algorithm-not-known", "empty-child"],
        )

    def test_positions_that_are_missing(self) -> None:
        assert named(ask(algorithm="specified_positions_divide")) == ("RestException", 412)

    def test_positions_that_are_missing_for_a_default_nobody_named(self) -> None:
        settings = BrokerSettings(defaultNamespaceBundleSplitAlgorithm="specified_positions_divide")
        assert named(ask(algorithm=" ", settings=settings)) == ("IllegalArgumentException", 412)

    def test_the_name_is_judged_before_the_bundle(self) -> None:
        refusal = refusal_of(ask(bundle="nonsense", algorithm="nonsense"))
        assert (refusal.error, refusal.status) == ("RestException", 412)
        assert refusal.field == "algorithm"

    def test_another_namespace(self) -> None:
        plan = plan_split("t/other", WHOLE, "LARGEST", None, None, topics=[], settings=BrokerSettings())
        assert named(plan) == ("NotFound", 404)

    @pytest.mark.parametrize("word", ["LARGEST", "HOT"])
    def test_B10_a_word_that_finds_no_bundle_in_an_empty_namespace(self, word: str) -> None:
        assert named(ask(bundle=word, topics=[])) == ("RestException", 404)

    @pytest.mark.parametrize("text", ["largest", "0x0", "0x80000000_0x0", "x_y"])
    def test_a_range_that_cannot_be_read(self, text: str) -> None:
        answer = ask(bundle=text)
        assert isinstance(answer, Rejection)
        assert answer.status == 412

    def test_a_range_that_is_no_bundle(self) -> None:
        refusal = refusal_of(ask(bundle="0x00000001_0xffffffff"))
        assert (refusal.error, refusal.status) == ("IllegalArgumentException", 412)
        assert "Cannot find bundle t/n/0x00000001_0xffffffff in the bundles list" in refusal.message

    @pytest.mark.parametrize("low", [0, 77, FULL_UPPER_BOUND - 1])
    def test_B04_a_bundle_too_narrow(self, low: int) -> None:
        boundaries = sorted({0, low, low + 1, FULL_UPPER_BOUND})
        answer = ask(NamespaceBundles("t/n", tuple(boundaries)), str(BundleRange(low, low + 1)))
        assert named(answer) == ("IllegalArgumentException", 412)

    @pytest.mark.parametrize("low", [0, 77, FULL_UPPER_BOUND - 2])
    def test_B04_a_bundle_of_width_two_is_split_by_range(self, low: int) -> None:
        bundles = NamespaceBundles("t/n", tuple(sorted({0, low, low + 2, FULL_UPPER_BOUND})))
        plan = planned(bundles, str(BundleRange(low, low + 2)))
        assert plan.cuts == (low + 1,)
        assert plan.changes

    @pytest.mark.parametrize("manager", ["modular", "extensible"])
    @pytest.mark.parametrize("release", ["3.0.0", "4.0.14", "4.2.5", "5.0.0-M1"])
    def test_the_flow_algorithm_by_name_while_another_is_the_default(self, release: str, manager: str) -> None:
        """Older brokers hand it no statistics then; asking for another one while flow is the default works."""
        asked = partial(ask, load_manager=manager, behaviour=of(release))
        assert named(asked(algorithm=FLOW_OR_QPS_EQUALLY_DIVIDE)) == ("ClassCastException", 500)
        assert cuts_of(asked(algorithm="range_equally_divide", settings=FLOW)) == (0x7FFFFFFF,)

    @pytest.mark.parametrize("manager", ["modular", "extensible"])
    @pytest.mark.parametrize("release", ["5.0.0", "5.0.1"])
    def test_the_flow_algorithm_by_name_works_in_5_0(self, release: str, manager: str) -> None:
        asked = partial(ask, topics=topics_at(10, 20, 30, rate=20_000.0), load_manager=manager, behaviour=of(release))
        by_name = asked(algorithm=FLOW_OR_QPS_EQUALLY_DIVIDE)
        by_default = asked(algorithm=None, settings=FLOW)
        assert cuts_of(by_name) == cuts_of(by_default) == (16, 26)

    def test_B06_a_cut_on_the_bundles_edge_is_refused(self) -> None:
        answer = ask(algorithm="topic_count_equally_divide", topics=topics_at(0, 0, 5))
        assert named(answer) == ("IllegalArgumentException", 412)

    def test_nothing_to_split_is_an_error_with_the_extensible_load_manager_before_5_0(self) -> None:
        asked = partial(ask, algorithm="topic_count_equally_divide", topics=[], load_manager="extensible")
        assert named(asked(behaviour=of("4.2.5"))) == ("ServiceUnitNotReadyException", 500)
        plan = asked(behaviour=of("5.0.1"))
        assert isinstance(plan, SplitPlan), plan
        assert (plan.status, plan.changes, codes(plan)) == (204, False, ["nothing-to-split"])


class TestOutcome:
    def test_the_children_have_their_topics_and_traffic(self) -> None:
        topics = topics_at(10, 0x90000000, 30, rate=2.5)
        plan = planned(topics=topics)
        left, right = plan.children
        assert (tuple(left.topics), tuple(right.topics)) == ((topics[0].name, topics[2].name), (topics[1].name,))
        assert (left.msgs_per_sec, left.bytes_per_sec, right.msgs_per_sec) == (5.0, 20.0, 2.5)
        assert (plan.status, plan.namespace, len(plan.after)) == (204, "t/n", 2)

    def test_topics_of_other_bundles_do_not_count(self) -> None:
        plan = planned(HALVES, algorithm="topic_count_equally_divide", topics=topics_at(10, 0x90000000, 30))
        assert plan.cuts == (20,)

    def test_partitions_known_from_metadata_count_as_topics_without_traffic(self) -> None:
        topics = with_partitions(topics_at(10), ["persistent://t/n/0", "persistent://t/n/a", "persistent://t/n/a"])
        assert [topic.name for topic in topics] == ["persistent://t/n/0", "persistent://t/n/a"]
        plan = planned(algorithm="topic_count_equally_divide", topics=list(topics))
        assert [(len(child.topics), child.msgs_per_sec) for child in plan.children] == [(1, 1.0), (1, 0.0)]

    @pytest.mark.parametrize("algorithm", ["topic_count_equally_divide", "specified_positions_divide"])
    def test_B01_one_topic_is_answered_204_and_nothing_changes(self, algorithm: str) -> None:
        plan = planned(algorithm=algorithm, positions=[5], topics=topics_at(10))
        assert (plan.status, plan.changes, plan.after, plan.cuts) == (204, False, WHOLE, None)
        assert "nothing-to-split" in codes(plan)

    def test_B01_the_hot_topic_is_named(self) -> None:
        topics = [*topics_at(10, 20), TopicLoad("persistent://t/n/hot", 30, 40000.0)]
        plan = planned(topics=topics)
        hot = next(warning for warning in plan.warnings if warning.code == "hot-topic")
        assert (hot.topics, hot.msgs_per_sec) == (("persistent://t/n/hot",), 40000.0)
        assert "child-over-limit" in codes(plan)

    @pytest.mark.parametrize(
        ("rates", "cuts"),
        [((500, 600), ()), ((550, 650), (16,)), ((900, 900, 900, 900), (16, 26, 36))],
    )
    def test_B05_no_one_or_many_cuts_by_flow(self, rates: tuple[float, ...], cuts: tuple[int, ...]) -> None:
        """The modular load manager carries out as many as there are; with none it answers 204 and changes nothing."""
        topics = [TopicLoad(f"persistent://t/n/{i}", 10 * i + 10, rate) for i, rate in enumerate(rates)]
        settings = replace(FLOW, loadBalancerNamespaceBundleMaxMsgRate=1100, flowOrQpsDifferenceThresholdPercentage=0)
        plan = planned(algorithm=None, topics=topics, settings=settings)
        assert (plan.cuts, plan.status) == (cuts, 204)
        assert len(plan.children) == (len(cuts) + 1 if cuts else 0)

    def test_B05_the_extensible_load_manager_computes_many_children_again(self) -> None:
        many = planned(
            algorithm="specified_positions_divide", positions=[15, 25], load_manager="extensible", unload=True
        )
        again = next(warning for warning in many.warnings if warning.code == "recomputed-with-default")
        assert (again.name, again.positions) == ("range_equally_divide", (0x7FFFFFFF,))
        assert "unload-ignored" in codes(many)
        one = planned(algorithm="specified_positions_divide", positions=[15], load_manager="extensible")
        assert "recomputed-with-default" not in codes(one)

    def test_B06_an_empty_half_is_reported(self) -> None:
        plan = planned(algorithm="topic_count_equally_divide", topics=topics_at(70, 71))
        empty = [warning.bundle for warning in plan.warnings if warning.code == "empty-child"]
        assert empty == [str(plan.children[0].bundle)] == ["0x00000000_0x00000046"]

    def test_B07_topics_of_one_hash_are_reported_and_stay_together(self) -> None:
        plan = planned(topics=topics_at(70, 5, 70), algorithm="topic_count_equally_divide")
        twins = next(warning for warning in plan.warnings if warning.code == "equal-hashes")
        assert (twins.topics, twins.positions) == (("persistent://t/n/0", "persistent://t/n/2"), (70,))
        assert tuple(plan.children[1].topics) == twins.topics

    def test_B07_a_doubled_cut_of_the_flow_rule_is_never_answered(self) -> None:
        plan = planned(
            algorithm=None, settings=FLOW, topics=topics_at(100, 100, 101, rate=2000.0), behaviour=of("4.2.4")
        )
        assert (plan.cuts, plan.status, plan.changes, plan.after) == ((101, 101), None, False, WHOLE)
        warning = next(warning for warning in plan.warnings if warning.code == "never-answered")
        assert warning.positions == (101,)

    @pytest.mark.parametrize(
        ("release", "manager", "is_answered"),
        [
            ("3.0.0", "modular", False),
            ("4.0.13", "modular", False),
            ("4.0.14", "modular", True),
            ("4.1.3", "modular", False),
            ("4.2.4", "modular", False),
            ("4.2.4", "extensible", True),
            ("4.2.5", "modular", True),
            ("5.0.0-M1", "modular", False),
            ("5.0.0", "modular", True),
            ("5.0.1", "modular", True),
            ("5.0.1", "extensible", True),
        ],
    )
    def test_B08_doubled_positions_are_never_answered_or_refused(
        self, release: str, manager: str, is_answered: bool
    ) -> None:
        """The failure was dropped until #26735, which went into 4.0.14, 4.2.5 and 5.0.0."""
        positions = {"algorithm": "specified_positions_divide", "positions": [20, 15, 20]}
        answer = ask(**positions, load_manager=manager, behaviour=of(release))
        if is_answered:
            assert named(answer) == ("IllegalArgumentException", 412)
        else:
            assert isinstance(answer, SplitPlan), answer
            assert (answer.status, answer.changes) == (None, False)
            assert pulsar_admin_command(answer).endswith("-san specified_positions_divide -sb 15,20")

    def test_B08_positions_that_have_no_effect_are_reported(self) -> None:
        outside = planned(HALVES, algorithm="specified_positions_divide", positions=[0x80000000, 15, 0])
        assert next(w.positions for w in outside.warnings if w.code == "positions-not-used") == (0x80000000, 0)
        other = planned(positions=[15])
        assert next(w.positions for w in other.warnings if w.code == "positions-not-used") == (15,)

    def test_B13_a_full_namespace_is_reported(self) -> None:
        settings = BrokerSettings(loadBalancerNamespaceMaximumBundles=2)
        assert "above-maximum-bundles" in codes(planned(HALVES, settings=settings))
        assert "above-maximum-bundles" not in codes(planned(WHOLE, settings=settings))

    def test_a_topic_of_the_top_hash_is_reported(self) -> None:
        plan = planned(topics=topics_at(5, FULL_UPPER_BOUND))
        assert next(w.topics for w in plan.warnings if w.code == "lookup-fails") == ("persistent://t/n/1",)
        assert tuple(plan.children[1].topics) == ("persistent://t/n/1",)

    def test_the_command_line_names_the_range_and_the_algorithm(self) -> None:
        plan = planned(bundle="LARGEST", algorithm=None, unload=True)
        assert pulsar_admin_command(plan) == (
            "pulsar-admin namespaces split-bundle t/n -b 0x00000000_0xffffffff -u -san range_equally_divide"
        )


class TestCarryingOut:
    def test_B02_two_plans_made_of_one_list_keep_each_others_cuts(self) -> None:
        first, second = planned(HALVES, str(HALVES[0])), planned(HALVES, str(HALVES[1]))
        for order in ((first, second), (second, first)):
            current = HALVES
            for plan in order:
                result = carry_out(plan, current)
                assert isinstance(result, SplitResult)
                current = result.bundles
            assert current.boundaries == (0, 0x40000000, 0x80000000, 0xBFFFFFFF, FULL_UPPER_BOUND)

    def test_B02_two_plans_for_one_bundle_do_not_both_happen(self) -> None:
        first = planned(algorithm="topic_count_equally_divide")
        second = planned()
        result = carry_out(first, WHOLE)
        assert isinstance(result, SplitResult)
        assert named(carry_out(second, result.bundles)) == ("ServiceUnitNotReadyException", 500)

    def test_B03_a_plan_is_carried_out_once(self) -> None:
        plan = planned()
        result = carry_out(plan, WHOLE)
        assert isinstance(result, SplitResult)
        assert result.bundles == plan.after
        assert named(carry_out(plan, result.bundles)) == ("ServiceUnitNotReadyException", 500)

    def test_B09_after_a_split_the_parent_is_no_bundle(self) -> None:
        plan = planned()
        assert plan.parent not in plan.after.bundles
        assert named(ask(plan.after, str(plan.parent))) == ("IllegalArgumentException", 412)

    def test_a_plan_without_change_leaves_the_list(self) -> None:
        plan = planned(algorithm="topic_count_equally_divide", topics=[])
        assert carry_out(plan, HALVES) == SplitResult(HALVES, ())


class TestWords:
    def test_largest_is_the_first_to_reach_the_count(self) -> None:
        left_first, right_first = topics_at(1, 0x90000000), topics_at(0x90000000, 1)
        assert (largest_bundle(HALVES, left_first), largest_bundle(HALVES, right_first)) == (HALVES[0], HALVES[1])

    def test_largest_counts_persistent_topics_only(self) -> None:
        topics = [TopicLoad(f"non-persistent://t/n/{i}", i) for i in range(3)] + topics_at(0x90000000)
        assert largest_bundle(HALVES, topics) == HALVES[1]

    def test_B10_the_hottest_bundle_is_one_that_a_broker_reported(self) -> None:
        gone = {"0x00000000_0xffffffff": BundleAverage(9, 1e9, 1e9)}
        assert hottest_bundle(HALVES, gone) is None
        plan = ask(HALVES, "HOT", averages=gone)
        assert named(plan) == ("RestException", 404)
        reported = gone | {str(HALVES[1]): BundleAverage(1, 0.0, 0.0), str(HALVES[0]): BundleAverage(0, 5.0, 5.0)}
        assert hottest_bundle(HALVES, reported) == HALVES[1], "without traffic it can win, without topics it cannot"

    def test_of_equally_hot_bundles_the_first_is_taken(self) -> None:
        same = {str(bundle): BundleAverage(1, 3.0, 4.0) for bundle in HALVES}
        assert hottest_bundle(HALVES, same) == HALVES[0]

    def test_hot_without_stored_averages_says_so(self) -> None:
        plan = planned(HALVES, "HOT", topics=[*topics_at(1, 2), TopicLoad("x", 0x90000000, 1.0, 0.0, 99.0)])
        assert (plan.parent, plan.requested_bundle) == (HALVES[1], "HOT")
        assert "hot-from-current-rates" in codes(plan)

    @pytest.mark.parametrize("load_manager", ["simple", "extensible"])
    def test_hot_is_largest_with_other_load_managers(self, load_manager: str) -> None:
        topics = [*topics_at(1, 2), TopicLoad("persistent://t/n/x", 0x90000000, 1.0, 0.0, 99.0)]
        plan = planned(HALVES, "HOT", topics=topics, load_manager=load_manager, behaviour=CURRENT)
        assert plan.parent == HALVES[0]
        assert "hot-is-largest" in codes(plan)
