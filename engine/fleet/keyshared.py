"""Key_Shared in bulk: slots of many keys, the owner of every slot, and what each consumer gets of a trace.

Twins of ``engine.keyshared``: every selector there has its arrays here, and the look-ups agree slot for slot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.keyshared.model import SlotSpace


def slots_bulk(hashes: NDArray[np.integer], space: SlotSpace) -> NDArray[np.int64]:
    """``SlotSpace.slot`` of each hash: (n,) int64; ``hashes``: (n,) in 0 .. 2^31 - 1. O(n).

    >>> slots_bulk(np.array([65_535, 65_536]), SlotSpace(0, 65_535)).tolist()
    [65535, 1]
    """
    slots = hashes.astype(np.int64) % space.size
    slots += space.low
    if space.folds_zero:
        slots[slots == 0] = 1
    return slots
