"""Namesakes that must have left a Key_Shared ring, as events of the past."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster.keys.events import KeyConsumerJoined, KeyConsumerLeft
from engine.keyshared.model import Consumer
from engine.keyshared.name_indices import joins_and_leaves


def with_namesakes_that_left(
    joins: Sequence[KeyConsumerJoined], indices: Sequence[int]
) -> tuple[KeyConsumerJoined | KeyConsumerLeft, ...]:
    """The joins, with such namesakes before them as make everybody get its name index; they leave in the end.

    The ids of those that left follow the others.
    """
    subscription = joins[0].subscription if joins else ""
    given = {each.consumer_id: each for each in joins}
    consumers = [Consumer(each.consumer_id, each.name) for each in joins]
    return tuple(
        KeyConsumerLeft(subscription, step)
        if isinstance(step, int)
        else given.get(step.consumer_id) or KeyConsumerJoined(subscription, step.consumer_id, step.name)
        for step in joins_and_leaves(consumers, indices)
    )
