"""What the leader works by and what it keeps, as values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from engine.balance.averages import BundleData
from engine.balance.filters import IsolationPolicy
from engine.balance.java_maps import MapOrder
from engine.balance.placement import strategies as placements
from engine.balance.placement.model import KnownBroker
from engine.balance.placement.strategies import RoundRobinMemory
from engine.balance.settings import LoadSettings
from engine.balance.shedding import strategies as shedders
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

PolicyKind = Literal["isolation", "groups", "domains"]
POLICY_KINDS: Final[tuple[PolicyKind, ...]] = ("isolation", "groups", "domains")


@dataclass(frozen=True, slots=True)
class ClusterPolicies:
    """What the metadata says about who may own what.

    ``isolation`` in the order in which policies are tried; ``groups``: anti-affinity group by namespace; ``domains``:
    failure domain by broker. ``non_persistent``: bundles that hold non-persistent topics. ``unknown``: the kinds that
    nothing was read about, which are empty here and may not be there.
    """

    isolation: tuple[IsolationPolicy, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    non_persistent: Collection[str] = ()
    unknown: tuple[PolicyKind, ...] = ()

    def same_group(self, namespace: str) -> frozenset[str] | None:
        """All namespaces of a namespace's anti-affinity group, itself included; None for one without a group."""
        group = self.groups.get(namespace)
        if group is None:
            return None
        return frozenset(name for name, other in self.groups.items() if other.lower() == group.lower())


@dataclass(frozen=True, slots=True)
class Leader:
    """What one leader works by: settings, policies, release. What it remembers is in :class:`LeaderState`."""

    settings: LoadSettings = field(default_factory=LoadSettings)
    policies: ClusterPolicies = field(default_factory=ClusterPolicies)
    rules: LoadRules = CURRENT_LOAD_RULES


@dataclass(frozen=True, slots=True)
class LeaderState:
    """Everything the leader keeps. A new leader starts with all of it empty.

    ``served``: which bundles the leader thinks each broker has, by the reports and by what it placed since.
    ``preallocations``: who gets a bundle that was placed and is not reported yet, in a map of its own for each broker
    (``tables``); ``wishes``: where an unloaded bundle is to go at its next look-up. ``recently_unloaded``: when, in
    milliseconds. ``candidates`` is one set that is used again and again, so it keeps its size.
    """

    brokers: MapOrder = field(default_factory=lambda: MapOrder("concurrent"))
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
