"""What is shown of a scalable topic, declared once: the JSON and its schema are derived from these classes."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

FORMAT: Final = "ringside.scalable/1"


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the document; every member is always there."""


class SegmentRow(_Part, frozen=True):
    id: Annotated[int, _about("The segment's id; ids rise, and are never used again.")]
    start: Annotated[int, _about("Its first hash, 0 to 65535.")]
    end: Annotated[int, _about("Its last hash.")]
    share: Annotated[float, _about("The part of the ring that it has, 0 to 1.")]
    state: Annotated[Literal["ACTIVE", "SEALED"], _about("A sealed segment takes no more messages.")]
    buckets: Annotated[int, _about("Entry buckets: as many consumers of one subscription can share it.")]
    parents: Annotated[tuple[int, ...], _about("The listed segments that it was made of.")]
    children: Annotated[tuple[int, ...], _about("The listed segments that were made of it.")]
    topic: Annotated[str, _about("The topic with its messages; of a migrated segment the classic one.")]
    owner: Annotated[str | None, _about("The broker that owns it, as statistics print it.")]
    msg_rate_in: Annotated[float | None, _about("Messages per second by its load record; null without one.")]
    byte_rate_in: Annotated[float | None, _about("Bytes per second by its load record.")]
    msg_rate_out: Annotated[float | None, _about("Delivered messages per second by its load record.")]
    byte_rate_out: Annotated[float | None, _about("Delivered bytes per second by its load record.")]
    load_age_seconds: Annotated[float | None, _about("Age of the load record: no rate changed by 25 % since.")]
    score: Annotated[float | None, _about("Greatest rate over its split limit; above 1 the segment is split.")]
    score_metric: Annotated[str | None, _about("The rate that gives the score.")]
    backlog: Annotated[int | None, _about("Messages of all subscriptions that are not acknowledged.")]


class Share(_Part, frozen=True):
    segment: Annotated[int, _about("The segment's id.")]
    buckets: Annotated[int, _about("Buckets that its owners divide; 0: the consumer has the segment whole.")]
    first_bucket: Annotated[int | None, _about("The first bucket this consumer has of a shared segment.")]
    last_bucket: Annotated[int | None, _about("The last one; null where it has none, or the segment whole.")]


class ConsumerRow(_Part, frozen=True):
    name: Annotated[str, _about("The consumer's name.")]
    connected: Annotated[bool, _about("False within the grace period after a lost connection.")]
    computed: Annotated[tuple[Share, ...] | None, _about("What the controller deals to it; null for QUEUE consumers.")]
    reported: Annotated[tuple[int, ...], _about("The segments printed for it: dealt to it, or still attached.")]
    gaining: Annotated[tuple[int, ...], _about("Computed and not printed.")]
    losing: Annotated[tuple[int, ...], _about("Printed and not computed: a hand-over that is under way, or stuck.")]
    stuck: Annotated[tuple[int, ...], _about("Lost already at the moment before, and nothing was delivered since.")]
    idle: Annotated[bool, _about("It has no segment.")]
    unacked: Annotated[int, _about("Delivered messages that are not acknowledged.")]


WaitReason = Literal["backlog", "no_consumer", "drain_check"]


class Wait(_Part, frozen=True):
    segment: Annotated[int, _about("The segment that nobody is given yet.")]
    ancestor: Annotated[int, _about("A segment that has to be read to its end first.")]
    backlog: Annotated[int, _about("What is not acknowledged there.")]
    unacked: Annotated[int, _about("What of it is delivered.")]
    consumers: Annotated[tuple[str, ...], _about("Who has the ancestor, by what is printed.")]
    reason: Annotated[
        WaitReason,
        _about(
            "backlog: it is being read; no_consumer: nobody reads it; drain_check: it is read, and was not seen yet."
        ),
    ]


class SubscriptionRow(_Part, frozen=True):
    name: Annotated[str, _about("The subscription.")]
    type: Annotated[
        Literal["STREAM", "CHECKPOINT", "QUEUE"],
        _about("Its kind; statistics print STREAM for a CHECKPOINT group."),
    ]
    backlog: Annotated[int, _about("Messages that are not acknowledged, in all segments.")]
    unacked: Annotated[int, _about("Delivered messages that are not acknowledged.")]
    consumers: Annotated[tuple[ConsumerRow, ...], _about("Its consumers by name.")]
    unassigned: Annotated[tuple[int, ...], _about("Segments that are dealt, and have no attached consumer.")]
    uncovered: Annotated[tuple[int, ...], _about("Active segments that lack this subscription.")]
    waits: Annotated[tuple[Wait, ...], _about("What waits for which ancestor, and why that is not drained.")]


class KeyOwner(_Part, frozen=True):
    subscription: Annotated[str, _about("The subscription.")]
    consumer: Annotated[str | None, _about("Who gets the key; null while the segment waits, or nobody has it.")]
    waits_for: Annotated[tuple[int, ...], _about("Ancestors that have to be drained first.")]


class KeyRow(_Part, frozen=True):
    key: Annotated[str, _about("The key.")]
    hash: Annotated[int, _about("Its Murmur3 hash, 32 bit, unsigned.")]
    segment_hash: Annotated[int, _about("The high half, which decides the segment.")]
    bucket_hash: Annotated[int, _about("The low half, which decides the bucket.")]
    segment: Annotated[int | None, _about("The active segment with the key; null where the layout has a hole.")]
    bucket: Annotated[int | None, _about("The bucket inside the segment.")]
    after_split: Annotated[int | None, _about("The id of the half it is in once the segment is split.")]
    owners: Annotated[tuple[KeyOwner, ...], _about("Who gets it, by subscription; QUEUE subscriptions are left out.")]


class StepRow(_Part, frozen=True):
    action: Annotated[Literal["none", "split", "merge", "rebucket", "blocked"], _about("What happens.")]
    segments: Annotated[tuple[int, ...], _about("The segments it happens to.")]
    buckets: Annotated[int, _about("Of a rebucket: the buckets of each successor; else 0.")]
    reason: Annotated[str, _about("Why, in Pulsar's word; empty where there is nothing to do.")]


class Cooldowns(_Part, frozen=True):
    split: Annotated[float | None, _about("Seconds until a split is possible; null if the time is unknown.")]
    merge: Annotated[float | None, _about("Seconds until a merge is possible.")]
    rebucket: Annotated[float | None, _about("Seconds until a rebucket is possible.")]


class NextStep(_Part, frozen=True):
    enabled: Annotated[bool, _about("Whether the topic is scaled automatically.")]
    steps: Annotated[
        tuple[StepRow, ...],
        _about("What the next evaluation can do; several where equal loads leave it to the order of a map."),
    ]
    blocked_reason: Annotated[str | None, _about("The reason that statistics show then, computed.")]
    reported_reason: Annotated[str | None, _about("The reason of the last evaluation, as statistics print it.")]
    invalid: Annotated[str | None, _about("What contradicts in the policy, so that nothing is scaled.")]
    consumers: Annotated[int, _about("The greatest number of consumers of a subscription.")]
    active: Annotated[int, _about("Active segments.")]
    capacity: Annotated[int, _about("Buckets of all active segments.")]
    cooldowns: Annotated[Cooldowns, _about("How long each step has to wait yet.")]


class ScalableView(_Part, frozen=True):
    format: Annotated[Literal["ringside.scalable/1"], _about("Changes when a member goes or changes its meaning.")]
    topic: Annotated[str, _about("The full name.")]
    time_ms: Annotated[int | None, _about("When it was read, in epoch milliseconds; null if unknown.")]
    epoch: Annotated[int, _about("Changes of the layout so far.")]
    controller: Annotated[str | None, _about("The broker that deals segments and scales.")]
    segments: Annotated[tuple[SegmentRow, ...], _about("Active segments by range, then sealed ones by id.")]
    subscriptions: Annotated[tuple[SubscriptionRow, ...], _about("Subscriptions by name, without readers.")]
    readers: Annotated[int, _about("Subscriptions of readers of CHECKPOINT consumers, which are left out.")]
    keys: Annotated[tuple[KeyRow, ...], _about("The keys that were given.")]
    next: Annotated[NextStep, _about("The next automatic step, and what blocks it.")]
