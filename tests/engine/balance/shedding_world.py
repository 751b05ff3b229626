"""Brokers and bundles for tests of shedding and placement, in as few words as they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.balance.averages import BundleData, new_bundle_data
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.java_maps import concurrent_order, hash_order
from engine.balance.limits import BundleStats
from engine.balance.placement.model import Placement
from engine.balance.settings import MODULAR_CLASS
from engine.balance.shedding.model import ShedView

MB = 1048576.0


def name(at: int, namespace: str = "t/n") -> str:
    return f"{namespace}/0x{at:08x}_0x{at + 1:08x}"


def stats(bundle: str, msgs: float = 0.0, octets: float = 0.0, topics: int = 1) -> BundleStats:
    return BundleStats(bundle, topics, msg_rate_in=msgs, throughput_in_bytes_per_sec=octets)


def broker(broker_id: str, cpu: float, bundles: Iterable[BundleStats] = (), version: str | None = None) -> BrokerLoad:
    """A broker with so many percent of its cpu in use."""
    usage = ResourceUsage(cpu, 100.0)
    return report_of(broker_id, bundles, cpu=usage, version=version, load_manager=MODULAR_CLASS)


def data_of(loads: Iterable[BrokerLoad]) -> dict[str, BundleData]:
    """Averages after one sample of each bundle."""
    return {each.bundle: new_bundle_data().update(each) for load in loads for each in load.stats}


def view(
    loads: Iterable[BrokerLoad], recent: Iterable[str] = (), data: Mapping[str, BundleData] | None = None
) -> ShedView:
    """What a leader that has met these brokers in this order sees."""
    by_id = {load.broker: load for load in loads}
    known = dict(data) if data is not None else data_of(by_id.values())
    return ShedView.of(
        tuple(by_id[each] for each in concurrent_order(by_id)),
        {bundle: known[bundle] for bundle in hash_order(concurrent_order(known))},
        frozenset(recent),
    )


def first(_: str, placement: Placement) -> str:
    """A draw that always takes the first."""
    return placement.answers[0]
