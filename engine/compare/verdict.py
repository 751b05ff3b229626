"""Whether a change makes a subscription's work more even or less, and what it moves: before it is taken, and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from engine.cluster.commands import Command, SetSetting
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.moves import Moves, moves
from engine.cluster.state import ClusterState, Subscription
from engine.compare.evenness import NO_EVENNESS, Evenness, evenness
from engine.config import FLAG
from engine.errors import Rejection

Judgement = Literal["better", "worse", "even"]
JudgedBy = Literal["nobody", "messages", "items", "idle", "nothing"]
MARGIN: Final = 0.01
"""Two shares that differ by less of the larger one are even."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``judgement`` in a word, by which number it fell (``judged_by``), and what the change moves.

    ``moved`` items of ``items`` have another owner, where ``least`` would lead to the same loads. ``msgs_per_sec`` and
    ``bytes_per_sec`` flow in what moved, by the numbers before; ``unacked_at_risk`` messages of it may be delivered
    twice.
    """

    judgement: Judgement
    judged_by: JudgedBy
    before: Evenness
    after: Evenness
    moved: int
    least: int
    items: int
    msgs_per_sec: float
    bytes_per_sec: float
    unacked_at_risk: int


def judge(before: Evenness, after: Evenness) -> tuple[Judgement, JudgedBy]:
    """Better, worse or even, and by which number.

    What counts is the part of all work that the busiest consumer has: by messages per second where both sides have
    some, and where those are even by items. So a newcomer that relieves nobody makes nothing better although the mean
    falls. Where both are even and as many consumers take part, fewer idle ones are better. Work that somebody had and
    nobody has now is worse than any share.

    >>> from engine.compare.evenness import evenness_of
    >>> import numpy as np
    >>> even, two = (evenness_of(np.array(counts), np.zeros(3), 6) for counts in ([2, 2, 2], [4, 2, 0]))
    >>> judge(even, two), judge(two, even), judge(even, even)
    (('worse', 'items'), ('better', 'items'), ('even', 'nothing'))
    """
    unowned = (before.items - before.owned, after.items - after.owned)
    if unowned[0] != unowned[1] and (before.owned or after.owned):
        return _less_is_better(*unowned), "nobody"
    if before.msgs_per_sec > 0 and after.msgs_per_sec > 0:
        judgement = _compared(
            before.busiest_msgs_per_sec / before.msgs_per_sec, after.busiest_msgs_per_sec / after.msgs_per_sec
        )
        if judgement != "even":
            return judgement, "messages"
    if before.owned and after.owned:
        judgement = _compared(before.busiest / before.owned, after.busiest / after.owned)
        if judgement != "even":
            return judgement, "items"
    if before.consumers == after.consumers and before.idle != after.idle:
        return _less_is_better(before.idle, after.idle), "idle"
    return "even", "nothing"


def _compared(before: float, after: float) -> Judgement:
    return "even" if abs(before - after) <= MARGIN * max(before, after) else _less_is_better(before, after)


def _less_is_better(before: float, after: float) -> Judgement:
    return "better" if after < before else "worse"


def verdict_between(before: ClusterState, after: ClusterState, key: str, found: Moves | None = None) -> Verdict:
    """The verdict on a Failover subscription in two states; one that lacks it counts as without work. O(partitions).

    ``found``: what moved between them, where the caller knows it already.
    """
    moved = moves(before, after, key) if found is None else found
    was, now = (_evenness(state, key) for state in (before, after))
    judgement, judged_by = judge(was, now)
    return Verdict(
        judgement=judgement,
        judged_by=judged_by,
        before=was,
        after=now,
        moved=len(moved.moved),
        least=moved.least,
        items=moved.partitions,
        msgs_per_sec=moved.msgs_per_sec,
        bytes_per_sec=moved.bytes_per_sec,
        unacked_at_risk=moved.unacked_at_risk,
    )


def preview(state: ClusterState, command: Command, key: str) -> Verdict | Rejection:
    """The verdict on a command that is not carried out, or why it would be refused."""
    after = carried_out(state, command)
    return after if isinstance(after, Rejection) else verdict_between(state, after, key)


def carried_out(state: ClusterState, command: Command) -> ClusterState | Rejection:
    """The state after a command."""
    events = decide(state, command)
    if isinstance(events, Rejection):
        return events
    for event in events:
        state = evolve(state, event)
    return state


def flag_change(state: ClusterState) -> Command:
    """The command that turns consistent hashing of Failover subscriptions on or off: the other of the two."""
    return SetSetting(FLAG, "false" if state.settings.activeConsumerFailoverConsistentHashing else "true")


def _evenness(state: ClusterState, key: str) -> Evenness:
    subscription = subscription_of(state, key)
    return NO_EVENNESS if subscription is None else evenness(state, subscription)


def subscription_of(state: ClusterState, key: str) -> Subscription | None:
    """The Failover subscription of that key."""
    return next((subscription for subscription in state.subscriptions if subscription.key == key), None)
