"""Build a selector from a list of consumers in one step: as if they had joined one after another and none had left."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode, selector_for
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.ring import MAX_RING_POINTS, RingForm, RingMember, RingSelector, refuse_ring
from engine.keyshared.sticky import LegacyStickySelector, StickySelector, policy_problem
from engine.ranges import HashRange


@dataclass(frozen=True, slots=True)
class JoinRefused:
    """The first consumer that could not join, with the refusal of its client or the broker."""

    consumer: Consumer
    rejection: Rejection


def assemble(
    consumers: Sequence[Consumer],
    mode: KeySharedMode,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour = CURRENT,
) -> Selector | Rejection | JoinRefused:
    """The selector of these consumers, whose ids differ, joined in this order; the same as by single joins.

    A ``Rejection`` if the settings allow no such selector, ``JoinRefused`` if a consumer cannot join: for STICKY the
    clients' own checks come first, then the broker's. O((n + r) log^2 (n + r)) for r ranges or points
    in all, except for the form of the ring in which newcomers take points away: n joins of O(n).

    >>> halves = BrokerSettings(subscriptionKeySharedUseConsistentHashing=False)
    >>> selector = assemble([Consumer(1, "a"), Consumer(2, "b")], KeySharedMode.AUTO_SPLIT, halves)
    >>> [consumer.name for consumer in selector.consumers], selector.owner(30_000)
    (['a', 'b'], 2)
    """
    empty = selector_for(mode, settings, behaviour)
    if isinstance(empty, Rejection):
        return empty
    if isinstance(empty, AutoSplitSelector):
        joined = empty.join_all(tuple(consumers))
        # It refuses once every interval is 1 wide: after as many consumers as slots.
        return JoinRefused(consumers[empty.range_size], joined) if isinstance(joined, Rejection) else joined
    if isinstance(empty, RingSelector):
        return _ring(empty, consumers)
    assert isinstance(empty, (StickySelector, LegacyStickySelector)), "there are four kinds of selectors"
    return _sticky(empty, consumers)


def _ring(empty: RingSelector, consumers: Sequence[Consumer]) -> RingSelector | JoinRefused:
    refusal = refuse_ring(len(consumers), empty.points)
    if refusal is not None:
        return JoinRefused(consumers[MAX_RING_POINTS // empty.points], refusal)
    if empty.form is RingForm.INDEXED_REPLACE:
        for consumer in consumers:
            empty = empty.join(consumer)
        return empty
    seen: Counter[str] = Counter()
    members: list[RingMember] = []
    for consumer in consumers:
        # No consumer has left, so the name indices of namesakes have no gaps.
        members.append(RingMember(consumer, seen[consumer.name]))
        seen[consumer.name] += 1
    return replace(empty, members=tuple(members))


def _sticky(empty: StickySelector | LegacyStickySelector, consumers: Sequence[Consumer]) -> Selector | JoinRefused:
    for consumer in consumers:
        problem = policy_problem(consumer.declared or ())
        if problem is not None:
            return JoinRefused(consumer, problem)
    # Valid ranges are all accepted unless two consumers overlap; the first overlap is found by bisection, not by joins.
    fine = bisect_left(range(len(consumers)), True, key=lambda last: _overlap(consumers[: last + 1]))
    made = _with_all(empty, consumers[:fine])
    if fine == len(consumers):
        return made
    refused = made.join(consumers[fine])
    assert isinstance(refused, Rejection), "ranges that overlap are refused"
    return JoinRefused(consumers[fine], refused)


def _pieces(consumers: Sequence[Consumer]) -> list[tuple[int, int, int]]:
    """Start, end and consumer id of all declared ranges, ascending."""
    return sorted(
        (start, end, consumer.consumer_id) for consumer in consumers for start, end in consumer.declared or ()
    )


def _overlap(consumers: Sequence[Consumer]) -> bool:
    pieces = _pieces(consumers)
    return any(left[1] >= right[0] for left, right in pairwise(pieces))


def _with_all(
    empty: StickySelector | LegacyStickySelector, consumers: Sequence[Consumer]
) -> StickySelector | LegacyStickySelector:
    """The selector of consumers whose ranges do not overlap."""
    pieces = _pieces(consumers)
    if isinstance(empty, StickySelector):
        ranges = tuple(HashRange(start, end) for start, end, _ in pieces)
        return replace(empty, consumers=tuple(consumers), pieces=ranges, owners=tuple(owner for *_, owner in pieces))
    ends = sorted({(end, owner) for *bounds, owner in pieces for end in bounds})
    return replace(
        empty,
        consumers=tuple(consumers),
        ends=tuple(end for end, _ in ends),
        owners=tuple(owner for _, owner in ends),
    )
