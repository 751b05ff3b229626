"""Balancing over time: what repeats, what echoes, what is delayed, under both load managers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engine.balance.settings import BalanceSettings
from engine.balance.splitting.forecast import simulate
from engine.balance.splitting.loops import find_loops, returning_bundles
from engine.balance.splitting.model import Balance
from engine.balance.splitting.start import balance_start
from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.columns import LoadColumns
from engine.bundles.loads import TopicLoad, topic_load
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    RANGE_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    TOPIC_COUNT_EQUALLY_DIVIDE,
    BrokerSettings,
    behaviour_of,
)
from engine.errors import Rejection

WHOLE = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
TWO = ("b:1", "b:2")


def at(position: int, rate: float = 0.0) -> TopicLoad:
    return TopicLoad(f"persistent://t/n/at-{position}", position, rate)


def run(topics: Sequence[Any], cycles: int, *, bundles: NamespaceBundles = WHOLE, **more: Any) -> Balance:
    names = BrokerSettings.__struct_fields__
    settings = BrokerSettings(**{key: value for key, value in more.items() if key in names})
    rest = {key: value for key, value in more.items() if key not in names}
    brokers = rest.pop("brokers", TWO)
    start = balance_start(bundles, topics, brokers, settings, **{"change_events": False, **rest})
    assert not isinstance(start, Rejection), start
    balance = simulate(start, cycles)
    assert not isinstance(balance, Rejection), balance
    return balance


def outcomes(balance: Balance) -> list[list[str]]:
    return [[attempt.outcome for attempt in cycle.attempts] for cycle in balance.cycles]


class Stepped(TopicColumns):
    """Topics of which the traffic is multiplied from an interval on, all by the same."""

    def __init__(self, topics: Sequence[TopicLoad], interval: int, factor: float) -> None:
        plain = TopicColumns.of([BalancedTopic(topic) for topic in topics])
        super().__init__(plain.loads, plain.sessions, plain.growth)
        self.step = interval, factor

    @property
    def is_steady(self) -> bool:
        return False

    def loads_at(self, interval: int) -> LoadColumns:
        first, factor = self.step
        loads = self.loads
        rates = loads.rates * (factor if interval >= first else 1.0)
        return LoadColumns(loads.names, loads.hashes, rates, loads.has_stats)


HOT_PAIR = [at(1, 20_000.0), at(0xF0000000, 20_000.0)]


def test_B03_the_leader_meets_the_parent_again_in_the_second_report_and_drops_it() -> None:
    """Both reports of the first cycle are older than its split: the second decision names the parent again."""
    balance = run(HOT_PAIR, 3)
    assert outcomes(balance) == [["split", "gone"], [], []]
    assert len(balance.bundles) == 2


def test_one_broker_never_splits_by_itself_and_says_so() -> None:
    balance = run(HOT_PAIR, 3, brokers=("b:1",))
    assert {run_.no_run for cycle in balance.cycles for run_ in cycle.runs} == {"one-broker"}
    assert balance.bundles == WHOLE


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_switched_off_nothing_is_decided(manager: str) -> None:
    balance = run(HOT_PAIR, 5, load_manager=manager, loadBalancerAutoBundleSplitEnabled=False)
    assert {run_.no_run for cycle in balance.cycles for run_ in cycle.runs} == {"switched-off"}


def test_B05_an_attempt_for_topics_below_the_gate_changes_nothing_for_ever() -> None:
    """Each broker's report brings one, and each deletes the history: one sample at the storing, one at the report."""
    topics = [at(place * 1000, 1.0) for place in range(5)]
    balance = run(
        topics,
        6,
        loadBalancerNamespaceBundleMaxTopics=4,
        defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE,
    )
    assert outcomes(balance) == [["no-change", "no-change"]] * 6
    assert [load.samples for cycle in balance.cycles for load in cycle.loads] == [1, *[2] * 5]
    (loop,) = find_loops(balance)
    assert (loop.kind, loop.cycles, loop.times, loop.lasts) == (
        "repeats-without-effect",
        (1, 2, 3, 4, 5, 6),
        12,
        True,
    )


def test_B05_the_extensible_one_fails_every_cycle_from_the_fourth_hit_on() -> None:
    topics = [at(place * 1000, 20_000.0) for place in range(3)]
    balance = run(topics, 7, load_manager="extensible", defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE)
    seen = [run_.verdicts[0] for cycle in balance.cycles for run_ in cycle.runs if run_.verdicts]
    assert [(verdict.outcome, verdict.hits) for verdict in seen] == [
        *(("counting", hits) for hits in (1, 2, 3)),
        *(("not-one-boundary", hits) for hits in (4, 5, 6, 7)),
    ]
    (loop,) = find_loops(balance)
    assert (loop.kind, loop.cycles, loop.detail) == ("repeats-without-effect", (4, 5, 6, 7), "not-one-boundary")


@pytest.mark.parametrize("manager", ["modular", "extensible"])
@pytest.mark.parametrize("algorithm", SPLIT_ALGORITHMS)
def test_B01_one_topic_alone_is_never_split_however_hot(manager: str, algorithm: str) -> None:
    balance = run([at(7, 1e9)], 8, load_manager=manager, defaultNamespaceBundleSplitAlgorithm=algorithm)
    assert balance.bundles == WHOLE
    assert not any(cycle.attempts for cycle in balance.cycles)


def test_B01_change_events_makes_a_lone_hot_topic_splittable_until_they_are_parted() -> None:
    """The system topic counts: it lies at 0x9e19a3f6 of this namespace, the hot topic below the middle."""
    balance = run([at(7, 1e9)], 8, change_events=True)
    assert [len(cycle.bundles) for cycle in balance.cycles] == [2] * 8
    assert balance.splits[0][1].reason == "MsgRate"


def test_B01_a_hot_topic_beside_another_is_split_again_and_again_and_the_chain_is_found() -> None:
    """Range halves leave both on one side 30 times, then part them: the loop names the first parent."""
    balance = run([at(0, 1e9), at(1)], 40, first_rate_factor=1.0)
    chain = next(loop for loop in find_loops(balance) if loop.kind == "parts-nothing")
    assert (chain.bundle, chain.times) == ("t/n/0x00000000_0xffffffff", 30)
    assert balance.splits[-1][1].children == (balance.bundles[0], balance.bundles[1])
    assert [balance.bundles[0].lower, balance.bundles[0].upper] == [0, 1]


def test_B06_a_count_split_on_the_lower_edge_throws_every_cycle_in_the_extensible_one() -> None:
    halves = NamespaceBundles("t/n", (0, 0x80000000, 0xFFFFFFFF))
    balance = run(
        [at(0x80000000, 20_000.0), at(0x80000001, 20_000.0)],
        6,
        bundles=halves,
        load_manager="extensible",
        defaultNamespaceBundleSplitAlgorithm=TOPIC_COUNT_EQUALLY_DIVIDE,
    )
    assert [loop.detail for loop in find_loops(balance)] == ["threw"]
    assert balance.bundles == halves


@pytest.mark.parametrize(("release", "outcome"), [("4.2.4", "never-answered"), ("5.0.1", "refused")])
def test_B07_twins_that_cut_twice_at_one_place_stay_together_in_the_modular_one(release: str, outcome: str) -> None:
    topics = [TopicLoad(f"persistent://t/n/{name}", where, 20_000.0) for name, where in (("a", 9), ("b", 9), ("c", 10))]
    balance = run(
        topics, 2, behaviour=behaviour_of(release), defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE
    )
    assert {one for each in outcomes(balance) for one in each} == {outcome}
    assert [problem.error for problem in balance.problems] == ["EqualHashes"]


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_B13_the_cap_holds_and_a_full_namespace_is_one_loop(manager: str) -> None:
    topics = [at(place << 28, 40_000.0) for place in range(16)]
    balance = run(topics, 12, load_manager=manager, loadBalancerNamespaceMaximumBundles=3)
    assert max(len(cycle.bundles) for cycle in balance.cycles) == 3
    assert [loop.bundle for loop in find_loops(balance) if loop.kind == "namespace-full"] == ["t/n"]


def test_B16_a_bundle_that_returns_to_a_former_owner_is_found_in_any_history() -> None:
    history = [{"x": "a", "y": "a"}, {"x": "b", "y": "b"}, {"y": "b"}, {"x": "a", "y": "c"}, {"x": "b"}]
    (loop,) = returning_bundles(history)
    assert (loop.kind, loop.bundle, loop.cycles, loop.lasts) == ("returns-to-former-owner", "x", (4, 5), True)
    assert loop.detail == "a, b, a, b"


def test_B16_an_unload_that_leads_back_to_the_same_broker_is_named() -> None:
    balance = run(HOT_PAIR, 2)
    loops = [loop for loop in find_loops(balance) if loop.kind == "unloaded-for-nothing"]
    moves = [move for cycle in balance.cycles for move in cycle.moves]
    assert [move.bundle for move in moves if move.came_back] == [loop.bundle for loop in loops]
    assert len(moves) == 2


def test_B18_a_split_with_unload_names_the_topics_it_interrupts_and_one_without_interrupts_none() -> None:
    balance = run(HOT_PAIR, 1)
    assert {name for move in balance.cycles[0].moves for name in move.topics} == {topic.name for topic in HOT_PAIR}
    assert not run(HOT_PAIR, 1, loadBalancerAutoUnloadSplitBundlesEnabled=False).cycles[0].moves


def test_children_are_split_at_once_when_their_first_rates_are_too_high() -> None:
    """True 18750 a child is below the limit; what the producers had queued is not. The second split comes 5 s later."""
    topics = [at(place << 28, 6_250.0) for place in (0, 4, 8, 12)] + [
        at((place << 28) + 9, 6_250.0) for place in (0, 8)
    ]
    calm, echoing = run(topics, 3), run(topics, 3, first_rate_factor=1.7)
    assert [number for number, _ in calm.splits] == [1]
    assert [(number, split.echo) for number, split in echoing.splits] == [(1, False), (2, True), (2, True)]
    assert echoing.cycles[1].at_ms - echoing.cycles[0].at_ms == 5_000
    assert echoing.cycles[1].early and not echoing.cycles[0].early


def test_a_step_shows_late_in_the_long_term_average_and_at_once_in_the_current_rate() -> None:
    """From 20 to 120 with the limit at 60: the average passes it cycles later, the current rate with its 4th hit."""
    step = Stepped([at(1, 10.0), at(0xF0000000, 10.0)], 4, 6.0)
    limits: dict[str, Any] = {"loadBalancerNamespaceBundleMaxMsgRate": 60, "intervals": BalanceSettings()}
    slow = run(step, 12, **limits)
    quick = run(step, 12, load_manager="extensible", **limits)
    assert quick.splits[0][0] == 8
    (number, split), *_ = slow.splits
    assert slow.cycles[number - 1].interval > 4
    assert split.measure is not None and 60 < split.measure.measured < 120


def test_growth_counts_full_intervals_only_and_never_overflows() -> None:
    growing = [BalancedTopic(at(1, 1.0), growth_per_cycle=1e200), BalancedTopic(at(2, 1.0))]
    balance = run(growing, 6, load_manager="extensible")
    rates = [cycle.loads[0].msgs_per_sec for cycle in balance.cycles]
    assert rates[0] == 2.0 and rates[1] == pytest.approx(1e200) and rates[-1] == pytest.approx(1e300)


def test_positions_as_default_are_refused_each_time() -> None:
    balance = run(HOT_PAIR, 2, defaultNamespaceBundleSplitAlgorithm=SPECIFIED_POSITIONS_DIVIDE)
    assert outcomes(balance) == [["refused", "refused"]] * 2
    detail = balance.cycles[0].attempts[0].detail
    assert detail is not None and detail.field == "positions"


def test_the_maximum_of_a_cycle_is_for_each_broker() -> None:
    quarters = NamespaceBundles("t/n", (0, 1 << 30, 2 << 30, 3 << 30, 0xFFFFFFFF))
    topics = [at((place << 30) + low, 40_000.0) for place in range(4) for low in (1, 0x30000000)]
    balance = run(
        topics, 5, bundles=quarters, load_manager="extensible", loadBalancerMaxNumberOfBundlesToSplitPerCycle=1
    )
    assert [len(cycle.splits) for cycle in balance.cycles] == [0, 0, 0, 2, 2]


@pytest.mark.parametrize("algorithm", [RANGE_EQUALLY_DIVIDE, TOPIC_COUNT_EQUALLY_DIVIDE])
def test_every_verdict_above_a_limit_says_by_how_much(algorithm: str) -> None:
    balance = run(HOT_PAIR, 4, defaultNamespaceBundleSplitAlgorithm=algorithm)
    verdicts = [verdict for cycle in balance.cycles for run_ in cycle.runs for verdict in run_.verdicts]
    for verdict in verdicts:
        assert (verdict.reason == "Unknown") is (verdict.measure is None)
        assert verdict.measure is None or verdict.measure.over_by > 0


def test_a_limit_of_2048_mbytes_splits_idle_bundles_and_is_said_to_overflow() -> None:
    balance = run([topic_load(f"persistent://t/n/{place}") for place in range(4)], 1,
                  loadBalancerNamespaceBundleMaxBandwidthMbytes=2048)  # fmt: skip
    assert balance.splits[0][1].reason == "Bandwidth"
    assert [problem.field for problem in balance.problems] == ["loadBalancerNamespaceBundleMaxBandwidthMbytes"]
