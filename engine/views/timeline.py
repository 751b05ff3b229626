"""Views of the timeline: states around the cursor, colours in order of connecting, and the effect of each step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from engine.cluster import commands
from engine.cluster.events import ConsumerAdded
from engine.cluster.evolve import evolve
from engine.cluster.moves import Moves, moves
from engine.cluster.state import ClusterState, find_key_subscription
from engine.cluster.timeline import Step, Timeline
from engine.compare.verdict import verdict_between
from engine.views.failover.model import EventLine, StepKind, TimelineView

EVENTS_SHOWN: Final = 200
"""The latest steps that are listed; older ones stay in the timeline."""
LINES_KEPT: Final = 1024

Line = TypeVar("Line")


class StepLines(Generic[Line]):
    """A cache of step lines; ``line`` computes one for a key from the states before and after the step."""

    def __init__(self, line: Callable[[Step, str, ClusterState, ClusterState], Line]) -> None:
        self._line = line
        self._kept: OrderedDict[tuple[Step, str], Line] = OrderedDict()

    def up_to_cursor(self, timeline: Timeline, key: str, before: ClusterState | None) -> tuple[Line, ...]:
        """The steps up to the cursor, oldest first, at most ``EVENTS_SHOWN``.

        ``before`` is the state one step before the cursor. A line is computed once, so a new step costs one comparison
        of two states; a jump to a place whose steps were never shown costs one each.
        """
        first = first_shown(timeline)
        shown = timeline.steps[first : timeline.cursor]
        lines = [self._kept.get((step, key)) for step in shown]
        missing = [at for at, line in enumerate(lines) if line is None]
        if missing == [len(shown) - 1] and before is not None:
            lines[-1] = self._remember(shown[-1], key, before, timeline.state)
        elif missing:
            state = timeline.state_at(first + missing[0])
            for at in range(missing[0], len(shown)):
                after = state
                for event in shown[at].events:
                    after = evolve(after, event)
                lines[at] = self._remember(shown[at], key, state, after)
                state = after
        return tuple(line for line in lines if line is not None)

    def _remember(self, step: Step, key: str, before: ClusterState, after: ClusterState) -> Line:
        line = self._line(step, key, before, after)
        self._kept[step, key] = line
        if len(self._kept) > LINES_KEPT:
            self._kept.popitem(last=False)
        return line


def first_shown(timeline: Timeline) -> int:
    """How many of the oldest steps are not listed; while it is 0 the opening is listed above the steps."""
    return max(timeline.cursor - EVENTS_SHOWN, 0)


_KINDS: Final[dict[type[commands.Command], StepKind]] = {
    commands.AddConsumer: "add",
    commands.KillConsumer: "kill",
    # To a broker a renamed consumer, or one with a new level, is another consumer.
    commands.RenameConsumer: "add",
    commands.SetPriorityLevel: "add",
    commands.SetSetting: "setting",
    commands.SetRelease: "release",
    commands.AddTopic: "topic",
    commands.RemoveTopic: "topic",
    commands.RepartitionTopic: "topic",
    commands.SplitBundle: "split",
    commands.SubscribeKeyShared: "topic",
    commands.ShareKeys: "setting",
    commands.RouteKeys: "setting",
    commands.SendKeys: "send",
    commands.Acknowledge: "ack",
    commands.PassTime: "wait",
    commands.AddProducers: "add",
    commands.CloseProducer: "kill",
    commands.SendByProducers: "send",
    commands.SetProducerRate: "send",
    commands.FailPartition: "fail",
    commands.RecoverPartition: "recover",
    commands.SplitSegment: "split",
    commands.MergeSegments: "split",
    commands.RebucketSegment: "split",
    commands.SetSegmentRate: "send",
    commands.SendToSegments: "send",
    commands.JoinSegments: "add",
    commands.LeaveSegments: "kill",
    commands.AcknowledgeSegments: "ack",
}

_JUDGED: Final = frozenset({"add", "kill", "setting", "release", "topic"})
"""Kinds of steps that can move partitions to other consumers."""

_HANDED_OVER: Final = frozenset({"add", "kill"})
"""Kinds of steps after which a dispatcher hands over; after others the broker reloads its topics."""


def kind_of(command: commands.Command) -> StepKind:
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
    if find_key_subscription(after, subscription_key) is not None:
        return _key_line(step, subscription_key, before, after)
    kind = kind_of(step.command)
    moved = moves(before, after, subscription_key)
    judged = kind in _JUDGED and moved.partitions > 0
    return EventLine(
        step=step.depth,
        kind=kind,
        text=step.text,
        moved=len(moved.moved),
        least=moved.least,
        partitions=moved.partitions,
        unacked_at_risk=moved.unacked_at_risk,
        handover_ms=_handover_ms(kind, moved, after),
        verdict=verdict_between(before, after, subscription_key, moved) if judged else None,
    )


def _key_line(step: Step, subscription_key: str, before: ClusterState, after: ClusterState) -> EventLine:
    from engine.views.keys.moves import key_moves, keys_verdict, same_space
    from engine.views.keys.slice import keys_slice_by_key

    kind, now = kind_of(step.command), keys_slice_by_key(after, subscription_key)
    assert now is not None, subscription_key
    earlier = keys_slice_by_key(before, subscription_key)
    shared = key_moves(earlier, now)
    # Slots of two spaces cannot be compared, so nothing is said about them; keys still can.
    size = now.slot_count if earlier is None or same_space(earlier, now) else 0
    keys = int(shared.keys.sum())
    verdict = keys_verdict(earlier, now, shared) if kind in _JUDGED else None
    return EventLine(step.depth, kind, step.text, shared.moved, shared.least, size, moved_keys=keys, verdict=verdict)


def _handover_ms(kind: str, moved: Moves, after: ClusterState) -> int:
    """How long moved partitions wait; a non-persistent topic has nothing to rewind and never waits."""
    if kind not in _HANDED_OVER or not moved.moved or moved.moved[0].startswith("non-persistent://"):
        return 0
    return max(after.settings.activeConsumerFailoverDelayTimeMillis, 0)


_LINES: Final = StepLines(_line)


def _opening(timeline: Timeline, subscription_key: str) -> EventLine:
    shared = find_key_subscription(timeline.initial, subscription_key)
    if shared is not None:
        size = shared.delivery.selector.slots.occurring
    else:
        size = moves(timeline.initial, timeline.initial, subscription_key).partitions
    return EventLine(0, "open", f"open {timeline.source}".rstrip(), 0, 0, size)


STATES_KEPT: Final = 16

_kept: OrderedDict[Step, ClusterState] = OrderedDict()


def state_before(timeline: Timeline) -> ClusterState | None:
    """The state one step before the cursor on the current branch; None at the opening.

    States that were viewed are kept, and with them what is cached by their identity: stepping forward folds nothing.
    """
    if timeline.cursor == 0:
        return None
    _keep(timeline.steps[timeline.cursor - 1], timeline.state)
    if timeline.cursor == 1:
        return timeline.initial
    step = timeline.steps[timeline.cursor - 2]
    state = _kept.get(step)
    if state is None:
        state = timeline.state_at(timeline.cursor - 1)
    _keep(step, state)
    return state


def _keep(step: Step, state: ClusterState) -> None:
    _kept[step] = state
    _kept.move_to_end(step)
    if len(_kept) > STATES_KEPT:
        _kept.popitem(last=False)


def colour_numbers(timeline: Timeline, subscription_key: str) -> Mapping[int, int]:
    """Consumer id -> its number from 0 in the order of connecting, over the whole branch up to the cursor.

    Those of the opened state come first, by id. A number once given is never given again, so a consumer that leaves
    takes its colour along. O(consumers + steps).
    """
    opened = next(
        (subscription for subscription in timeline.initial.subscriptions if subscription.key == subscription_key), None
    )
    ids = sorted(consumer.consumer_id for consumer in opened.consumers) if opened else []
    for step in timeline.steps[: timeline.cursor]:
        ids += [
            event.consumer_id
            for event in step.events
            if isinstance(event, ConsumerAdded) and event.subscription == subscription_key
        ]
    return {consumer_id: number for number, consumer_id in enumerate(ids)}
