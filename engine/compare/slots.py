"""What the consumers of a Key_Shared selector have: slots, and messages a second of known keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from engine.keyshared.bulk import slot_owners
from engine.keyshared.entry_key import text_of_key
from engine.keyshared.model import Consumer, Selector, SlotSpace
from engine.keyshared.ownership import slots_by_consumer


def slot_counts(selector: Selector) -> NDArray[np.float64]:
    """Slots of each consumer: (c,), in the order they joined."""
    owned = slots_by_consumer(selector)
    return np.array(
        [sum(piece.count for piece in owned[consumer.consumer_id]) for consumer in selector.consumers], dtype=np.float64
    )


@dataclass(frozen=True, eq=False, slots=True)
class KnownKeys:
    """Known keys: ``rates`` are messages, or messages a second, parallel to ``keys``: (k,)."""

    keys: tuple[bytes, ...]
    rates: NDArray[np.float64]

    @classmethod
    def of(cls, keys: Mapping[bytes, float]) -> KnownKeys:
        return cls(tuple(keys), np.array(list(keys.values()), dtype=np.float64))

    @property
    def hottest(self) -> tuple[str, float]:
        """The key with most, as text, and its part of all, 0..1; "" where there is nothing."""
        total = float(self.rates.sum())
        if total <= 0:
            return "", 0.0
        at = int(self.rates.argmax())
        return text_of_key(self.keys[at]), float(self.rates[at]) / total

    def slots(self, space: SlotSpace) -> NDArray[np.int64]:
        """The slot of each key: (k,)."""
        return np.array([space.slot_of_key(key) for key in self.keys], dtype=np.int64)

    def sums(self, selector: Selector) -> NDArray[np.float64]:
        """What each consumer gets: (c,), in the order they joined. O(k log points)."""
        ids = np.array([consumer.consumer_id for consumer in selector.consumers], dtype=np.int64)
        order = np.argsort(ids, kind="stable")
        owners = slot_owners(selector).look_up(self.slots(selector.slots))
        owned = owners >= 0
        places = order[np.searchsorted(ids[order], owners[owned])]
        return np.bincount(places, weights=self.rates[owned], minlength=len(ids)).astype(np.float64)


def ratio_of(values: NDArray[np.float64]) -> float:
    """The largest over the mean; 0.0 where there is nothing to divide.

    >>> ratio_of(np.array([3.0, 1.0])), ratio_of(np.zeros(2))
    (1.5, 0.0)
    """
    total = float(values.sum())
    return float(values.max()) * len(values) / total if total > 0 else 0.0


def worst_loss(
    selector: Selector, losses: int, measure: Callable[[Selector], NDArray[np.float64]]
) -> tuple[float, tuple[Consumer, ...]]:
    """The largest ``ratio_of`` once so many have left, and who; fewer than all of them.

    They leave in the order they joined: where halves are given back, another order can lead to other halves. Cost: the
    combinations times a look at a selector.
    """
    assert 0 < losses < len(selector.consumers), "somebody is left"
    found, who = -1.0, tuple[Consumer, ...]()
    for gone in combinations(selector.consumers, losses):
        left = selector
        for each in gone:
            left = left.leave(each.consumer_id)
        value = ratio_of(measure(left))
        if value > found:
            found, who = value, gone
    return found, who
