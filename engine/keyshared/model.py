"""The types that every Key_Shared selector shares: consumer, slot space, ranges by consumer, selector.

Source: ``StickyKeyConsumerSelector`` and ``ConsumerHashAssignmentsSnapshot`` of Pulsar's broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Protocol, Self

from msgspec import Struct

from engine.answer import about
from engine.errors import Rejection
from engine.hashing import HASH_SPACE_SIZE, murmur3_32
from engine.ranges import HashRange

RangesById = Mapping[int, tuple[HashRange, ...]]
"""Consumer id → the ranges that a broker's statistics show for it; consumers without ranges are absent."""

DeclaredRanges = tuple[tuple[int, int], ...]
"""Ranges (start, end) as a client sent them: not yet checked, so an end may lie before its start."""


class Consumer(Struct, frozen=True):
    """One connected consumer of a Key_Shared subscription.

    ``consumer_id`` stands for the identity Pulsar compares: two consumers may have one name, never one id. ``name`` is
    "" when the client sent none. ``declared`` are the ranges of its STICKY policy; None when it sent no key-shared
    data. Priority levels play no part in Key_Shared.
    """

    consumer_id: Annotated[int, about("Counts in the order of joining.")]
    name: Annotated[str, about("Its name.")]
    declared: Annotated[DeclaredRanges | None, about("The ranges it declares in the mode sticky.")] = None


class SlotSpace(Struct, frozen=True):
    """The slots a selector looks up, ``low`` .. ``high``; ``folds_zero``: slot 0 means "no hash" and becomes 1.

    Slot of a hash: ``hash mod size + low``. Sources: ``StickyKeyConsumerSelectorUtils``; before 4.0 nothing is folded.

    >>> SlotSpace(0, 65_535).slot(65_536), SlotSpace(0, 65_535, folds_zero=False).slot(65_536)
    (1, 0)
    """

    low: int
    high: int
    folds_zero: bool = True

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    @property
    def range(self) -> HashRange:
        return HashRange(self.low, self.high)

    @property
    def lowest(self) -> int:
        """The first slot that occurs: never 0 where that one is folded into 1."""
        return max(self.low, 1) if self.folds_zero else self.low

    @property
    def occurring(self) -> int:
        """How many slots occur: 65535 of the 65536 in [0, 65535], and as many in the current ring's [1, 65535]."""
        return max(0, self.high - self.lowest + 1)

    def slot(self, hash_value: int) -> int:
        """The slot of a hash in 0 .. 2^31 - 1."""
        slot = hash_value % self.size + self.low
        return 1 if slot == 0 and self.folds_zero else slot

    def slot_of_key(self, key: bytes) -> int:
        """The slot of a sticky key, given as bytes."""
        return self.slot(murmur3_32(key))


RING_SLOTS: Final = SlotSpace(1, 65_535)
"""The current ring (PIP-379): **65535** slots from 1 on, one fewer than the other selectors have."""

CLASSIC_RING_SLOTS: Final = SlotSpace(1, 2_147_483_646)
"""The current ring inside the classic dispatcher (``subscriptionKeySharedUseClassicPersistentImplementation``)."""

LEGACY_RING_SLOTS: Final = SlotSpace(0, HASH_SPACE_SIZE - 1, folds_zero=False)
"""The rings before 4.0 look up the hash itself."""

RANGE_SIZE: Final = 65_536
"""``DEFAULT_RANGE_SIZE``: slots 0 .. 65535 of auto-split and sticky; slot 0 is folded into 1 since 4.0."""


class Selector(Protocol):
    """The owners of slots: an immutable value; a join or leave makes another one.

    ``consumers`` are those connected, in the order they joined.
    """

    @property
    def slots(self) -> SlotSpace: ...

    @property
    def consumers(self) -> tuple[Consumer, ...]: ...

    def owner(self, slot: int) -> int | None:
        """The id of the consumer a slot goes to; None if it has no owner. Never raises."""
        ...

    def ranges(self) -> RangesById:
        """The ranges as a broker's statistics show them, oddities included."""
        ...

    def join(self, consumer: Consumer) -> Self | Rejection:
        """The selector after a join; the consumer's id must not be connected."""
        ...

    def leave(self, consumer_id: int) -> Self:
        """The selector after a leave; itself when the id is not connected."""
        ...


def owner_of_key(selector: Selector, key: bytes) -> int | None:
    """The id of the consumer that gets a sticky key; None if its slot has no owner."""
    return selector.owner(selector.slots.slot_of_key(key))


def without(consumers: tuple[Consumer, ...], consumer_id: int) -> tuple[Consumer, ...]:
    """The other consumers, in their order."""
    return tuple(consumer for consumer in consumers if consumer.consumer_id != consumer_id)


def is_connected(consumers: tuple[Consumer, ...], consumer_id: int) -> bool:
    return any(consumer.consumer_id == consumer_id for consumer in consumers)
