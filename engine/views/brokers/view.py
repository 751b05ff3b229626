"""The view of the screen of brokers: a forecast of shedding with what-ifs before it, page by page, and all shedders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from msgspec import structs

from engine.admin.interruptions import Interruption
from engine.admin.shed_inputs import ShedInputs
from engine.balance.ahead.broker_changes import broker_dies, broker_joins
from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import AheadCycle, ShedAhead, ShedStart
from engine.balance.brokers import UNUSED, BrokerLoad, weighted_usage
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.leadership.state import Leader, namespace_of
from engine.balance.placement.strategies import LEAST_RATE, MODULAR_PLACEMENTS
from engine.balance.settings import LoadSettings, default_load_settings
from engine.balance.shedding.model import BrokerVerdict
from engine.balance.shedding.strategies import AVERAGE, MODULAR_SHEDDERS, OVERLOAD, THRESHOLD, TRANSFER
from engine.balance.shedding.transfer import TransferPair
from engine.balance.splitting.loops import Loop, returning_bundles
from engine.bundles.plan import LoadManager
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.load_rules import LoadRules
from engine.views.brokers.model import (
    RESOURCES,
    Bar,
    Block,
    BrokerRow,
    BrokersFrame,
    BrokersInput,
    BrokersQuestion,
    BrokersView,
    ChangeDone,
    Compared,
    Course,
    Fault,
    LeftAlone,
    NextCycle,
    NextMove,
    Numbers,
    Resource,
    StripCell,
    Swap,
    UsageChange,
)

SHEDDERS: Final = (*MODULAR_SHEDDERS, TRANSFER)
PLACEMENTS: Final = MODULAR_PLACEMENTS


def brokers_input(inputs: ShedInputs, release: str | None = None, source: str = "", about: str = "") -> BrokersInput:
    """What was read with the settings in force; ``release`` replaces the version that the reports name."""
    label = release or inputs.version or CURRENT.label
    behaviour = behaviour_of(label)
    known = behaviour if isinstance(behaviour, ReleaseBehaviour) else CURRENT
    settings, problems = inputs.settings_over(default_load_settings(known))
    return BrokersInput(inputs, settings, known, source, (*inputs.problems, *problems), about)


def strategies_of(given: BrokersInput, question: BrokersQuestion) -> tuple[LoadManager, str, LoadSettings] | Rejection:
    """The load manager, the shedder and the settings of a question."""
    settings = given.settings
    for name, text in question.settings:
        changed = settings.with_setting(name, text)
        if isinstance(changed, Rejection):
            return changed
        settings = changed
    manager: LoadManager = question.load_manager or ("extensible" if given.inputs.is_extensible else "modular")
    if question.load_manager is None and question.shedder is not None:
        manager = "extensible" if question.shedder == TRANSFER else "modular"
    shedder = question.shedder or settings.loadBalancerLoadSheddingStrategy
    if manager == "extensible":
        return manager, TRANSFER, settings
    if shedder == TRANSFER:  # configured for the other manager
        shedder = default_load_settings(given.behaviour).loadBalancerLoadSheddingStrategy
    placement = question.placement or settings.loadBalancerLoadPlacementStrategy
    if question.placement is None and question.shedder is not None:
        # The placement that goes with another shedder: AvgShedder places by itself, and nothing but what it sheds.
        placement = AVERAGE if shedder == AVERAGE else LEAST_RATE if placement == AVERAGE else placement
    return (
        manager,
        shedder,
        structs.replace(
            settings, loadBalancerLoadSheddingStrategy=shedder, loadBalancerLoadPlacementStrategy=placement
        ),
    )


def brokers_view(given: BrokersInput, question: BrokersQuestion | None = None) -> BrokersView | Rejection:
    """The forecast under a question. Refused as a setting, a change or :func:`shed_ahead` is. O(a forecast)."""
    question = question or BrokersQuestion()
    begun_cluster = begun(given, question)
    if isinstance(begun_cluster, Rejection):
        return begun_cluster
    start, done = begun_cluster
    ahead = shed_ahead(start, question.cycles)
    if isinstance(ahead, Rejection):
        return ahead
    names = {namespace_of(bundle) for load in ahead.start.loads for bundle in load.bundles}
    born = frozenset(change.broker for change in done if change.kind == "joins")
    return BrokersView(
        given,
        question,
        ahead,
        shedder_of(ahead),
        tuple(sorted(names)),
        tuple(_idle(change, ahead) if change.kind == "joins" else change for change in done),
        tuple(_strip_cell(cycle) for cycle in ahead.cycles),
        _returning(ahead),
        swaps_of(ahead),
        _older(given.inputs, given.settings),
        born,
        {bundle: load.broker for load in given.inputs.loads for bundle in load.bundles},
        interruptions_of(given.inputs, ahead, done),
    )


def interruptions_of(inputs: ShedInputs, ahead: ShedAhead, done: Iterable[ChangeDone] = ()) -> dict[str, Interruption]:
    """What the unloads of a forecast and the deaths before it interrupt, by bundle."""
    landed = [landing.bundle for change in done for landing in change.landings]
    bundles = dict.fromkeys([*landed, *(move.bundle for move in ahead.moves)])
    return inputs.interruptions.of_all(bundles)


def compared_shedders(view: BrokersView) -> tuple[Compared, ...]:
    """Every shedder under the question of a view, each with the placement that goes with it. O(4 forecasts)."""
    return tuple(compared_shedder(view, shedder) for shedder in SHEDDERS)


def compared_shedder(view: BrokersView, shedder: str) -> Compared:
    """One shedder under the question of a view; that in force is the view's own forecast."""
    in_force = shedder == view.shedder
    ahead: ShedAhead | Rejection = view.ahead
    if not in_force:
        manager: LoadManager = "extensible" if shedder == TRANSFER else "modular"
        question = replace(view.question, load_manager=manager, shedder=shedder, placement=None)
        ahead = forecast_of(view.given, question)
    if isinstance(ahead, Rejection):
        return Compared(shedder, in_force, refused=ahead.message)
    moves = ahead.moves
    return Compared(
        shedder,
        in_force,
        len(moves),
        ahead.unloads_per_hour,
        sum(move.topics for move in moves),
        sum(move.returns for move in moves),
        ahead.quiet_after,
        ahead.after,
    )


def forecast_of(given: BrokersInput, question: BrokersQuestion) -> ShedAhead | Rejection:
    """The forecast alone. Refused as in :func:`brokers_view`."""
    cluster = begun(given, question)
    return cluster if isinstance(cluster, Rejection) else shed_ahead(cluster[0], question.cycles)


def begun(given: BrokersInput, question: BrokersQuestion) -> tuple[ShedStart, list[ChangeDone]] | Rejection:
    """The cluster after all changes of a question, before the first cycle."""
    strategies = strategies_of(given, question)
    if isinstance(strategies, Rejection):
        return strategies
    manager, _, settings = strategies
    policies, rules = given.inputs.policies, given.behaviour.load
    state = None
    if manager == "modular":
        # Reading a series also refuses an unknown strategy, so ask for the forecast's own refusal first.
        probe = shed_ahead(ShedStart(given.inputs.loads[:1], settings, rules, policies, manager), 1)
        if isinstance(probe, Rejection):
            return probe
        state = given.inputs.leader_state(Leader(settings, policies or ClusterPolicies(), rules))
    elif not rules.extensible:
        return Rejection(
            "ClassNotFoundException", "this release has no extensible load manager", "loadManagerClassName"
        )
    inputs = given.inputs
    start = ShedStart(
        inputs.loads,
        settings,
        rules,
        policies,
        manager,
        state,
        question.seed,
        from_metrics=inputs.from_metrics,
        lacking=inputs.lacking,
    )
    done: list[ChangeDone] = []
    for change in question.changes:
        if change.kind == "joins":
            name, start = broker_joins(start)
            done.append(ChangeDone("joins", name))
            continue
        death = broker_dies(start, change.broker)
        if isinstance(death, Rejection):
            return death
        before = usages_of(start)
        start = death.start
        usages = tuple(UsageChange(name, before[name], after) for name, after in usages_of(start).items())
        done.append(ChangeDone("dies", change.broker, death.landings, usages=usages))
    return start, done


def usages_of(start: ShedStart) -> dict[str, float]:
    """The weighted usage of every broker, as placement and shedding see it."""
    return {load.broker: weighted_usage(load, start.settings, start.rules, heap=True) for load in start.loads}


def _idle(change: ChangeDone, ahead: ShedAhead) -> ChangeDone:
    broker = change.broker
    first = next((c.number for c in ahead.cycles if any(move.destination == broker for move in c.moves)), None)
    at_end = ahead.cycles[-1].loads.get(broker)
    gained = len(at_end.bundles) if at_end is not None else 0
    born_with = next((load.bundles for load in ahead.start.loads if load.broker == broker), ())
    idle = 0 if born_with else None if first is None else first - 1
    return replace(change, idle_cycles=idle, gained=gained)


def _strip_cell(cycle: AheadCycle) -> StripCell:
    return StripCell(
        cycle.number,
        len(cycle.moves),
        sum(move.topics for move in cycle.moves),
        sum(move.msgs_per_sec for move in cycle.moves),
        sum(move.returns for move in cycle.moves),
    )


def _returning(ahead: ShedAhead) -> tuple[Loop, ...]:
    """Bundles that come back to a broker they had left, or are unloaded and stay; only those that move are followed."""
    moved = {move.bundle for move in ahead.moves}
    owners = {bundle: load.broker for load in ahead.start.loads for bundle in load.bundles if bundle in moved}
    history = [dict(owners)]
    for cycle in ahead.cycles:
        changed = {move.bundle: move.destination for move in cycle.moves if move.destination is not None}
        owners.update(changed)
        # The places of the history are those of the cycles, so a quiet one has a place as well.
        history.append(changed)
    back = (replace(loop, cycles=tuple(place - 1 for place in loop.cycles)) for loop in returning_bundles(history))
    return (*back, *_unloaded_for_nothing(ahead))


def _unloaded_for_nothing(ahead: ShedAhead) -> Iterable[Loop]:
    """Bundles that the placement gives to the broker that sheds them."""
    stayed: dict[tuple[str, str], list[int]] = {}
    for cycle in ahead.cycles:
        for move in cycle.moves:
            if move.destination == move.source:
                stayed.setdefault((move.bundle, move.source), []).append(cycle.number)
    for (bundle, broker), cycles in stayed.items():
        lasts = cycles[-1] == ahead.cycles[-1].number
        yield Loop("unloaded-for-nothing", bundle, tuple(cycles), len(cycles), lasts, f"{broker}, {broker}")


def swaps_of(ahead: ShedAhead) -> tuple[Swap, ...]:
    """Pairs of brokers between which bundles went both ways, the busiest first."""
    ways: dict[tuple[str, str], list[int]] = {}
    for cycle in ahead.cycles:
        for move in cycle.moves:
            if move.destination is not None and move.destination != move.source:
                ways.setdefault((move.source, move.destination), []).append(cycle.number)
    swaps = []
    for (source, target), there in ways.items():
        back = ways.get((target, source))
        if back is not None and source < target:
            swaps.append(Swap(source, target, len(there), len(back), tuple(sorted({*there, *back}))))
    return tuple(sorted(swaps, key=lambda swap: -(swap.there + swap.back)))


def _older(inputs: ShedInputs, settings: LoadSettings) -> Mapping[str, int]:
    """Brokers whose report is so much older than the newest that load data would not live as long, by how many ms."""
    last = {written.load.broker: written.updated_at_ms for written in inputs.written if written.updated_at_ms > 0}
    newest = max(last.values(), default=0)
    lives = settings.loadBalancerBrokerLoadDataTTLInSeconds * 1000
    return {broker: newest - at for broker, at in last.items() if newest - at > lives > 0}


def brokers_frame(view: BrokersView, cycle: int) -> BrokersFrame:
    """The page after ``cycle`` cycles, 0 for now. O(brokers and what the next cycle decides)."""
    ahead, cycles = view.ahead, view.ahead.cycles
    done = cycles[cycle - 1] if cycle else None
    coming = cycles[cycle] if cycle < len(cycles) else None
    loads = tuple(done.loads.values()) if done is not None else ahead.start.loads
    leaving: dict[str, set[str]] = {}
    for move in coming.moves if coming is not None else ():
        leaving.setdefault(move.source, set()).add(move.bundle)
    limits = _limits(view, coming or done)
    places = {name: at for at, name in enumerate(view.namespaces)}
    settings, rules = ahead.start.settings, ahead.start.rules

    def lacks(load: BrokerLoad) -> frozenset[str]:
        return ahead.start.lacking.get(load.broker, frozenset())

    rows = tuple(
        BrokerRow(
            load.broker,
            math.nan if "usage" in lacks(load) else weighted_usage(load, settings, rules, heap=True),
            math.nan if "rates" in lacks(load) else load.msgs_per_sec,
            math.nan if "rates" in lacks(load) else load.bytes_per_sec,
            load.topics,
            len(dict.fromkeys(load.bundles)),
            load.broker in view.born,
            view.older.get(load.broker, 0),
            partial(
                bars_of,
                load,
                limits.get(load.broker),
                settings,
                rules,
                limits_all=view.shedder,
                is_cut="usage" in lacks(load),
            ),
            partial(_row_blocks, view, load, places, leaving.get(load.broker)),
        )
        for load in loads
    )
    at_ms = done.at_ms if done is not None else 0
    even = done.evenness if done is not None else ahead.before
    following = None if coming is None else next_cycle(coming, view.interruptions)
    return BrokersFrame(cycle, at_ms, rows, following, even)


def usage_courses(view: BrokersView, brokers: Iterable[str]) -> tuple[Course, ...]:
    """How full some brokers are before each cycle. O(brokers asked for * cycles)."""
    start, cycles = view.ahead.start, view.ahead.cycles
    loads = [{load.broker: load for load in start.loads}, *(cycle.loads for cycle in cycles[:-1])]
    shed = [{move.source for move in cycle.moves} for cycle in cycles]

    def usage(load: BrokerLoad | None) -> float | None:
        return None if load is None else weighted_usage(load, start.settings, start.rules, heap=True)

    return tuple(
        Course(broker, tuple(usage(at.get(broker)) for at in loads), tuple(broker in at for at in shed))
        for broker in brokers
    )


def _kept_blocks(view: BrokersView, load: BrokerLoad, places: Mapping[str, int]) -> tuple[Block, ...]:
    """The bundles of a broker by namespace and range, none marked as leaving. Loads live as long as the view."""
    kept = view.kept_blocks
    if id(load) not in kept:
        kept[id(load)] = tuple(_blocks(load, places, view.home))
    return kept[id(load)]


def _row_blocks(
    view: BrokersView, load: BrokerLoad, places: Mapping[str, int], leaving: set[str] | None
) -> tuple[Block, ...]:
    return _marked(_kept_blocks(view, load, places), leaving)


def _marked(blocks: tuple[Block, ...], leaving: set[str] | None) -> tuple[Block, ...]:
    if leaving is None:
        return blocks
    return tuple(replace(block, leaves=True) if block.bundle in leaving else block for block in blocks)


def _blocks(load: BrokerLoad, places: Mapping[str, int], home: Mapping[str, str]) -> Iterable[Block]:
    stats = {one.bundle: one for one in load.stats}
    for place, bundle in sorted((places[namespace_of(name)], name) for name in dict.fromkeys(load.bundles)):
        one = stats.get(bundle)
        yield Block(
            bundle,
            place,
            one.topics if one is not None else 0,
            one.msgs_per_sec if one is not None else 0.0,
            one.bytes_per_sec if one is not None else 0.0,
            arrived=home.get(bundle) != load.broker,
        )


def _limits(view: BrokersView, cycle: AheadCycle | None) -> Mapping[str, float]:
    """The weighted usage from which the shedder takes from a broker, where it looks at usage at all."""
    if view.shedder not in (THRESHOLD, OVERLOAD) or cycle is None or not isinstance(cycle.decision, SheddingCycle):
        return {}
    return {verdict.broker: verdict.limit for verdict in cycle.decision.plan.verdicts if verdict.limit > 0}


def bars_of(
    load: BrokerLoad,
    limit: float | None,
    settings: LoadSettings,
    rules: LoadRules,
    *,
    limits_all: str = "",
    is_cut: bool = False,
) -> tuple[Bar, ...]:
    """The resources of a broker, each with the share at which its weighted usage alone would reach ``limit``.

    ``OverloadShedder`` of releases that leave weights out (``limits_all``: the shedder) compares each with the limit
    itself. A resource of weight 0 has no threshold. ``is_cut``: resources without numbers are not in the report.
    """
    weights = _weights(settings, rules)
    unweighted = limits_all == OVERLOAD and rules.overload_usage == "unweighted"
    bars = []
    for name in RESOURCES:
        weight = (0.0 if name == "memory" else 1.0) if unweighted else weights[name]
        resource = getattr(load, name)
        fault: Fault = ""
        if math.isnan(resource.usage) or math.isnan(resource.limit):
            fault = "not-a-number"
        elif not resource.limit > 0:
            fault = "not-reported" if is_cut and resource == UNUSED else "no-limit"
        elif resource.usage < 0:
            fault = "negative"
        share = math.nan if fault in ("not-a-number", "no-limit", "not-reported") else resource.percent / 100
        threshold = limit / weight if limit is not None and weight > 0 and math.isfinite(limit) else None
        bars.append(Bar(name, share, threshold, fault, counts=weight > 0))
    return tuple(bars)


def fullest_resource(load: BrokerLoad, settings: LoadSettings, rules: LoadRules) -> Resource | None:
    """The resource that makes a broker's weighted usage, the first of equals; None where none is used.

    >>> from engine.balance.brokers import ResourceUsage
    >>> from engine.load_rules import CURRENT_LOAD_RULES
    >>> load = BrokerLoad("b:1", cpu=ResourceUsage(40, 100), bandwidth_in=ResourceUsage(6, 10))
    >>> fullest_resource(load, LoadSettings(), CURRENT_LOAD_RULES)
    'bandwidth_in'
    """
    weights = _weights(settings, rules)
    weighted = {name: getattr(load, name).percent * weights[name] for name in RESOURCES if weights[name] > 0}
    used = {name: percent for name, percent in weighted.items() if percent > 0}
    return max(used, key=used.__getitem__, default=None)


def _weights(settings: LoadSettings, rules: LoadRules) -> Mapping[Resource, float]:
    inward, outward = settings.bandwidth_weights(rules)
    return {
        "cpu": settings.loadBalancerCPUResourceWeight,
        "memory": settings.loadBalancerMemoryResourceWeight if rules.heap_memory_counts else 0.0,
        "direct_memory": settings.loadBalancerDirectMemoryResourceWeight,
        "bandwidth_in": inward,
        "bandwidth_out": outward,
    }


def next_cycle(cycle: AheadCycle, interruptions: Mapping[str, Interruption]) -> NextCycle:
    """A cycle as a list of unloads with the reason of each, and of what is left alone, bundles by reason."""
    decision = cycle.decision
    if isinstance(decision, SheddingCycle):
        reasons = {verdict.broker: _numbers_of(verdict) for verdict in decision.plan.verdicts if verdict.unloaded}
        return NextCycle(
            cycle.number,
            cycle.at_ms,
            decision.no_run,
            tuple(
                NextMove(
                    move,
                    reasons.get(move.source),
                    decision.plan.destinations.get(move.bundle, ""),
                    interruptions.get(move.bundle),
                )
                for move in cycle.moves
            ),
            tuple(_left_by_modular(decision)),
            cycle.otherwise is not None,
        )
    between: dict[str, Numbers | None] = {}
    left = []
    for pair in decision.pairs:
        numbers = _pair_numbers(pair)
        if pair.outcome in ("moves", "only-idle-bundles"):
            between |= {pair.fuller: numbers, pair.emptier: _turned(numbers)}
        else:
            left.append(LeftAlone(pair.fuller, pair.outcome, other=pair.emptier, numbers=numbers))
        stays = [
            (bundle.bundle, bundle.outcome) for bundle in pair.bundles if bundle.outcome not in ("moved", "swapped")
        ]
        left += _grouped(pair.fuller, stays)
    moves = tuple(
        NextMove(move, between.get(move.source), interruption=interruptions.get(move.bundle)) for move in cycle.moves
    )
    return NextCycle(
        cycle.number,
        cycle.at_ms,
        decision.no_run or decision.skip,
        moves,
        tuple(left),
        blamed=decision.blamed or "",
        hits=decision.hits,
        deviation=decision.deviation,
        sign=decision.sign,
    )


def _left_by_modular(decision: SheddingCycle) -> list[LeftAlone]:
    left = []
    for verdict in decision.plan.verdicts:
        if verdict.outcome != "sheds":
            left.append(LeftAlone(verdict.broker, verdict.outcome, numbers=_numbers_of(verdict)))
        stays = [(bundle.bundle, bundle.outcome) for bundle in verdict.bundles if bundle.outcome != "unloaded"]
        left += _grouped(verdict.broker, stays)
    for unload in decision.unloads:
        if unload.outcome != "unloaded":
            left.append(LeftAlone(unload.source, unload.outcome, unload.bundle))
    return left


def _grouped(broker: str, stays: Sequence[tuple[str, object]]) -> list[LeftAlone]:
    by_reason: dict[object, list[str]] = {}
    for bundle, why in stays:
        by_reason.setdefault(why, []).append(bundle)
    return [
        LeftAlone(broker, why, bundles[0], count=len(bundles))  # type: ignore[arg-type]
        for why, bundles in by_reason.items()
    ]


def _numbers_of(verdict: BrokerVerdict) -> Numbers | None:
    """None where a number is not finite, so that nothing can be said with it."""
    if not math.isfinite(verdict.figure) or not math.isfinite(verdict.limit):
        return None
    need = verdict.need if math.isfinite(verdict.need) else 0.0
    return Numbers(verdict.measure, verdict.figure, verdict.limit, need, verdict.need_measure, verdict.least)


def _pair_numbers(pair: TransferPair) -> Numbers | None:
    if not math.isfinite(pair.fuller_load) or not math.isfinite(pair.emptier_load):
        return None
    need = pair.wanted_bytes_per_sec
    return Numbers("load", pair.fuller_load, pair.emptier_load, need if math.isfinite(need) else 0.0)


def _turned(numbers: Numbers | None) -> Numbers | None:
    """The same, of what the emptier broker gives back to make room."""
    return None if numbers is None else Numbers(numbers.measure, numbers.limit, numbers.figure)


def shedder_of(ahead: ShedAhead) -> str:
    """The shedder of a forecast."""
    start = ahead.start
    return start.settings.loadBalancerLoadSheddingStrategy if start.load_manager == "modular" else TRANSFER
