"""Auto-split: a newcomer halves the widest range.

Source: ``HashRangeAutoSplitStickyKeyConsumerSelector`` (PIP-34), in force when
``subscriptionKeySharedUseConsistentHashing`` is false.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from engine.errors import Rejection
from engine.keyshared.model import RANGE_SIZE, Consumer, RangesById, SlotSpace, is_connected, without
from engine.ranges import HashRange


class AutoSplitSelector(Struct, frozen=True):
    """Intervals (previous upper, upper] with an owner each; build one with ``auto_split_selector``.

    ``uppers`` ascend, ``owners`` are the consumer ids beside them. The last upper is the range size itself, one more
    than any slot, and the lowest interval begins at 0: both as in Pulsar. **The assignment depends on the history of
    joins and leaves**, not only on who is there.
    """

    slots: SlotSpace
    consumers: tuple[Consumer, ...] = ()
    uppers: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()

    @property
    def range_size(self) -> int:
        return self.slots.size

    def owner(self, slot: int) -> int | None:
        """The owner of the smallest upper >= slot; O(log n)."""
        at = bisect_left(self.uppers, slot)
        return self.owners[at] if at < len(self.owners) else None

    def ranges(self) -> RangesById:
        """One closed range per consumer; they tile 0 .. range size."""
        bounds = pairwise((-1, *self.uppers))
        return {owner: (HashRange(low + 1, high),) for owner, (low, high) in zip(self.owners, bounds, strict=True)}

    def join(self, consumer: Consumer) -> AutoSplitSelector | Rejection:
        """Give a newcomer the **lower** half of the widest interval, the lowest of them on a tie; O(n).

        Refused as ``ConsumerAssign`` when no interval is wider than 1.

        >>> selector = auto_split_selector(64).join_all([Consumer(n, "c") for n in (1, 2, 3, 4)])
        >>> {owner: str(*pieces) for owner, pieces in selector.ranges().items()}
        {3: '[0,16]', 2: '[17,32]', 4: '[33,48]', 1: '[49,64]'}
        """
        return self.join_all((consumer,))

    def join_all(self, newcomers: Sequence[Consumer]) -> AutoSplitSelector | Rejection:
        """``join`` one after another, at O(k log(n + k)) for k newcomers instead of O(k (n + k)).

        The first refusal ends it; its message counts the consumers that had a range by then.
        """
        joined = (*self.consumers, *newcomers)
        assert len({consumer.consumer_id for consumer in joined}) == len(joined), "a consumer joins once"
        owners = dict(zip(self.uppers, self.owners, strict=True))
        # The widest interval first, the lowest of equally wide ones: (-width, lower bound, upper bound).
        widest = [(low - high, low, high) for low, high in pairwise((0, *self.uppers))]
        heapq.heapify(widest)
        for newcomer in newcomers:
            if not owners:
                owners[self.range_size] = newcomer.consumer_id
                widest.append((-self.range_size, 0, self.range_size))
                continue
            negative_width, low, high = widest[0]
            if negative_width >= -1:
                message = f"No more range can assigned to new consumer, assigned consumers {len(owners)}"
                return Rejection("ConsumerAssign", message, field="consumer")
            middle = high - -negative_width // 2
            owners[middle] = newcomer.consumer_id
            heapq.heapreplace(widest, (middle - high, middle, high))
            heapq.heappush(widest, (low - middle, low, middle))
        uppers = tuple(sorted(owners))
        return AutoSplitSelector(self.slots, joined, uppers, tuple(owners[upper] for upper in uppers))

    def leave(self, consumer_id: int) -> AutoSplitSelector:
        """Give an interval back: to the one above it, the top one to the one below; O(n)."""
        if not is_connected(self.consumers, consumer_id):
            return self
        at = self.owners.index(consumer_id)
        # The top interval keeps its upper and passes to the owner below it, whose old upper is removed.
        gone = at - 1 if at == len(self.owners) - 1 and at > 0 else at
        return AutoSplitSelector(
            self.slots,
            without(self.consumers, consumer_id),
            self.uppers[:gone] + self.uppers[gone + 1 :],
            self.owners[:at] + self.owners[at + 1 :],
        )


def auto_split_selector(range_size: int = RANGE_SIZE, *, folds_zero: bool = True) -> AutoSplitSelector | Rejection:
    """An empty auto-split selector over slots 0 .. ``range_size`` - 1; ``folds_zero`` is false before 4.0.

    Refused as an illegal argument: a size below 2, a size that is not a power of two; both in Pulsar's words.
    """
    if range_size < 2:
        return Rejection("IllegalArgumentException", "range size must greater than 2", field="range_size")
    if range_size & (range_size - 1):
        return Rejection("IllegalArgumentException", "range size must be nth power with 2", field="range_size")
    return AutoSplitSelector(SlotSpace(0, range_size - 1, folds_zero))
