"""How keys fall on the consumers of a selector, compared with chance, and what explains the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from engine.chance import binomial_at_least, binomial_quantiles, equal_shares, expected_empty, fullest
from engine.keyshared.fairness import CHANCE_LEVEL, Cause, fairness_of
from engine.keyshared.model import Selector
from engine.keyshared.ownership import Placement, place
from engine.keyshared.ring import RingSelector

LIKELY_BETWEEN: Final = (0.05, 0.95)
"""The quantiles between which nine of ten throws fall."""

HOT_TIMES: Final = 3.0
"""A key that carries this many times the average of the other keys is a hot key."""


class Verdict(Enum):
    """What explains the uneven spread of the keys; the value is the phrase for users."""

    CHANCE = "chance: random keys are spread as unevenly as this"
    CHANCE_OF_POINTS = "chance of the points: where points fall on the ring gives shares of different sizes"
    NAMES = "names: consumers whose names make the same points own fewer slots"
    JOIN_ORDER = "join order: points run out, and who joined first keeps them"
    HISTORY = "history: ranges were halved and given back in this order"
    DECLARED = "declared: the clients asked for ranges of different sizes"
    HOT_KEY = "hot key: some keys carry far more messages than others, and a key goes to one consumer"
    CHOSEN_KEYS = "keys: every one goes where the rule says, but their hashes fall together as chance never does"
    NOTHING = "nothing to judge: no key has an owner, or there is only one consumer"
    DEFECT = "defect: keys are served by another consumer than the one that has their slot"


_VERDICT_OF: Final = {
    Cause.NAMES: Verdict.NAMES,
    Cause.JOIN_ORDER: Verdict.JOIN_ORDER,
    Cause.HISTORY: Verdict.HISTORY,
    Cause.DECLARED: Verdict.DECLARED,
}


@dataclass(frozen=True, slots=True)
class ConsumerLuck:
    """One consumer: ``keys`` and ``messages`` are observed, ``share`` is its part of all slots that are served.

    ``expected_keys`` is what its share gives on average; nine of ten throws give ``likely_low`` .. ``likely_high``.
    """

    consumer_id: int
    share: float
    keys: int
    messages: float
    expected_keys: float
    likely_low: int
    likely_high: int


@dataclass(frozen=True, slots=True)
class Luck:
    """How ``keys`` keys with ``messages`` messages fall on the consumers (in join order), and why.

    ``expected_busiest`` and ``expected_idle`` are what chance gives on average, as many keys on as many consumers of
    equal shares: the keys of the busiest consumer, and consumers without a key; None when there is no consumer.
    ``busiest_low``, ``busiest_median`` and ``busiest_high`` are the 5, 50 and 95 % quantiles of the busiest.
    ``ownerless_keys`` have no consumer and are left out of all that.

    Each of the probabilities is an upper bound for seeing any consumer as far out. ``probability``: if equal shares are
    thrown at random. ``probability_by_shares``: if the selector's own shares are. ``probability_of_messages``: of the
    busiest consumer's messages, if shares are equal and all keys carry alike.

    ``hottest_share`` is the part of all messages that ``hottest_key`` carries. ``misplaced`` are keys served by another
    consumer than the one that has their slot.
    """

    verdict: Verdict
    consumers: tuple[ConsumerLuck, ...]
    keys: int
    messages: float
    ownerless_keys: int
    expected_busiest: float | None
    expected_idle: float | None
    busiest_low: int
    busiest_median: int
    busiest_high: int
    probability: float
    probability_by_shares: float
    probability_of_messages: float
    hottest_key: bytes | None
    hottest_share: float
    misplaced: tuple[bytes, ...]

    @property
    def busiest_keys(self) -> int:
        """The keys of the consumer that has most of them, as observed."""
        return max((consumer.keys for consumer in self.consumers), default=0)

    @property
    def time_over_ideal(self) -> float:
        """The time all messages take over that of an even share, with equally fast consumers."""
        most = max((consumer.messages for consumer in self.consumers), default=0.0)
        return most * len(self.consumers) / self.messages if self.messages else 1.0

    @property
    def best_time_over_ideal(self) -> float:
        """The same for the best possible placement of these keys; the hottest key is the lower bound."""
        return max(1.0, self.hottest_share * len(self.consumers))

    @property
    def idle_time_share(self) -> float:
        """The share of their time that consumers are idle while the busiest one still works."""
        return 1 - 1 / self.time_over_ideal

    @property
    def idle(self) -> int:
        """How many consumers have no key, as observed."""
        return sum(not consumer.keys for consumer in self.consumers)


def luck_of(
    selector: Selector,
    keys_with_counts: Mapping[bytes, float],
    *,
    received: Mapping[bytes, int] | None = None,
) -> Luck:
    """Judge how sticky keys (each with its messages, or any weight >= 0) fall on the consumers of a selector.

    ``received`` names the consumer that a broker was seen to send a key to; a key it does not have goes where the
    selector says. In this order: a key at the wrong consumer is a **defect**; without two consumers that share keys
    there is **nothing** to judge, unless the only one has **declared** a part of the slots; a key that alone outweighs
    a consumer's fair part is a **hot key**; what equal shares give by chance is **chance**, unless the messages are
    not, which is hot keys again; what the selector's shares give has **their** cause, which on a ring can be the
    **chance of the points**; what is left are chosen keys. Something is not chance when it is less probable than
    ``CHANCE_LEVEL``.
    O(k log k + s log n) for k keys on s slots, and the cost of ``fullest``.

    >>> from engine.keyshared.autosplit import auto_split_selector
    >>> from engine.keyshared.model import Consumer
    >>> two = auto_split_selector().join_all([Consumer(1, "a"), Consumer(2, "b")])
    >>> luck = luck_of(two, {b"a": 1, b"b": 1, b"c": 1, b"d": 1})
    >>> [consumer.keys for consumer in luck.consumers], round(luck.expected_busiest, 9), luck.verdict.name
    ([1, 3], 2.75, 'CHANCE')
    """
    assert min(keys_with_counts.values(), default=0) >= 0, "a key carries no negative number of messages"
    placement = place(selector, keys_with_counts, received or {})
    served = _served(selector, keys_with_counts, received or {}) if placement.ownerless else keys_with_counts
    hottest = max(served, key=served.__getitem__, default=None)
    weights = Weights(len(served), sum(served.values()), served[hottest] if hottest is not None else 0)
    return luck_of_placement(selector, placement, weights, hottest)


def luck_of_placement(selector: Selector, placement: Placement, weights: Weights, hottest_key: bytes | None) -> Luck:
    """Judge a placement, as ``luck_of``; sums are enough, so the keys of a trace may be folded."""
    keys, equal = sum(placement.keys), equal_shares(len(placement.ids)) if placement.ids else ()
    busiest = fullest(keys, equal) if equal else None
    low, median, high = (
        (busiest.quantile(level) for level in (LIKELY_BETWEEN[0], 0.5, LIKELY_BETWEEN[1])) if busiest else (0, 0, 0)
    )
    odds = odds_of(placement)
    return Luck(
        verdict=verdict_of(selector, placement, odds, weights),
        consumers=consumers_of(placement),
        keys=keys,
        messages=sum(placement.messages),
        ownerless_keys=placement.ownerless,
        expected_busiest=None if busiest is None else busiest.expected,
        expected_idle=expected_empty(keys, equal) if equal else None,
        busiest_low=low,
        busiest_median=median,
        busiest_high=high,
        probability=odds.equal,
        probability_by_shares=odds.by_shares,
        probability_of_messages=odds.messages,
        hottest_key=hottest_key,
        hottest_share=weights.hottest_share,
        misplaced=placement.misplaced,
    )


def _served(selector: Selector, counts: Mapping[bytes, float], received: Mapping[bytes, int]) -> Mapping[bytes, float]:
    """Drop ownerless keys: however hot, they load no consumer."""
    owned = {slot: selector.owner(slot) is not None for slot in set(map(selector.slots.slot_of_key, counts))}
    return {key: n for key, n in counts.items() if key in received or owned[selector.slots.slot_of_key(key)]}


@dataclass(frozen=True, slots=True)
class Odds:
    """The three probabilities of ``Luck``."""

    equal: float
    by_shares: float
    messages: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Sums over all served keys: their number, their messages, and those of the hottest key."""

    keys: int
    messages: float
    hottest: float

    @property
    def hottest_share(self) -> float:
        """The part of all messages that the hottest key carries, 0 without any."""
        return self.hottest / self.messages if self.messages else 0.0

    @property
    def mean_of_others(self) -> float:
        """What a key carries on average, the hottest one left out."""
        return (self.messages - self.hottest) / max(self.keys - 1, 1)


def odds_of(placement: Placement) -> Odds:
    """The probability that any consumer deviates as much as the most extreme one. O(c sqrt(k))."""
    equal = equal_shares(len(placement.ids)) if placement.ids else ()
    return Odds(
        equal=_furthest_out(placement.keys, equal),
        by_shares=_furthest_out(placement.keys, placement.shares),
        messages=_of_messages(placement),
    )


def consumers_of(placement: Placement) -> tuple[ConsumerLuck, ...]:
    """Each consumer of a placement with what its share of the slots would give. O(c sqrt(k))."""
    total = sum(placement.keys)
    rows: list[ConsumerLuck] = []
    for at, share in enumerate(placement.shares):
        low, high = binomial_quantiles(total, share, LIKELY_BETWEEN)
        rows.append(
            ConsumerLuck(
                consumer_id=placement.ids[at],
                share=share,
                keys=placement.keys[at],
                messages=placement.messages[at],
                expected_keys=total * share,
                likely_low=low,
                likely_high=high,
            )
        )
    return tuple(rows)


def _furthest_out(keys: Sequence[int], shares: Sequence[float]) -> float:
    """Bonferroni's bound on the probability that any consumer deviates as much as the most extreme one."""
    total = sum(keys)
    sides = [
        min(binomial_at_least(total, share, count), binomial_at_least(total, 1 - share, total - count))
        for count, share in zip(keys, shares, strict=True)
    ]
    return min(1.0, 2 * len(sides) * min(sides)) if total else 1.0


def _of_messages(placement: Placement) -> float:
    """The same for the busiest consumer's messages, counted in keys of the average weight."""
    total, number = sum(placement.keys), len(placement.ids)
    if not total or not sum(placement.messages):
        return 1.0
    in_keys = max(placement.messages) * total / sum(placement.messages)
    # Rounded down against rounding errors: equal keys give a whole number. Twice, as for keys, so that
    # messages are never less probable than keys that carry alike.
    return min(1.0, 2 * number * binomial_at_least(total, 1 / number, int(in_keys + 1e-9)))


def verdict_of(selector: Selector, placement: Placement, odds: Odds, weights: Weights) -> Verdict:
    """What explains a placement, in the order of ``luck_of``."""
    if placement.misplaced:
        return Verdict.DEFECT
    if not sum(placement.keys):
        return Verdict.NOTHING
    if len(placement.ids) == 1:
        # Nothing is shared, so there is no luck in it; but a part that was declared was declared.
        by_construction = _verdict_on_shares(selector, placement)
        return by_construction if by_construction is Verdict.DECLARED else Verdict.NOTHING
    outweighs = weights.hottest_share * len(placement.ids) >= 1
    if outweighs and weights.hottest >= HOT_TIMES * weights.mean_of_others:
        return Verdict.HOT_KEY
    if odds.equal >= CHANCE_LEVEL:
        if odds.messages < CHANCE_LEVEL:
            return Verdict.HOT_KEY
        # Shares uneven by construction are not chance, however few keys show it.
        fits = bool(weights.messages) and odds.by_shares >= odds.equal
        by_construction = _verdict_on_shares(selector, placement) if fits else Verdict.CHANCE
        return by_construction if by_construction in (Verdict.HISTORY, Verdict.DECLARED) else Verdict.CHANCE
    if odds.by_shares < CHANCE_LEVEL:
        return Verdict.CHOSEN_KEYS
    return _verdict_on_shares(selector, placement)


def _verdict_on_shares(selector: Selector, placement: Placement) -> Verdict:
    """The cause of the most uneven share; on a ring it can be the chance of the points."""
    fair = 1 / len(placement.ids)
    shares = fairness_of(selector).consumers
    by_distance = sorted(shares, key=lambda share: -abs(share.share - fair))
    cause = next((share.cause for share in by_distance if share.cause is not None), None)
    if cause is not None:
        return _VERDICT_OF[cause]
    return Verdict.CHANCE_OF_POINTS if isinstance(selector, RingSelector) else Verdict.CHANCE
