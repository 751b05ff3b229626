"""Who is the active consumer.

Source: ``AbstractDispatcherSingleActiveConsumer.pickAndScheduleActiveConsumer``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cmp_to_key
from typing import Annotated, Final

from msgspec import Struct

from engine.answer import about
from engine.config import CURRENT, ReleaseBehaviour
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, failover_ring
from engine.hashing import murmur3_32, sign_safe_mod, utf16_order

MAX_REPLAYED_JOINS: Final = 200
"""Up to this many consumers with overflowing levels, joins are replayed one by one."""


class Rule(Enum):
    """How the active consumer of a topic is picked."""

    MODULO = "modulo"
    RING = "ring"
    FIRST_CONNECTED = "first-connected"


class Choice(Struct, frozen=True):
    """The outcome of one choice.

    ``order`` is the dispatcher's list after its sort; the first ``cohort_size`` of it took part, and ``index`` (in
    ``order``) is the active one. ``topic_hash`` is set when the ring decided.
    """

    rule: Annotated[Rule, about("The rule.")]
    order: Annotated[tuple[Consumer, ...], about("The dispatcher's order.")]
    cohort_size: Annotated[int, about("How many of them can be active.")]
    index: Annotated[int, about("The place of the active one.")]
    active: Annotated[Consumer, about("The active consumer.")]
    topic_hash: Annotated[int | None, about("The hash of the topic where the ring decided.")]


def sort_consumers(consumers: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """The dispatcher's order: priority level ascending, then name by UTF-16 code unit, then as they were.

    >>> [c.name for c in sort_consumers([Consumer(1, "b"), Consumer(2, "a", 1), Consumer(3, "B")])]
    ['B', 'b', 'a']
    """
    if levels_overflow([consumer.priority_level for consumer in consumers]):
        return _sorted_with_overflow(consumers)
    return tuple(sorted(consumers, key=_rank))


def levels_overflow(levels: Sequence[int]) -> bool:
    """Whether the difference of two of these levels overflows 32 bits, in which Pulsar computes it.

    >>> levels_overflow([-2, 2**31 - 1]), levels_overflow([0, 2**31 - 1]), levels_overflow([])
    (True, False, False)
    """
    return bool(levels) and max(levels) - min(levels) >= 2**31


def _rank(consumer: Consumer) -> tuple[int, bytes]:
    return consumer.priority_level, utf16_order(consumer.name)


def _sorted_with_overflow(consumers: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """The dispatcher's list after these consumers joined one by one, where levels overflow.

    With overflow the order is cyclic (a before b before c before a), so the result depends on the order of joins:
    Pulsar sorts its list at every join, and this replays the joins of the connected consumers. More than
    ``MAX_REPLAYED_JOINS`` consumers are sorted once.
    """
    if len(consumers) > MAX_REPLAYED_JOINS:
        return sort_once(consumers)
    order: tuple[Consumer, ...] = ()
    for consumer in consumers:
        order = sort_once((*order, consumer))
    return order


def sort_once(consumers: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """One sort of a list, by ``o1.priority - o2.priority`` in 32 bits, then by name.

    Java's TimSort; up to 31 elements Python's sort gives the same result even for a cyclic order.
    """

    def compare(one: Consumer, other: Consumer) -> int:
        difference = (one.priority_level - other.priority_level + 2**31) % 2**32 - 2**31
        if difference:
            return difference
        mine, theirs = utf16_order(one.name), utf16_order(other.name)
        return (mine > theirs) - (mine < theirs)

    return tuple(sorted(consumers, key=cmp_to_key(compare)))


def cohort(order: Sequence[Consumer]) -> tuple[Consumer, ...]:
    """The leading consumers of a sorted list that share the first one's priority level; only they can be active."""
    size = 0
    while size < len(order) and order[size].priority_level == order[0].priority_level:
        size += 1
    return tuple(order[:size])


def rule_in_force(partition_index: int, *, consistent_hashing: bool, behaviour: ReleaseBehaviour = CURRENT) -> Rule:
    """The rule for a topic: a negative ``partition_index`` means that it is not partitioned.

    A release that does not know ``activeConsumerFailoverConsistentHashing`` ignores it. A non-partitioned topic uses
    the ring whatever the flag says (open question #24747 of Pulsar), before 3.0 the first connected consumer.
    """
    if partition_index < 0:
        return Rule.RING if behaviour.nonpartitioned_failover == "ring" else Rule.FIRST_CONNECTED
    return Rule.RING if consistent_hashing and behaviour.knows_failover_consistent_hashing else Rule.MODULO


def choose(
    consumers: Sequence[Consumer],
    topic: str,
    partition_index: int,
    *,
    consistent_hashing: bool,
    behaviour: ReleaseBehaviour = CURRENT,
    listed: bool = False,
) -> Choice | None:
    """The active consumer of one topic among ``consumers`` (in connect order); None when there is none.

    ``listed``: they are the dispatcher's list as it was after its last choice, followed by those that joined since.

    ``topic`` is the full name, with scheme and ``-partition-N``; the ring hashes its UTF-8 bytes. O(n log n) for n
    consumers.

    Example: partition 4 of three consumers of one level goes to the one at 4 mod 3 = 1 in name order.

    >>> three = [Consumer(1, "c"), Consumer(2, "a"), Consumer(3, "b")]
    >>> choose(three, "persistent://t/n/x-partition-4", 4, consistent_hashing=False).active.name
    'b'
    """
    choices = choose_many(
        consumers, [(topic, partition_index)], consistent_hashing=consistent_hashing, behaviour=behaviour, listed=listed
    )
    return choices[0] if choices else None


def choose_many(
    consumers: Sequence[Consumer],
    topics: Sequence[tuple[str, int]],
    *,
    consistent_hashing: bool,
    behaviour: ReleaseBehaviour = CURRENT,
    listed: bool = False,
) -> list[Choice]:
    """``choose`` for many topics (full name, partition index) with the same consumers; empty when there is none.

    The list is sorted once and the ring is shared: O(n log n + t log n) for t topics.
    """
    if not consumers:
        return []
    connected = tuple(consumers)
    # Only a cyclic order depends on how the list came about, and comparing pairs takes longer.
    overflow = listed and levels_overflow([consumer.priority_level for consumer in connected])
    order = sort_once(connected) if overflow else sort_consumers(connected)
    leading = cohort(order)
    size = len(leading)
    ring: FailoverRing | None = None
    choices: list[Choice] = []
    for topic, partition_index in topics:
        rule = rule_in_force(partition_index, consistent_hashing=consistent_hashing, behaviour=behaviour)
        if rule is Rule.FIRST_CONNECTED:
            # Before 3.0 nothing is sorted for these topics: neither level nor name counts, so all are one cohort.
            choices.append(Choice(rule, connected, len(connected), 0, connected[0], None))
        elif rule is Rule.MODULO:
            index = sign_safe_mod(partition_index, size)
            choices.append(Choice(rule, order, size, index, order[index], None))
        else:
            if ring is None:
                ring = failover_ring(tuple(consumer.name for consumer in leading))
            topic_hash = murmur3_32(topic)
            index = ring.owner_index(topic_hash)
            choices.append(Choice(rule, order, size, index, order[index], topic_hash))
    return choices
