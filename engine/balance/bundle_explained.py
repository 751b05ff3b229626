"""Where a bundle may be, broker by broker: which filter leaves it out, what the strategy compares, and what stays.

The question is that of a look-up now: as if nobody owned the bundle. Beside it stands what the next cycle of shedding
makes of the bundle where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.balance.brokers import weighted_usage
from engine.balance.leadership.placement import permitted_brokers, select
from engine.balance.leadership.reports import reports_read
from engine.balance.leadership.shedding import SheddingCycle, UnloadOutcome
from engine.balance.leadership.state import ClusterPolicies, Leader, elected
from engine.balance.placement.model import Placement, PlacementReason
from engine.balance.shed_ahead import shed_ahead
from engine.balance.shed_ahead_model import ShedStart
from engine.balance.shedding.model import BrokerOutcome, BundleOutcome
from engine.errors import Rejection

Outcome = Literal["candidate", "filtered", "not-permitted"]


@dataclass(frozen=True, slots=True)
class BrokerExplained:
    """One broker. ``filter`` is the one that left it out, "" for a candidate and where isolation forbids it.

    ``chance`` that the strategy answers it; ``usage`` is its largest weighted resource, ``msgs_per_sec`` what it
    reports, ``long_term_msgs_per_sec`` the average that ``LeastLongTermMessageRate`` compares, ``topics`` all of it.
    """

    broker: str
    outcome: Outcome
    filter: str
    chance: float
    usage: float
    msgs_per_sec: float
    long_term_msgs_per_sec: float
    topics: int
    owns: bool


@dataclass(frozen=True, slots=True)
class BundleExplained:
    """``reason`` is how the strategy came to its answers; ``strategy`` the class that was asked.

    What the next cycle makes of it: ``broker_verdict`` of its owner, ``verdict`` of the bundle itself and what became
    ``unloaded`` of it; each None where nothing came to that.
    """

    bundle: str
    owner: str | None
    strategy: str
    reason: PlacementReason
    brokers: tuple[BrokerExplained, ...]
    shedder: str
    broker_verdict: BrokerOutcome | None
    figure: float | None
    limit: float | None
    verdict: BundleOutcome | None
    unload: UnloadOutcome | None


def explain_bundle(start: ShedStart, bundle: str) -> BundleExplained | Rejection:
    """Every broker for one bundle. Refused: a bundle that no report names, and rules that no broker starts with.

    Only the modular load manager is explained; the extensible one is refused. O(a cycle).

    >>> from engine.balance.brokers import report_of
    >>> from engine.balance.limits import BundleStats
    >>> name = "t/n/0x00000000_0xffffffff"
    >>> reports = report_of("b:1", [BundleStats(name, 1, msg_rate_in=9.0)]), report_of("b:2", [])
    >>> found = explain_bundle(ShedStart(reports), name)
    >>> found.owner, [(each.broker, each.chance) for each in found.brokers if each.chance]
    ('b:1', [('b:2', 1.0)])
    """
    if start.load_manager != "modular":
        return Rejection("Unsupported", "only placements of the modular load manager are explained", "load_manager")
    owner = next((load.broker for load in start.loads if bundle in load.bundles), None)
    if owner is None:
        return Rejection("NotFound", f"no load report names the bundle {bundle}", "bundle", 404)
    ahead = shed_ahead(start, 1)
    if isinstance(ahead, Rejection):
        return ahead
    leader = Leader(start.settings, start.policies or ClusterPolicies(), start.rules)
    state = start.state or reports_read(leader, elected(leader), start.loads)
    allowed = permitted_brokers(leader, state, bundle)
    _, selection = select(leader, state, bundle, _first)
    if isinstance(selection, Rejection):
        return selection
    left_out = _left_out(allowed, selection.filtered)
    brokers = tuple(
        BrokerExplained(
            load.broker,
            "not-permitted" if load.broker not in allowed else "filtered" if load.broker in left_out else "candidate",
            left_out.get(load.broker, ""),
            selection.chances.get(load.broker, 0.0),
            weighted_usage(load, start.settings, start.rules, heap=True),
            load.msgs_per_sec,
            state.known[load.broker].long_term.msgs_per_sec,
            load.topics,
            load.broker == owner,
        )
        for load in start.loads
    )
    decision = ahead.cycles[0].decision
    assert isinstance(decision, SheddingCycle), "the modular leader decides"
    judged = [each for each in decision.plan.verdicts if each.broker == owner]
    mine = next((each.outcome for one in judged for each in one.bundles if each.bundle == bundle), None)
    unload = next((each.outcome for each in decision.unloads if each.bundle == bundle), None)
    last = judged[-1] if judged else None
    return BundleExplained(
        bundle,
        owner,
        start.settings.loadBalancerLoadPlacementStrategy,
        selection.placement.reason,
        brokers,
        start.settings.loadBalancerLoadSheddingStrategy,
        None if last is None else last.outcome,
        None if last is None else last.figure,
        None if last is None else last.limit,
        mine,
        unload,
    )


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
        before &= set(kept)
    return found


def _first(_: str, placement: Placement) -> str:
    return placement.answers[0]
