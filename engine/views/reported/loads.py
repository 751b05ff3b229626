"""Bundles of which load reports alone are known: their rates and owners beside the tree of bundles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from engine.admin.facts import WrittenLoad
from engine.admin.load_reports import all_bundles
from engine.balance.brokers import ResourceUsage
from engine.balance.limits import BundleStats
from engine.views.failover.model import BundleNode, DashboardView, NamespaceNode
from engine.views.reported.model import ReportedBroker, ReportedLoad
from engine.views.reported.view import Reported


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
    found = {}
    for written in sorted(loads.values(), key=lambda written: written.updated_at_ms):
        load = written.load
        found.update({name: _load(load.broker, ()) for name in load.bundles})
        found.update({each.bundle: _load(load.broker, (each,)) for each in load.stats})
    return found


def _load(owner: str, bundles: Iterable[BundleStats]) -> ReportedLoad:
    each = list(bundles)
    return ReportedLoad(
        owner,
        sum(one.topics for one in each),
        sum(one.producers for one in each),
        sum(one.consumers for one in each),
        sum(one.msg_rate_in + one.msg_rate_out for one in each),
        sum(one.throughput_in_bytes_per_sec + one.throughput_out_bytes_per_sec for one in each),
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
    found = loads.get(f"{node.namespace}/{node.range_text}")
    if found is None and not node.children:
        return node
    return replace(node, reported=found, children=tuple(_bundle(child, loads) for child in node.children))


def _broker(written: WrittenLoad) -> ReportedBroker:
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
    """How much is used and the limit; None where the report says nothing of it."""
    return (resource.usage, resource.limit) if resource.usage or resource.limit else None
