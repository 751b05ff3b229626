"""The states around the cursor, and the order in which consumers came. Kept between views, since steps never change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from engine.cluster.events import ConsumerAdded
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Step, Timeline

STATES_KEPT: Final = 16

_kept: OrderedDict[Step, ClusterState] = OrderedDict()


def state_before(timeline: Timeline) -> ClusterState | None:
    """The state one step before the cursor on the current branch; None at the opening.

    A state that a view of this module has met is kept, so its facts are remembered too: walking forward folds nothing.
    """
    if timeline.cursor == 0:
        return None
    _keep(timeline.steps[timeline.cursor - 1], timeline.state)
    if timeline.cursor == 1:
        return timeline.initial
    step = timeline.steps[timeline.cursor - 2]
    found = _kept.get(step)
    if found is None:
        found = timeline.state_at(timeline.cursor - 1)
    _keep(step, found)
    return found


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
    opened = next((each for each in timeline.initial.subscriptions if each.key == subscription_key), None)
    ids = sorted(consumer.consumer_id for consumer in opened.consumers) if opened else []
    for step in timeline.steps[: timeline.cursor]:
        ids += [
            event.consumer_id
            for event in step.events
            if isinstance(event, ConsumerAdded) and event.subscription == subscription_key
        ]
    return {consumer_id: number for number, consumer_id in enumerate(ids)}
