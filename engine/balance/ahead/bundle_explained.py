"""Where a bundle may be, broker by broker: which filter leaves it out, what the strategy compares, and what stays.

The question is that of a look-up now: as if nobody owned the bundle. Beside it stands what a coming cycle of shedding
makes of the bundle where it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from engine.answer import about
from engine.balance.ahead.extensible import ExtensibleAhead
from engine.balance.ahead.forecast import MAX_MINUTES, shed_ahead
from engine.balance.ahead.model import AheadCycle, LoadWorld, ShedStart
from engine.balance.brokers import BrokerLoad, weighted_usage
from engine.balance.leadership.placement import Selection, permitted_brokers, select
from engine.balance.leadership.shedding import SheddingCycle, UnloadOutcome
from engine.balance.leadership.state import Leader, LeaderState, elected, namespace_of, reports_read
from engine.balance.limits import BundleStats
from engine.balance.placement.model import Placement, PlacementReason
from engine.balance.placement.strategies import (
    LEAST_RATE,
    LEAST_RESOURCE,
    ResourceMemory,
    least_resource_limit,
    long_term_score,
)
from engine.balance.shedding.model import BrokerOutcome, BundleOutcome, Comparison, TrafficMeasure
from engine.balance.shedding.strategies import TRANSFER
from engine.balance.shedding.transfer import PairOutcome, SkipReason, TopBundleOutcome, TransferCycle
from engine.bundles.plan import LoadManager
from engine.errors import Rejection

Outcome = Literal["candidate", "filtered", "not-permitted"]
OwnerInCycle = Literal[
    "takes",  # it is the emptier broker of a pair
    "not-paired",  # neither among the fullest nor among the emptiest that this cycle looks at
]
Skipped = SkipReason | Literal["switched-off", "one-broker"]
MOST_CYCLES = 20
"""How far is looked ahead for a cycle of the extensible manager that acts; its hits are in nobody's report."""


@dataclass(frozen=True, slots=True)
class BrokerExplained:
    """One broker; ``compared`` is infinite for an overloaded one."""

    broker: Annotated[str, about("Its id.")]
    outcome: Annotated[Outcome, about("Whether it may own the bundle.")]
    filter: Annotated[str, about("The filter that left it out, or nothing.")]
    chance: Annotated[float, about("How likely the strategy answers it.", 0, 1.000001)]
    compared: Annotated[
        float | None,
        about(
            "What the strategy compares: long-term messages/s, the averaged usage, or the published load as a "
            "share; null where it compares nothing, or is overloaded."
        ),
    ]
    usage: Annotated[float, about("Its largest weighted resource as a share.", nan=True)]
    msgs_per_sec: Annotated[float, about("Messages/s, in plus out.", nan=True)]
    long_term_msgs_per_sec: Annotated[
        float | None,
        about("The long-term average of its bundles; null for the extensible load manager, which keeps none."),
    ]
    topics: Annotated[int, about("Its topics.", 0)]
    of_namespace: Annotated[int, about("How many bundles of the namespace it has.", 0)]
    owns: Annotated[bool, about("Whether it has the bundle now.")]


@dataclass(frozen=True, slots=True)
class BundleExplained:
    """How the strategy answers for a bundle, and what a cycle makes of it; None where nothing came to that.

    ``stats``: what the owner reports of the bundle.
    """

    bundle: Annotated[str, about("Its full name.")]
    owner: Annotated[str | None, about("The broker that reports it.")]
    load_manager: Annotated[LoadManager, about("Whose rules these are.")]
    strategy: Annotated[str, about("The placement strategy that was asked.")]
    reason: Annotated[PlacementReason, about("How it came to its answers.")]
    compared_limit: Annotated[
        float | None,
        about(
            "A broker is drawn first if what is compared of it is not above this; null where the least wins or "
            "nothing is compared."
        ),
    ]
    brokers: Annotated[tuple[BrokerExplained, ...], about("Every broker, in the order of their reports.")]
    shedder: Annotated[str, about("The shedding strategy.")]
    cycle: Annotated[
        int,
        about(
            "The cycle that the members below are about: the next one; of the extensible load manager the first "
            "that looks at pairs.",
            1,
        ),
    ]
    skipped: Annotated[Skipped | None, about("Why the cycle moved nothing at all.")]
    broker_verdict: Annotated[
        BrokerOutcome | PairOutcome | OwnerInCycle | None,
        about(
            "What the cycle makes of the owner; of the extensible load manager what became of its pair, takes for "
            "the emptier broker of one, not-paired for one in none."
        ),
    ]
    measure: Annotated[
        Comparison | Literal["load"] | None, about("What figure and limit are; null where nothing was compared.")
    ]
    figure: Annotated[float | None, about("What the shedder compares: of a pair the owner's load.")]
    limit: Annotated[float | None, about("With what: of a pair the other broker's load.")]
    need: Annotated[
        float | None, about("The messages/s or bytes/s that the broker should lose, 0 where it did not come to that.")
    ]
    need_measure: Annotated[TrafficMeasure | None, about("Of which the need and the least are.")]
    least: Annotated[float | None, about("Less is not worth an unload; 0 without such a limit.")]
    verdict: Annotated[
        BundleOutcome | TopBundleOutcome | Literal["not-reported"] | None,
        about("What the cycle makes of the bundle; not-reported: it is not among the largest that its broker reports."),
    ]
    unload: Annotated[
        UnloadOutcome | None, about("What becomes of its unload; always null for the extensible load manager.")
    ]
    destination: Annotated[
        str | None, about("The broker it goes to in this forecast; another draw may give another one.")
    ]
    stats: BundleStats


def explain_bundle(start: ShedStart, bundle: str) -> BundleExplained | Rejection:
    """Every broker for one bundle. Refused: a bundle that no report names, and rules that no broker starts with.

    O(a cycle) for the modular manager; for the extensible one as many as it takes until it acts, ``MOST_CYCLES`` at
    most.

    >>> from engine.balance.brokers import report_of
    >>> from engine.balance.limits import BundleStats
    >>> from engine.balance.settings import LoadSettings
    >>> name = "t/n/0x00000000_0xffffffff"
    >>> reports = report_of("b:1", [BundleStats(name, 1, msg_rate_in=9.0)]), report_of("b:2", [])
    >>> found = explain_bundle(ShedStart(reports, LoadSettings(loadBalancerLoadPlacementStrategy=LEAST_RATE)), name)
    >>> found.owner, [(broker.broker, broker.chance) for broker in found.brokers if broker.chance]
    ('b:1', [('b:2', 1.0)])
    """
    owner = next((load.broker for load in start.loads if bundle in load.bundles), None)
    if owner is None:
        return Rejection("NotFound", f"no load report names the bundle {bundle}", "bundle", 404)
    return _modular(start, bundle, owner) if start.load_manager == "modular" else _extensible(start, bundle, owner)


def _modular(start: ShedStart, bundle: str, owner: str) -> BundleExplained | Rejection:
    ahead = shed_ahead(start, 1)
    if isinstance(ahead, Rejection):
        return ahead
    leader = start.leader
    state = start.state or reports_read(leader, elected(leader), start.loads)
    allowed = permitted_brokers(leader, state, bundle)
    asked, selection = select(leader, state, bundle, _first)
    if isinstance(selection, Rejection):
        return selection
    left_out = _left_out(allowed, selection.filtered)
    candidates = [broker for broker in allowed if broker not in left_out]
    compared, compared_limit = _compared(leader, asked, selection, candidates)
    brokers = tuple(
        BrokerExplained(
            load.broker,
            "not-permitted" if load.broker not in allowed else "filtered" if load.broker in left_out else "candidate",
            left_out.get(load.broker, ""),
            selection.chances.get(load.broker, 0.0),
            compared.get(load.broker),
            weighted_usage(load, start.settings, start.rules, heap=True),
            load.msgs_per_sec,
            state.known[load.broker].long_term.msgs_per_sec,
            load.topics,
            _of_namespace(load, bundle),
            load.broker == owner,
        )
        for load in start.loads
    )
    first = ahead.cycles[0]
    decision = first.decision
    assert isinstance(decision, SheddingCycle), "the modular leader decides"
    judged = [verdict for verdict in decision.plan.verdicts if verdict.broker == owner]
    mine = next((seen.outcome for verdict in judged for seen in verdict.bundles if seen.bundle == bundle), None)
    unload = next((unload.outcome for unload in decision.unloads if unload.bundle == bundle), None)
    last = judged[-1] if judged else None
    return BundleExplained(
        bundle,
        owner,
        "modular",
        leader.settings.loadBalancerLoadPlacementStrategy,
        selection.placement.reason,
        compared_limit,
        brokers,
        start.settings.loadBalancerLoadSheddingStrategy,
        first.number,
        decision.no_run,
        None if last is None else last.outcome,
        None if last is None else last.measure,
        None if last is None else last.figure,
        None if last is None else last.limit,
        None if last is None else last.need,
        None if last is None else last.need_measure,
        None if last is None else last.least,
        mine,
        unload,
        _destination(first, bundle),
        LoadWorld.of(start.loads).stats_of(bundle, owner),
    )


def _of_namespace(load: BrokerLoad, bundle: str) -> int:
    namespace = namespace_of(bundle)
    return sum(namespace_of(name) == namespace for name in dict.fromkeys(load.bundles))


def _compared(
    leader: Leader, asked: LeaderState, selection: Selection, candidates: Collection[str]
) -> tuple[Mapping[str, float], float | None]:
    """What the modular strategy compares of the candidates, and the limit of ``LeastResourceUsageWithWeight``."""
    if selection.placement.reason == "in-turn":
        return {}, None
    if leader.settings.loadBalancerLoadPlacementStrategy == LEAST_RATE:
        return {name: long_term_score(asked.known[name], leader.settings, leader.rules) for name in candidates}, None
    if not isinstance(asked.placement, ResourceMemory) or not candidates:
        return {}, None
    averages = {name: asked.placement.averages[name] for name in candidates}
    return averages, least_resource_limit(averages.values(), leader.settings)


def _left_out(allowed: tuple[str, ...], filtered: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The filter that took each broker away. One that left nobody is passed over, as the leader then takes all."""
    if "none-left" in filtered:
        return {}
    found: dict[str, str] = {}
    before = set(allowed)
    for name, kept in filtered.items():
        if name == "version-unreadable":
            found, before = {}, set(kept)
            continue
        found.update(dict.fromkeys(before - set(kept), name))
        before = set(kept)
    return found


def _first(_: str, placement: Placement) -> str:
    return placement.answers[0]


def _extensible(start: ShedStart, bundle: str, owner: str) -> BundleExplained | Rejection:
    first = shed_ahead(start, 1)
    if isinstance(first, Rejection):
        return first
    world = ExtensibleAhead(start)
    loads, candidates, placement = world.published_loads, world.candidates(bundle), world.placement(bundle)
    left_out = _left_out(tuple(load.broker for load in start.loads), candidates.filtered)
    known = [loads[broker] for broker in candidates.brokers if broker in loads]
    in_turn = placement.reason == "in-turn"
    chances = placement.chances
    brokers = []
    for load in start.loads:
        by = left_out.get(load.broker, "")
        brokers.append(
            BrokerExplained(
                load.broker,
                "not-permitted" if by == "isolation" else "filtered" if by else "candidate",
                "" if by == "isolation" else by,
                chances.get(load.broker, 0.0),
                None if by or in_turn else loads.get(load.broker),
                weighted_usage(load, start.settings, start.rules, heap=True),
                load.msgs_per_sec,
                None,
                load.topics,
                _of_namespace(load, bundle),
                load.broker == owner,
            )
        )
    cycle = _acting(start)
    decision = cycle.decision
    assert isinstance(decision, TransferCycle), "the extensible leader decides"
    broker_verdict, verdict, figure, limit = _in_pairs(decision, bundle, owner)
    even_limit = None if in_turn or not known else least_resource_limit(known, start.settings)
    return BundleExplained(
        bundle,
        owner,
        "extensible",
        LEAST_RESOURCE,
        placement.reason,
        even_limit,
        tuple(brokers),
        TRANSFER,
        cycle.number,
        decision.no_run or decision.skip,
        broker_verdict,
        None if figure is None else "load",
        figure,
        limit,
        None,
        None,
        None,
        verdict,
        None,
        _destination(cycle, bundle),
        LoadWorld.of(start.loads).stats_of(bundle, owner),
    )


def _acting(start: ShedStart) -> AheadCycle:
    """The first coming cycle that looks at pairs, and the last one that was tried where none does.

    A leader's hits are unknown, so it may act sooner. A cycle before it cannot have moved anything.
    """
    settings = start.settings
    most = max(1, min(settings.loadBalancerSheddingConditionHitCountThreshold + 1, MOST_CYCLES))
    most = min(most, max(1, MAX_MINUTES // settings.loadBalancerSheddingIntervalMinutes))
    ahead = shed_ahead(start, most)
    assert not isinstance(ahead, Rejection), ahead
    looks = (cycle for cycle in ahead.cycles if isinstance(cycle.decision, TransferCycle) and cycle.decision.pairs)
    return next(looks, ahead.cycles[-1])


def _in_pairs(
    decision: TransferCycle, bundle: str, owner: str
) -> tuple[
    PairOutcome | OwnerInCycle | None, TopBundleOutcome | Literal["not-reported"] | None, float | None, float | None
]:
    """What the pairs of a cycle make of a bundle and its owner, and the loads of the fuller and the emptier broker."""
    if not decision.pairs:
        return None, None, None, None
    for pair in decision.pairs:
        if owner not in (pair.fuller, pair.emptier):
            continue
        verdict = next((seen.outcome for seen in pair.bundles if seen.bundle == bundle), None)
        if pair.fuller == owner:
            looked_at = pair.outcome in ("moves", "nothing-to-move", "only-idle-bundles")
            mine = verdict or ("not-reported" if looked_at else None)
            return pair.outcome, mine, pair.fuller_load, pair.emptier_load
        if verdict is not None:
            return "takes", verdict, pair.emptier_load, pair.fuller_load
    takes = any(pair.emptier == owner for pair in decision.pairs)
    return ("takes" if takes else "not-paired"), None, None, None


def _destination(cycle: AheadCycle, bundle: str) -> str | None:
    return next((move.destination for move in cycle.moves if move.bundle == bundle), None)
