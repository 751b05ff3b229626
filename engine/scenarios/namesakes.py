"""Namesakes that must have left a Key_Shared ring, as events of the past."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster.key_events import KeyConsumerJoined, KeyConsumerLeft


def with_namesakes_that_left(
    joins: Sequence[KeyConsumerJoined], indices: Sequence[int]
) -> tuple[KeyConsumerJoined | KeyConsumerLeft, ...]:
    """The joins, with such namesakes before them as make everybody get its name index; they leave in the end.

    The ids of those that left follow the others.
    """
    events: list[KeyConsumerJoined | KeyConsumerLeft] = []
    next_id = max((each.consumer_id for each in joins), default=0) + 1
    held: dict[tuple[str, int], int | None] = {}
    for join, index in zip(joins, indices, strict=True):
        for lower in range(index):
            if (join.name, lower) not in held:
                held[join.name, lower] = next_id
                events.append(KeyConsumerJoined(join.subscription, next_id, join.name))
                next_id += 1
        stranger = held.get((join.name, index))
        if stranger is not None:
            events.append(KeyConsumerLeft(join.subscription, stranger))
        held[join.name, index] = None
        events.append(join)
    subscription = joins[0].subscription if joins else ""
    return (*events, *(KeyConsumerLeft(subscription, each) for each in held.values() if each is not None))
