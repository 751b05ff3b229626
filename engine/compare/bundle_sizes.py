"""How many bundles make the brokers of a namespace even enough, for the topics that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import crc32_bulk
from engine.bundles.boundaries import default_boundaries
from engine.bundles.occupancy import MAX_BROKERS
from engine.compare.sizes import CHANCES, Goal, Size, Sizing, meets, sizing_of
from engine.compare.slots import ratio_of
from engine.errors import Rejection

MOST_BUNDLES: Final = 4_096
MOST_WORK: Final = 200_000_000
"""Topics times numbers of bundles."""


def bundles_for(
    topics: Sequence[str],
    rates: NDArray[np.float64],
    brokers: int,
    goal: Goal,
    numbers: Sequence[int],
    *,
    now: int,
    seed: int = 0,
) -> Sizing | Rejection:
    """What each number of equal bundles gives, dealt out to the brokers in turn, also with any one broker less.

    ``topics`` are partitions by their full names, ``rates`` messages a second beside them: (n,). What chance gives is
    drawn: so many topics of any names. Refused: no topics, no brokers, numbers out of range, more than ``MOST_WORK``.
    """
    if not len(topics):
        return Rejection("NoTopics", "the namespace has no topic to share out", "namespace")
    if not 1 <= brokers <= MAX_BROKERS:
        return Rejection("IllegalArgumentException", f"{brokers} brokers: give 1 to {MAX_BROKERS:,}", "brokers")
    if not numbers or min(numbers) < 1 or max(numbers) > MOST_BUNDLES or len(numbers) * len(topics) > MOST_WORK:
        return Rejection("TooManyBundles", f"1 to {MOST_BUNDLES:,} bundles can be compared", "up_to")
    hashes = crc32_bulk(list(topics)).astype(np.int64)
    flows = float(rates.sum()) > 0
    weights = rates if goal.by_messages and flows else np.ones(len(topics))
    random = np.random.default_rng(seed)
    rows = []
    for number in numbers:
        boundaries = default_boundaries(number)
        assert not isinstance(boundaries, Rejection), "the number is in range"
        place = np.minimum(np.searchsorted(np.array(boundaries), hashes, side="right") - 1, number - 1)
        per_bundle = np.bincount(place, weights=weights, minlength=number)
        now_ratio = ratio_of(_dealt(per_bundle, brokers))
        loss = ratio_of(_dealt(per_bundle, brokers - 1)) if brokers > 1 else 0.0
        msgs = _dealt(np.bincount(place, weights=rates, minlength=number), brokers)
        idle = int(np.count_nonzero(_dealt(np.bincount(place, minlength=number), brokers) == 0))
        chance = _chance(weights, number, brokers, random)
        rows.append(meets(Size(number, now_ratio, loss, float(msgs.max()), idle, *chance, good=False), goal))
    hottest = int(rates.argmax())
    name, share = (topics[hottest], float(rates[hottest] / rates.sum())) if flows else ("", 0.0)
    return sizing_of(now, rows, name, share)


def _dealt(per_bundle: NDArray[np.floating] | NDArray[np.integer], brokers: int) -> NDArray[np.float64]:
    """The sums of brokers to which bundles are dealt in turn: (brokers,)."""
    return np.bincount(np.arange(len(per_bundle)) % brokers, weights=per_bundle, minlength=brokers).astype(np.float64)


_DRAWN: Final = 20_000
"""Topics beyond which so many draws would cost more than all the rest; a part of them is drawn, which is wider."""


def _chance(
    weights: NDArray[np.float64], bundles: int, brokers: int, random: np.random.Generator
) -> tuple[float, float]:
    """Between which max/mean nine of ten draws of names are."""
    some = weights[:_DRAWN]
    drawn = []
    for _ in range(CHANCES):
        per_bundle = np.bincount(random.integers(bundles, size=len(some)), weights=some, minlength=bundles)
        drawn.append(ratio_of(_dealt(per_bundle, brokers)))
    low, high = np.quantile(drawn, [0.05, 0.95])
    return float(low), float(high)
