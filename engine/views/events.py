"""The events panel: what each step did, and how many partitions it moved beside the least that would have done."""

from __future__ import annotations

from typing import Final

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    PassTime,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SendKeys,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
    SubscribeKeyShared,
)
from engine.cluster.moves import Moves, moves
from engine.cluster.producers.commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    RecoverPartition,
    SendByProducers,
)
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Step, Timeline
from engine.compare.verdict import verdict_between
from engine.views.failover.model import EventLine, TimelineView
from engine.views.keys.moves import key_moves, keys_verdict, same_space
from engine.views.keys.slice import keys_slice_by_key
from engine.views.step_lines import StepLines, first_shown

_KINDS: Final[dict[type[Command], str]] = {
    AddConsumer: "add",
    KillConsumer: "kill",
    # A broker knows no renaming and no new level: the consumer that comes back is another one.
    RenameConsumer: "add",
    SetPriorityLevel: "add",
    SetSetting: "setting",
    SetRelease: "release",
    AddTopic: "topic",
    RemoveTopic: "topic",
    RepartitionTopic: "topic",
    SplitBundle: "split",
    SubscribeKeyShared: "topic",
    ShareKeys: "setting",
    SendKeys: "send",
    Acknowledge: "ack",
    PassTime: "wait",
    AddProducers: "add",
    CloseProducer: "kill",
    SendByProducers: "send",
    FailPartition: "fail",
    RecoverPartition: "recover",
}

_JUDGED: Final = frozenset({"add", "kill", "setting", "release", "topic"})
"""Kinds of steps that can give work to others."""

_HANDED_OVER: Final = frozenset({"add", "kill"})
"""Kinds of steps after which a dispatcher lives on and hands over; after others the broker loads its topics anew."""


def kind_of(command: Command) -> str:
    """The word for a step's glyph."""
    return _KINDS[type(command)]


def timeline_view(timeline: Timeline) -> TimelineView:
    """The one-line timeline of the current branch. O(steps)."""
    return TimelineView(
        kinds=tuple(kind_of(step.command) for step in timeline.steps),
        cursor=timeline.cursor,
        branches=len(timeline.tips),
        can_undo=timeline.can_undo,
        can_redo=timeline.can_redo,
    )


def event_lines(timeline: Timeline, subscription_key: str, before: ClusterState | None) -> tuple[EventLine, ...]:
    """The opening and the steps of ``StepLines.up_to_cursor``."""
    opening = () if first_shown(timeline) else (_opening(timeline, subscription_key),)
    return (*opening, *_LINES.up_to_cursor(timeline, subscription_key, before))


def _line(step: Step, subscription_key: str, before: ClusterState, after: ClusterState) -> EventLine:
    kind, now = kind_of(step.command), keys_slice_by_key(after, subscription_key)
    if now is not None:
        earlier = keys_slice_by_key(before, subscription_key)
        shared = key_moves(earlier, now)
        # Slots of two spaces cannot be compared, so nothing is said of them; keys still can.
        size = now.slot_count if earlier is None or same_space(earlier, now) else 0
        keys = int(shared.keys.sum())
        verdict = keys_verdict(earlier, now, shared) if kind in _JUDGED else None
        return EventLine(
            step.depth, kind, step.text, shared.moved, shared.least, size, moved_keys=keys, verdict=verdict
        )
    found = moves(before, after, subscription_key)
    judged = kind in _JUDGED and found.partitions > 0
    return EventLine(
        step=step.depth,
        kind=kind,
        text=step.text,
        moved=len(found.moved),
        least=found.least,
        partitions=found.partitions,
        unacked_at_risk=found.unacked_at_risk,
        handover_ms=_handover_ms(kind, found, after),
        verdict=verdict_between(before, after, subscription_key, found) if judged else None,
    )


def _handover_ms(kind: str, found: Moves, after: ClusterState) -> int:
    """How long moved partitions wait; a non-persistent topic has nothing to rewind and never waits."""
    if kind not in _HANDED_OVER or not found.moved or found.moved[0].startswith("non-persistent://"):
        return 0
    return max(after.settings.activeConsumerFailoverDelayTimeMillis, 0)


_LINES: Final = StepLines(_line)


def _opening(timeline: Timeline, subscription_key: str) -> EventLine:
    shared = keys_slice_by_key(timeline.initial, subscription_key)
    if shared is not None:
        size = shared.slot_count
    else:
        size = moves(timeline.initial, timeline.initial, subscription_key).partitions
    return EventLine(0, "open", f"open {timeline.source}".rstrip(), 0, 0, size)
