"""The order rule before PIP-379: who joined while messages were unacknowledged gets no newer ones for a while.

Source: ``PersistentStickyKeyDispatcherMultipleConsumers`` up to 3.2 and its classic form in 4.x
(``recentlyJoinedConsumers``). 3.3 judges by what had been sent instead of by the read position (PIP-282, #21953).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecentlyJoined:
    """(consumer id, read position when it joined) of those that still wait, in join order."""

    marks: tuple[tuple[int, int], ...] = ()

    def join(self, consumer_id: int, read_position: int, first_unacked: int, others: int) -> RecentlyJoined:
        """A consumer joined ``others`` connected ones; it waits only if something that was read is unacknowledged."""
        if others == 0 or read_position <= first_unacked:
            return self
        return RecentlyJoined((*self.marks, (consumer_id, read_position)))

    def leave(self, consumer_id: int, left: int) -> RecentlyJoined:
        """A consumer left; the only one of the ``left`` ones that remains waits for nobody."""
        if left <= 1:
            return RecentlyJoined()
        return RecentlyJoined(tuple(each for each in self.marks if each[0] != consumer_id))

    def released(self, first_unacked: int) -> RecentlyJoined:
        """Without those that everything before their joining is acknowledged for.

        Pulsar stops at the first that still waits; as it keeps them by position since #23802, that is the same.
        """
        return RecentlyJoined(tuple(each for each in self.marks if each[1] > first_unacked))

    def limit(self, consumer_id: int, *, replay: bool) -> int | None:
        """The position from which on a consumer must wait; None when it may have anything.

        A replayed message counts against the earliest mark of all, since an earlier newcomer may wait for it.

        >>> waiting = RecentlyJoined(((1, 4), (2, 9)))
        >>> waiting.limit(2, replay=False), waiting.limit(2, replay=True), waiting.limit(3, replay=True)
        (9, 4, None)
        """
        own = next((position for waiting, position in self.marks if waiting == consumer_id), None)
        return own if own is None or not replay else min(position for _, position in self.marks)
