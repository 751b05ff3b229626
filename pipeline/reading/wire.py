"""Members of answers that only the tables of a fleet use, by Pulsar's exact names; the engine reads all others."""

from __future__ import annotations

import msgspec

from engine.admin.facts import Count, Rate
from engine.admin.topics import TopicWire


class PublisherWire(msgspec.Struct, gc=False):
    producerName: str = ""
    producerId: Count = 0
    accessMode: str = ""
    address: str = ""
    connectedSince: str = ""
    clientVersion: str = ""
    msgRateIn: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    averageMsgSize: Rate = 0.0


class TopicWithPublishers(TopicWire):
    """A topic whose publishers are decoded with it; used if the whole document is sound."""

    publishers: tuple[PublisherWire, ...] = ()  # type: ignore[assignment]


class OnlyPublishers(msgspec.Struct):
    publishers: tuple[msgspec.Raw, ...] | None = None


class BundleStatsWire(msgspec.Struct, gc=False):
    topics: Count = 0
    producerCount: Count = 0
    consumerCount: Count = 0
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0


class LoadReportWire(msgspec.Struct):
    """``LocalBrokerData`` (lastStats; older ones repeat it as bundleStats) or the simple manager's ``LoadReport``."""

    brokerId: str | None = None
    webServiceUrl: str | None = None
    name: str | None = None
    brokerVersionString: str | None = None
    lastUpdate: Count = 0
    timestamp: Count = 0
    lastStats: dict[str, object] | None = None
    bundleStats: dict[str, object] | None = None
    bundles: list[str] | None = None
