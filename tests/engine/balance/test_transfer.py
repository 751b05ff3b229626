"""``TransferShedder`` at the edges of its times, and what it remembers, by hand."""

from __future__ import annotations

from dataclasses import replace
from statistics import pstdev

import pytest
from msgspec import structs

from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.balance.shedding.transfer import (
    PublishedLoad,
    TransferDecision,
    TransferMemory,
    TransferView,
    shed_transfer,
)
from engine.load_rules import LoadRules

MINUTE_MS = 60_000
NOW_MS = 100 * MINUTE_MS
SETTINGS = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=0)


def view(*loads: float, at_ms: int = NOW_MS, bundles: int = 2) -> TransferView:
    """Brokers b:0, b:1 … with these loads and 1000 bytes/s for each hundredth, in so many bundles."""
    published = tuple(
        PublishedLoad(f"b:{number}", load, 1e5 * load, 1e5 * load, 0.0, at_ms) for number, load in enumerate(loads)
    )
    top = {
        each.broker: tuple(
            BundleStats(f"t/n/{each.broker}-{place}", throughput_in_bytes_per_sec=each.bytes_per_sec / bundles)
            for place in range(bundles)
        )
        for each in published
    }
    return TransferView(published, tuple(each.broker for each in published), top, NOW_MS)


def test_a_bundle_is_left_alone_until_the_grace_period_is_over() -> None:
    grace_ms = SETTINGS.loadBalancerSheddingGracePeriodMinutes * MINUTE_MS
    times = {"older": NOW_MS - grace_ms - 1, "just": NOW_MS - grace_ms, "younger": NOW_MS - grace_ms + 1}
    kept = TransferMemory(hits=3, recent_bundles=times, recent_brokers={"b:0": 5}).within_grace(NOW_MS, SETTINGS)
    assert kept == TransferMemory(
        3, recent_bundles={n: times[n] for n in ("just", "younger")}, recent_brokers={"b:0": 5}
    )


def test_an_unload_is_remembered_of_its_bundle_and_its_source() -> None:
    before = TransferMemory(recent_bundles={"x": 1}, recent_brokers={"b:9": 2})
    after = before.after_unload(TransferDecision("t/n/0x0", "b:1", "b:2", "Overloaded"), 7)
    assert after == TransferMemory(recent_bundles={"x": 1, "t/n/0x0": 7}, recent_brokers={"b:9": 2, "b:1": 7})


@pytest.mark.parametrize(("age_ms", "counts"), [(0, True), (1, False)])
def test_a_load_as_old_as_its_time_to_live_still_counts(age_ms: int, counts: bool) -> None:
    limit_ms = SETTINGS.loadBalancerBrokerLoadDataTTLInSeconds * 1000
    memory, cycle = shed_transfer(TransferMemory(), view(0.9, 0.1, at_ms=NOW_MS - limit_ms - age_ms), SETTINGS)
    assert (cycle.skip, memory.mean) == ((None, 0.5) if counts else ("OutDatedData", 0.0))


@pytest.mark.parametrize(("waited_ms", "skip"), [(0, None), (-1, "CoolDown")])
def test_a_broker_cools_down_until_a_report_is_exactly_the_delay_later(waited_ms: int, skip: str | None) -> None:
    delay_ms = SETTINGS.loadBalanceSheddingDelayInSeconds * 1000
    memory = TransferMemory(recent_brokers={"b:1": NOW_MS - delay_ms - waited_ms, "gone:1": 0})
    after, cycle = shed_transfer(memory, view(0.9, 0.1), SETTINGS)
    assert (cycle.skip, cycle.blamed) == (skip, "b:1" if skip else None)
    assert after.recent_brokers == ({"gone:1": 0} if skip is None else memory.recent_brokers)


def test_a_skip_says_what_every_pair_lacked() -> None:
    """Of four brokers the fullest has reported no bundle, two others one each."""
    seen = view(0.0, 0.1, 0.8, 0.9)
    top = {**seen.top, "b:3": (), "b:2": seen.top["b:2"][:1], "b:1": seen.top["b:1"][:1]}
    memory, cycle = shed_transfer(TransferMemory(), replace(seen, top=top), SETTINGS)
    assert [(pair.fuller, pair.outcome) for pair in cycle.pairs] == [
        ("b:3", "no-bundles-reported"), ("b:2", "one-bundle"), ("b:1", "one-bundle"),
    ]  # fmt: skip
    assert (cycle.skip, memory.hits) == ("NoLoadData", 1)
    few = {**top, "b:3": seen.top["b:3"][:1]}
    assert shed_transfer(TransferMemory(), replace(seen, top=few), SETTINGS)[1].skip == "NoBundles"


def test_a_cycle_that_acts_begins_to_count_anew() -> None:
    memory, cycle = shed_transfer(TransferMemory(hits=2), view(0.9, 0.1, bundles=4), SETTINGS)
    assert (memory.hits, cycle.skip, cycle.decisions[0].source) == (0, None, "b:0")
    waiting = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=3)
    assert shed_transfer(TransferMemory(hits=2), view(0.9, 0.1), waiting)[0].hits == 3
    assert shed_transfer(TransferMemory(hits=2), view(0.5, 0.5), waiting)[0].hits == 0


def bundle(name: str, bytes_per_sec: float) -> BundleStats:
    return BundleStats(f"t/n/{name}", throughput_in_bytes_per_sec=bytes_per_sec)


def exchange(
    given: list[BundleStats], other: list[BundleStats], settings: LoadSettings = SETTINGS, **more: object
) -> tuple[list[tuple[str, str, float]], list[tuple[str, str | None]]]:
    """Verdicts and decisions of a pair: the fuller broker has 1000 bytes/s and the emptier 200, 400 should move."""
    loads = (
        PublishedLoad("b:0", 1.0, 1000.0, 1000.0, 0.0, NOW_MS),
        PublishedLoad("b:1", 0.2, 200.0, 200.0, 0.0, NOW_MS),
    )
    seen = TransferView(loads, ("b:0", "b:1"), {"b:0": tuple(given), "b:1": tuple(other)}, NOW_MS)
    memory = TransferMemory(recent_bundles={"t/n/recent": NOW_MS})
    _, cycle = shed_transfer(memory, replace(seen, **more), settings)  # type: ignore[arg-type]
    (pair,) = cycle.pairs
    assert pair.wanted_bytes_per_sec == pytest.approx(400.0)
    return (
        [(verdict.bundle.rpartition("/")[2], verdict.outcome, verdict.bytes_per_sec) for verdict in pair.bundles],
        [(decision.bundle.rpartition("/")[2], decision.target) for decision in cycle.decisions],
    )


def test_what_became_of_every_reported_bundle_of_a_pair() -> None:
    excluded = BundleStats("t/x/0x0", throughput_in_bytes_per_sec=1.0)
    given = [
        excluded, bundle("recent", 2), bundle("elsewhere", 3), bundle("fixed", 4), bundle("idle", 0), bundle("a", 150),
        bundle("b", 250), bundle("c", 300), bundle("d", 400),
    ]  # fmt: skip
    settings = structs.replace(SETTINGS, loadBalancerSheddingExcludedNamespaces=("t/x",))
    verdicts, decisions = exchange(
        given, [], settings,
        not_owned={("t/n/elsewhere", "b:0")}, movable=lambda name, source, target: name != "t/n/fixed",
    )  # fmt: skip
    assert verdicts == [
        ("0x0", "excluded-namespace", 1.0), ("recent", "recently-unloaded", 2.0), ("elsewhere", "not-owned", 3.0),
        ("fixed", "not-movable", 4.0), ("idle", "idle", 0.0), ("a", "moved", 150.0), ("b", "moved", 250.0),
        ("c", "too-large", 300.0), ("d", "not-looked-at", 400.0),
    ]  # fmt: skip
    assert decisions == [("a", "b:1"), ("b", "b:1")]


def test_the_last_reported_bundle_stays() -> None:
    verdicts, decisions = exchange([bundle("a", 100), bundle("b", 100)], [])
    assert [verdict[1] for verdict in verdicts] == ["moved", "last-one"]
    assert decisions == [("a", "b:1")]


def test_a_bundle_too_large_goes_when_smaller_ones_come_back_for_it() -> None:
    """600 go and 50 + 100 come: the fuller keeps 550, the emptier has 650; with 150 more 700 and 500, as it must be."""
    back = [bundle("idle", 0), bundle("fixed", 10), bundle("p", 50), bundle("q", 100), bundle("r", 150), bundle("s", 7)]
    verdicts, decisions = exchange(
        [bundle("a", 600), bundle("b", 601)], back, movable=lambda name, source, target: name != "t/n/fixed"
    )
    assert verdicts == [
        ("p", "swapped", 50.0), ("q", "swapped", 100.0), ("r", "swapped", 150.0), ("a", "moved", 600.0),
        ("b", "last-one", 601.0),
    ]  # fmt: skip
    assert decisions == [("p", "b:0"), ("q", "b:0"), ("r", "b:0"), ("a", "b:1")]
    assert exchange([bundle("a", 600), bundle("b", 601)], back[:4])[1] == [], "550 beside 650 is no improvement"
    unload_only = structs.replace(SETTINGS, loadBalancerTransferEnabled=False)
    assert exchange([bundle("a", 600), bundle("b", 601)], back, unload_only)[1] == []
    assert exchange([bundle("a", 300), bundle("b", 601)], [], unload_only)[1] == [("a", None)]


def test_a_swap_stands_below_three_quarters_of_the_fuller_brokers_throughput() -> None:
    assert exchange([bundle("a", 450), bundle("b", 600)], [bundle("p", 200)])[1] == [], "750 of 1000"
    assert exchange([bundle("a", 450), bundle("b", 600)], [bundle("p", 199)])[1] == [("p", "b:0"), ("a", "b:1")]
    assert exchange([bundle("a", 600), bundle("b", 600)], [bundle("p", 200)])[1] == [("p", "b:0"), ("a", "b:1")], (
        "600 each"
    )


@pytest.mark.parametrize(
    ("loads", "sign", "blamed"),
    [
        ((0.9, 0.1), "deviation", None),
        ((0.3, 0.3, 0.3, 0.0), "underloaded", "b:4"),
        ((0.5, 0.95, *[0.5] * 9), "overloaded", "b:2"),
        ((0.3, 0.32), None, None),
    ],
)
def test_a_cycle_that_waits_says_by_which_sign_the_brokers_are_uneven(
    loads: tuple[float, ...], sign: str | None, blamed: str | None
) -> None:
    published = tuple(PublishedLoad(f"b:{at}", load, 1e6, 0.0, 0.0) for at, load in enumerate(loads, 1))
    seen = TransferView(published, tuple(load.broker for load in published), {})
    _, cycle = shed_transfer(TransferMemory(), seen, LoadSettings())
    assert (cycle.skip, cycle.sign, cycle.blamed) == ("HitCount", sign, blamed)
    assert cycle.hits == (0 if sign is None else 1)
    assert cycle.deviation == pytest.approx(pstdev(loads))


def test_a_cycle_that_acts_says_how_uneven_the_brokers_were_before_it() -> None:
    """Loads of 0.9 and 0.1; what the first pair moves makes them even."""
    memory, cycle = shed_transfer(TransferMemory(hits=2), view(0.9, 0.1, bundles=4), SETTINGS)
    assert cycle.decisions
    assert (cycle.hits, cycle.sign) == (3, "deviation")
    assert memory.deviation == cycle.deviation == pytest.approx(0.4)


def test_a_cycle_that_finds_nothing_says_how_uneven_the_brokers_are() -> None:
    seen = view(0.9, 0.1)
    memory, cycle = shed_transfer(TransferMemory(hits=2), replace(seen, top={}), SETTINGS)
    assert (cycle.decisions, cycle.skip, cycle.hits, memory.hits, cycle.sign) == ((), "NoLoadData", 3, 3, "deviation")
    assert cycle.deviation == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("sheds_idle", "outcome", "bundles"), [(True, "only-idle-bundles", ["a"]), (False, "nothing-to-move", [])]
)
def test_where_idle_bundles_are_shed_they_go_and_the_pair_found_nothing_all_the_same(
    sheds_idle: bool, outcome: str, bundles: list[str]
) -> None:
    seen = view(0.9, 0.1)
    top = {"b:0": (bundle("a", 0), bundle("b", 0)), "b:1": ()}
    rules = LoadRules(shed_idle_bundles=sheds_idle)
    _, cycle = shed_transfer(TransferMemory(), replace(seen, top=top), SETTINGS, rules)
    assert [pair.outcome for pair in cycle.pairs] == [outcome]
    assert [decision.bundle.rpartition("/")[2] for decision in cycle.decisions] == bundles


def test_less_than_a_byte_a_second_is_moved_too() -> None:
    loads = (PublishedLoad("b:0", 1.0, 1.0, 1.0, 0.0, NOW_MS), PublishedLoad("b:1", 0.2, 0.2, 0.2, 0.0, NOW_MS))
    top = {"b:0": (bundle("a", 0.3), bundle("b", 0.7)), "b:1": ()}
    _, cycle = shed_transfer(TransferMemory(), TransferView(loads, ("b:0", "b:1"), top, NOW_MS), SETTINGS)
    assert [(pair.outcome, pair.wanted_bytes_per_sec) for pair in cycle.pairs] == [("moves", pytest.approx(0.4))]


@pytest.mark.parametrize(("throughput", "sign"), [(0.9, "underloaded"), (1.0, None), (1.9, None)])
def test_in_earlier_releases_a_broker_with_less_than_one_byte_is_underloaded_whatever_others_have(
    throughput: float, sign: str | None
) -> None:
    published = tuple(PublishedLoad(f"b:{at}", 0.3, each, 0.0, 0.0) for at, each in enumerate((throughput, 1e9)))
    seen = TransferView(published, ("b:0", "b:1"), {})
    for by_throughput, expected in ((False, sign), (True, "underloaded")):
        rules = LoadRules(underloaded_by_throughput=by_throughput)
        assert shed_transfer(TransferMemory(), seen, LoadSettings(), rules)[1].sign == expected


DEBUG = structs.replace(SETTINGS, loadBalancerDebugModeEnabled=True)


def test_what_comes_back_makes_room_for_more_in_debug_mode_only() -> None:
    """S-4: 300 of 600 come back, so 90 more fit the 400 that should move."""
    given, back = [bundle("a", 600), bundle("b", 90), bundle("c", 999)], [bundle("p", 100), bundle("q", 200)]
    swap = [("p", "b:0"), ("q", "b:0"), ("a", "b:1")]
    assert exchange(given, back, DEBUG)[1] == [*swap, ("b", "b:1")]
    assert exchange(given, back)[1] == swap


def test_all_that_came_back_counts_in_debug_mode() -> None:
    """450 for 199, then 200 for 150: of 650 there are 349 back, and 60 more still fit."""
    given = [bundle("a", 450), bundle("b", 200), bundle("c", 60), bundle("d", 999)]
    _, decisions = exchange(given, [bundle("p", 199), bundle("q", 150)], DEBUG)
    assert decisions == [("p", "b:0"), ("a", "b:1"), ("q", "b:0"), ("b", "b:1"), ("c", "b:1")]


def test_the_deviation_after_a_pair_counts_what_came_back() -> None:
    """Loads of 1, 0.6, 0.6 and 0.2: by a swap of 600 for 300 of 1000 bytes/s they become 0.7, 0.6, 0.6 and 0.5, even
    enough; all 900 moved would make them 0.1, 0.6, 0.6 and 1.1."""
    loads = tuple(
        PublishedLoad(f"b:{at}", load, 1000 * load, 1000 * load, 0.0, NOW_MS)
        for at, load in enumerate((1.0, 0.6, 0.6, 0.2))
    )
    top = {load.broker: (bundle(f"{load.broker}-x", 100), bundle(f"{load.broker}-y", 200)) for load in loads}
    top["b:0"] = (bundle("a", 600), bundle("b", 601))
    seen = TransferView(loads, tuple(load.broker for load in loads), top, NOW_MS)
    _, cycle = shed_transfer(TransferMemory(), seen, DEBUG)
    assert [len(cycle.decisions), *((pair.fuller, pair.emptier) for pair in cycle.pairs)] == [3, ("b:0", "b:3")]


def test_a_bundle_that_would_fill_either_broker_up_does_not_come_back() -> None:
    """Up to the 1000 of the fuller broker: 550 and 450 are as much, and so are the 1010 less 10 of the emptier one."""
    assert exchange([bundle("a", 450), bundle("b", 999)], [bundle("p", 450), bundle("q", 199)])[1] == [
        ("q", "b:0"), ("a", "b:1"),
    ]  # fmt: skip
    back = [bundle("p", 10), bundle("q", 400), bundle("r", 100)]
    assert exchange([bundle("a", 810), bundle("b", 999)], back)[1] == [("q", "b:0"), ("r", "b:0"), ("a", "b:1")]


def test_of_a_broker_that_is_gone_when_it_is_asked_nothing_moves() -> None:
    _, cycle = shed_transfer(TransferMemory(), replace(view(0.9, 0.1), vanished=("b:0",)), SETTINGS)
    assert cycle.skip == "NoLoadData"
    assert [(pair.fuller, pair.outcome, pair.wanted_bytes_per_sec) for pair in cycle.pairs] == [
        ("b:0", "no-load-data", 0.0)
    ]
