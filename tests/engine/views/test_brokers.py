"""The view of brokers: thresholds, what stays, loops, deaths, newcomers, and every shedder on one cluster."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from msgspec import structs

from engine.admin.facts import WrittenLoad
from engine.admin.shed_inputs import ShedInputs
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.limits import BundleStats
from engine.errors import Rejection
from engine.scenarios.broker_scenes import broker_scene, embedded_brokers
from engine.views.brokers.model import BrokersInput, BrokersQuestion, BrokersView, Change, LeftAlone
from engine.views.brokers.view import brokers_frame, brokers_input, brokers_view, compared_shedders, usage_courses

FIRST = "broker-1:8080"


def given(*loads: BrokerLoad) -> BrokersInput:
    return brokers_input(ShedInputs(tuple(WrittenLoad(load, 1_000) for load in loads), version="4.0.7"))


def answer(shown: BrokersInput, question: BrokersQuestion | None = None) -> BrokersView:
    view = brokers_view(shown, question)
    assert isinstance(view, BrokersView), view
    return view


def embedded() -> BrokersInput:
    return brokers_input(embedded_brokers())


def bundle(number: int, msgs: float, octets: float = 0.0) -> BundleStats:
    name = f"t/n/0x{number:08x}_0x{number + 1:08x}"
    return BundleStats(name, 1, msg_rate_in=msgs, throughput_in_bytes_per_sec=octets)


def test_the_threshold_is_the_mean_usage_and_ten_percent() -> None:
    """Usages of 77.5, 30, 25 and 18.75 %: a first cycle has no history, so their mean counts."""
    row = brokers_frame(answer(embedded()), 0).rows[0]
    limits = {bar.resource: bar.threshold for bar in row.bars}
    assert limits["cpu"] == pytest.approx((0.775 + 0.30 + 0.25 + 0.1875) / 4 + 0.10)
    assert limits["memory"] is None
    assert limits["direct_memory"] is None


def test_half_a_weight_doubles_the_threshold_of_a_resource() -> None:
    question = BrokersQuestion(settings=(("loadBalancerBandwidthInResourceWeight", "0.5"),))
    bars = {bar.resource: bar.threshold for bar in brokers_frame(answer(embedded(), question), 0).rows[0].bars}
    assert bars["bandwidth_in"] == pytest.approx(2 * (bars["bandwidth_out"] or math.nan))


def test_a_shedder_that_does_not_look_at_usage_has_no_threshold() -> None:
    view = answer(embedded(), BrokersQuestion(shedder="UniformLoadShedder"))
    assert all(bar.threshold is None for row in brokers_frame(view, 0).rows for bar in row.bars)


def test_what_leaves_next_is_marked_and_gone_in_the_next_frame() -> None:
    view = answer(embedded())
    now, after = brokers_frame(view, 0), brokers_frame(view, 1)
    leaving = {block.bundle for block in now.rows[0].blocks if block.leaves}
    assert now.next is not None
    assert leaving == {move.move.bundle for move in now.next.moves}
    assert len(leaving) == view.strip[0].unloads > 0
    assert not leaving & {block.bundle for block in after.rows[0].blocks}
    assert {block.bundle for row in after.rows for block in row.blocks if block.arrived} == leaving


def test_the_course_of_a_broker_is_its_usage_in_every_frame_and_says_when_it_sheds() -> None:
    view = answer(embedded())
    frames = [brokers_frame(view, cycle) for cycle in range(len(view.strip))]
    names = [row.broker for row in frames[0].rows]
    courses = usage_courses(view, [*names, "gone:8080"])
    for at, frame in enumerate(frames):
        assert [course.usages[at] for course in courses] == [*(row.usage for row in frame.rows), None]
        leaving = {row.broker for row in frame.rows if any(block.leaves for block in row.blocks)}
        assert {course.broker for course in courses if course.sheds[at]} == leaving
    assert any(any(course.sheds) for course in courses)


def test_traffic_is_conserved_over_all_frames() -> None:
    view = answer(embedded(), BrokersQuestion(shedder="UniformLoadShedder"))
    totals = [sum(row.msgs_per_sec for row in brokers_frame(view, cycle).rows) for cycle in (0, 5, 20)]
    assert totals == pytest.approx([totals[0]] * 3)


def test_every_bundle_of_a_dead_broker_lands_once_and_chances_add_up() -> None:
    shown = embedded()
    view = answer(shown, BrokersQuestion(changes=(Change("dies", FIRST),)))
    (death,) = view.changes
    had = next(load.bundles for load in shown.inputs.loads if load.broker == FIRST)
    assert tuple(landing.bundle for landing in death.landings) == had
    for landing in death.landings:
        assert sum(landing.chances.values()) == pytest.approx(1.0)
        assert landing.destination in landing.chances
        assert FIRST not in landing.chances
    rows = brokers_frame(view, 0).rows
    assert FIRST not in [row.broker for row in rows]
    assert sum(len(row.blocks) for row in rows) == sum(len(load.bundles) for load in shown.inputs.loads)
    assert all(usage.after >= usage.before for usage in death.usages)


def test_the_extensible_manager_draws_among_all_the_living() -> None:
    view = answer(embedded(), BrokersQuestion(load_manager="extensible", changes=(Change("dies", FIRST),)))
    assert view.shedder == "TransferShedder"
    living = {"broker-2:8080", "broker-3:8080", "broker-4:8080"}
    assert all(set(landing.chances) <= living for landing in view.changes[0].landings)


def test_a_new_broker_stays_idle_under_one_shedder_and_not_under_another() -> None:
    changes = (Change("joins"),)
    idle = answer(embedded(), BrokersQuestion(shedder="OverloadShedder", changes=changes)).changes[0]
    busy = answer(embedded(), BrokersQuestion(shedder="UniformLoadShedder", changes=changes)).changes[0]
    assert (idle.idle_cycles, idle.gained) == (None, 0)
    assert busy.idle_cycles is not None
    assert busy.gained > 0


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (BrokersQuestion(changes=(Change("dies", "nobody:1"),)), "broker"),
        (BrokersQuestion(changes=tuple(Change("dies", f"broker-{at}:8080") for at in range(1, 5))), "broker"),
        (BrokersQuestion(settings=(("noSuchSetting", "1"),)), "noSuchSetting"),
        (BrokersQuestion(cycles=0), "cycles"),
        (BrokersQuestion(shedder="NoShedder"), "loadBalancerLoadSheddingStrategy"),
        (BrokersQuestion(placement="NoPlacement"), "loadBalancerLoadPlacementStrategy"),
    ],
)
def test_a_question_that_no_cluster_answers_is_refused(question: BrokersQuestion, field: str) -> None:
    refused = brokers_view(embedded(), question)
    assert isinstance(refused, Rejection)
    assert refused.field == field


def test_one_broker_only_is_why_nothing_happens() -> None:
    frame = brokers_frame(answer(given(report_of("b:1", [bundle(0, 9.0)]))), 0)
    assert frame.next is not None
    assert (frame.next.skipped, frame.next.moves) == ("one-broker", ())


@pytest.mark.parametrize(
    ("share", "page", "reason"),
    [("0.9", 1, "recently-unloaded"), ("0.1", 0, "below-minimum-traffic"), ("0.2", 0, "too-large")],
)
def test_what_is_left_alone_has_its_reason(share: str, page: int, reason: str) -> None:
    """Six bundles of 1000 messages/s: all go at once and rest for the grace period, or too little may go to matter."""
    busy = report_of("b:1", [bundle(at, 1000.0, 2e6) for at in range(6)])
    question = BrokersQuestion(shedder="UniformLoadShedder", settings=(("maxUnloadPercentage", share),))
    view = answer(given(busy, report_of("b:2", [])), question)
    assert reason in {left.why for left in _left(view, page)}


def _left(view: BrokersView, cycle: int) -> tuple[LeftAlone, ...]:
    coming = brokers_frame(view, cycle).next
    return coming.left_alone if coming is not None else ()


def test_all_shedders_are_compared_and_the_one_in_force_says_what_the_forecast_says() -> None:
    view = answer(embedded())
    compared = compared_shedders(view)
    assert len({comparison.shedder for comparison in compared}) == 5
    (own,) = [each for each in compared if each.in_force]
    assert (own.shedder, own.unloads) == (view.shedder, len(view.ahead.moves))
    assert (own.quiet_after, own.after) == (view.ahead.quiet_after, view.ahead.after)
    for each in compared:
        asked = answer(embedded(), BrokersQuestion(shedder=each.shedder)).ahead
        assert (each.unloads, each.after) == (len(asked.moves), asked.after)


def test_a_loop_that_pauses_for_a_cycle_is_not_quiet() -> None:
    """One bundle goes round every other cycle, and the last of the forecast is one in which nothing moves."""
    view = answer(brokers_input(broker_scene("heavy-bundle").inputs()))
    assert [bool(cycle.moves) for cycle in view.ahead.cycles[-4:]] == [True, False, True, False]
    assert view.ahead.quiet_after is None
    once = answer(embedded()).ahead
    assert ([cycle.number for cycle in once.cycles if cycle.moves], once.quiet_after) == ([1], 1)


def test_a_shedder_that_the_release_lacks_says_so() -> None:
    old = brokers_input(embedded_brokers(), "2.11.0")
    refused = {shedder.shedder for shedder in compared_shedders(answer(old)) if shedder.refused}
    assert refused == {"AvgShedder", "TransferShedder"}


def test_bad_usage_is_named_and_the_rest_is_kept() -> None:
    odd = report_of(
        "b:1",
        [bundle(0, 1.0)],
        cpu=ResourceUsage(math.nan, 100.0),
        memory=ResourceUsage(5.0, 0.0),
        direct_memory=ResourceUsage(-5.0, 100.0),
        bandwidth_in=ResourceUsage(50.0, 100.0),
    )
    bars = {bar.resource: bar for bar in brokers_frame(answer(given(odd, report_of("b:2", []))), 0).rows[0].bars}
    assert bars["cpu"].fault == "not-a-number"
    assert bars["memory"].fault == "no-limit"
    assert bars["direct_memory"].fault == "negative"
    assert not bars["bandwidth_in"].fault
    assert bars["bandwidth_in"].share == pytest.approx(0.5)


def test_a_report_older_than_load_data_lives_is_marked() -> None:
    """1800 s is how long load data lives by default."""
    inputs = embedded_brokers()
    late = structs.replace(inputs.written[2], updated_at_ms=inputs.written[2].updated_at_ms - 1_800_001)
    view = answer(brokers_input(replace(inputs, written=(*inputs.written[:2], late, inputs.written[3]))))
    assert dict(view.older) == {"broker-3:8080": 1_800_001}


def test_a_bundle_that_comes_back_and_a_pair_that_swaps_are_named() -> None:
    """Uniform may move all at once, and without a grace period moves it back in the next cycle."""
    settings = (
        ("loadBalancerSheddingGracePeriodMinutes", "0"),
        ("maxUnloadPercentage", "1.0"),
        ("minUnloadMessage", "1"),
        ("minUnloadMessageThroughput", "1"),
    )
    heavy = report_of("b:1", [bundle(at, 3e3, 3e5) for at in range(2)])
    light = report_of("b:2", [bundle(10, 10.0, 1000.0), bundle(11, 5.0, 500.0)])
    view = answer(given(heavy, light), BrokersQuestion(shedder="UniformLoadShedder", settings=settings))
    moves = view.ahead.moves
    returned = {move.bundle for move in moves if move.returns}
    assert len(returned) == 4
    assert {loop.bundle for loop in view.loops} == returned
    for loop in view.loops:
        numbers = [
            cycle.number
            for cycle in view.ahead.cycles
            if any(move.bundle == loop.bundle and move.returns for move in cycle.moves)
        ]
        assert list(loop.cycles) == numbers
    (swap,) = view.swaps
    ways = [(move.source, move.destination) for move in moves]
    assert (swap.there, swap.back) == (ways.count(("b:1", "b:2")), ways.count(("b:2", "b:1")))
    assert min(swap.there, swap.back) > 0


def test_bundles_that_are_unloaded_and_stay_are_named_as_loops() -> None:
    view = answer(brokers_input(broker_scene("comes-back").inputs()))
    assert {loop.kind for loop in view.loops} == {"unloaded-for-nothing"}
    assert sum(loop.times for loop in view.loops) == sum(move.returns for move in view.ahead.moves) == 14


def test_what_decided_is_the_usage_or_the_traffic_that_is_too_little_to_move() -> None:
    view = answer(brokers_input(broker_scene("uniform-never").inputs()))
    by_broker = {left.broker: left for left in _left(view, 0)}
    busy = by_broker["broker-1:8080"].numbers
    assert busy is not None
    assert (busy.measure, busy.figure, busy.limit) == ("msgs-difference", 800.0, 50.0)
    assert busy.decisive == ("messages", 160.0, 1_000.0)
    idle = by_broker["broker-2:8080"].numbers
    assert idle is not None and idle.decisive[0] == "msgs-difference"


def test_a_plan_that_the_filters_do_not_follow_is_kept_beside_what_happens() -> None:
    """AvgShedder plans for the emptiest broker, which already has more bundles of the namespace than others."""
    evenly = (("loadBalancerDistributeBundlesEvenlyEnabled", "true"),)
    given = brokers_input(broker_scene("upgrade").inputs(), "5.0")
    coming = brokers_frame(answer(given, BrokersQuestion(settings=evenly)), 1).next
    assert coming is not None
    planned = {move.planned for move in coming.moves}
    assert planned == {"broker-4:8080"}
    assert {move.move.destination for move in coming.moves} != planned


def test_an_unload_interrupts_the_clients_that_the_load_report_counts() -> None:
    (move, *_) = answer(embedded()).ahead.moves
    stats = next(stats for load in embedded().inputs.loads for stats in load.stats if stats.bundle == move.bundle)
    assert (move.topics, move.producers, move.consumers) == (stats.topics, stats.producers, stats.consumers)
    assert move.consumers == 2 * move.producers > 0


def test_shedding_that_is_switched_off_says_so_in_both_managers() -> None:
    off = (("loadBalancerSheddingEnabled", "false"),)
    for shedder in ("ThresholdShedder", "TransferShedder"):
        coming = brokers_frame(answer(embedded(), BrokersQuestion(shedder=shedder, settings=off)), 0).next
        assert coming is not None and coming.skipped == "switched-off"


def test_a_limit_that_no_usage_reaches_is_not_drawn() -> None:
    """An infinite usage makes the mean infinite, and so the limit of everybody else."""
    odd = report_of("b:1", [bundle(0, 1.0), bundle(1, 1.0)], bandwidth_in=ResourceUsage(math.inf, 100.0))
    rows = brokers_frame(answer(given(odd, report_of("b:2", []))), 0).rows
    assert [bar.threshold for row in rows for bar in row.bars] == [None] * 10
    assert {bar.resource for bar in rows[0].bars if not bar.counts} == {"memory", "direct_memory"}


SHEDDING, PLACING = "loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy"
LEAST_RATE = "LeastLongTermMessageRate"


@pytest.mark.parametrize(
    ("release", "shedder", "settings", "placement"),
    [
        ("4.2.4", None, {}, LEAST_RATE),
        ("5.0.1", None, {}, "AvgShedder"),
        ("4.2.4", None, {SHEDDING: "AvgShedder"}, LEAST_RATE),
        ("4.2.4", "AvgShedder", {}, "AvgShedder"),
        ("5.0.1", None, {SHEDDING: "ThresholdShedder"}, LEAST_RATE),
        ("5.0.1", "UniformLoadShedder", {}, LEAST_RATE),
        ("5.0.1", None, {PLACING: "RoundRobinBrokerSelector"}, "RoundRobinBrokerSelector"),
        ("5.0.1", None, {SHEDDING: "ThresholdShedder", PLACING: "AvgShedder"}, LEAST_RATE),
        ("4.2.4", None, {SHEDDING: "ThresholdShedder", PLACING: "AvgShedder"}, None),
    ],
)
def test_the_placement_is_the_one_that_a_broker_starts_with(
    release: str, shedder: str | None, settings: dict[str, str], placement: str | None
) -> None:
    """None: it refuses to start."""
    given = brokers_input(broker_scene("uneven").inputs(), release)
    view = brokers_view(given, BrokersQuestion(shedder=shedder, settings=tuple(settings.items()), cycles=1))
    if placement is None:
        assert isinstance(view, Rejection) and view.error == "IllegalArgumentException"
    else:
        assert not isinstance(view, Rejection) and view.placement == placement


def test_what_a_report_lacks_is_unknown_of_its_broker_and_assumed_by_the_forecast() -> None:
    loads = (report_of("a:1", [bundle(1, 50.0)], cpu=ResourceUsage(50, 100)), report_of("b:1", [bundle(2, 0.0)]))
    cut = frozenset({"usage", "rates"})
    written = (WrittenLoad(loads[0], 1_000), WrittenLoad(loads[1], 1_000, cut))
    view = answer(brokers_input(ShedInputs(written, version="4.0.7")))
    assert "loads-unknown" in view.ahead.assumptions
    whole, half = brokers_frame(view, 0).rows
    assert (whole.usage, whole.msgs_per_sec) == (0.5, 50.0)
    assert all(map(math.isnan, (half.usage, half.msgs_per_sec, half.bytes_per_sec)))
    assert {bar.fault for bar in half.bars} == {"not-reported"}
    assert {bar.fault for bar in whole.bars} == {"", "no-limit"}
    later = WrittenLoad(loads[1], 2_000)  # a whole report of the same broker counts
    assert "loads-unknown" not in answer(brokers_input(ShedInputs((*written, later)))).ahead.assumptions
