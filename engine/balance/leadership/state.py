"""What the leader works by and what it keeps, as values, and what load reports change in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.balance.averages import BundleData, TimeAverageMessageData, new_bundle_data
from engine.balance.brokers import BrokerLoad, overload_usage, time_average
from engine.balance.java_maps import MapOrder, hash_order_of_all
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.placement import strategies as placements
from engine.balance.placement.model import KnownBroker
from engine.balance.placement.strategies import RoundRobinMemory
from engine.balance.settings import LoadSettings
from engine.balance.shedding import strategies as shedders
from engine.balance.shedding.average import AverageMemory
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules


@dataclass(frozen=True, slots=True)
class Leader:
    """What one leader works by: settings, policies, release. What it remembers is in :class:`LeaderState`."""

    settings: LoadSettings = field(default_factory=LoadSettings)
    policies: ClusterPolicies = field(default_factory=ClusterPolicies)
    rules: LoadRules = CURRENT_LOAD_RULES


@dataclass(frozen=True, slots=True)
class LeaderState:
    """Everything the leader keeps. A new leader starts with all of it empty.

    ``brokers`` are those with reports in the order of the leader's map, ``active`` the same in the order in which they
    are listed for a placement. ``served``: which bundles the leader thinks each broker has, by the reports and by what
    it placed since. ``preallocations``: who gets a bundle that was placed and is not reported yet, in a map of its own
    for each broker (``tables``); ``wishes``: where an unloaded bundle is to go at its next look-up.
    ``recently_unloaded``: when, in milliseconds. ``candidates`` is one set that is used over and over, so it keeps
    its size.
    """

    brokers: MapOrder = field(default_factory=lambda: MapOrder("concurrent"))
    active: MapOrder = field(default_factory=lambda: MapOrder("hash"))
    known: Mapping[str, KnownBroker] = field(default_factory=dict)
    tables: Mapping[str, MapOrder] = field(default_factory=dict)
    bundles: MapOrder = field(default_factory=lambda: MapOrder("concurrent"))
    data: Mapping[str, BundleData] = field(default_factory=dict)
    served: Mapping[str, frozenset[str]] = field(default_factory=dict)
    preallocations: Mapping[str, str] = field(default_factory=dict)
    wishes: Mapping[str, str] = field(default_factory=dict)
    recently_unloaded: Mapping[str, int] = field(default_factory=dict)
    candidates: MapOrder = field(default_factory=lambda: MapOrder("hash"))
    shedder: shedders.ShedderMemory = field(default_factory=lambda: MapOrder("hash"))
    placement: placements.PlacementMemory = None
    excluded: RoundRobinMemory = field(default_factory=RoundRobinMemory)


def elected(leader: Leader) -> LeaderState:
    """The state of a leader that has just been elected."""
    return LeaderState(
        shedder=shedders.new_memory(leader.settings.loadBalancerLoadSheddingStrategy),
        placement=placements.new_memory(leader.settings.loadBalancerLoadPlacementStrategy),
    )


def namespace_of(bundle: str) -> str:
    """The namespace of a bundle's full name."""
    return bundle.rpartition("/")[0]


def reports_read(
    leader: Leader, state: LeaderState, reports: Sequence[BrokerLoad], leader_owns: Collection[str] = ()
) -> LeaderState:
    """The state after the leader has read all reports (``updateAll``), which any written report makes it do.

    ``reports`` are those of all living brokers; ``leader_owns``: the bundles of the leader itself. A broker that
    appears or disappears makes it read everything twice (:func:`brokers_changed`). O(reported bundles).
    """
    alive = {load.broker: load for load in reports}
    shedder, placement = state.shedder, state.placement
    if any(broker not in alive for broker in state.brokers):
        shedder = shedders.with_active(shedder, alive, leader.rules)
        placement = placements.with_active(placement, alive, leader.rules)
    active = hash_order_of_all(alive, roomy=leader.rules.roomy_sets)
    # New brokers come into the map while those that are gone still take their room.
    brokers = state.brokers.updated(active).replaced(alive)
    data = dict(state.data)
    reported: dict[str, None] = {}
    long_term: dict[str, TimeAverageMessageData] = {}
    kept: dict[str, tuple[str, ...]] = {}
    for broker in brokers:
        load = alive[broker]
        for stats in load.stats:
            reported[stats.bundle] = None
            known = data.get(stats.bundle)
            data[stats.bundle] = (new_bundle_data() if known is None else known).update(stats)
        placed = state.known[broker].preallocated if broker in state.known else {}
        kept[broker] = _still_placed(leader, placed, load, data, leader_owns)
        long_term[broker] = time_average((stats.bundle for stats in load.stats), data)
    known_brokers: dict[str, KnownBroker] = {}
    tables: dict[str, MapOrder] = {}
    for broker in brokers:
        tables[broker] = state.tables.get(broker, MapOrder("concurrent")).replaced(kept[broker])
        placed = state.known[broker].preallocated if kept[broker] else {}
        still = {
            # What was placed is the leader's own record of the bundle, so it goes on with it.
            bundle: data.get(bundle, placed[bundle]) if state.data.get(bundle) is placed[bundle] else placed[bundle]
            for bundle in tables[broker]
        }
        usage = overload_usage(alive[broker], leader.settings, leader.rules)
        known_brokers[broker] = KnownBroker(alive[broker], long_term[broker], still, usage)
    kept_data = {bundle: data[bundle] for bundle in reported}
    return replace(
        state,
        brokers=brokers,
        active=active,
        known=known_brokers,
        tables=tables,
        bundles=state.bundles.updated(reported).replaced(
            [bundle for bundle in (*state.bundles, *reported) if bundle in reported]
        ),
        data=kept_data,
        served={
            broker: _same_or_new(state.served.get(broker), (*alive[broker].bundles, *kept[broker]))
            for broker in brokers
        },
        # They leave this table even where they stay with their broker.
        preallocations={},
        shedder=_sampled(leader, shedder, state.data, kept_data),
        placement=placement,
    )


def _sampled(
    leader: Leader, shedder: shedders.ShedderMemory, before: Collection[str], data: Mapping[str, BundleData]
) -> shedders.ShedderMemory:
    """The shedder's memory after a reading; ``before``: the bundles that the leader had a record of already."""
    if not isinstance(shedder, AverageMemory):
        return shedder
    records = {bundle: data[bundle] for bundle in shedder.owners.values() if bundle in before and bundle in data}
    return shedder.sampled(records, leader.rules)


def _same_or_new(before: frozenset[str] | None, bundles: Sequence[str]) -> frozenset[str]:
    """The set of some bundles, the former one where it is equal: it is counted by namespace once for each object."""
    new = frozenset(bundles)
    return new if before is None or before != new else before


def broker_gone(
    leader: Leader, state: LeaderState, sampled: LeaderState, reports: Sequence[BrokerLoad], gone: BrokerLoad
) -> LeaderState:
    """:func:`brokers_changed` for one broker that is gone, by what all reports with its own came to. O(bundles).

    ``sampled`` is the state that ``brokers_changed`` makes of ``state`` while all are alive, the same for every broker
    that may go: a bundle's averages do not depend on who else reports. Where they do, because two brokers report the
    same bundle or placements are pending, everything is read again.
    """
    lost = dict.fromkeys(stats.bundle for stats in gone.stats)
    pending = any(broker.preallocated for broker in state.known.values())
    if (
        gone.broker not in state.brokers
        or pending
        or any(not lost.keys().isdisjoint(report.bundles) for report in reports)
    ):
        return brokers_changed(leader, state, reports)
    alive = {load.broker: load for load in reports}
    brokers = state.brokers.replaced(alive)
    data = {bundle: data for bundle, data in sampled.data.items() if bundle not in lost}
    shedder = shedders.with_active(state.shedder, alive, leader.rules)
    return replace(
        sampled,
        brokers=brokers,
        active=hash_order_of_all(alive, roomy=leader.rules.roomy_sets),
        known={broker: sampled.known[broker] for broker in brokers},
        tables={broker: sampled.tables[broker] for broker in brokers},
        bundles=sampled.bundles.updated(remove=lost),
        data=data,
        served={broker: sampled.served[broker] for broker in brokers},
        shedder=_sampled(leader, shedder, data, data),
        placement=placements.with_active(state.placement, alive, leader.rules),
    )


def _still_placed(
    leader: Leader,
    placed: Collection[str],
    load: BrokerLoad,
    data: Collection[str],
    leader_owns: Collection[str],
) -> tuple[str, ...]:
    """The bundles placed on a broker that still count there after its report; ``data``: those with averages."""
    if leader.rules.placements_kept == "leaders-own":
        return tuple(
            bundle for bundle in placed if bundle in leader_owns and not (bundle in load.bundles and bundle in data)
        )
    if not any(bundle in load.bundles for bundle in placed):
        return tuple(placed)
    return tuple(bundle for bundle in placed if bundle not in data)


def brokers_changed(
    leader: Leader, state: LeaderState, reports: Sequence[BrokerLoad], leader_owns: Collection[str] = ()
) -> LeaderState:
    """The state after a broker appeared or disappeared: its node and the list above it, so all is read twice."""
    return reports_read(leader, reports_read(leader, state, reports, leader_owns), reports, leader_owns)
