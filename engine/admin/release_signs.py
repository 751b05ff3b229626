"""What in statistics only some releases print: the evidence for a release that no answer names.

``SIGNS`` is all of it. A member that a release added proves that release or a later one, one that it dropped an older
one. That members are missing proves something only in an object that a broker printed whole, and only where a group of
them is missing: people shorten what they paste, and other clients print the members that they know.
The releases of each member are those of recordings (2.11.0 to 5.0.1) between which it appears, and of the pull request
that brought it. ``clientVersion`` is the client's and proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, Final

import msgspec

from engine.admin.kinds import AnswerKind
from engine.releases import Release

MOST_BYTES: Final = 1 << 21
"""Answers that are searched for signs, in bytes of all of them; more would not change the result."""
_MOST_TOPICS, _MOST_SUBSCRIPTIONS, _MOST_CONSUMERS = 8, 8, 8


_RATES: Final = "msgRateOut msgThroughputOut bytesOutCounter msgOutCounter"


class Level(Enum):
    """The object that a member belongs to, and the members of it that all releases print; without one of them it was
    shortened, or printed by another client.
    """

    TOPIC = frozenset(
        f"{_RATES} msgRateIn msgThroughputIn bytesInCounter msgInCounter averageMsgSize msgChunkPublished storageSize"
        " backlogSize publishRateLimitedTimes earliestMsgPublishTimeInBacklogs offloadedStorageSize"
        " lastOffloadLedgerId lastOffloadSuccessTimeStamp lastOffloadFailureTimeStamp publishers waitingPublishers"
        " subscriptions replication nonContiguousDeletedMessagesRanges"
        " nonContiguousDeletedMessagesRangesSerializedSize delayedMessageIndexSizeInBytes compaction".split()
    )
    SUBSCRIPTION = frozenset(
        f"{_RATES} msgRateRedeliver messageAckRate chunkedMessageRate msgBacklog backlogSize"
        " earliestMsgPublishTimeInBacklog msgBacklogNoDelayed blockedSubscriptionOnUnackedMsgs msgDelayed"
        " unackedMessages msgRateExpired totalMsgExpired lastExpireTimestamp lastConsumedFlowTimestamp"
        " lastConsumedTimestamp lastAckedTimestamp lastMarkDeleteAdvancedTimestamp consumers isDurable isReplicated"
        " allowOutOfOrderDelivery nonContiguousDeletedMessagesRanges"
        " nonContiguousDeletedMessagesRangesSerializedSize subscriptionProperties filterProcessedMsgCount"
        " filterAcceptedMsgCount filterRejectedMsgCount filterRescheduledMsgCount durable replicated".split()
    )
    CONSUMER = frozenset(
        f"{_RATES} msgRateRedeliver messageAckRate chunkedMessageRate availablePermits unackedMessages"
        " avgMessagesPerEntry blockedConsumerOnUnackedMsgs lastAckedTimestamp lastConsumedTimestamp"
        " lastConsumedFlowTimestamp".split()
    )


class Shows(Enum):
    """How members show a sign: one is there in a whole object, all are missing in one, or one is filled anywhere."""

    PRESENT = "present"
    MISSING = "missing"
    FILLED = "filled"


@dataclass(frozen=True, slots=True)
class Sign:
    """Evidence for releases. ``since``: the first that may have it, one a line. ``before``: the first without it.

    ``unless``: members of the same object that make it no evidence.
    """

    id: str
    what: str
    since: tuple[Release, ...] = ()
    before: tuple[Release, ...] = ()
    level: Level = Level.SUBSCRIPTION
    members: tuple[str, ...] = ()
    shows: Shows = Shows.PRESENT
    unless: tuple[str, ...] = ()

    def fits(self, release: Release) -> bool:
        """Whether brokers of a release can have printed it."""
        return (not self.since or release.has(*self.since)) and not (self.before and release.has(*self.before))


RECENTLY_JOINED: Final = "recently-joined"
"""The sign of an order by consumers that joined recently: of an older release, or of the classic dispatcher of 4.x."""
_5_0: Final = Release(5, 0, 0)
_RECENT: Final = ("readPositionWhenJoining", "keyHashRanges")
_4_0: Final = Release(4, 0, 0, milestone=0)
_QUOTA: Final = ("backlogQuotaLimitSize", "backlogQuotaLimitTime", "oldestBacklogMessageAgeSeconds")
_SYSTEM: Final = ("systemTopicBytesInCounter", "bytesOutInternalCounter")
_DRAINING: Final = ("drainingHashesCount", "drainingHashesClearedTotal", "drainingHashesUnackedMessages")
_THROTTLED: Final = tuple(
    f"dispatchThrottled{unit}EventsBy{owner}Limit"
    for unit in ("Msg", "Bytes")
    for owner in ("Subscription", "Topic", "Broker")
)
_TIMES: Final = ("topicCreationTimeStamp", "lastPublishTimeStamp")
_FIRSTS: Final = ("firstMessagesSentTimestamp", "firstConsumedFlowTimestamp")

SIGNS: Final[Mapping[str, Sign]] = {
    sign.id: sign
    for sign in (
        # #19595 gave the member its new name.
        Sign("delayed-memory", "delayedTrackerMemoryUsage", before=(Release(3, 0, 0),),
             members=("delayedTrackerMemoryUsage",)),
        Sign("delayed-index", "delayedMessageIndexSizeInBytes of a subscription", since=(Release(3, 0, 0),),
             members=("delayedMessageIndexSizeInBytes",)),
        # PIP-323 and PIP-355.
        Sign("quota", "the topic's backlog quota", since=(Release(3, 0, 3), Release(3, 2, 4)), level=Level.TOPIC,
             members=_QUOTA),
        Sign("no-quota", "no backlog quota of the topic", before=(Release(3, 0, 7), Release(3, 3, 2)),
             level=Level.TOPIC, members=_QUOTA, shows=Shows.MISSING),
        Sign("system-bytes", "systemTopicBytesInCounter", since=(Release(3, 0, 8), Release(3, 2, 4)),
             level=Level.TOPIC, members=_SYSTEM),
        Sign("no-system-bytes", "no systemTopicBytesInCounter", before=(Release(3, 3, 2),), level=Level.TOPIC,
             members=_SYSTEM, shows=Shows.MISSING),
        # PIP-379: the classic dispatcher of 4.x fills the older members beside the newer ones; #26687 removed it.
        Sign("recent-consumer", "readPositionWhenJoining", before=(_4_0,), level=Level.CONSUMER, members=_RECENT,
             shows=Shows.FILLED, unless=_DRAINING),
        Sign("recent-names", "consumersAfterMarkDeletePosition", before=(_4_0,),
             members=("consumersAfterMarkDeletePosition",), shows=Shows.FILLED, unless=_DRAINING),
        Sign(RECENTLY_JOINED, "readPositionWhenJoining", before=(_5_0,), level=Level.CONSUMER, members=_RECENT,
             shows=Shows.FILLED),
        Sign("draining", "drainingHashesCount", since=(_4_0,), members=_DRAINING),
        Sign("range-arrays", "keyHashRangeArrays", since=(_4_0,), level=Level.CONSUMER,
             members=("keyHashRangeArrays", "drainingHashes"), shows=Shows.FILLED),
        Sign("no-draining", "no drainingHashesCount", before=(_4_0,), members=_DRAINING, shows=Shows.MISSING),
        # PIP-406.
        Sign("throttled", "dispatchThrottledMsgEventsBySubscriptionLimit", since=(Release(4, 0, 2),),
             members=_THROTTLED),
        Sign("not-throttled", "no dispatchThrottledMsgEventsBySubscriptionLimit", before=(Release(4, 0, 7),),
             members=_THROTTLED, shows=Shows.MISSING),
        # PIP-431 and #24247.
        Sign("topic-times", "topicCreationTimeStamp", since=(Release(4, 0, 8),), level=Level.TOPIC, members=_TIMES),
        Sign("no-topic-times", "no topicCreationTimeStamp", before=(Release(4, 1, 0),), level=Level.TOPIC,
             members=_TIMES, shows=Shows.MISSING),
        Sign("first-times", "firstConsumedFlowTimestamp", since=(Release(4, 0, 8),), level=Level.CONSUMER,
             members=_FIRSTS),
        Sign("no-first-times", "no firstConsumedFlowTimestamp", before=(Release(4, 1, 0),), level=Level.CONSUMER,
             members=_FIRSTS, shows=Shows.MISSING),
        # PIP-492.
        Sign("backlog-age", "oldestBacklogMessageAgeSeconds of a subscription",
             since=(Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0, milestone=2)),
             members=("oldestBacklogMessageAgeSeconds",)),
        Sign("mark-delete-names", "consumersAfterMarkDeletePosition", before=(_5_0,),
             members=("consumersAfterMarkDeletePosition",)),
    )
}  # fmt: skip


def signs_in(answers: Iterable[tuple[AnswerKind, bytes]]) -> frozenset[str]:
    """The ids of all signs in answers; kinds other than statistics have none. O(bytes), of at most ``MOST_BYTES``."""
    found: set[str] = set()
    left = MOST_BYTES
    for kind, data in answers:
        if kind in _TOPICS_OF and len(data) <= left:
            left -= len(data)
            for topic in islice(_TOPICS_OF[kind](data), _MOST_TOPICS):
                found.update(_signs_of(topic))
    return frozenset(found)


def _signs_of(topic: Mapping[str, Any]) -> Iterator[str]:
    objects: list[tuple[Level, Mapping[str, Any]]] = [(Level.TOPIC, topic)]
    for subscription in islice(_objects(topic.get("subscriptions")), _MOST_SUBSCRIPTIONS):
        objects.append((Level.SUBSCRIPTION, subscription))
        objects += ((Level.CONSUMER, it) for it in islice(_objects(subscription.get("consumers")), _MOST_CONSUMERS))
    for level, members in objects:
        whole = level.value <= members.keys()
        for sign in SIGNS.values():
            if sign.level is level and _is_shown(sign, members, whole=whole):
                yield sign.id


def _is_shown(sign: Sign, members: Mapping[str, Any], *, whole: bool) -> bool:
    if sign.shows is Shows.FILLED:
        return any(members.get(name) for name in sign.members) and not any(name in members for name in sign.unless)
    there = any(name in members for name in sign.members)
    return whole and there is (sign.shows is Shows.PRESENT)


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict))


def _decoded(data: bytes) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}  # its own reader says what is wrong
    return value if isinstance(value, dict) else {}


def _one(data: bytes) -> Iterator[Mapping[str, Any]]:
    yield _decoded(data)


def _named(data: bytes) -> Iterator[Mapping[str, Any]]:
    for topic in _objects(_decoded(data)):
        yield from _partitions(topic)


def _partitioned(data: bytes) -> Iterator[Mapping[str, Any]]:
    yield from _partitions(_decoded(data))


def _partitions(topic: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The partitions of an answer; where it has none, its sums, which have the same members."""
    partitions = list(_objects(topic.get("partitions")))
    yield from partitions or [topic]


_TOPICS_OF: Final = {
    AnswerKind.TOPIC_STATS: _one,
    AnswerKind.PARTITIONED_STATS: _partitioned,
    AnswerKind.NAMED_STATS: _named,
}
