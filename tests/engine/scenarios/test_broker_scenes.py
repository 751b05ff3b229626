"""What users reported of load balancing happens in the scenes, by the rules alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.ahead.model import AheadMove
from engine.balance.leadership.shedding import SheddingCycle
from engine.errors import InputError, Rejection
from engine.scenarios.broker_scenes import BROKER_SCENES, broker_scene
from engine.views.brokers.model import BrokersQuestion, BrokersView
from engine.views.brokers.view import brokers_input, brokers_view, compared_shedders


def view_of(scene: str, cycles: int = 60, *, release: str | None = None, **asked: object) -> BrokersView:
    question = replace(BrokersQuestion(cycles=cycles), **asked)  # type: ignore[arg-type]
    view = brokers_view(brokers_input(broker_scene(scene).inputs(), release), question)
    assert not isinstance(view, Rejection), view
    return view


def moves_of(view: BrokersView) -> tuple[AheadMove, ...]:
    return view.ahead.moves


@pytest.mark.parametrize("scene", [scene.name for scene in BROKER_SCENES])
def test_every_scene_is_answered_by_its_release(scene: str) -> None:
    view = view_of(scene, 3)
    assert view.given.behaviour.label == broker_scene(scene).release
    assert not view.given.problems


def test_a_new_broker_stays_idle_where_nobody_is_far_above_the_mean() -> None:
    assert moves_of(view_of("new-broker")) == ()
    moved = moves_of(view_of("new-broker", shedder="TransferShedder"))
    assert moved and moved[0].destination == "broker-4:8080"


def test_uniform_finds_too_little_traffic_worth_an_unload() -> None:
    view = view_of("uniform-never")
    decision = view.ahead.cycles[0].decision
    assert isinstance(decision, SheddingCycle)
    busy = next(verdict for verdict in decision.plan.verdicts if verdict.broker == "broker-1:8080")
    # 900 messages a second against 100 are 800 % more.
    assert (busy.outcome, busy.figure, busy.limit) == ("below-minimum-traffic", 800.0, 50.0)
    assert moves_of(view) == ()
    assert moves_of(view_of("uniform-never", settings=(("minUnloadMessage", "100"),)))


def test_a_bundle_is_unloaded_for_nothing_until_the_release_that_asks_first() -> None:
    moves = moves_of(view_of("comes-back"))
    assert len(moves) >= 30
    assert {(move.source, move.destination) for move in moves} == {("broker-1:8080", "broker-1:8080")}
    newer = view_of("comes-back", release="4.2.4")
    assert moves_of(newer) == ()
    decision = newer.ahead.cycles[0].decision
    assert isinstance(decision, SheddingCycle) and {unload.outcome for unload in decision.unloads} == {"stays"}


def test_four_hundred_unloads_in_ten_hours_end_with_the_switch_that_was_made_against_them() -> None:
    endless = view_of("endless", 600)
    assert len(moves_of(endless)) == 421
    assert endless.ahead.quiet_after is None
    heavy = {load.broker for load in endless.loads if len(load.bundles) == 5}
    assert all(move.source in heavy for move in moves_of(endless))
    assert sum(move.destination in heavy for move in moves_of(endless)) > 400
    ended = view_of("endless", 600, settings=(("loadBalancerDistributeBundlesEvenlyEnabled", "false"),))
    assert (len(moves_of(ended)), ended.ahead.quiet_after) == (12, 2)


def test_one_heavy_bundle_makes_hundreds_of_unloads_in_ten_hours() -> None:
    view = view_of("heavy-bundle", 600)
    assert len(moves_of(view)) == 300
    assert len({move.bundle for move in moves_of(view)}) == 1
    assert sum(swap.there + swap.back for swap in view.swaps) == 300


def test_the_defaults_of_5_0_shed_the_same_cluster_otherwise() -> None:
    old, new = view_of("uneven", 20), view_of("upgrade", 20)
    assert (old.shedder, new.shedder) == ("ThresholdShedder", "AvgShedder")
    assert old.ahead.start.loads == new.ahead.start.loads
    unloads = (len(moves_of(old)), len(moves_of(new)))
    assert unloads == (2, 5)
    after = (old.ahead.after.usage.max_over_mean, new.ahead.after.usage.max_over_mean)
    assert after == pytest.approx((1.485, 1.18), abs=0.001)


def test_with_the_defaults_of_5_0_1_a_broker_sheds_half_of_the_difference_to_the_one_that_was_planned() -> None:
    view = view_of("uneven", 2, release="5.0.1")
    decision = view.ahead.cycles[1].decision
    assert isinstance(decision, SheddingCycle)
    [shedding] = [verdict for verdict in decision.plan.verdicts if verdict.outcome == "sheds"]
    assert (shedding.broker, shedding.need) == ("broker-1:8080", 5000.0)
    assert [(move.msgs_per_sec, move.destination) for move in moves_of(view)] == [
        (4500.0, "broker-4:8080"),
        (400.0, "broker-4:8080"),
    ]
    reasons = [unload.selection.placement.reason for unload in decision.unloads if unload.selection is not None]
    assert reasons == ["planned", "planned"]


def test_the_other_manager_is_asked_as_if_all_brokers_ran_it() -> None:
    reported = {load.load_manager for load in broker_scene("uneven").inputs().loads}
    assert len(reported) == 1 and not any("extensions" in str(name) for name in reported)
    calm = (("loadBalancerBrokerLoadTargetStd", "0.01"), ("loadBalancerTransferEnabled", "false"))
    moves = moves_of(view_of("uneven", shedder="TransferShedder", settings=calm))
    assert moves and all(move.destination in move.chances for move in moves)


def test_what_a_release_lacks_is_refused_in_the_comparison() -> None:
    view = brokers_view(brokers_input(broker_scene("comes-back").inputs()), BrokersQuestion(cycles=3))
    assert isinstance(view, BrokersView)
    refused = {row.shedder for row in compared_shedders(view) if row.refused}
    assert refused == {"AvgShedder", "TransferShedder"}


def test_an_unknown_scene_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean endless"):
        broker_scene("endles")
