"""The brokers of a cluster over the next cycles of shedding, as the screen "brokers" and its page show them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from engine.balance.broker_lost import BrokerLost, broker_lost
from engine.balance.brokers import BrokerLoad, weighted_usage
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.leadership.state import namespace_of
from engine.balance.settings import LoadSettings
from engine.balance.shed_ahead_model import AheadCycle, ShedAhead, ShedStart
from engine.balance.shed_question import SHEDDERS, ShedQuestion
from engine.balance.shedding.model import BrokerVerdict
from engine.errors import Rejection
from engine.load_rules import LoadRules
from engine.views.brokers_model import (
    Block,
    BrokerRow,
    BrokersFrame,
    BrokersView,
    CycleSum,
    LeftAlone,
    PairRow,
    Resource,
    Round,
    ShedderRow,
)

THRESHOLDS: Final = {
    "ThresholdShedder": ("loadBalancerBrokerThresholdShedderPercentage", 5.0),
    "OverloadShedder": ("loadBalancerBrokerOverloadedThresholdPercentage", 5.0),
    "UniformLoadShedder": ("loadBalancerMsgRateDifferenceShedderThreshold", 10.0),
    "AvgShedder": ("loadBalancerAvgShedderLowThreshold", 5.0),
    "TransferShedder": ("loadBalancerBrokerLoadTargetStd", 0.05),
}
"""The setting that each shedder compares with first, and a step by which it is worth changing."""
_COMPARES_USAGE: Final = ("ThresholdShedder", "OverloadShedder")


def brokers_view(question: ShedQuestion) -> BrokersView | Rejection:
    """The forecast of a question. As costly as the forecast."""
    found = question.ask()
    if isinstance(found, Rejection):
        return found
    name = THRESHOLDS[question.shedder][0]
    return BrokersView(
        question=question,
        forecast=found,
        shedder=question.shedder,
        placement=question.in_force.loadBalancerLoadPlacementStrategy if question.load_manager == "modular" else "",
        load_manager=question.load_manager,
        threshold=(name, float(getattr(question.settings, name))),
        namespaces=_namespaces(question.reports),
        cycles=tuple(_sum(cycle) for cycle in found.cycles),
        rounds=tuple(_rounds(found)),
        assumptions=found.assumptions,
        losses=_losses(question),
        idle_until=_idle_until(found),
    )


def shedders_compared(view: BrokersView) -> tuple[ShedderRow, ...]:
    """Every shedder on the same cluster, in the usual order; as costly as a forecast with each."""
    return tuple(_shedder_row(name, view.question, view.forecast) for name in SHEDDERS)


def with_threshold(question: ShedQuestion, steps: int) -> ShedQuestion:
    """The question with the first threshold of its shedder changed by so many steps, never below 0.

    >>> with_threshold(ShedQuestion(()), 2).settings.loadBalancerBrokerThresholdShedderPercentage
    20
    """
    name, step = THRESHOLDS[question.shedder]
    old = getattr(question.settings, name)
    new = max(0.0, round(old + steps * step, 6))
    return replace(question, settings=replace(question.settings, **{name: type(old)(new)}))


def brokers_frame(view: BrokersView, number: int) -> BrokersFrame:
    """The brokers before cycle ``number``, from 1; one above the last is the end. O(bundles)."""
    found = view.forecast
    last = len(found.cycles)
    number = max(1, min(number, last + 1))
    loads = found.cycles[number - 2].loads if number > 1 else {load.broker: load for load in found.start.loads}
    cycle = found.cycles[number - 1] if number <= last else None
    moves = () if cycle is None else cycle.moves
    arrived = {move.bundle for move in found.cycles[number - 2].moves} if number > 1 else set()
    leaving = {move.bundle for move in moves}
    verdicts = _verdicts(cycle)
    rows = tuple(
        _row(view, load, verdicts.get(broker), number, _blocks(load, view.namespaces, leaving, arrived))
        for broker, load in loads.items()
    )
    decision = None if cycle is None else cycle.decision
    modular = isinstance(decision, SheddingCycle)
    interval = found.cycles[0].at_ms if found.cycles else 0
    return BrokersFrame(
        number,
        number * interval if cycle is None else cycle.at_ms,
        rows,
        moves,
        tuple(
            LeftAlone(unload.bundle, unload.source, unload.outcome)
            for unload in (decision.unloads if isinstance(decision, SheddingCycle) else ())
            if unload.outcome != "unloaded"
        ),
        () if decision is None or modular else _pairs(cycle),
        None if decision is None else decision.no_run if isinstance(decision, SheddingCycle) else decision.skip,
        found.cycles[number - 2].evenness if number > 1 else found.before,
    )


def _row(
    view: BrokersView, load: BrokerLoad, verdict: BrokerVerdict | None, number: int, blocks: tuple[Block, ...]
) -> BrokerRow:
    start = view.forecast.start
    limit = math.nan if verdict is None else verdict.limit
    idle = view.idle_until.get(load.broker)
    return BrokerRow(
        broker=load.broker,
        presence="added" if load.broker in view.question.added else "reported",
        resources=_resources(load, start.settings, start.rules),
        usage=weighted_usage(load, start.settings, start.rules, heap=True),
        topics=load.topics,
        msgs_per_sec=load.msgs_per_sec,
        bytes_per_sec=load.bytes_per_sec,
        blocks=blocks,
        judged=None if verdict is None else verdict.outcome,
        figure=math.nan if verdict is None else verdict.figure,
        limit=limit,
        mark=limit if view.shedder in _COMPARES_USAGE and math.isfinite(limit) else None,
        idle_until=idle if idle is not None and idle >= number else None,
    )


def _resources(load: BrokerLoad, settings: LoadSettings, rules: LoadRules) -> tuple[Resource, ...]:
    weight_in, weight_out = settings.bandwidth_weights(rules)
    heap = settings.loadBalancerMemoryResourceWeight if rules.heap_memory_counts else 0.0
    direct = settings.loadBalancerDirectMemoryResourceWeight
    return (
        Resource("cpu", load.cpu.percent / 100, settings.loadBalancerCPUResourceWeight, load.cpu.limit > 0),
        Resource("memory", load.memory.percent / 100, heap, load.memory.limit > 0),
        Resource("direct memory", load.direct_memory.percent / 100, direct, load.direct_memory.limit > 0),
        Resource("in", load.bandwidth_in.percent / 100, weight_in, load.bandwidth_in.limit > 0),
        Resource("out", load.bandwidth_out.percent / 100, weight_out, load.bandwidth_out.limit > 0),
    )


def _blocks(load: BrokerLoad, namespaces: tuple[str, ...], leaving: set[str], arrived: set[str]) -> tuple[Block, ...]:
    """The bundles of a broker, those with most bytes first."""
    place = {name: at for at, name in enumerate(namespaces)}
    stats = {each.bundle: each for each in load.stats}
    blocks = []
    for bundle in dict.fromkeys((*load.bundles, *stats)):
        one = stats.get(bundle)
        blocks.append(
            Block(
                bundle,
                place[namespace_of(bundle)],
                one.topics if one else 0,
                one.msgs_per_sec if one else 0.0,
                one.bytes_per_sec if one else 0.0,
                bundle in leaving,
                bundle in arrived,
            )
        )
    return tuple(sorted(blocks, key=lambda each: (-each.bytes_per_sec, -each.msgs_per_sec, each.bundle)))


def _namespaces(reports: Iterable[BrokerLoad]) -> tuple[str, ...]:
    """All namespaces, those with most bundles first."""
    bundles = {bundle for load in reports for bundle in (*load.bundles, *(each.bundle for each in load.stats))}
    counts = Counter(namespace_of(bundle) for bundle in bundles)
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def _verdicts(cycle: AheadCycle | None) -> dict[str, BrokerVerdict]:
    """What the shedder made of each broker in the end; those that shed keep that verdict."""
    found: dict[str, BrokerVerdict] = {}
    if cycle is None or not isinstance(cycle.decision, SheddingCycle):
        return found
    for verdict in cycle.decision.plan.verdicts:
        if verdict.broker not in found or found[verdict.broker].outcome != "sheds":
            found[verdict.broker] = verdict
    return found


def _pairs(cycle: AheadCycle | None) -> tuple[PairRow, ...]:
    if cycle is None or isinstance(cycle.decision, SheddingCycle):
        return ()
    return tuple(PairRow(pair.fuller, pair.emptier, pair.outcome) for pair in cycle.decision.pairs)


def _sum(cycle: AheadCycle) -> CycleSum:
    return CycleSum(
        len(cycle.moves),
        sum(move.topics for move in cycle.moves),
        math.fsum(move.msgs_per_sec for move in cycle.moves),
        sum(move.returns for move in cycle.moves),
    )


def _rounds(found: ShedAhead) -> Iterable[Round]:
    """Bundles that return, and pairs of brokers with moves in both directions; the most frequent first."""
    returns: dict[str, list[int]] = {}
    between: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for cycle in found.cycles:
        for move in cycle.moves:
            if move.returns:
                returns.setdefault(move.bundle, []).append(cycle.number)
            if move.destination is not None and move.destination != move.source:
                low, high = sorted((move.source, move.destination))
                between.setdefault((low, high), []).append((cycle.number, move.source))
    rounds = [Round("bundle-returns", (bundle,), len(cycles), tuple(cycles)) for bundle, cycles in returns.items()]
    for pair, moves in between.items():
        if len({source for _, source in moves}) == 2:
            rounds.append(Round("brokers-swap", pair, len(moves), tuple(dict.fromkeys(number for number, _ in moves))))
    return sorted(rounds, key=lambda each: (-each.times, each.kind, each.name))


def _shedder_row(name: str, question: ShedQuestion, own: ShedAhead) -> ShedderRow:
    found = own if name == question.shedder else replace(question, shedder=name).ask()
    if isinstance(found, Rejection):
        return ShedderRow(name, refused=found.message)
    return ShedderRow(
        name,
        len(found.moves),
        found.unloads_per_hour,
        sum(move.topics for move in found.moves),
        sum(move.returns for move in found.moves),
        found.quiet_after,
        found.after,
    )


def _losses(question: ShedQuestion) -> tuple[BrokerLost, ...]:
    found = []
    for at, broker in enumerate(question.lost):
        start: ShedStart | Rejection = replace(question, lost=question.lost[:at]).start()
        lost = start if isinstance(start, Rejection) else broker_lost(start, broker)
        assert not isinstance(lost, Rejection), "the whole question was answered"
        found.append(lost)
    return tuple(found)


def _idle_until(found: ShedAhead) -> Mapping[str, int | None]:
    """The cycle that brings the first bundle to each broker that has none; None where no cycle does."""
    idle: dict[str, int | None] = {load.broker: None for load in found.start.loads if not load.bundles}
    for cycle in found.cycles:
        for move in cycle.moves:
            if move.destination in idle and idle[move.destination] is None:
                idle[move.destination] = cycle.number
    return idle
