"""The view of brokers: what the forecast says, cycle by cycle, and what users reported is reproduced by the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.admin.shed_inputs import read_shed_inputs, shed_inputs_of
from engine.admin.snapshot import read_moments
from engine.balance.shed_question import SHEDDERS
from engine.errors import Rejection
from engine.scenarios.broker_scenes import BROKER_SCENES, broker_scene
from engine.views.brokers import THRESHOLDS, brokers_frame, brokers_view, shedders_compared, with_threshold
from engine.views.brokers_model import BrokersView
from tests.engine.scenarios.recordings import RECORDINGS


def view_of(scene: str, cycles: int = 20, **how: object) -> BrokersView:
    view = brokers_view(replace(broker_scene(scene).question(cycles), **how))  # type: ignore[arg-type]
    assert not isinstance(view, Rejection), view
    return view


@pytest.mark.parametrize("scene", [scene.name for scene in BROKER_SCENES])
def test_frames_are_the_forecast(scene: str) -> None:
    view = view_of(scene, 12)
    bundles = {name for report in view.question.reports for name in report.bundles}
    for number in range(1, 14):
        frame = brokers_frame(view, number)
        blocks = [block for row in frame.brokers for block in row.blocks]
        assert {block.bundle for block in blocks} == bundles and len(blocks) == len(bundles)
        assert {block.bundle for block in blocks if block.leaves} == {move.bundle for move in frame.moves}
        before = set() if number == 1 else {move.bundle for move in view.forecast.cycles[number - 2].moves}
        assert {block.bundle for block in blocks if block.arrived} == before
        assert all(0 <= block.namespace < len(view.namespaces) for block in blocks)
        if number <= 12:
            assert view.cycles[number - 1].unloads == len(frame.moves)
    assert brokers_frame(view, 99).number == 13 and brokers_frame(view, -5).number == 1
    assert not brokers_frame(view, 13).moves


def test_the_broker_far_above_the_mean_sheds() -> None:
    rows = {row.broker: row for row in brokers_frame(view_of("uneven"), 1).brokers}
    assert [rows[f"broker-{at}:8080"].judged for at in (1, 2, 3, 4)] == ["sheds", *["below-threshold"] * 3]
    # The mean of 64, 33, 24 and 18 % is 34.75 %, and the threshold is 10 points above.
    assert rows["broker-1:8080"].mark == pytest.approx(0.4475)
    assert rows["broker-1:8080"].usage == pytest.approx(0.64)


def test_a_new_broker_stays_idle_where_nobody_is_far_above_the_mean() -> None:
    view = view_of("new-broker", 60)
    assert (view.unloads, view.idle_until) == (0, {"broker-4:8080": None})
    moved = view_of("new-broker", 60, shedder="TransferShedder")
    first = next(number for number, cycle in enumerate(moved.forecast.cycles, 1) if cycle.moves)
    assert moved.idle_until == {"broker-4:8080": first}
    assert brokers_frame(moved, 1).brokers[3].idle_until == first
    assert brokers_frame(moved, first + 1).brokers[3].idle_until is None


def test_uniform_finds_too_little_traffic_worth_an_unload() -> None:
    view = view_of("uniform-never", 60)
    busy = brokers_frame(view, 1).brokers[0]
    assert (view.unloads, busy.judged, busy.figure, busy.limit) == (0, "below-minimum-traffic", 800.0, 50.0)


def test_a_bundle_is_unloaded_for_nothing_again_and_again() -> None:
    view = view_of("comes-back", 60)
    assert view.unloads >= 30
    assert all(move.source == move.destination == "broker-1:8080" for move in view.forecast.moves)
    assert {found.kind for found in view.rounds} == {"bundle-returns"}
    newer = replace(broker_scene("comes-back").question(60), rules=broker_scene("uneven").question().rules)
    found = brokers_view(newer)
    assert isinstance(found, BrokersView) and found.unloads == 0
    assert brokers_frame(found, 1).left_alone[0].why == "stays"


def test_one_bundle_makes_hundreds_of_unloads_in_ten_hours() -> None:
    view = view_of("endless", 600)
    assert view.unloads == 300
    assert len({move.bundle for move in view.forecast.moves}) == 1
    swaps = [found for found in view.rounds if found.kind == "brokers-swap"]
    assert sum(found.times for found in swaps) == 300
    assert view.rounds[0].kind == "bundle-returns" and view.rounds[0].times == view.cycles[-1].returns + sum(
        each.returns for each in view.cycles[:-1]
    )


def test_the_defaults_of_5_0_shed_the_same_cluster_otherwise() -> None:
    old, new = view_of("uneven"), view_of("upgrade")
    assert (old.shedder, new.shedder) == ("ThresholdShedder", "AvgShedder")
    assert old.question.reports == new.question.reports
    assert [cycle.unloads for cycle in old.cycles][:1] == [2] and [cycle.unloads for cycle in new.cycles][:1] == [0]


def test_every_shedder_is_compared_and_a_refusal_says_why() -> None:
    view = view_of("comes-back", 5)
    rows = shedders_compared(view)
    assert tuple(row.shedder for row in rows) == SHEDDERS
    assert rows[0].unloads == view.unloads
    assert [bool(row.refused) for row in rows] == [False, False, False, True, True]


@pytest.mark.parametrize("shedder", SHEDDERS)
def test_a_threshold_moves_by_its_step_and_never_below_zero(shedder: str) -> None:
    question = replace(broker_scene("uneven").question(), shedder=shedder)
    name, step = THRESHOLDS[shedder]
    old = getattr(question.settings, name)
    changed = getattr(with_threshold(question, 2).settings, name)
    assert changed == pytest.approx(old + 2 * step) and type(changed) is type(old)
    assert getattr(with_threshold(question, -10_000).settings, name) == 0


def test_losses_are_told_in_their_order() -> None:
    view = view_of("uneven", 3, lost=("broker-2:8080", "broker-1:8080"))
    assert [lost.broker for lost in view.losses] == ["broker-2:8080", "broker-1:8080"]
    assert len(view.losses[1].landings) >= 10  # its own, and what it took over
    assert {row.broker for row in brokers_frame(view, 1).brokers} == {"broker-3:8080", "broker-4:8080"}


def test_a_dump_that_was_read_says_the_same_as_its_folder() -> None:
    folder = RECORDINGS / "g-shed-modular-uniform"
    inputs, again = read_shed_inputs(folder), shed_inputs_of(read_moments(folder))
    assert again is not None
    assert [load.broker for load in again.loads] == [load.broker for load in inputs.loads]
    assert again.loads == inputs.loads
    assert shed_inputs_of(read_moments(RECORDINGS / "a-failover-3p-hash")) is None
