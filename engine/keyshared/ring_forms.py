"""The points of the Key_Shared ring: what text is hashed for a point in each form the ring has had.

Source: ``ConsistentHashingStickyKeyConsumerSelector`` and ``ConsumerNameIndexTracker`` over the releases.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from engine.hashing import murmur3_32
from engine.keyshared.model import SlotSpace


class RingForm(Enum):
    """The forms of the ring, oldest first; the values are the names the golden vectors give them.

    ``NAME_I`` (2.7): point key is name + number, all claimants of a point share it by ``hash mod how many``.
    ``NAME_NUL_I`` (#22053): a NUL between name and number. ``INDEXED_REPLACE`` (#23327): namesakes are told apart by
    a name index; a newcomer takes a point away for good. ``CURRENT`` (#23441, #23447): the first claimant keeps it.
    """

    NAME_I = "name_i"
    NAME_NUL_I = "name_nul_i"
    INDEXED_REPLACE = "indexed_replace"
    CURRENT = "current"

    @property
    def shares_points(self) -> bool:
        """Whether all claimants of a point are served from it, by the hash."""
        return self in (RingForm.NAME_I, RingForm.NAME_NUL_I)

    @property
    def tracks_names(self) -> bool:
        """Whether namesakes have points of their own."""
        return not self.shares_points


def point_key(form: RingForm, name: str, name_index: int, replica: int) -> str:
    """The text whose hash is one point of a consumer; ``name_index`` plays no part in the two oldest forms.

    >>> point_key(RingForm.NAME_I, "c-1", 0, 10) == point_key(RingForm.NAME_I, "c-11", 0, 0)
    True
    >>> point_key(RingForm.CURRENT, "c", 2, 7)
    'c\\x002\\x007'
    """
    if form is RingForm.NAME_I:
        return f"{name}{replica}"
    if form is RingForm.NAME_NUL_I:
        return f"{name}\0{replica}"
    return f"{name}\0{name_index}\0{replica}"


@lru_cache(maxsize=4096)
def point_slots(form: RingForm, name: str, name_index: int, points: int, slots: SlotSpace) -> tuple[int, ...]:
    """The slots of a consumer's points by replica 0 .. ``points`` - 1; two may be equal. O(points)."""
    return tuple(slots.slot(murmur3_32(point_key(form, name, name_index, replica))) for replica in range(points))


def next_name_index(used: Iterable[int]) -> int:
    """The smallest number not in use among connected consumers of one name.

    >>> next_name_index([]), next_name_index([2, 0])
    (0, 1)
    """
    taken = set(used)
    return next(number for number in range(len(taken) + 1) if number not in taken)
