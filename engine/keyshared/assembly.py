"""A selector from a list of consumers at one go: as if they had joined one after another and nobody had left."""

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
    """The first consumer that could not join, and what its client or the broker said."""

    consumer: Consumer
    rejection: Rejection


def assemble(
    consumers: Sequence[Consumer],
    mode: KeySharedMode,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour = CURRENT,
) -> Selector | Rejection | JoinRefused:
    """The selector of these consumers, whose ids differ, joined in this order; the same as by single joins.

    A ``Rejection`` where there can be no such selector, ``JoinRefused`` where a consumer cannot join: for STICKY first
    what each client says of its own ranges, then what the broker does. O((n + r) log^2 (n + r)) for r ranges or points
    in all, except in the form of the ring in which newcomers take points away (n joins of O(n) there).

    >>> halves = BrokerSettings(subscriptionKeySharedUseConsistentHashing=False)
    >>> made = assemble([Consumer(1, "a"), Consumer(2, "b")], KeySharedMode.AUTO_SPLIT, halves)
    >>> [each.name for each in made.consumers], made.owner(30_000)
    (['a', 'b'], 2)
    """
    empty = selector_for(mode, settings, behaviour)
    if isinstance(empty, Rejection):
        return empty
    if isinstance(empty, AutoSplitSelector):
        joined = empty.join_all(tuple(consumers))
        # It refuses when every interval is 1 wide, so after as many consumers as there are slots.
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
        # Nobody has left, so the numbers of namesakes have no holes.
        members.append(RingMember(consumer, seen[consumer.name]))
        seen[consumer.name] += 1
    return replace(empty, members=tuple(members))


def _sticky(empty: StickySelector | LegacyStickySelector, consumers: Sequence[Consumer]) -> Selector | JoinRefused:
    for consumer in consumers:
        problem = policy_problem(consumer.declared or ())
        if problem is not None:
            return JoinRefused(consumer, problem)
    # Ranges that are each fine are all taken unless two consumers overlap: found by halving, not by joining.
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
    """The selector of consumers none of whose ranges overlap."""
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
