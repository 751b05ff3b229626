"""Consumer names that make a ring of Failover or Key_Shared even: a search over suffixes, deterministic for a seed.

A ring point is a hash of a name and a number, so a name is a draw of a hundred points, and another suffix another draw.
Names that are fitted to given topics do worse on others: ``fit_names`` reports how much, on topics that it left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from engine.answer import about
from engine.bulk_hashing import point_hashes
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.failover.bulk_ring import build_rings
from engine.failover.ring import POINTS_PER_CONSUMER
from engine.hashing import HASH_SPACE_SIZE, utf8
from engine.keyshared.admission import KeySharedMode, selector_for
from engine.keyshared.ring import RingForm, RingSelector

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
"""The characters of suffixes, which every host name may have."""
SUFFIX: Final = 3
"""The length of a suffix: 46,656 draws per consumer."""
BATCH: Final = 32
"""Suffixes whose points are computed at a time."""
TRIES: Final = 5_000
"""How many names to try on small rings; on large ones fewer, since a try costs more."""
WORK: Final = 20_000_000
"""The most points that one search examines, which keeps it within seconds."""
MOST: Final = 200
"""The most consumers of a ring that names are searched for."""
MOST_POINTS: Final = 100_000
"""The most points of a ring that names are searched for."""


@dataclass(frozen=True, slots=True)
class RingKind:
    """The points of a consumer: ``hash(name + tail + number) mod size + low`` for each of ``points``.

    Hashes past the last point fall on the first one; the first consumer that claims a point keeps it.
    """

    points: int = POINTS_PER_CONSUMER
    low: int = 0
    size: int = HASH_SPACE_SIZE
    tail: bytes = b""

    def points_of(self, names: Sequence[str]) -> NDArray[np.int64]:
        """(names, points), in the order of the numbers."""
        points = point_hashes([utf8(name) + self.tail for name in names], self.points).astype(np.int64)
        return points % self.size + self.low


FAILOVER_RING: Final = RingKind()


def key_shared_ring(settings: BrokerSettings, behaviour: ReleaseBehaviour) -> RingKind | Rejection:
    """The ring of an AUTO_SPLIT Key_Shared subscription with consistent hashing, whose consumers have no namesakes.

    Refused: releases before 4.0, where a newcomer takes points away or shares them, and halves instead of a ring.
    """
    if not settings.subscriptionKeySharedUseConsistentHashing:
        return Rejection("NoRing", "ranges are halved here, whatever the names: no ring is used", "mode")
    empty = selector_for(KeySharedMode.AUTO_SPLIT, settings, behaviour)
    if isinstance(empty, Rejection):
        return empty
    if not isinstance(empty, RingSelector) or empty.form is not RingForm.CURRENT:
        return Rejection("OldRing", "the ring of Pulsar 4.0 and later can be searched, not the ones before", "pulsar")
    # The index of a name without namesakes is 0.
    return RingKind(empty.points, empty.slots.low, empty.slots.size, b"\x000\x00")


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """What a ring distributes: ``hash`` (slots of a Key_Shared ring), (n,) ascending, and the ``weight`` of each.

    Without hashes, the space itself.
    """

    hash: NDArray[np.int64]
    weight: NDArray[np.float64]

    @classmethod
    def of_topics(cls, hashes: NDArray[np.integer], weight: NDArray[np.float64]) -> Work:
        """Topics by their ring hash, in any order."""
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order].astype(np.int64), weight[order].astype(np.float64))

    @classmethod
    def of_space(cls) -> Work:
        """The hash space: names that are even there are even for unknown topics, apart from chance."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    def part(self, rows: NDArray[np.int64]) -> Work:
        """The part in these rows, which ascend."""
        return Work(self.hash[rows], self.weight[rows])


@dataclass(frozen=True, slots=True)
class Score:
    """``now`` is max/mean; ``after_loss`` the worst one after the loss of any one consumer, 0.0 for less than two."""

    now: Annotated[float, about("max/mean.")]
    after_loss: Annotated[float, about("The worst max/mean after the loss of any one consumer.")]


@dataclass(frozen=True, slots=True)
class Fit:
    """``names`` that replace ``given``, in the same order, and the scores of both.

    ``held_out_*`` are scores on one half of the topics: of names that were fitted to the other half, and of the given
    names. None for the hash space, and for fewer than ``HELD_OUT_LEAST`` topics. ``tried`` is the number of names
    tried.
    """

    given: tuple[str, ...]
    names: tuple[str, ...]
    before: Score
    after: Score
    held_out_before: Score | None
    held_out_after: Score | None
    tried: int


HELD_OUT_LEAST: Final = 20
"""The fewest topics of which one half predicts the other."""


def score_of(names: Sequence[str], work: Work, ring: RingKind = FAILOVER_RING) -> Score:
    """How even a ring of these names is, exactly as a broker builds it. O(p log p + n).

    >>> score_of(["a"], Work.of_space())
    Score(now=1.0, after_loss=0.0)
    """
    return _score(*_points_and_owners(names, ring), len(names), work, ring)


def shares_of(names: Sequence[str], work: Work, ring: RingKind = FAILOVER_RING) -> NDArray[np.float64]:
    """(n,) the share of the work that each name gets."""
    points, owners = _points_and_owners(names, ring)
    return np.bincount(owners, weights=_weights(points, work, ring), minlength=len(names)).astype(np.float64)


def _points_and_owners(names: Sequence[str], ring: RingKind) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All points, ascending, with their owners, in order of precedence at equal points."""
    if ring is FAILOVER_RING:
        rings = build_rings([list(names)])
        return rings.points_of(0).astype(np.int64), rings.owners_of(0).astype(np.int64)
    packed = np.sort(((ring.points_of(names) << 16) | np.arange(len(names), dtype=np.int64)[:, None]).reshape(-1))
    return packed >> 16, packed & 0xFFFF


def fit_names(
    given: Sequence[str],
    work: Work,
    *,
    seed: int = 0,
    goal: float = 1.0,
    survive: bool = True,
    tries: int | None = None,
    ring: RingKind = FAILOVER_RING,
    progress: Callable[[int, int], None] | None = None,
) -> Fit | Rejection:
    """Names with suffixes that make a ring more even, also after the loss of any one consumer where ``survive``.

    The search ends where both scores are at most ``goal``, or after ``tries``. Refused: no names, namesakes, more than
    ``MOST``. The same arguments give the same names. ``progress`` is called now and then with the number of names tried
    and the most to try; an exception from it ends the search.
    """
    if not given or len(set(given)) < len(given):
        return Rejection("IllegalArgumentException", "names are needed, each of them once", "names")
    if len(given) > MOST:
        return Rejection("TooManyConsumers", f"{len(given)} consumers are more than {MOST}", "names")
    points = len(given) * ring.points
    if points > MOST_POINTS:
        return Rejection("TooManyPoints", f"{points:,} points are more than {MOST_POINTS:,}", "names")
    wanted = tries if tries is not None else max(300, min(TRIES, WORK // points))
    search = _Search(given, work, Random(seed), ring, survive=survive)
    halves = len(work.hash) >= HELD_OUT_LEAST
    most = wanted * (1 + halves)
    search.run(wanted, goal, progress and (lambda tried: progress(tried, most)))
    half_before = half_after = None
    if halves:
        fitted, other = _halves(work, seed)
        half = _Search(given, fitted, Random(seed), ring, survive=survive)
        half.run(wanted, goal, progress and (lambda tried: progress(wanted + tried, most)))
        half_before, half_after = score_of(given, other, ring), score_of(half.names, other, ring)
    names = tuple(search.names)
    before, after = score_of(given, work, ring), score_of(names, work, ring)
    if _rank(after, survive=survive) >= _rank(before, survive=survive):
        names, after = tuple(given), before
    return Fit(tuple(given), names, before, after, half_before, half_after, search.tried)


def _halves(work: Work, seed: int) -> tuple[Work, Work]:
    rows = np.random.default_rng(seed).permutation(len(work.hash))
    middle = len(rows) // 2
    return work.part(np.sort(rows[:middle])), work.part(np.sort(rows[middle:]))


def _rank(score: Score, *, survive: bool) -> float:
    return score.now + (score.after_loss if survive else 0.0)


def _score(points: NDArray[np.int64], owners: NDArray[np.int64], size: int, work: Work, ring: RingKind) -> Score:
    weights = _weights(points, work, ring)
    counts = np.bincount(owners, weights=weights, minlength=size)
    total = float(counts.sum())
    if total <= 0:
        return Score(0.0, 0.0)
    now = float(counts.max()) * size / total
    if size < 2:
        return Score(now, 0.0)
    after = counts + _transfers(owners, weights, size)
    np.fill_diagonal(after, 0.0)
    return Score(now, float(after.max()) * (size - 1) / total)


def _weights(points: NDArray[np.int64], work: Work, ring: RingKind) -> NDArray[np.float64]:
    """(p,) the weight of each ascending point: the topics up to it, or the part of the space before it."""
    if not len(work.hash):
        widths = np.diff(points, prepend=points[-1] - ring.size)
        return widths.astype(np.float64)
    sums = np.concatenate(([0.0], np.cumsum(work.weight)))
    upto = sums[np.searchsorted(work.hash, points, side="right")]
    weights = np.diff(upto, prepend=0.0)
    weights[0] += sums[-1] - upto[-1]
    return weights


def _transfers(owners: NDArray[np.int64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """(size, size) what the loss of the consumer of a row gives to the consumer of a column."""
    ends = np.flatnonzero(owners != np.roll(owners, -1))
    if not len(ends):
        return np.zeros((size, size))
    runs = np.bincount(np.searchsorted(ends, np.arange(len(owners))) % len(ends), weights=weights, minlength=len(ends))
    pair = owners[ends] * size + np.roll(owners[ends], -1)
    sums: NDArray[np.float64] = np.bincount(pair, weights=runs, minlength=size * size).astype(np.float64)
    return sums.reshape(size, size)


class _Search:
    """Local search: another suffix for one consumer, kept where the ring is not less even."""

    def __init__(self, given: Sequence[str], work: Work, random: Random, ring: RingKind, *, survive: bool) -> None:
        self._given = list(given)
        self._work = work
        self._ring = ring
        self._random = random
        self._survive = survive
        self.names = list(given)
        self.tried = 0
        hashes = ring.points_of(given)
        packed = (hashes << 16) | np.arange(len(given), dtype=np.int64)[:, None]
        self._packed = np.sort(packed.reshape(-1))
        self._drawn: dict[int, list[tuple[str, NDArray[np.int64]]]] = {}

    def run(self, tries: int, goal: float, progress: Callable[[int], None] | None = None) -> None:
        """Try up to ``tries`` names, until the goal is met."""
        value, score, heavy = self._judge(self._packed)
        for number in range(tries):
            if progress is not None and not number % BATCH:
                progress(number)
            if score.now <= goal and (not self._survive or score.after_loss <= goal):
                return
            # Change a consumer that has too much, or any: sometimes only one of the two escapes a local optimum.
            at = self._random.choice(heavy) if self._random.random() < 0.5 else self._random.randrange(len(self.names))
            name, hashes = self._draw(at)
            self.tried += 1
            if name in self.names:
                continue
            kept = self._packed[(self._packed & 0xFFFF) != at]
            changed = np.insert(kept, np.searchsorted(kept, hashes), hashes)
            fit, new_score, new_heavy = self._judge(changed)
            if fit <= value:
                value, score, heavy = fit, new_score, new_heavy
                self._packed = changed
                self.names[at] = name

    def _draw(self, at: int) -> tuple[str, NDArray[np.int64]]:
        """Another name for a consumer with its points, packed and ascending."""
        waiting = self._drawn.setdefault(at, [])
        if not waiting:
            names = [f"{self._given[at]}-{''.join(self._random.choices(ALPHABET, k=SUFFIX))}" for _ in range(BATCH)]
            hashes = np.sort(self._ring.points_of(names), axis=1)
            waiting.extend(zip(names, (hashes << 16) | at, strict=True))
        return waiting.pop()

    def _judge(self, packed: NDArray[np.int64]) -> tuple[float, Score, list[int]]:
        """A number that is lower for a more even ring, its score, and the consumers that have too much."""
        points, owners, size = packed >> 16, packed & 0xFFFF, len(self.names)
        weights = _weights(points, self._work, self._ring)
        counts = np.bincount(owners, weights=weights, minlength=size)
        mean = float(counts.sum()) / size
        if mean <= 0:
            return 0.0, Score(0.0, 0.0), [0]
        now = float(counts.max()) / mean
        # Of two rings with the same worst consumer, the sum of squares shows which is nearer to a better ring.
        value = now + 0.1 * float(np.square(counts / mean).mean())
        heavy = [int(counts.argmax()), int(counts.argmin())]
        loss = 0.0
        if self._survive and size > 1:
            after = counts + _transfers(owners, weights, size)
            np.fill_diagonal(after, 0.0)
            worst = int(after.argmax())
            loss = float(after.flat[worst]) * (size - 1) / (mean * size)
            value += loss + 0.1 * float(np.square(after.max(axis=1) / mean).mean())
            heavy += [worst // size, worst % size]
        return value, Score(now, loss), heavy
