"""The hash space of a Key_Shared subscription as a ring: pieces, known keys, and four lines for the middle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.cluster.keys.state import SharingMode
from engine.keyshared.ring import RingSelector
from engine.text import counted
from engine.views.failover.model import RingView
from engine.views.failover.ring import CENTRE_WIDTH
from engine.views.keys.moves import KeyMoves
from engine.views.keys.slice import KeysSlice

_MODE_LINES: Final = {
    SharingMode.AUTO_SPLIT: "ranges halved",
    SharingMode.STICKY: "declared ranges",
}


def keys_ring(now: KeysSlice, moves: KeyMoves, positions: Mapping[int, int]) -> RingView:
    """Pieces by their last slots; without consumers there is none and every key has nobody. O(n log n + k)."""
    pieces, known = now.pieces, now.known
    anybody = bool(positions)
    ends = pieces.ends if anybody else pieces.ends[:0]
    return RingView(
        space_size=now.selector.slots.high + 1,
        points=ends,
        point_owners=_rows_of(pieces.owners[: len(ends)], positions),
        changed_arcs=_changed(ends, now, moves),
        topic_names=known.texts,
        topic_hashes=known.slots,
        topic_owners=_rows_of(known.owners, positions),
        topic_moved=moves.keys,
        lit=True,
        centre=_centre(now, positions),
    )


def _rows_of(ids: NDArray[np.int64], positions: Mapping[int, int]) -> NDArray[np.int64]:
    return np.array([positions.get(each, -1) for each in ids.tolist()], dtype=np.int64)


def _changed(ends: NDArray[np.int64], now: KeysSlice, moves: KeyMoves) -> NDArray[np.bool_]:
    """The pieces of which at least a part had another owner before."""
    changed = np.zeros(len(ends), dtype=np.bool_)
    for piece in moves.changed:
        first = int(np.searchsorted(ends, piece.start, side="left"))
        last = int(np.searchsorted(ends, min(piece.end, now.selector.slots.high), side="left"))
        changed[first : last + 1] = True
    return changed


def _centre(now: KeysSlice, positions: Mapping[int, int]) -> tuple[str, ...]:
    """How many, by which rule, and how many of the keys the busiest has."""
    count = len(positions)
    if not count:
        return ("no consumers", "every message waits", "press a to add one")
    lines = [f"{count} consumer{'s' if count > 1 else ''}", _rule_line(now)]
    owners = now.known.owners[now.known.owners >= 0]
    if len(owners):
        ids, counts = np.unique(owners, return_counts=True)
        at = int(counts.argmax())
        names = {each.consumer_id: each.name for each in now.selector.consumers}
        rest = f": {int(counts[at])} of {len(now.known.keys)} key{'' if len(now.known.keys) == 1 else 's'}"
        room = CENTRE_WIDTH - len(rest)
        name = names[int(ids[at])]
        lines.append((name if len(name) <= room else name[: max(room - 1, 0)] + "…") + rest)
    else:
        lines.append(f"{now.slot_count:,} slots")
    if now.gaps.slot_count:
        lines.append(f"{counted(now.gaps.slot_count, 'slot')} unowned")
    return tuple(line[:CENTRE_WIDTH] for line in lines)


def _rule_line(now: KeysSlice) -> str:
    subscription = now.subscription
    if isinstance(now.selector, RingSelector):
        return f"ring: {now.selector.points} points each"
    if subscription.mode is SharingMode.CONSISTENT_STICKY:
        return f"sticky: {subscription.points} points a node"
    return _MODE_LINES[subscription.mode]
