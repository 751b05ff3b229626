"""Members of broker answers that are read, by Pulsar's exact names; all others are ignored, missing ones are tolerated.

A null stands for "left out": older releases write it, and ``without_nulls`` takes it out. A number given as text, a
negative rate or a number no double can hold is refused here, by msgspec, with the place.
"""

from __future__ import annotations

import msgspec

from engine.admin.facts import Count, Counter, Rate, SubscriptionFacts


class TopicWire(msgspec.Struct):
    msgRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    storageSize: Count = 0
    backlogSize: Count = 0
    producerCount: Count | None = None
    publishers: tuple[msgspec.Raw, ...] = ()
    subscriptions: dict[str, SubscriptionFacts] = {}
    msgInCounter: Counter | None = None
    msgOutCounter: Counter | None = None
    backlogQuotaLimitSize: Counter = -1
    waitingPublishers: Count = 0
    lastPublishTimeStamp: Counter = 0


class BundlesWire(msgspec.Struct):
    boundaries: list[str]
    numBundles: Count | None = None


class HashPositionsWire(msgspec.Struct):
    namespace: str
    bundle: str
    topicHashPositions: dict[str, int]
