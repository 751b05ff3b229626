"""Lines of an events panel, one for each step: computed when first shown, remembered after that."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from engine.cluster.evolve import evolve
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Step, Timeline

EVENTS_SHOWN: Final = 200
"""The latest steps that are listed; older ones stay in the timeline."""
LINES_KEPT: Final = 1024

Line = TypeVar("Line")


class StepLines(Generic[Line]):
    """``line`` makes the line of a step for what has that key, from the states before and after it."""

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
    """How many of the oldest steps are not listed; while it is 0 the opening stands above the steps."""
    return max(timeline.cursor - EVENTS_SHOWN, 0)
