"""One subscription of a scalable topic over time: who is attached to which segment, what was delivered, what waits.

The controller deals segments (``engine.scalable.coordinator``); clients follow later. A consumer that loses a segment,
or changes between having it whole and sharing it, receives nothing of it any more, and leaves it once it has
acknowledged all it was given; until then newcomers are refused, unless old and new owners share it. All this was seen
with the v5 client of Pulsar 5.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from engine.scalable.buckets import Attached, bucket_owners
from engine.scalable.coordinator import (
    FIRST_DRAIN_CHECK_SECONDS,
    GRACE_PERIOD_SECONDS,
    LAST_DRAIN_CHECK_SECONDS,
    Coordinator,
)
from engine.scalable.model import Kind, Layout, attached_name

LONGEST_HANDOVER_MS: Final = 55_000
"""After so long a hand-over never ends, even when all is acknowledged: seen after 55 s and more, and not after 22 s."""
JOINING_MS: Final = 30_000
"""A newcomer that is refused for this long gives up and leaves."""
ANY_BUCKET: Final = -1
"""Of messages that were there before: answers do not print their buckets."""
Counts = Mapping[int, int]
Holdings = Mapping[tuple[str, int], int]


class Attachment(msgspec.Struct, frozen=True):
    """Who is attached to a segment, in order of names.

    ``leaving`` has those that wait for acknowledgements before they leave, since when; ``stuck`` never will.
    """

    names: tuple[str, ...] = ()
    shared: bool = False
    leaving: Mapping[str, int] = msgspec.field(default_factory=dict)
    stuck: frozenset[str] = frozenset()

    def receiving(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.leaving and name not in self.stuck)


@dataclass(frozen=True, slots=True)
class Group:
    """``waiting`` has the messages that were not delivered, by segment and bucket; ``held`` the delivered ones.

    ``lost_ms`` and ``joining_ms`` are the times of lost connections and of first subscribes that were not answered yet.
    """

    kind: Kind
    coordinator: Coordinator
    next_check_ms: int | None = None
    pause_ms: int = FIRST_DRAIN_CHECK_SECONDS * 1000
    lost_ms: Mapping[str, int] = field(default_factory=dict)
    joining_ms: Mapping[str, int] = field(default_factory=dict)
    attached: Mapping[int, Attachment] = field(default_factory=dict)
    waiting: Mapping[int, Counts] = field(default_factory=dict)
    held: Mapping[int, Holdings] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Of every consumer that was ever here, for its letter and colour."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.coordinator.sessions)

    def backlog(self, segment_id: int) -> int:
        """The messages on a segment that are not acknowledged."""
        return self.undelivered(segment_id) + self.unacked(segment_id)

    def undelivered(self, segment_id: int) -> int:
        return sum(counts.values()) if (counts := self.waiting.get(segment_id)) else 0

    def unacked(self, segment_id: int) -> int:
        return sum(held.values()) if (held := self.held.get(segment_id)) else 0

    def unacked_by_name(self) -> dict[str, int]:
        """What consumers hold, of those that hold anything. O(segments + attached consumers)."""
        unacked: dict[str, int] = {}
        for held in self.held.values():
            for (owner, _), count in held.items():
                unacked[owner] = unacked.get(owner, 0) + count
        return unacked

    def wishes(self) -> dict[int, tuple[tuple[str, ...], bool]]:
        """For each segment that is dealt its consumers, and whether they share it."""
        if self.kind == "QUEUE":
            return dict.fromkeys(self.coordinator.layout.segments, (self.names, True))
        owners: dict[int, list[str]] = {}
        shared: set[int] = set()
        for name in self.coordinator.sessions:
            for grant in self.coordinator.grants(name):
                owners.setdefault(grant.segment_id, []).append(name)
                if grant.buckets:
                    shared.add(grant.segment_id)
        return {segment_id: (tuple(names), segment_id in shared) for segment_id, names in owners.items()}

    def due_ms(self) -> int | None:
        """When time changes something next; None while it does not."""
        times = [time + GRACE_PERIOD_SECONDS * 1000 for time in self.lost_ms.values()]
        times += [time + JOINING_MS for time in self.joining_ms.values()]
        times += [self.next_check_ms] if self.next_check_ms is not None else []
        return min(times, default=None)


def checking(group: Group, now_ms: int) -> Group:
    """The group with the first drain check of a new row ahead, where one is needed."""
    first = FIRST_DRAIN_CHECK_SECONDS * 1000
    return replace(group, next_check_ms=now_ms + first if group.coordinator.check_pending else None, pause_ms=first)


def joined(group: Group, name: str, now_ms: int) -> Group:
    """A consumer comes, or comes back within its grace period."""
    back = name in group.coordinator.sessions
    coordinator = group.coordinator.register(name)
    came = replace(
        group,
        coordinator=coordinator,
        lost_ms={one: time for one, time in group.lost_ms.items() if one != name},
        joining_ms=group.joining_ms if back else {**group.joining_ms, name: now_ms},
        numbers=group.numbers if name in group.numbers else {**group.numbers, name: len(group.numbers)},
    )
    return settled(came if back else checking(came, now_ms), now_ms)


def left(group: Group, name: str, now_ms: int, *, closed: bool = True) -> Group:
    """A consumer is gone for good: its segments are dealt again at once.

    With the last one that closes the controller forgets the subscription, and the next one has to wait until drained
    segments are found again; after a lost connection it remembers them.
    """
    coordinator = group.coordinator.unregister(name)
    if closed and not coordinator.sessions:
        coordinator = Coordinator(coordinator.layout, coordinator.drain_rule, coordinator.checkpoint)
    gone = replace(
        group,
        coordinator=coordinator,
        next_check_ms=group.next_check_ms if coordinator.sessions else None,
        lost_ms={one: time for one, time in group.lost_ms.items() if one != name},
    )
    return settled(gone, now_ms)


def lost(group: Group, name: str, now_ms: int) -> Group:
    """A connection is lost: what was delivered there waits again, and nothing is dealt in the grace period."""
    gone = replace(
        group,
        coordinator=group.coordinator.disconnect(name),
        lost_ms={**group.lost_ms, name: now_ms},
        joining_ms={one: time for one, time in group.joining_ms.items() if one != name},
    )
    return settled(gone, now_ms)


def with_layout(group: Group, layout: Layout, now_ms: int) -> Group:
    """The subscription after a change of the layout; what waits on segments that are not listed any more is gone."""
    known = group.coordinator
    listed = replace(
        group,
        # What the controller has forgotten does not wait for drained segments.
        coordinator=known.with_layout(layout) if known.present is not None else replace(known, layout=layout),
        waiting={one: counts for one, counts in group.waiting.items() if one in layout.segments},
        held={one: counts for one, counts in group.held.items() if one in layout.segments},
    )
    return settled(checking(listed, now_ms), now_ms)


def checked(group: Group, now_ms: int) -> Group:
    """The drain check. Finding nothing doubles the pause to the next one, which Pulsar varies by 5 %."""
    segments = group.coordinator.layout.segments.values()
    empty = [one.segment_id for one in segments if not one.active and group.backlog(one.segment_id) == 0]
    before = group.coordinator.drained
    coordinator = group.coordinator.check(empty)
    after = replace(group, coordinator=coordinator)
    if coordinator.drained != before:
        return settled(checking(after, now_ms), now_ms)
    pause_ms = min(group.pause_ms * 2, LAST_DRAIN_CHECK_SECONDS * 1000)
    return replace(after, pause_ms=pause_ms, next_check_ms=now_ms + pause_ms if coordinator.check_pending else None)


def acknowledged(group: Group, name: str | None, count: int, now_ms: int) -> Group:
    """One consumer, or each, acknowledges its first messages by segment; 0 for all."""
    left_over: dict[str, int] = {}
    held: dict[int, dict[tuple[str, int], int]] = {}
    for segment_id in sorted(group.held):
        kept: dict[tuple[str, int], int] = {}
        for (owner, bucket), messages in group.held[segment_id].items():
            taken = messages if name in (None, owner) else 0
            if count and taken:
                taken = min(messages, left_over.setdefault(owner, count))
                left_over[owner] -= taken
            if messages > taken:
                kept[owner, bucket] = messages - taken
        if kept:
            held[segment_id] = kept
    return settled(replace(group, held=held), now_ms)


def with_published(group: Group, counts: Mapping[int, Counts], now_ms: int) -> Group:
    """Messages were published: by segment and bucket. CHECKPOINT consumers read them and keep no backlog here."""
    if group.kind == "CHECKPOINT":
        return group
    waiting = {one: dict(buckets) for one, buckets in group.waiting.items()}
    for segment_id, buckets in counts.items():
        there = waiting.setdefault(segment_id, {})
        for bucket, count in buckets.items():
            there[bucket] = there.get(bucket, 0) + count
    return settled(replace(group, waiting=waiting), now_ms)


def settled(group: Group, now_ms: int) -> Group:
    """Everybody attached and everything delivered that can be. O(segments + attached consumers)."""
    connected = {name for name, there in group.coordinator.sessions.items() if there}
    group = _given_back(group, connected)
    wishes = group.wishes()
    attached: dict[int, Attachment] = {}
    for segment_id in sorted({*wishes, *group.attached}):
        names, shared = wishes.get(segment_id, ((), False))
        now = Attachment(tuple(name for name in names if name in connected), shared)
        before = group.attached.get(segment_id)
        if before is not None and before != now and group.kind == "STREAM":
            holders = {owner for owner, _ in group.held.get(segment_id, ())}
            now = _attachment(before, now, holders, connected, now_ms)
        if now.names:
            attached[segment_id] = now
    joining = {
        name: since
        for name, since in group.joining_ms.items()
        if group.kind == "STREAM"
        and any(
            grant.segment_id not in attached or name not in attached[grant.segment_id].names
            for grant in group.coordinator.grants(name)
        )
    }
    return _delivered(replace(group, attached=attached, joining_ms=joining))


def _given_back(group: Group, connected: set[str]) -> Group:
    """What was delivered to consumers that are gone waits again."""
    if all(owner in connected for held in group.held.values() for owner, _ in held):
        return group
    waiting = {one: dict(buckets) for one, buckets in group.waiting.items()}
    held: dict[int, Holdings] = {}
    for segment_id, holdings in group.held.items():
        for (owner, bucket), count in holdings.items():
            if owner not in connected:
                there = waiting.setdefault(segment_id, {})
                there[bucket] = there.get(bucket, 0) + count
        kept = {key: count for key, count in holdings.items() if key[0] in connected}
        if kept:
            held[segment_id] = kept
    return replace(group, waiting=waiting, held=held)


def _attachment(
    before: Attachment, wish: Attachment, holders: set[str], connected: set[str], now_ms: int
) -> Attachment:
    """Who is attached to one segment of a STREAM subscription that the consumers of ``wish`` should have."""
    names, shared = wish.names, wish.shared
    leaving: dict[str, int] = {}
    stuck: set[str] = set()
    for name in (one for one in before.names if one in connected):
        if name in before.stuck:
            stuck.add(name)
        elif name in names and before.shared == shared:
            continue
        elif name in holders:
            leaving[name] = before.leaving.get(name, now_ms)
        elif name in before.leaving and now_ms - before.leaving[name] >= LONGEST_HANDOVER_MS:
            stuck.add(name)
    if leaving or stuck:
        newcomers = names if before.shared and shared else ()
        return Attachment(tuple(sorted({*newcomers, *leaving, *stuck})), before.shared, leaving, frozenset(stuck))
    return wish


def _delivered(group: Group) -> Group:
    """Everything that waits and has an owner, given to it; a bucket waits for its former owner's acknowledgements."""
    if group.kind == "CHECKPOINT" or not group.waiting:
        return group
    waiting: dict[int, Counts] = {}
    held: dict[int, Holdings] = dict(group.held)
    for segment_id, buckets in group.waiting.items():
        attachment = group.attached.get(segment_id)
        receiving = set(attachment.receiving()) if attachment is not None else set()
        rest: dict[int, int] = {}
        holdings = dict(held.get(segment_id, {}))
        for bucket, count in buckets.items():
            owner = _owner(group, attachment, segment_id, bucket) if attachment is not None and count else ""
            draining = group.kind == "STREAM" and any(at == bucket and who != owner for who, at in holdings)
            if owner not in receiving or draining:
                rest[bucket] = count
            else:
                holdings[owner, bucket] = holdings.get((owner, bucket), 0) + count
        if any(rest.values()):
            waiting[segment_id] = rest
        if holdings:
            held[segment_id] = holdings
    return replace(group, waiting=waiting, held=held)


def _owner(group: Group, attachment: Attachment, segment_id: int, bucket: int) -> str:
    """Who gets the messages of a bucket, "" for nobody; of QUEUE consumers, which take turns, the first one."""
    if not attachment.shared or group.kind == "QUEUE":
        return next(iter(attachment.receiving()), "")
    by_long_name = {attached_name(name, segment_id): name for name in attachment.names}
    ones = [Attached(long, at) for at, long in enumerate(by_long_name)]
    owner = bucket_owners(ones, group.coordinator.layout.segments[segment_id].buckets)[max(bucket, 0)]
    return by_long_name[owner.name] if owner is not None else ""
