"""The shares of Key_Shared consumers, and how many consumers or points make a subscription even enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.compare.names import MOST_POINTS, RingKind, Work, key_shared_ring, score_of, shares_of
from engine.compare.sizes import MOST_CONSUMERS, Size, Sizing, chance_of, grown, meets, sizing_of
from engine.compare.verdict import Goal
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.keyshared.admission import JoinRefused, KeySharedMode, assemble
from engine.keyshared.bulk import slot_owners
from engine.keyshared.keys import text_of_key
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
        """The heaviest key as text, and its share of all (0..1); "" without keys."""
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
    """The largest ``ratio_of`` after ``losses`` consumers have left, and who they are; fewer than all.

    They leave in the order they joined: where halves are given back, another order can lead to other halves. Cost: the
    combinations times the cost of one selector.
    """
    assert 0 < losses < len(selector.consumers), "somebody is left"
    ratio, who = -1.0, tuple[Consumer, ...]()
    for gone in combinations(selector.consumers, losses):
        left = selector
        for consumer in gone:
            left = left.leave(consumer.consumer_id)
        value = ratio_of(measure(left))
        if value > ratio:
            ratio, who = value, gone
    return ratio, who


POINTS_TRIED: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
MOST_WORK: Final = 2_000_000
"""Points of all rings of a curve together; chance draws ``CHANCES`` of each size."""


def work_of_keys(keys: KnownKeys, ring: RingKind) -> Work:
    """Known keys by their slots on a ring."""
    space = SlotSpace(ring.low, ring.low + ring.size - 1)
    return Work.of_topics(keys.slots(space), keys.rates)


def key_consumers_needed(
    names: Sequence[str],
    keys: KnownKeys,
    goal: Goal,
    numbers: range,
    *,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour,
    seed: int = 0,
) -> Sizing | Rejection:
    """The evenness for several numbers of AUTO_SPLIT consumers: fewer of these names, or more of the same pattern.

    By slots, or by the messages of known keys where the goal says so; "hottest" is a key. Refused: numbers beyond
    ``MOST_CONSUMERS``, rings that are too large, and rings before Pulsar 4.0.
    """
    wanted = [number for number in numbers if number > 0] if numbers and numbers[-1] <= MOST_CONSUMERS else []
    if not wanted:
        return Rejection("TooManyConsumers", f"between 1 and {MOST_CONSUMERS} consumers can be compared", "up_to")
    rows = []
    if not settings.subscriptionKeySharedUseConsistentHashing:
        for number in wanted:
            row = _halves(grown(names, number), keys, goal, settings, behaviour)
            if isinstance(row, Rejection):
                return row
            rows.append(row)
        return sizing_of(len(names), rows, *keys.hottest)
    ring = key_shared_ring(settings, behaviour)
    if isinstance(ring, Rejection):
        return ring
    if sum(wanted) * ring.points > MOST_WORK:
        message = f"rings of {sum(wanted) * ring.points:,} points in all; up to {MOST_WORK:,} can be compared"
        return Rejection("TooManyPoints", message, "up_to")
    rows = [replace(_on_ring(grown(names, number), keys, goal, ring, seed), number=number) for number in wanted]
    return sizing_of(len(names), rows, *keys.hottest)


def points_needed(
    names: Sequence[str],
    keys: KnownKeys,
    goal: Goal,
    *,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour,
    seed: int = 0,
) -> Sizing | Rejection:
    """The evenness for several ``subscriptionKeySharedConsistentHashingReplicaPoints``, as far as ``MOST_WORK``.

    Refused as by ``key_consumers_needed``, and without consumers.
    """
    ring = key_shared_ring(settings, behaviour)
    if isinstance(ring, Rejection):
        return ring
    if not names:
        return Rejection("NoConsumers", "nobody is on the ring", "subscription")
    if len(names) * ring.points > MOST_POINTS:
        return Rejection("TooManyPoints", f"a ring of more than {MOST_POINTS:,} points is not compared", "points")
    tried: Iterable[int] = sorted({*POINTS_TRIED, ring.points})
    rows = [
        _on_ring(list(names), keys, goal, replace(ring, points=points), seed)
        for points in tried
        if points * len(names) <= MOST_POINTS
    ]
    return sizing_of(ring.points, rows, *keys.hottest)


def _on_ring(names: list[str], keys: KnownKeys, goal: Goal, ring: RingKind, seed: int) -> Size:
    """The row of a ring, by its points."""
    by_keys = work_of_keys(keys, ring)
    flows = float(keys.rates.sum()) > 0
    work = by_keys if goal.by_messages and flows else Work.of_space()
    score = score_of(names, work, ring)
    counts = shares_of(names, Work.of_space(), ring)
    busiest = float(shares_of(names, by_keys, ring).max()) if flows else 0.0
    low, high = chance_of(len(names), work, seed, ring)
    idle = int(np.count_nonzero(counts == 0))
    return meets(Size(ring.points, score.now, score.after_loss, busiest, idle, low, high, good=False), goal)


def _halves(
    names: list[str], keys: KnownKeys, goal: Goal, settings: BrokerSettings, behaviour: ReleaseBehaviour
) -> Size | Rejection:
    consumers = [Consumer(at, name) for at, name in enumerate(names)]
    selector = assemble(consumers, KeySharedMode.AUTO_SPLIT, settings, behaviour)
    if isinstance(selector, JoinRefused):
        return selector.rejection
    if isinstance(selector, Rejection):
        return selector
    flows = float(keys.rates.sum()) > 0
    measure = keys.sums if goal.by_messages and flows else slot_counts
    loss = worst_loss(selector, 1, measure)[0] if len(names) > 1 else 0.0
    busiest = float(keys.sums(selector).max()) if flows else 0.0
    idle = int(np.count_nonzero(slot_counts(selector) == 0))
    return meets(Size(len(names), ratio_of(measure(selector)), loss, busiest, idle, 0.0, 0.0, good=False), goal)
