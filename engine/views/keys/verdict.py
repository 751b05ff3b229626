"""The verdict on a step of a Key_Shared subscription: by messages of known keys, else by slots."""

from __future__ import annotations

import numpy as np

from engine.compare.evenness import NO_EVENNESS, Evenness, evenness_of
from engine.compare.verdict import Verdict, judge
from engine.views.keys.moves import KeyMoves, same_space
from engine.views.keys.slice import KeysSlice


def keys_evenness(now: KeysSlice) -> Evenness:
    """Slots, and messages of known keys so far, over all consumers."""
    counts = now.slot_counts()
    ids = np.array([each.consumer_id for each in now.selector.consumers], dtype=np.int64)
    places = {number: at for at, number in enumerate(ids.tolist())}
    messages = np.zeros(len(ids))
    owned = now.known.owners >= 0
    at = np.array([places.get(owner, -1) for owner in now.known.owners[owned].tolist()], dtype=np.int64)
    np.add.at(messages, at[at >= 0], now.known.messages[owned][at >= 0])
    slots = np.array([counts.get(number, 0) for number in ids.tolist()], dtype=np.int64)
    return evenness_of(slots, messages, now.slot_count)


def keys_verdict(before: KeysSlice | None, now: KeysSlice, moves: KeyMoves) -> Verdict:
    """What a step made of the shares. Slots of two spaces cannot be compared, so none counts as moved there."""
    was, after = NO_EVENNESS if before is None else keys_evenness(before), keys_evenness(now)
    judgement, judged_by = judge(was, after)
    comparable = before is None or same_space(before, now)
    return Verdict(
        judgement=judgement,
        judged_by=judged_by,
        before=was,
        after=after,
        moved=moves.moved,
        least=moves.least,
        items=now.slot_count if comparable else 0,
        msgs_per_sec=0.0,
        bytes_per_sec=0.0,
        unacked_at_risk=0,
    )
