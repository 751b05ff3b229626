"""Keys of very different weight: how skewed keys are made, and how long a hot one starves the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from engine.keyshared.delivery_state import DeliveryTerms
from engine.keyshared.model import Selector, owner_of_key


def zipf_counts(keys: Sequence[bytes], messages: int, exponent: float = 1.0) -> dict[bytes, int]:
    """``messages`` over keys by Zipf's law: the r-th key has a part of 1 / r^exponent; the sum is exact. O(n log n).

    Parts are rounded down, and what is left goes to the largest remainders, the earlier key on a tie.

    >>> zipf_counts([b"a", b"b", b"c"], 11)
    {b'a': 6, b'b': 3, b'c': 2}
    """
    assert messages >= 0, "there is no negative number of messages"
    weights = [1 / rank**exponent for rank in range(1, len(keys) + 1)]
    whole = sum(weights)
    exact = [messages * weight / whole for weight in weights]
    counts = [int(part) for part in exact]
    by_remainder = sorted(range(len(keys)), key=lambda at: counts[at] - exact[at])
    for at in by_remainder[: messages - sum(counts)]:
        counts[at] += 1
    return dict(zip(keys, counts, strict=True))


@dataclass(frozen=True, slots=True)
class Starvation:
    """What happens when one consumer stops acknowledging.

    ``msgs_per_sec`` of its keys, a part ``share`` of all, first fill its permits and then the replay queue, which holds
    ``replay_limit`` messages (None: any number). Then nothing new is read and **every** key starves, ``seconds`` after
    the stop; infinite when it never comes to that.
    """

    consumer_id: int
    msgs_per_sec: float
    share: float
    replay_limit: int | None
    seconds: float


def starvation_of(
    selector: Selector, msgs_per_sec: Mapping[bytes, float], consumer_id: int, terms: DeliveryTerms
) -> Starvation:
    """How long a subscription goes on after one consumer stops, with steady rates by sticky key; O(n log n).

    >>> from engine.keyshared.autosplit import auto_split_selector
    >>> from engine.keyshared.model import Consumer
    >>> two = auto_split_selector().join_all([Consumer(1, "a"), Consumer(2, "b")])
    >>> starvation_of(two, {b"a": 40.0, b"c": 10.0}, 2, DeliveryTerms(max_unacked=1000)).seconds
    125.0
    """
    assert all(rate >= 0 for rate in msgs_per_sec.values()), "a key has no negative rate"
    mine = sum(rate for key, rate in msgs_per_sec.items() if owner_of_key(selector, key) == consumer_id)
    whole = sum(msgs_per_sec.values())
    limit = terms.look_ahead_limit(len(selector.consumers))
    # Without a limit of permits everything can be sent to it, so nothing ever waits.
    stops = mine > 0 and limit is not None and terms.max_unacked > 0
    return Starvation(
        consumer_id=consumer_id,
        msgs_per_sec=mine,
        share=mine / whole if whole else 0.0,
        replay_limit=limit,
        seconds=(terms.max_unacked + (limit or 0)) / mine if stops else inf,
    )


def worst_starvation(
    selector: Selector, msgs_per_sec: Mapping[bytes, float], terms: DeliveryTerms
) -> Starvation | None:
    """The consumer whose stop would starve all keys soonest, the first to join on a tie; None without consumers."""
    each = [starvation_of(selector, msgs_per_sec, one.consumer_id, terms) for one in selector.consumers]
    return min(each, key=lambda found: found.seconds, default=None)
