"""Members of broker answers that are read, by Pulsar's exact names; all others are ignored, missing ones are tolerated.

Null stands for "left out": older releases write it. A number given as text, a negative rate or a number no double can
hold is refused here, by msgspec, with the place.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Rate = Annotated[float, msgspec.Meta(ge=0)]


class ConsumerWire(msgspec.Struct, gc=False):
    consumerName: str | None = None
    address: str | None = None
    connectedSince: str | None = None
    clientVersion: str | None = None
    msgRateOut: Rate | None = None
    msgThroughputOut: Rate | None = None
    unackedMessages: int | None = None
    availablePermits: int | None = None
    keyHashRangeArrays: list[tuple[int, int]] | None = None
    keyHashRanges: list[str] | None = None


class SubscriptionWire(msgspec.Struct):
    type: str | None = None
    activeConsumerName: str | None = None
    consumers: list[ConsumerWire | None] | None = None
    msgRateOut: Rate | None = None
    msgThroughputOut: Rate | None = None
    msgBacklog: int | None = None
    unackedMessages: int | None = None


class TopicWire(msgspec.Struct):
    msgRateIn: Rate | None = None
    msgRateOut: Rate | None = None
    msgThroughputIn: Rate | None = None
    msgThroughputOut: Rate | None = None
    storageSize: int | None = None
    backlogSize: int | None = None
    producerCount: int | None = None
    publishers: list[msgspec.Raw] | None = None
    subscriptions: dict[str, SubscriptionWire | None] | None = None


class BundlesWire(msgspec.Struct):
    boundaries: list[str]
    numBundles: int | None = None


class HashPositionsWire(msgspec.Struct):
    namespace: str
    bundle: str
    topicHashPositions: dict[str, int]
