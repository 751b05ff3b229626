"""Reported bundles: their rates and owners, the owner of a topic, and what unloading interrupts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from engine.admin.facts import Snapshot, WrittenLoad
from engine.admin.interruptions import Interruption, Interruptions
from engine.bundles.boundaries import namespace_bundles, parse_range
from engine.bundles.loads import bundle_of_topic
from engine.errors import Rejection
from engine.views.failover.model import BundleNode, DashboardView, NamespaceNode
from engine.views.reported.model import ReportedBroker, ReportedLoad
from engine.views.reported.view import Reported

if TYPE_CHECKING:
    from engine.balance.brokers import ResourceUsage
    from engine.balance.limits import BundleStats


def with_load_reports(view: DashboardView, reported: Reported, moment: int) -> DashboardView:
    """The view with what load reports said of each bundle, where no topic is known whose sums could be shown."""
    if moment < 0 or any(namespace.topics for namespace in view.namespaces):
        return view
    loads = reported.known(moment).broker_loads
    if not loads:
        return view
    by_bundle = _by_bundle(loads)
    return replace(
        view,
        namespaces=tuple(_namespace(namespace, by_bundle) for namespace in view.namespaces),
        brokers=tuple(_broker(written) for written in loads.values()),
    )


def _by_bundle(loads: Mapping[str, WrittenLoad]) -> dict[str, ReportedLoad]:
    """The bundles of all brokers by their full names; one that two brokers report is the later one's."""
    loads_by_bundle = {}
    for written in sorted(loads.values(), key=lambda written: written.updated_at_ms):
        load = written.load
        loads_by_bundle.update({name: _load(load.broker, ()) for name in load.bundles})
        loads_by_bundle.update({stats.bundle: _load(load.broker, (stats,)) for stats in load.stats})
    return loads_by_bundle


def _load(owner: str, bundles: Iterable[BundleStats]) -> ReportedLoad:
    stats = list(bundles)
    return ReportedLoad(
        owner,
        sum(one.topics for one in stats),
        sum(one.producers for one in stats),
        sum(one.consumers for one in stats),
        sum(one.msg_rate_in + one.msg_rate_out for one in stats),
        sum(one.throughput_in_bytes_per_sec + one.throughput_out_bytes_per_sec for one in stats),
    )


def _namespace(node: NamespaceNode, loads: Mapping[str, ReportedLoad]) -> NamespaceNode:
    roots = tuple(_bundle(root, loads) for root in node.roots)
    mine = [load for name, load in loads.items() if name.rpartition("/")[0] == node.name]
    sums = ReportedLoad(
        "",
        sum(load.topics for load in mine),
        sum(load.producers for load in mine),
        sum(load.consumers for load in mine),
        sum(load.msgs_per_sec for load in mine),
        sum(load.bytes_per_sec for load in mine),
    )
    return replace(node, roots=roots, reported=sums)


def _bundle(node: BundleNode, loads: Mapping[str, ReportedLoad]) -> BundleNode:
    load = loads.get(f"{node.namespace}/{node.range_text}")
    if load is None and not node.children:
        return node
    return replace(node, reported=load, children=tuple(_bundle(child, loads) for child in node.children))


def _broker(written: WrittenLoad) -> ReportedBroker:
    from engine.admin.load_reports import all_bundles

    load = written.load
    sums = _load(load.broker, load.stats)
    return ReportedBroker(
        load.broker,
        written.updated_at_ms if written.updated_at_ms > 0 else -1,
        len(frozenset(all_bundles(load))),
        sums.msgs_per_sec,
        sums.bytes_per_sec,
        _usage(load.cpu),
        _usage(load.memory),
    )


def _usage(resource: ResourceUsage) -> tuple[float, float] | None:
    """Usage and limit; None where the report lacks them."""
    return (resource.usage, resource.limit) if resource.usage or resource.limit else None


class Whereabouts(Struct, frozen=True):
    """``broker`` owns the topic, "" where no answer says it; ``by_look_up``: an answer about the topic says so."""

    broker: str
    by_look_up: bool
    unload: Interruption


def whereabouts_of(snapshot: Snapshot, topic: str, namespace: str, bundle: str) -> Whereabouts | None:
    """Who owns a topic, and what unloading its bundle interrupts. None without a bundle. O(topics)."""
    if isinstance(parse_range(bundle), Rejection):
        return None
    looked_up, name = snapshot.owners.get(topic), f"{namespace}/{bundle}"
    unload = Interruptions(lambda: snapshot).of(name) or Interruption()
    return Whereabouts(looked_up or snapshot.owners.get(name, ""), looked_up is not None, unload)


def reported_bundle(snapshot: Snapshot, topic: str, namespace: str) -> str | None:
    """The range of the bundle that has a topic, by broker-stats or the boundaries of its namespace; None for neither.

    >>> from engine.admin.facts import BundleList
    >>> known = Snapshot("here", {}, bundles={"t/n": BundleList((0, 2**31, 2**32 - 1))})
    >>> reported_bundle(known, "persistent://t/n/x", "t/n"), reported_bundle(known, "persistent://t/m/x", "t/m")
    ('0x00000000_0x80000000', None)
    """
    listed = snapshot.bundle_of_topic.get(topic)
    if listed is not None or namespace not in snapshot.bundles:
        return listed
    bundles = namespace_bundles(namespace, snapshot.bundles[namespace].boundaries)
    bundle = None if isinstance(bundles, Rejection) else bundle_of_topic(bundles, topic)
    return None if bundle is None else str(bundle)
