"""Hashing many names at once, from each form they come in, beside a plain loop over mmh3 from the same form."""

from __future__ import annotations

import mmh3
import numpy as np

from engine.bulk_hashing import ByteColumn, murmur3_bulk
from tests.bench.fleet_support import FULL, Size, best_in_turn, topic_names
from tests.bench.table import Row


def rows(size: Size = FULL) -> list[Row]:
    """One row for each form."""
    listed = topic_names(size.topics)
    fixed = np.array(listed, dtype="S")
    ends = np.cumsum([0, *map(len, listed)])
    column = ByteColumn(ends, np.frombuffer("".join(listed).encode(), dtype=np.uint8))
    loops = {
        "a list of texts": (listed, lambda: [mmh3.hash(name) & 0x7FFFFFFF for name in listed]),
        "a numpy array of bytes": (fixed, lambda: [mmh3.hash(name) & 0x7FFFFFFF for name in fixed.tolist()]),
        "an Arrow buffer": (column, lambda: [mmh3.hash(name) & 0x7FFFFFFF for name in column.values()]),
    }
    result = []
    for form, (names, loop) in loops.items():
        assert murmur3_bulk(names).tolist() == loop()
        ours_s, peer_s = best_in_turn(lambda names=names: murmur3_bulk(names), loop, size.rounds)
        result.append(Row(f"hash {size.topics:,} names from {form}", ours_s * 1000, "a loop over mmh3", peer_s * 1000))
    return result
