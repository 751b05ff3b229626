"""What happens between the old and the new active consumer of a topic, step by step in simulated milliseconds.

A dispatcher (:mod:`engine.failover.handover`) with the earlier consumers is taken through the changes, and its effects
are recorded with their times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Annotated, Final

from engine.answer import about
from engine.errors import Rejection
from engine.failover.choose import choose
from engine.failover.handover import advance_to, connect, disconnect, flow, read_completed
from engine.failover.model import Consumer
from engine.failover.state import (
    ActiveConsumerChanged,
    Connection,
    DispatcherState,
    Effect,
    HandoverAlreadyWaiting,
    HandoverScheduled,
    Notified,
    Outcome,
    ReadCancelled,
    ReadStarted,
    Rewound,
    Terms,
)

MANY_CHANGES: Final = 16
_PERMITS: Final = 1000


class TakeoverEvent(Enum):
    """What the broker does. The comment is what ``count`` counts, where it counts something."""

    CHOSEN = "another consumer is chosen"
    READ_CANCELLED = "the waiting read of the one before is cancelled"
    WAITS = "the hand-over waits"  # milliseconds until it is due
    REWOUND = "the cursor is rewound to the first unacknowledged message"  # messages that are sent again
    NOTIFIED = "consumers are notified"  # consumers
    READS = "reading begins for the active consumer"


@dataclass(frozen=True, slots=True)
class TakeoverStep:
    """What the broker does."""

    at_ms: Annotated[int, about("Milliseconds since the change.", 0)]
    event: Annotated[TakeoverEvent, about("What happens.")]
    consumer: Annotated[Consumer | None, about("The consumer that it is about; null for all of them.")]
    count: Annotated[
        int | None,
        about(
            "Milliseconds that are waited, messages that are sent again (null where no answer counts them), or"
            " consumers that are notified; else 0.",
            0,
        ),
    ] = 0


@dataclass(frozen=True, slots=True)
class Takeover:
    """How the active role went from one consumer to another. ``duration_ms`` is how long nothing was delivered."""

    previous: Annotated[Consumer, about("Who was active.")]
    active: Annotated[Consumer, about("Who is active then.")]
    steps: Annotated[tuple[TakeoverStep, ...], about("In the order of time.")]

    @property
    def duration_ms(self) -> int:
        return self.steps[-1].at_ms if self.steps else 0


def takeover(
    terms: Terms, before: Sequence[Consumer], after: Sequence[Consumer], unacked_messages: int | None
) -> Takeover | None:
    """The hand-over from the active consumer of ``before`` to that of ``after``; leaves happen before joins.

    ``unacked_messages`` were sent to the first and are not acknowledged; None if unknown. All clients ask for messages
    and know notices (protocol version 12). None where the active consumer stays, where nobody is connected on one side,
    and where more than ``MANY_CHANGES`` consumers come and go. O(n log n) for each that does.

    A consumer leaves with 5 messages in flight, and the delay is Pulsar's default of a second:

    >>> a, b = Consumer(1, "a"), Consumer(2, "b")
    >>> found = takeover(Terms("persistent://t/n/x-partition-0", 0), [a, b], [b], 5)
    >>> [(step.at_ms, step.event.name, step.count) for step in found.steps]  # doctest: +NORMALIZE_WHITESPACE
    [(0, 'CHOSEN', 0), (0, 'READ_CANCELLED', 0), (0, 'WAITS', 1000),
     (1000, 'REWOUND', 5), (1000, 'NOTIFIED', 1), (1000, 'READS', 0)]
    """
    known = {consumer.consumer_id: consumer for consumer in (*before, *after)}
    ids_before, ids_after = ({consumer.consumer_id for consumer in consumers} for consumers in (before, after))
    if len(ids_before ^ ids_after) > MANY_CHANGES:
        return None
    state = _settled(terms, before, sending=bool(unacked_messages))
    previous_id = state.active_id
    effects: list[tuple[int, Effect]] = []
    for consumer in before:
        if consumer.consumer_id not in ids_after:
            state = _lived(disconnect(state, consumer.consumer_id), 0, effects)
    for consumer in after:
        if consumer.consumer_id not in ids_before:
            state = _lived(connect(state, Connection(consumer)), 0, effects)
            state = flow(state, consumer.consumer_id, _PERMITS).state
    active_id = state.active_id
    if previous_id is None or active_id is None or previous_id == active_id:
        return None
    if state.handover_due_ms is not None:
        state = _lived(advance_to(state, terms.delay_ms), terms.delay_ms, effects)
    return Takeover(known[previous_id], known[active_id], tuple(_steps(effects, known, unacked_messages)))


def _settled(terms: Terms, consumers: Sequence[Consumer], *, sending: bool) -> DispatcherState:
    """The dispatcher with all consumers connected, no hand-over scheduled, and a read of the active one pending."""
    choice = choose(
        consumers,
        terms.topic,
        terms.partition_index,
        consistent_hashing=terms.consistent_hashing,
        behaviour=terms.behaviour,
    )
    if choice is None:
        return DispatcherState(terms)
    order = tuple(Connection(consumer) for consumer in choice.order)
    state = DispatcherState(terms, order, choice.active.consumer_id)
    for consumer in consumers:
        state = flow(state, consumer.consumer_id, _PERMITS).state
    # One message represents all in flight: what matters is whether the cursor has anything to rewind to.
    return read_completed(state, 1).state if sending and state.pending_read is not None else state


def _lived(outcome: Outcome | Rejection, now_ms: int, effects: list[tuple[int, Effect]]) -> DispatcherState:
    assert isinstance(outcome, Outcome), "without a limit of consumers a dispatcher refuses nobody"
    effects += [(now_ms, effect) for effect in outcome.effects]
    return outcome.state


def _steps(
    effects: Sequence[tuple[int, Effect]], known: dict[int, Consumer], unacked_messages: int | None
) -> Iterator[TakeoverStep]:
    for (at_ms, is_notice), group in groupby(effects, lambda pair: (pair[0], isinstance(pair[1], Notified))):
        if is_notice:
            yield TakeoverStep(at_ms, TakeoverEvent.NOTIFIED, None, len(list(group)))
            continue
        for _, effect in group:
            match effect:
                case ActiveConsumerChanged():
                    chosen = None if effect.active_id is None else known[effect.active_id]
                    yield TakeoverStep(at_ms, TakeoverEvent.CHOSEN, chosen)
                case ReadCancelled(consumer_id=consumer_id):
                    yield TakeoverStep(at_ms, TakeoverEvent.READ_CANCELLED, known[consumer_id])
                case HandoverScheduled(due_ms=due_ms) | HandoverAlreadyWaiting(due_ms=due_ms):
                    yield TakeoverStep(at_ms, TakeoverEvent.WAITS, None, due_ms - at_ms)
                case Rewound(sent_again=entries):
                    again = unacked_messages if entries or unacked_messages is None else 0
                    yield TakeoverStep(at_ms, TakeoverEvent.REWOUND, None, again)
                case ReadStarted(consumer_id=consumer_id):
                    yield TakeoverStep(at_ms, TakeoverEvent.READS, known[consumer_id])
                case _:
                    pass
