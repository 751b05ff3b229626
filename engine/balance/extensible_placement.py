"""Which brokers may own a bundle under the extensible manager: its filters in their order (PIP-192).

After ``BrokerLoadManagerClassFilter``, ``BrokerMaxTopicCountFilter``, ``BrokerVersionFilter``,
``AntiAffinityGroupPolicyFilter`` and ``BrokerIsolationPoliciesFilter``. Unlike the modular manager, it takes nobody
back when a filter leaves no broker over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.balance.brokers import BrokerLoad
from engine.balance.filters import (
    anti_affinity,
    below_max_topics_extensible,
    newest_version,
    permitted,
    same_load_manager,
)
from engine.balance.java_maps import concurrent_order
from engine.balance.leadership.state import ClusterPolicies, namespace_of
from engine.balance.settings import EXTENSIBLE_CLASS, LoadSettings
from engine.errors import Rejection


@dataclass(frozen=True, slots=True)
class Candidates:
    """``brokers`` that are left; ``filtered``: those left after each filter that took some away, by its name.

    The names are those of the modular manager's filters, and ``isolation``, which is its last one.
    """

    brokers: tuple[str, ...]
    filtered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def candidates_of(
    bundle: str, loads: Mapping[str, BrokerLoad], settings: LoadSettings, policies: ClusterPolicies
) -> Candidates:
    """The brokers that all filters leave over. O(brokers), for a namespace of a group O(bundles of all brokers).

    >>> loads = {name: BrokerLoad(name, topics=topics) for name, topics in (("b:1", 9), ("b:2", 3))}
    >>> candidates_of("t/n/0x0_0x1", loads, LoadSettings(loadBalancerBrokerMaxTopics=5), ClusterPolicies())
    Candidates(brokers=('b:2',), filtered={'topics': ('b:2',)})
    """
    kept = tuple(concurrent_order(loads))
    filtered: dict[str, tuple[str, ...]] = {}

    def keep(name: str, left: tuple[str, ...]) -> None:
        nonlocal kept
        if len(left) < len(kept):
            filtered[name] = left
        kept = left

    classes = {broker: load.load_manager for broker, load in loads.items() if load.load_manager is not None}
    if EXTENSIBLE_CLASS not in classes.values():
        classes = {}  # nobody runs this manager: the question is what it would do if all did
    keep("load-manager", same_load_manager(kept, classes, EXTENSIBLE_CLASS))
    topics = {broker: load.topics for broker, load in loads.items()}
    keep("topics", below_max_topics_extensible(kept, topics, settings.loadBalancerBrokerMaxTopics))
    if settings.preferLaterVersions:
        newest = newest_version(kept, {broker: load.version for broker, load in loads.items()})
        if not isinstance(newest, Rejection):
            keep("version", newest)
    namespace = namespace_of(bundle)
    domains = policies.domains if settings.failureDomainsEnabled else None
    keep("anti-affinity", anti_affinity(kept, group_bundles(namespace, loads, policies), domains))
    persistent = bundle not in policies.non_persistent
    allowed = permitted(namespace, {name: loads[name] for name in kept}, policies.isolation, persistent=persistent)
    keep("isolation", tuple(broker for broker in kept if broker in allowed))
    return Candidates(kept, filtered)


def group_bundles(namespace: str, loads: Mapping[str, BrokerLoad], policies: ClusterPolicies) -> dict[str, int] | None:
    """How many bundles of its anti-affinity group each broker owns; None for a namespace without a group.

    The modular manager counts namespaces, this one every bundle that is Owned (``getAntiAffinityNamespaceOwnedBrokers``
    has both forms).
    """
    same = policies.same_group(namespace)
    if same is None:
        return None
    return {
        broker: count
        for broker, load in loads.items()
        if (count := sum(namespace_of(each) in same for each in dict.fromkeys(load.bundles)))
    }
