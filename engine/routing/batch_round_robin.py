"""Round robin of the C++ client, and of the Python client built on it, while batching: it moves on batch by batch.

Source: ``RoundRobinMessageRouter`` of the C++ client. The Java client has none of these thresholds but the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from engine.hashing import sign_safe_mod
from engine.routing.keys import HashingScheme
from engine.routing.turns import next_turn

MAX_BATCH_MSGS: Final = 1000
"""``batchingMaxMessages`` of the C++ client by default."""

MAX_BATCH_BYTES: Final = 128 * 1024
"""``batchingMaxAllowedSizeInBytes`` of the C++ client by default."""

MAX_BATCH_DELAY_MS: Final = 10
"""``batchingMaxPublishDelayMs`` of the C++ client by default."""

_UNSIGNED_32: Final = 2**32


@dataclass(frozen=True, slots=True)
class BatchRoundRobinRouter:
    """Messages without a key stay at one partition until a batch is full, by number, by bytes or by time.

    ``cursor`` is drawn at creation. ``msgs`` and ``size_bytes`` count what went to the partition of now, since
    ``last_change_ms``, which begins with the moment of creation.
    """

    cursor: int
    last_change_ms: int = 0
    max_msgs: int = MAX_BATCH_MSGS
    max_bytes: int = MAX_BATCH_BYTES
    max_delay_ms: int = MAX_BATCH_DELAY_MS
    hashing: HashingScheme = "BoostHash"
    msgs: int = 0
    size_bytes: int = 0

    def is_full(self, msg_size_bytes: int, now_ms: int) -> bool:
        """Whether the next message of this size starts a new batch, and so the next partition.

        The room left is an unsigned number: after one message above ``max_bytes`` it is huge, and the bytes count no
        more until the number or the time moves the router on.

        >>> router = BatchRoundRobinRouter(0, max_msgs=9, max_bytes=100)
        >>> [replace(router, size_bytes=size).is_full(40, 0) for size in (0, 60, 101)]
        [False, True, False]
        """
        room_bytes = (self.max_bytes - self.size_bytes) % _UNSIGNED_32
        late = now_ms - self.last_change_ms >= self.max_delay_ms
        return self.msgs >= self.max_msgs or msg_size_bytes >= room_bytes or late

    def turn(self, partitions: int, msg_size_bytes: int, now_ms: int) -> tuple[BatchRoundRobinRouter, int]:
        """The router after one message without a key, and that message's partition.

        With one partition nothing is counted.

        >>> router = BatchRoundRobinRouter(4, max_msgs=2)
        >>> router, first = router.turn(6, 1, now_ms=0)
        >>> router, second = router.turn(6, 1, now_ms=0)
        >>> first, second, router.turn(6, 1, now_ms=0)[1], router.turn(6, 1, now_ms=10)[1]
        (4, 4, 5, 5)
        """
        if partitions == 1:
            return self, 0
        if self.is_full(msg_size_bytes, now_ms):
            after = replace(
                self, cursor=next_turn(self.cursor), last_change_ms=now_ms, msgs=1, size_bytes=msg_size_bytes
            )
        else:
            after = replace(self, msgs=self.msgs + 1, size_bytes=self.size_bytes + msg_size_bytes)
        return after, sign_safe_mod(after.cursor, partitions)
