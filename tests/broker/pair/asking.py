"""Topics made at two brokers, and both read as a dashboard does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Final

import httpx2

from tests.broker.standalone import Broker
from tests.patience import HANG_S
from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.reader import read_cluster
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.scope import Scope

NAMESPACE: Final = "public/default"


def topics_of(count: int) -> set[str]:
    return {f"persistent://{NAMESPACE}/t-{number}" for number in range(count)}


def host(broker: Broker) -> str:
    return broker.url.removeprefix("http://")


def read_from(
    broker: Broker, scope: Scope | None = None, transport: httpx2.AsyncBaseTransport | None = None
) -> ClusterReading:
    """The whole cluster, asked for at one of its brokers."""

    async def run() -> ClusterReading:
        async with AdminClient(Access(broker.url), transport=transport) as client:
            return await read_cluster(client, scope)

    return asyncio.run(run())


def make(topic: str, brokers: tuple[Broker, Broker]) -> None:
    """Make a topic at the broker that owns its bundle; the other one redirects, which changes nothing."""
    path = topic.replace("://", "/")
    owner = brokers[0].admin("GET", f"/lookup/v2/topic/{path}")["brokerUrl"]
    (broker,) = (broker for broker in brokers if owner == f"pulsar://127.0.0.1:{broker.port}")
    broker.admin("PUT", f"/admin/v2/{path}")


def wait_until_listed(brokers: tuple[Broker, Broker], topics: Collection[str]) -> None:
    """Return when the lists of what is loaded, which brokers write once a second, have all topics."""
    until = time.monotonic() + HANG_S
    while time.monotonic() < until:
        lists = b"".join(broker.raw("/admin/v2/broker-stats/topics") for broker in brokers)
        if all(f'"{topic}"'.encode() in lists for topic in topics):
            return
        time.sleep(0.1)
    raise TimeoutError("not all topics are listed")
