"""Members of broker answers that are read, by Pulsar's exact names; all others are ignored, missing ones are tolerated.

A null stands for "left out": older releases write it, and ``without_nulls`` takes it out. A number given as text, a
negative rate or a number no double can hold is refused here, by msgspec, with the place.
"""

from __future__ import annotations

import msgspec

from engine.admin.facts import ConsumerFacts, Count, Rate


class SubscriptionWire(msgspec.Struct):
    type: str = "None"
    activeConsumerName: str | None = None
    consumers: tuple[ConsumerFacts, ...] = ()
    msgRateOut: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    msgBacklog: Count = 0
    unackedMessages: Count = 0


class TopicWire(msgspec.Struct):
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    storageSize: Count = 0
    backlogSize: Count = 0
    producerCount: Count | None = None
    publishers: tuple[msgspec.Raw, ...] = ()
    subscriptions: dict[str, SubscriptionWire] = {}


class BundlesWire(msgspec.Struct):
    boundaries: list[str]
    numBundles: Count | None = None


class HashPositionsWire(msgspec.Struct):
    namespace: str
    bundle: str
    topicHashPositions: dict[str, int]
