"""Whether a recorded flow split can have come from the rates around that moment.

The broker decides with its own doubles at the moment of the request. A recording has rates shortly before, often also
shortly after, with three decimals each. So each topic's rate is known as an interval only, and the question is whether
*some* rates in the intervals make the merged rule (``flow_or_qps_equally_divide``) give exactly the recorded cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.bundles.algorithms import FlowLimits
from engine.bundles.loads import TopicLoad

CUT_OFF: Final = 0.001
"""Brokers cut values in broker-stats after the third decimal, a topic's two rates separately; readers may round."""


@dataclass(frozen=True, slots=True)
class Window:
    """The interval of one topic's traffic, in plus out: messages per second and bytes per second."""

    name: str
    hash: int
    low_msgs: float
    high_msgs: float
    low_bytes: float
    high_bytes: float


def windows(before: Mapping[str, TopicLoad], after: Mapping[str, TopicLoad]) -> tuple[Window, ...]:
    """The windows of all topics in two recordings; either may lack a topic."""
    names = before.keys() | after.keys()
    return windows_of({name: [side[name] for side in (before, after) if name in side] for name in names})


def windows_of(recorded: Mapping[str, Iterable[TopicLoad]]) -> tuple[Window, ...]:
    """The window of each topic with statistics: from its smallest to its largest rate, and what was cut off.

    Two rates that were cut were up to twice ``CUT_OFF`` more together; two that were rounded up, up to once less.
    """
    intervals: list[Window] = []
    for name, seen in recorded.items():
        loads = [load for load in seen if load.has_stats]
        msgs, sizes = [load.msgs_per_sec for load in loads], [load.bytes_per_sec for load in loads]
        # Written as 0.0 every time: idle. Less than a thousandth of a message a second moves no cut here.
        if max((*msgs, *sizes), default=0.0) > 0:
            intervals.append(
                Window(
                    name,
                    loads[0].hash,
                    max(min(msgs) - CUT_OFF, 0.0),
                    max(msgs) + 2 * CUT_OFF,
                    max(min(sizes) - CUT_OFF, 0.0),
                    max(sizes) + 2 * CUT_OFF,
                )
            )
    return tuple(sorted(intervals, key=lambda window: window.hash))


def reachable(topics: Sequence[Window], limits: FlowLimits, cuts: Sequence[int]) -> bool:
    """Whether rates in the windows make the rule cut exactly at ``cuts``. O(topics × 2^cuts) at worst.

    The rule packs topics by ascending hash and cuts before the one that would exceed a limit. For a cut there, the
    piece before it should be as full as its windows and the limit allow, and that never prevents an earlier cut. So it
    is enough to follow the pieces with the fullest filling, once for each choice of the limit that made the cut.

    >>> two = (Window("a", 10, 5.0, 6.0, 0, 0), Window("b", 20, 5.0, 6.0, 0, 0))
    >>> reachable(two, FlowLimits(10, 10**9, 0), [16]), reachable(two, FlowLimits(13, 10**9, 0), [16])
    (True, False)
    """
    if len({window.hash for window in topics}) != len(topics):
        return False
    if not cuts:
        # Nothing is cut below the gate, nor when all topics fit one piece.
        low_msgs = sum(window.low_msgs for window in topics)
        low_bytes = sum(window.low_bytes for window in topics)
        gate_msgs, gate_bytes = _gates(limits)
        below_gate = low_msgs < gate_msgs and low_bytes < gate_bytes
        one_piece = low_msgs <= limits.max_msgs_per_sec and low_bytes <= limits.max_bytes_per_sec
        return len(topics) < 2 or below_gate or one_piece
    places = _places(topics, cuts)
    return places is not None and _follow(topics, limits, places)


def _gates(limits: FlowLimits) -> tuple[float, float]:
    return limits.max_msgs_per_sec * limits.gate_factor, limits.max_bytes_per_sec * limits.gate_factor


def _places(topics: Sequence[Window], cuts: Sequence[int]) -> list[int] | None:
    """Index of the first topic after each cut; None when a cut is not where the rule makes one."""
    middles = {
        topics[at - 1].hash + (topics[at].hash - topics[at - 1].hash) // 2 + 1: at for at in range(1, len(topics))
    }
    places = [middles.get(cut, 0) for cut in sorted(cuts)]
    return places if all(places) else None


def _follow(topics: Sequence[Window], limits: FlowLimits, places: Sequence[int]) -> bool:
    starts, stops = [0, *places], [*places, len(topics)]
    # The least that the first topic of a piece must have, because the cut before it was made for it; and the sums.
    states: list[tuple[float, float, float, float]] = [(0.0, 0.0, 0.0, 0.0)]
    for start, stop in zip(starts, stops, strict=True):
        following: list[tuple[float, float, float, float]] = []
        for at_least_msgs, at_least_bytes, total_msgs, total_bytes in states:
            low_msgs, low_bytes = _least(topics[start:stop], at_least_msgs, at_least_bytes)
            alone = stop - start == 1
            # A single topic makes a piece whatever it carries: the rule compares from the second one on.
            if not alone and (low_msgs > limits.max_msgs_per_sec or low_bytes > limits.max_bytes_per_sec):
                continue
            full_msgs = sum(window.high_msgs for window in topics[start:stop])
            full_bytes = sum(window.high_bytes for window in topics[start:stop])
            if not alone:
                full_msgs = min(full_msgs, float(limits.max_msgs_per_sec))
                full_bytes = min(full_bytes, float(limits.max_bytes_per_sec))
            sums = (total_msgs + full_msgs, total_bytes + full_bytes)
            if stop == len(topics):
                gate_msgs, gate_bytes = _gates(limits)
                if sums[0] >= gate_msgs or sums[1] >= gate_bytes:
                    return True
                continue
            lacking_msgs = limits.max_msgs_per_sec - full_msgs
            lacking_bytes = limits.max_bytes_per_sec - full_bytes
            if topics[stop].high_msgs > lacking_msgs:
                following.append((lacking_msgs, 0.0, *sums))
            if topics[stop].high_bytes > lacking_bytes:
                following.append((0.0, lacking_bytes, *sums))
        states = list(dict.fromkeys(following))
    return False


def _least(piece: Sequence[Window], at_least_msgs: float, at_least_bytes: float) -> tuple[float, float]:
    first = piece[0]
    rest_msgs = sum(window.low_msgs for window in piece[1:])
    rest_bytes = sum(window.low_bytes for window in piece[1:])
    return max(first.low_msgs, at_least_msgs) + rest_msgs, max(first.low_bytes, at_least_bytes) + rest_bytes
