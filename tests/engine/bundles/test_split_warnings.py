"""What a plan warns of, exactly: which warnings, and what is filled in."""

from __future__ import annotations

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, NamespaceBundles, SplitResult
from engine.bundles.loads import BundleAverage
from engine.bundles.plan import SplitWarning
from engine.bundles.split import Target, carry_out, resolve_target
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, BrokerSettings, behaviour_of
from engine.errors import Rejection
from tests.engine.bundles.test_split import FLOW, HALVES, WHOLE, ask, planned, refusal_of, topics_at
from tests.releases import known

SPREAD = topics_at(10, 20, 0x90000000)
"""Each half gets a topic."""


def test_a_split_without_anything_odd_has_no_warning() -> None:
    for algorithm in ("range_equally_divide", "topic_count_equally_divide", None, " "):
        assert planned(algorithm=algorithm, topics=SPREAD).warnings == ()
    assert planned(bundle="LARGEST", topics=SPREAD).warnings == ()
    assert planned(algorithm="specified_positions_divide", positions=[15], topics=SPREAD).warnings == ()
    assert planned(topics=SPREAD, load_manager="extensible").warnings == ()
    assert [planned(topics=SPREAD).unload, planned(topics=SPREAD, unload=True).unload] == [False, True]


def test_a_default_that_is_no_algorithm_is_named() -> None:
    unknown = BrokerSettings(defaultNamespaceBundleSplitAlgorithm="flow_count_equally_divide")
    plan = planned(algorithm=None, topics=SPREAD, settings=unknown)
    assert plan.warnings == (SplitWarning("algorithm-not-known", name="flow_count_equally_divide"),)
    old = behaviour_of("2.11.0")
    assert not isinstance(old, Rejection)
    plan = planned(algorithm=None, topics=SPREAD, settings=FLOW, behaviour=old)
    assert plan.warnings == (SplitWarning("algorithm-not-known", name=FLOW_OR_QPS_EQUALLY_DIVIDE),)


def test_positions_without_effect_are_named_with_the_algorithm_that_was_used() -> None:
    plan = planned(algorithm="range_equally_divide", positions=[15, 7], topics=SPREAD)
    assert plan.warnings == (SplitWarning("positions-not-used", positions=(15, 7), name="range_equally_divide"),)
    edges = planned(
        HALVES, algorithm="specified_positions_divide", positions=[0, 0x80000000, 15], topics=topics_at(10, 20)
    )
    expected = SplitWarning("positions-not-used", positions=(0, 0x80000000), name="specified_positions_divide")
    assert edges.warnings == (expected,)


def test_nothing_to_split_names_the_bundle() -> None:
    plan = planned(HALVES, algorithm="topic_count_equally_divide", topics=[])
    assert plan.warnings == (SplitWarning("nothing-to-split", bundle="0x00000000_0x80000000"),)


def test_only_the_doubled_cuts_are_never_answered_and_such_a_plan_changes_nothing() -> None:
    doubled = {"algorithm": "specified_positions_divide", "positions": [20, 15, 20, 30], "topics": topics_at(10, 40)}
    plan = planned(**doubled, behaviour=known("4.2.4"))
    assert plan.warnings == (SplitWarning("never-answered", positions=(20,)),)
    assert (plan.cuts, plan.status) == ((15, 20, 20, 30), None)
    assert carry_out(plan, WHOLE) == SplitResult(WHOLE, ())


def test_the_extensible_load_manager_says_what_it_would_compute_instead() -> None:
    again = {"algorithm": "specified_positions_divide", "positions": [15, 25], "load_manager": "extensible"}
    bundle, name = "0x00000000_0xffffffff", "range_equally_divide"
    halved = SplitWarning("recomputed-with-default", bundle=bundle, positions=(0x7FFFFFFF,), name=name)
    topics = topics_at(10, 20, 30)
    assert planned(**again, topics=topics).warnings == (halved,)
    assert planned(**again, topics=topics, unload=True).warnings == (SplitWarning("unload-ignored"), halved)
    below_the_gate = planned(**again, topics=topics, settings=FLOW).warnings
    flow = SplitWarning("recomputed-with-default", bundle=bundle, name=FLOW_OR_QPS_EQUALLY_DIVIDE)
    assert below_the_gate == (flow,)
    by_positions = BrokerSettings(defaultNamespaceBundleSplitAlgorithm="specified_positions_divide")
    refused = SplitWarning("recomputed-with-default", bundle=bundle, name="specified_positions_divide")
    assert planned(**again, topics=topics, settings=by_positions).warnings == (refused,)


def test_a_refusal_of_the_extensible_load_manager_names_its_field() -> None:
    narrow = NamespaceBundles("t/n", (0, 1, FULL_UPPER_BOUND))
    assert refusal_of(ask(narrow, str(BundleRange(0, 1)), load_manager="extensible")).field == "bundle"
    twice = ask(algorithm="specified_positions_divide", positions=[20, 20], load_manager="extensible")
    assert (refusal_of(twice).field, refusal_of(twice).status) == ("positions", 412)


def test_hot_says_where_its_numbers_come_from_and_largest_says_nothing() -> None:
    stored = {str(HALVES[1]): BundleAverage(1, 1.0, 1.0)}
    by_current_rates, as_largest = SplitWarning("hot-from-current-rates"), SplitWarning("hot-is-largest")
    topics = topics_at(10, 20)
    assert resolve_target(HALVES, "HOT", topics, "modular", stored) == Target(HALVES[1])
    assert resolve_target(HALVES, "HOT", topics) == Target(HALVES[0], (by_current_rates,))
    assert resolve_target(HALVES, "HOT", topics, "simple", stored) == Target(HALVES[0], (as_largest,))
    assert resolve_target(HALVES, "LARGEST", topics, "simple") == Target(HALVES[0])
