"""What is shown of a scalable topic; the document and its schema follow from it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Struct

from engine.answer import about


class SegmentRow(Struct, frozen=True):
    id: Annotated[int, about("The segment's id; ids rise, and are never used again.")]
    start: Annotated[int, about("Its first hash, 0 to 65535.")]
    end: Annotated[int, about("Its last hash.")]
    share: Annotated[float, about("The part of the ring that it has, 0 to 1.")]
    state: Annotated[Literal["ACTIVE", "SEALED"], about("A sealed segment takes no more messages.")]
    buckets: Annotated[int, about("Entry buckets: as many consumers of one subscription can share it.")]
    parents: Annotated[tuple[int, ...], about("The listed segments that it was made of.")]
    children: Annotated[tuple[int, ...], about("The listed segments that were made of it.")]
    topic: Annotated[str, about("The topic with its messages; of a migrated segment the classic one.")]
    owner: Annotated[str | None, about("The broker that owns it, as statistics print it.")]
    created_ms: Annotated[int | None, about("When it was made, in epoch milliseconds; null if unknown.")]
    msg_rate_in: Annotated[float | None, about("Messages per second by its load record; null without one.")]
    byte_rate_in: Annotated[float | None, about("Bytes per second by its load record.")]
    msg_rate_out: Annotated[float | None, about("Delivered messages per second by its load record.")]
    byte_rate_out: Annotated[float | None, about("Delivered bytes per second by its load record.")]
    load_age_seconds: Annotated[float | None, about("Age of the load record: no rate changed by 25 % since.")]
    score: Annotated[float | None, about("Greatest rate over its split limit; above 1 the segment is split.")]
    score_metric: Annotated[str | None, about("The rate that gives the score.")]
    backlog: Annotated[int | None, about("Messages of all subscriptions that are not acknowledged.")]


class Share(Struct, frozen=True):
    segment: Annotated[int, about("The segment's id.")]
    buckets: Annotated[int, about("Buckets that its owners divide; 0: the consumer has the segment whole.")]
    first_bucket: Annotated[int | None, about("The first bucket this consumer has of a shared segment.")]
    last_bucket: Annotated[int | None, about("The last one; null where it has none, or the segment whole.")]


class ConsumerRow(Struct, frozen=True):
    name: Annotated[str, about("The consumer's name.")]
    connected: Annotated[bool, about("False within the grace period after a lost connection.")]
    computed: Annotated[tuple[Share, ...] | None, about("What the controller deals to it; null for QUEUE consumers.")]
    reported: Annotated[tuple[int, ...], about("The segments printed for it: dealt to it, or still attached.")]
    gaining: Annotated[tuple[int, ...], about("Computed and not printed.")]
    losing: Annotated[tuple[int, ...], about("Printed and not computed: a hand-over that is under way, or stuck.")]
    stuck: Annotated[tuple[int, ...], about("Lost already at the moment before, and nothing was delivered since.")]
    idle: Annotated[bool, about("It has no segment.")]
    unacked: Annotated[int, about("Delivered messages that are not acknowledged.")]


WaitReason = Literal["backlog", "no_consumer", "drain_check"]


class Wait(Struct, frozen=True):
    segment: Annotated[int, about("The segment that nobody is given yet.")]
    ancestor: Annotated[int, about("A segment that has to be read to its end first.")]
    backlog: Annotated[int, about("What is not acknowledged there.")]
    unacked: Annotated[int, about("What of it is delivered.")]
    consumers: Annotated[tuple[str, ...], about("Who has the ancestor, by what is printed.")]
    reason: Annotated[
        WaitReason,
        about(
            "backlog: it is being read; no_consumer: nobody reads it; drain_check: it is read, and was not seen yet."
        ),
    ]


class SubscriptionRow(Struct, frozen=True):
    name: Annotated[str, about("The subscription.")]
    type: Annotated[
        Literal["STREAM", "CHECKPOINT", "QUEUE"],
        about("Its kind; statistics print STREAM for a CHECKPOINT group."),
    ]
    backlog: Annotated[int, about("Messages that are not acknowledged, in all segments.")]
    unacked: Annotated[int, about("Delivered messages that are not acknowledged.")]
    consumers: Annotated[tuple[ConsumerRow, ...], about("Its consumers by name.")]
    unassigned: Annotated[tuple[int, ...], about("Segments that are dealt, and have no attached consumer.")]
    uncovered: Annotated[tuple[int, ...], about("Active segments that lack this subscription.")]
    waits: Annotated[tuple[Wait, ...], about("What waits for which ancestor, and why that is not drained.")]


class KeyOwner(Struct, frozen=True):
    subscription: Annotated[str, about("The subscription.")]
    consumer: Annotated[str | None, about("Who gets the key; null while the segment waits, or nobody has it.")]
    waits_for: Annotated[tuple[int, ...], about("Ancestors that have to be drained first.")]


class KeyRow(Struct, frozen=True):
    key: Annotated[str, about("The key.")]
    hash: Annotated[int, about("Its Murmur3 hash, 32 bit, unsigned.")]
    segment_hash: Annotated[int, about("The high half, which decides the segment.")]
    bucket_hash: Annotated[int, about("The low half, which decides the bucket.")]
    segment: Annotated[int | None, about("The active segment with the key; null where the layout has a hole.")]
    bucket: Annotated[int | None, about("The bucket inside the segment.")]
    after_split: Annotated[int | None, about("The id of the half it is in once the segment is split.")]
    owners: Annotated[tuple[KeyOwner, ...], about("Who gets it, by subscription; QUEUE subscriptions are left out.")]


Action = Literal["none", "split", "merge", "rebucket", "blocked"]


class StepRow(Struct, frozen=True):
    action: Annotated[Action, about("What happens.")]
    segments: Annotated[tuple[int, ...], about("The segments it happens to.")]
    buckets: Annotated[int, about("Of a rebucket: the buckets of each successor; else 0.")]
    reason: Annotated[str, about("Why, in Pulsar's word; empty where there is nothing to do.")]


class Cooldowns(Struct, frozen=True):
    split: Annotated[float | None, about("Seconds until a split is possible; null if the time is unknown.")]
    merge: Annotated[float | None, about("Seconds until a merge is possible.")]
    rebucket: Annotated[float | None, about("Seconds until a rebucket is possible.")]


class NextStep(Struct, frozen=True):
    enabled: Annotated[bool, about("Whether the topic is scaled automatically.")]
    steps: Annotated[
        tuple[StepRow, ...],
        about("What the next evaluation can do; several where equal loads leave it to the order of a map."),
    ]
    blocked_reason: Annotated[str | None, about("The reason that statistics show then, computed.")]
    reported_reason: Annotated[str | None, about("The reason of the last evaluation, as statistics print it.")]
    invalid: Annotated[str | None, about("What contradicts in the policy, so that nothing is scaled.")]
    consumers: Annotated[int, about("The greatest number of consumers of a subscription.")]
    active: Annotated[int, about("Active segments.")]
    capacity: Annotated[int, about("Buckets of all active segments.")]
    cooldowns: Annotated[Cooldowns, about("How long each step has to wait yet.")]


class ScalableView(Struct, frozen=True):
    FORMAT: ClassVar[str] = "ringside.scalable/1"
    topic: Annotated[str, about("The full name.")]
    time_ms: Annotated[int | None, about("When it was read, in epoch milliseconds; null if unknown.")]
    epoch: Annotated[int, about("Changes of the layout so far.")]
    changes_ms: Annotated[
        tuple[int, ...],
        about("When segments were split, merged or rebucketed, by those listed at any moment that was read."),
    ]
    controller: Annotated[str | None, about("The broker that deals segments and scales.")]
    segments: Annotated[tuple[SegmentRow, ...], about("Active segments by range, then sealed ones by id.")]
    subscriptions: Annotated[tuple[SubscriptionRow, ...], about("Subscriptions by name, without readers.")]
    readers: Annotated[int, about("Subscriptions of readers of CHECKPOINT consumers, which are left out.")]
    keys: Annotated[tuple[KeyRow, ...], about("The keys that were given.")]
    next: Annotated[NextStep, about("The next automatic step, and what blocks it.")]
