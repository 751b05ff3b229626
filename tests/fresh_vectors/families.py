"""The families of kept vectors that get fresh lines: how cases come about, and which lines their answers make."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from engine.config import ReleaseBehaviour
from tests.fresh_vectors import consumers, splits
from tests.fresh_vectors.inputs import ANSWERED, Case

Line = dict[str, Any]


def _as_answered(case: Case, _: ReleaseBehaviour) -> Line:
    return case


@dataclass(frozen=True, slots=True)
class Drawn:
    """A family whose cases are drawn from nothing: ``draw`` makes one, ``line`` a line of what was answered."""

    draw: Callable[[random.Random, ReleaseBehaviour], Case]
    line: Callable[[Case, ReleaseBehaviour], Line] = _as_answered


_RING: Final = Drawn(consumers.draw_ring, consumers.ring_line)
_STICKY: Final = Drawn(consumers.draw_sticky, consumers.sticky_line)
DRAWN: Final = {
    "failover_sequences": Drawn(consumers.draw_failover, consumers.failover_line),
    "keyshared_consistent": _RING,
    "keyshared_consistent_legacy": _RING,
    "keyshared_autosplit": Drawn(consumers.draw_auto_split, consumers.auto_split_line),
    "keyshared_sticky": _STICKY,
    "keyshared_sticky_legacy": _STICKY,
    "split_range": Drawn(splits.draw_range),
    "split_topic_count": Drawn(splits.draw_topic_count),
    "split_specified": Drawn(splits.draw_specified),
    "split_flow_qps": Drawn(splits.draw_flow, splits.flow_line),
}
FAMILIES: Final = (*DRAWN, *ANSWERED)
"""The others of these get changed copies of kept cases."""


def families_of(behaviour: ReleaseBehaviour) -> tuple[str, ...]:
    """The families of a release: it has one form of the ring and one of sticky ranges."""
    current_ring, gaps_unserved = behaviour.key_shared_ring == "current", behaviour.sticky_gaps == "unserved"
    others = {
        "keyshared_consistent_legacy" if current_ring else "keyshared_consistent",
        "keyshared_sticky_legacy" if gaps_unserved else "keyshared_sticky",
    }
    return tuple(family for family in FAMILIES if family not in others)
