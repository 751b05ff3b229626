"""Which brokers the extensible load manager lets own a bundle: its filters, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from engine.balance.brokers import BrokerLoad
from engine.balance.filters import below_max_topics_extensible, newest_version, permitted, same_load_manager
from engine.balance.java_maps import concurrent_order
from engine.balance.leadership.state import ClusterPolicies, namespace_of
from engine.balance.settings import EXTENSIBLE_CLASS, LoadSettings
from engine.errors import Rejection


def extensible_candidates(
    bundle: str, loads: Mapping[str, BrokerLoad], settings: LoadSettings, policies: ClusterPolicies | None
) -> tuple[str, ...]:
    """The brokers that are left for a bundle after the filters by class, topics, version and isolation.

    In the order of the leader's ``ConcurrentHashMap``. Unknown ``policies`` forbid nothing. O(brokers).

    >>> loads = {name: BrokerLoad(name, topics=topics) for name, topics in (("b:1", 9), ("b:2", 10))}
    >>> extensible_candidates("t/n/0x00000000_0xffffffff", loads, LoadSettings(loadBalancerBrokerMaxTopics=10), None)
    ('b:1',)
    """
    classes = {broker: load.load_manager for broker, load in loads.items() if load.load_manager is not None}
    kept = same_load_manager(tuple(concurrent_order(loads)), classes, EXTENSIBLE_CLASS)
    topics = {broker: load.topics for broker, load in loads.items()}
    kept = below_max_topics_extensible(kept, topics, settings.loadBalancerBrokerMaxTopics)
    if settings.preferLaterVersions:
        newest = newest_version(kept, {broker: load.version for broker, load in loads.items()})
        kept = kept if isinstance(newest, Rejection) else newest
    isolation = (policies or ClusterPolicies()).isolation
    allowed = permitted(namespace_of(bundle), {broker: loads[broker] for broker in kept}, isolation)
    return tuple(broker for broker in kept if broker in allowed)
