"""Sentences about a scalable topic, for pages and screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.scalable.model import RING_SIZE
from engine.scalable.scaling import (
    AT_MAX_SEGMENTS,
    BELOW_FLOOR,
    COLD,
    CONSUMER_COUNT,
    INVALID_POLICY,
    MAX_DAG_DEPTH,
    MAX_ENTRY_BUCKETS,
    MAX_SEGMENTS,
    UNSPLITTABLE,
)
from engine.text import counted, joined
from engine.views.scalable.model import (
    ConsumerRow,
    KeyOwner,
    KeyRow,
    NextStep,
    ScalableView,
    Share,
    StepRow,
    SubscriptionRow,
    Wait,
)

_REASONS = {
    CONSUMER_COUNT: "a subscription has more consumers than there are segments, and the busiest has enough traffic",
    COLD: "both have been below the merge limits for the whole window",
    BELOW_FLOOR: "more consumers than buckets, and too little traffic for a split",
    AT_MAX_SEGMENTS: "more consumers than buckets, and no more segments are allowed",
    MAX_SEGMENTS: "no more segments are allowed; raise maxSegments",
    MAX_ENTRY_BUCKETS: "no segment may have more buckets; raise scalableTopicEntryBucketMaxPerSegment",
    MAX_DAG_DEPTH: "the cold pairs come of too many merges; they can merge once drained parents are pruned",
    UNSPLITTABLE: "the segment has a single hash; one key, or keys of one hash, make its load",
    INVALID_POLICY: "the policy contradicts itself",
}


def reason_text(reason: str) -> str:
    """What a reason of a step or of a block means; a metric is one whose limit was passed."""
    return _REASONS.get(reason, f"its {reason} is above the split limit")


def step_text(step: StepRow) -> str:
    """What one step does, and why."""
    ids = joined([str(one) for one in step.segments], at_most=8)
    what = {
        "none": "nothing to do",
        "split": f"split segment {ids}",
        "merge": f"merge segments {ids}",
        "rebucket": f"give {'segment' if len(step.segments) == 1 else 'segments'} {ids} {step.buckets:,} buckets",
        "blocked": f"blocked by {step.reason}",
    }[step.action]
    return f"{what}: {reason_text(step.reason)}" if step.reason else what


def next_step_lines(step: NextStep) -> list[str]:
    """The next automatic step, what leaves it open, what it waits for, and what brokers said last."""
    if step.invalid is not None:
        return [f"no automatic step: {step.invalid}"]
    if not step.enabled:
        return ["no automatic step: automatic scaling is off for this topic"]
    lines = [step_text(one) for one in step.steps]
    if len(lines) > 1:
        lines.append(f"one of these {len(lines)}: their loads are equal, and the order of a map in the broker decides")
    cooling = [
        f"{name} in {seconds:,.0f} s"
        for name, seconds in (
            ("split", step.cooldowns.split),
            ("merge", step.cooldowns.merge),
            ("rebucket", step.cooldowns.rebucket),
        )
        if seconds
    ]
    if cooling:
        lines.append(f"earliest {', '.join(cooling)}")
    if None in (step.cooldowns.split, step.cooldowns.merge, step.cooldowns.rebucket):
        lines.append("when the answers were read is unknown, so cooldowns are taken to be over")
    if step.reported_reason != step.blocked_reason:
        printed, computed = step.reported_reason or "no reason", step.blocked_reason or "none"
        lines.append(f"statistics still show {printed} of the last evaluation; the next one shows {computed}")
    return lines


def coverage_lines(view: ScalableView) -> list[str]:
    """Which hashes no active segment has, and which several have; nothing of a ring that is covered once.

    Brokers make no such layout: the answer is cut, or was made by hand.
    """
    holes, twice = [], []
    free = 0
    for one in sorted((one for one in view.segments if one.state == "ACTIVE"), key=lambda one: (one.start, one.end)):
        if one.start > free:
            holes.append(f"{free:04x}-{one.start - 1:04x}")
        elif one.start < free:
            twice.append(f"{one.start:04x}-{min(one.end, free - 1):04x}")
        free = max(free, one.end + 1)
    if free < RING_SIZE:
        holes.append(f"{free:04x}-{RING_SIZE - 1:04x}")
    lines = [f"no active segment has {joined(holes)}: keys of these hashes go nowhere"] if holes else []
    return [
        *lines,
        *([f"several active segments have {joined(twice)}: the first one gets their keys"] if twice else []),
    ]


def share_text(share: Share) -> str:
    """One segment of a consumer, with the buckets it has of a shared one."""
    if not share.buckets:
        return str(share.segment)
    if share.first_bucket is None or share.last_bucket is None:
        return f"{share.segment} (no bucket of {share.buckets})"
    buckets = f"bucket {share.first_bucket}"
    if share.last_bucket > share.first_bucket:
        buckets = f"buckets {share.first_bucket}-{share.last_bucket}"
    return f"{share.segment} ({buckets} of {share.buckets})"


def consumer_remark(consumer: ConsumerRow) -> str:
    """What is unusual about a consumer; "" for nothing."""
    remarks: list[str] = []
    if not consumer.connected:
        remarks.append("connection lost; its segments wait for the grace period")
    if consumer.idle:
        remarks.append("idle")
    if consumer.stuck:
        remarks.append(f"stuck: still holds {ids_text(consumer.stuck)}; closing it frees them")
    elif consumer.losing:
        remarks.append(f"hands over {ids_text(consumer.losing)}, once all it was given is acknowledged")
    if consumer.gaining:
        remarks.append(f"not attached to {ids_text(consumer.gaining)} yet")
    return "; ".join(remarks)


def wait_lines(subscription: SubscriptionRow) -> list[str]:
    """What waits in a subscription, one line for each undrained ancestor; then what else is missing."""
    by_ancestor: dict[int, list[Wait]] = {}
    for wait in subscription.waits:
        by_ancestor.setdefault(wait.ancestor, []).append(wait)
    lines: list[str] = []
    for ancestor, waits in by_ancestor.items():
        first = waits[0]
        who, verb = joined(first.consumers) or "nobody", "have" if len(first.consumers) > 1 else "has"
        why = {
            "backlog": f"{counted(first.backlog, 'message')} there, which {who} {verb} not acknowledged",
            "no_consumer": f"{counted(first.backlog, 'message')} there, and no consumer is attached to it",
            "drain_check": "it is read to its end, and the next drain check will see it",
        }[first.reason]
        waiting = dict.fromkeys(wait.segment for wait in waits)
        lines.append(f"{ids_text(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for {ancestor}: {why}")
    if subscription.unassigned:
        lines.append(f"no consumer is attached to {ids_text(subscription.unassigned)}")
    if subscription.uncovered:
        lines.append(f"the subscription does not exist yet on {ids_text(subscription.uncovered)}")
    return lines


def key_text(key: KeyRow) -> str:
    """The way of a key to its consumers."""
    if key.segment is None:
        return f"no active segment has hash {key.segment_hash:04x}"
    way = f"hash {key.hash:08x}: its first half {key.segment_hash:04x} is in segment {key.segment}"
    way += f", the other half {key.bucket_hash:04x} in its bucket {key.bucket}"
    if key.after_split is not None:
        way += f"; once segment {key.segment} is split, in segment {key.after_split}"
    return way


def owner_text(owner: KeyOwner) -> str:
    """Who gets a key in one subscription."""
    if owner.consumer is not None:
        return f"{owner.subscription}: {owner.consumer}"
    if owner.waits_for:
        return f"{owner.subscription}: nobody yet; the segment waits for {ids_text(owner.waits_for)}"
    return f"{owner.subscription}: nobody"


def ids_text(ids: Iterable[int]) -> str:
    listed: Sequence[str] = [str(one) for one in dict.fromkeys(ids)]
    return f"segment{'' if len(listed) == 1 else 's'} {joined(listed, at_most=8)}"
