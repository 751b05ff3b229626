"""Is it luck? Each verdict provoked by what it names, and the numbers beside it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import pytest

from engine.chance import binomial_at_least, binomial_quantiles
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.fairness import CHANCE_LEVEL
from engine.keyshared.luck import Luck, Verdict, Weights, luck_of, odds_of, verdict_of
from engine.keyshared.model import Consumer, RangesById, Selector, SlotSpace, owner_of_key
from engine.keyshared.ownership import Placement
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring, sticky

KEYS = [f"key-{number}".encode() for number in range(20_000)]


def alike(count: int) -> dict[bytes, float]:
    return dict.fromkeys(KEYS[:count], 1)


def three_of_auto_split() -> AutoSplitSelector:
    return accepted(auto_split().join_all([Consumer(number, "c") for number in (1, 2, 3)]))


def test_ten_keys_on_four_consumers_look_unfair_and_are_chance() -> None:
    selector = ring(["a", "b", "c", "d"])
    luck = luck_of(selector, alike(10))
    assert luck.verdict is Verdict.CHANCE
    assert [consumer.keys for consumer in luck.consumers] == [
        sum(owner_of_key(selector, key) == number for key in KEYS[:10]) for number in (1, 2, 3, 4)
    ]
    assert luck.expected_busiest == pytest.approx(4.198, abs=5e-4)
    assert luck.busiest_low <= luck.busiest_median <= luck.busiest_high
    assert luck.probability > 0.01
    assert luck.busiest_keys == max(consumer.keys for consumer in luck.consumers)
    assert luck.idle == sum(not consumer.keys for consumer in luck.consumers)


def test_names_that_make_the_same_points_are_named() -> None:
    names = [f"x-{number}" for number in range(100)]
    luck = luck_of(ring(names, form=RingForm.NAME_I), alike(20_000))
    assert luck.verdict is Verdict.NAMES
    assert luck.probability < 1e-4 <= luck.probability_by_shares


def test_K13_join_order_is_named_where_the_ring_is_crowded() -> None:
    names = [f"host-{number}" for number in range(40)]
    crowded = ring(names, points=100, slots=SlotSpace(1, 1023))
    assert luck_of(crowded, alike(20_000)).verdict is Verdict.JOIN_ORDER


def test_points_that_fell_unevenly_are_distinguished_from_keys_that_did() -> None:
    few = ring(["a", "b", "c"], points=4)
    many = luck_of(few, alike(20_000))
    assert many.verdict is Verdict.CHANCE_OF_POINTS
    assert many.probability < 1e-4 <= many.probability_by_shares
    assert luck_of(few, alike(9)).verdict is Verdict.CHANCE


def test_auto_split_of_three_is_uneven_by_construction_also_where_few_keys_show_it() -> None:
    assert luck_of(three_of_auto_split(), alike(3_000)).verdict is Verdict.HISTORY
    odds = odds_of(placed((6, 3, 3), (0.5, 0.25, 0.25), (6.0, 3.0, 3.0)))
    assert odds.equal >= CHANCE_LEVEL
    uneven = placed((6, 3, 3), (0.5, 0.25, 0.25), (6.0, 3.0, 3.0))
    even = placed((20, 20, 20), (0.5, 0.25, 0.25))
    weights = Weights(12, 12.0, 1.0)
    assert verdict_of(three_of_auto_split(), uneven, odds, weights) is Verdict.HISTORY
    assert verdict_of(three_of_auto_split(), even, odds_of(even), weights) is Verdict.CHANCE
    assert verdict_of(ring("abc"), uneven, odds, weights) is Verdict.CHANCE


def test_declared_ranges_of_different_sizes_are_named_and_keys_of_nobody_left_out() -> None:
    selector = sticky(sticky_selector(), ((0, 9_999),), ((10_000, 49_999),))
    luck = luck_of(selector, alike(2_000))
    assert luck.verdict is Verdict.DECLARED
    assert luck.ownerless_keys == sum(owner_of_key(selector, key) is None for key in KEYS[:2_000]) > 0
    assert luck.keys + luck.ownerless_keys == 2_000
    assert math.isclose(sum(consumer.share for consumer in luck.consumers), 1)


def test_one_key_that_outweighs_a_fair_part_is_hot_wherever_it_falls() -> None:
    selector = ring(["a", "b", "c", "d"])
    luck = luck_of(selector, alike(100) | {KEYS[7]: 100})
    assert luck.verdict is Verdict.HOT_KEY
    assert (luck.hottest_key, round(luck.hottest_share, 4)) == (KEYS[7], round(100 / 199, 4))
    assert luck_of(selector, {KEYS[0]: 5}).verdict is Verdict.HOT_KEY
    assert luck_of(selector, {KEYS[0]: 5, KEYS[1]: 5}).verdict is Verdict.CHANCE
    assert luck_of(ring(["a"]), {KEYS[0]: 5}).verdict is Verdict.NOTHING


def test_several_heavy_keys_that_meet_are_hot_although_none_outweighs_a_fair_part() -> None:
    selector = ring(["a", "b", "c"])
    heavy = [key for key in KEYS if owner_of_key(selector, key) == 2][:4]
    luck = luck_of(selector, alike(300) | dict.fromkeys(heavy, 60))
    assert luck.hottest_share < 1 / 3
    assert luck.verdict is Verdict.HOT_KEY
    assert luck.probability_of_messages < 1e-4 <= luck.probability


def test_keys_that_all_fall_in_the_middle_are_chosen_and_not_the_selectors_fault() -> None:
    quarters = [((start, start + 16_383),) for start in range(0, 65_536, 16_384)]
    selector = sticky(sticky_selector(), *quarters)
    middle = [key for key in KEYS if 16_384 <= selector.slots.slot_of_key(key) <= 49_151][:200]
    luck = luck_of(selector, dict.fromkeys(middle, 1))
    assert luck.verdict is Verdict.CHOSEN_KEYS
    assert (luck.idle, luck.misplaced) == (2, ())


@dataclass(frozen=True)
class Crooked:
    """A mutant: it reports the ranges of another selector, and serves every slot from the middle on by consumer 1."""

    true: AutoSplitSelector

    @property
    def slots(self) -> SlotSpace:
        return self.true.slots

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        return self.true.consumers

    def owner(self, slot: int) -> int | None:
        return 1 if slot > 32_768 else self.true.owner(slot)

    def ranges(self) -> RangesById:
        return self.true.ranges()

    def join(self, consumer: Consumer) -> Self:
        return replace(self, true=accepted(self.true.join(consumer)))

    def leave(self, consumer_id: int) -> Self:
        return replace(self, true=self.true.leave(consumer_id))


class Counting(Crooked):
    """An honest selector that writes down which slots are looked up."""

    looked_up: ClassVar[list[int]] = []

    def owner(self, slot: int) -> int | None:
        self.looked_up.append(slot)
        return self.true.owner(slot)


def test_a_slot_is_looked_up_once_however_many_keys_it_has() -> None:
    selector: Selector = Counting(three_of_auto_split())
    Counting.looked_up.clear()
    luck = luck_of(selector, dict.fromkeys((f"key-{number}".encode() for number in range(200_000)), 1.0))
    assert len(Counting.looked_up) == len(set(Counting.looked_up)) < 65_536
    assert (luck.keys, luck.misplaced) == (200_000, ())


@pytest.mark.parametrize("form", list(RingForm))
def test_every_form_of_the_ring_places_keys_where_its_look_up_does(form: RingForm) -> None:
    names = ["c-1", "c-11", "c-1", "c"]
    selector = ring(names, points=12, form=form, slots=SlotSpace(1, 255))
    luck = luck_of(selector, alike(3_000))
    counted = Counter(owner_of_key(selector, key) for key in KEYS[:3_000])
    assert [consumer.keys for consumer in luck.consumers] == [counted[number] for number in (1, 2, 3, 4)]
    assert luck.misplaced == ()


def test_a_selector_that_serves_other_slots_than_it_tells_is_a_defect() -> None:
    four = accepted(three_of_auto_split().join(Consumer(4, "c")))
    assert luck_of(four, alike(500)).verdict is Verdict.CHANCE
    selector: Selector = Crooked(four)
    luck = luck_of(selector, alike(500))
    assert luck.verdict is Verdict.DEFECT
    assert set(luck.misplaced) == {key for key in KEYS[:500] if owner_of_key(four, key) == 4}


def test_a_key_that_a_broker_sent_elsewhere_is_a_defect_and_counted_where_it_went() -> None:
    selector = ring(["a", "b"])
    wrong = next(key for key in KEYS if owner_of_key(selector, key) == 1)
    luck = luck_of(selector, {wrong: 3}, received={wrong: 2})
    assert (luck.verdict, luck.misplaced) == (Verdict.DEFECT, (wrong,))
    assert [(consumer.keys, consumer.messages) for consumer in luck.consumers] == [(0, 0), (1, 3)]
    assert luck_of(selector, {wrong: 3, KEYS[0]: 1}, received={wrong: 9}).misplaced == (wrong,)


def two_halves(*counts: float) -> dict[bytes, float]:
    """Keys with these messages, by turns on the consumers 1 and 2 of ``halves``."""
    sides = [[key for key in KEYS if owner_of_key(halves(), key) == number] for number in (1, 2)]
    return {sides[at % 2][at // 2]: count for at, count in enumerate(counts)}


def halves() -> Selector:
    return sticky(sticky_selector(), ((0, 32_767),), ((32_768, 65_535),))


def test_times_follow_from_the_messages_of_the_busiest_consumer() -> None:
    luck = luck_of(halves(), two_halves(3, 1, 2, 2))
    assert [(consumer.keys, consumer.messages) for consumer in luck.consumers] == [(2, 5), (2, 3)]
    assert (luck.keys, luck.messages, luck.busiest_keys, luck.idle) == (4, 8, 2, 0)
    assert luck.time_over_ideal == 5 * 2 / 8
    assert luck.idle_time_share == pytest.approx(1 - 8 / 10)
    assert (luck.hottest_share, luck.best_time_over_ideal) == (3 / 8, 1.0)
    hot = luck_of(halves(), two_halves(6, 1, 1))
    assert (hot.hottest_share, hot.best_time_over_ideal, hot.time_over_ideal) == (0.75, 1.5, 7 * 2 / 8)
    nothing = luck_of(halves(), {})
    assert (nothing.time_over_ideal, nothing.idle_time_share, nothing.idle, nothing.busiest_keys) == (1.0, 0.0, 2, 0)
    assert (luck_of(ring(), {}).busiest_keys, luck_of(ring(), {}).time_over_ideal) == (0, 1.0)


def test_each_consumer_is_shown_with_what_its_share_gives() -> None:
    """Eight keys on a quarter and three quarters of the slots: the quantiles of two binomial distributions."""
    selector = sticky(sticky_selector(), ((0, 16_383),), ((16_384, 65_535),))
    luck = luck_of(selector, alike(8))
    small, large = luck.consumers
    assert (small.share, large.share) == (16_383 / 65_535, 49_152 / 65_535)
    assert (small.expected_keys, large.expected_keys) == (pytest.approx(2, abs=1e-3), pytest.approx(6, abs=1e-3))
    assert (small.likely_low, small.likely_high, large.likely_low, large.likely_high) == (0, 4, 4, 8)
    assert (luck.busiest_low, luck.busiest_median, luck.busiest_high) == (4, 5, 7)


def test_the_hottest_key_is_named_and_keys_of_nobody_are_never_it() -> None:
    selector = sticky(sticky_selector(), ((0, 32_767),))
    mine, other, lost = ([key for key in KEYS if owner_of_key(selector, key) == wanted][:2] for wanted in (1, 1, None))
    luck = luck_of(selector, {mine[0]: 1.0, mine[1]: 3.0, lost[0]: 50.0})
    assert (luck.hottest_key, luck.hottest_share, luck.ownerless_keys, luck.messages) == (mine[1], 0.75, 1, 4.0)
    got = luck_of(selector, {other[0]: 1.0, lost[0]: 50.0, lost[1]: 70.0}, received={lost[0]: 1})
    assert (got.hottest_key, got.ownerless_keys, got.misplaced) == (lost[0], 1, (lost[0],))
    assert luck_of(selector, {}).hottest_key is None


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((3, 1, 1, 1), Verdict.HOT_KEY),
        ((2.99, 1, 1, 1), Verdict.CHANCE),
        ((3, 1, 1, 1, 1), Verdict.CHANCE),
        ((6, 2, 2, 2), Verdict.HOT_KEY),
        ((3, 1.5, 1.5), Verdict.CHANCE),
        ((0, 0, 0), Verdict.CHANCE),
        ((7,), Verdict.HOT_KEY),
    ],
)
def test_a_key_is_hot_from_three_times_the_others_and_a_fair_part_on(
    counts: tuple[float, ...], verdict: Verdict
) -> None:
    assert luck_of(halves(), two_halves(*counts)).verdict is verdict


def tail(throws: int, share: float, hits: int) -> float:
    return math.fsum(math.comb(throws, at) * share**at * (1 - share) ** (throws - at) for at in range(hits, throws + 1))


def placed(keys: tuple[int, ...], shares: tuple[float, ...], messages: tuple[float, ...] | None = None) -> Placement:
    ids = tuple(range(len(keys)))
    return Placement(ids, shares, keys, messages or tuple(map(float, keys)), ownerless=0, misplaced=())


def test_the_odds_are_those_of_the_furthest_consumer_times_both_sides_of_all() -> None:
    odds = odds_of(placed((9, 1), (0.75, 0.25)))
    assert odds.equal == pytest.approx(4 * tail(10, 0.5, 9))
    assert odds.by_shares == pytest.approx(4 * tail(10, 0.75, 9))
    few = odds_of(placed((1, 14, 15), (0.5, 0.25, 0.25)))
    assert few.equal == pytest.approx(6 * (1 - tail(30, 1 / 3, 2)))
    assert few.by_shares == pytest.approx(6 * (1 - tail(30, 0.5, 2)))
    assert odds_of(placed((5, 5), (0.5, 0.5))).equal == 1.0
    nothing = odds_of(placed((0, 0), (0.5, 0.5)))
    assert (nothing.equal, nothing.by_shares, nothing.messages) == (1.0, 1.0, 1.0)


def test_the_odds_of_messages_count_them_in_keys_of_the_average_weight() -> None:
    shares = (0.5, 0.5)
    assert odds_of(placed((5, 5), shares, (45.0, 5.0))).messages == pytest.approx(4 * tail(10, 0.5, 9))
    assert odds_of(placed((5, 5), shares, (44.9, 5.1))).messages == pytest.approx(4 * tail(10, 0.5, 8))
    assert odds_of(placed((9, 1), shares, (0.9, 0.1))).messages == pytest.approx(4 * tail(10, 0.5, 9))
    assert odds_of(placed((9, 1), shares, (0.0, 0.0))).messages == 1.0
    assert odds_of(placed((0, 9, 1), (0.2, 0.4, 0.4), (0.0, 9.0, 1.0))).messages == pytest.approx(
        6 * tail(10, 1 / 3, 9)
    )


def test_without_consumers_or_keys_or_messages_nothing_is_uneven() -> None:
    nobody = luck_of(ring(), alike(5))
    assert (nobody.verdict, nobody.expected_busiest, nobody.ownerless_keys) == (Verdict.NOTHING, None, 5)
    for counts, verdict in (({}, Verdict.NOTHING), (dict.fromkeys(KEYS[:8], 0.0), Verdict.CHANCE)):
        luck: Luck = luck_of(three_of_auto_split(), counts)
        assert (luck.verdict, luck.hottest_share) == (verdict, 0.0)
    everything, a_part = (sticky(sticky_selector(), ((start, 65_535),)) for start in (0, 50_000))
    assert luck_of(everything, alike(50)).verdict is Verdict.NOTHING
    assert luck_of(a_part, alike(50)).verdict is Verdict.DECLARED
    out = sticky(sticky_selector(), ((0, 0),), ((70_000, 70_001),))
    assert luck_of(out, alike(5)).ownerless_keys == 5


@pytest.mark.parametrize(("throws", "probability"), [(1, 0.5), (12, 0.25), (12, 0.9), (40, 0.01), (9, 0.0), (9, 1.0)])
def test_binomial_tails_and_quantiles_agree_with_the_sum_of_all_terms(throws: int, probability: float) -> None:
    terms = [
        math.comb(throws, hits) * probability**hits * (1 - probability) ** (throws - hits) for hits in range(throws + 1)
    ]
    for hits in range(throws + 2):
        assert math.isclose(binomial_at_least(throws, probability, hits), sum(terms[hits:]), abs_tol=1e-12)
    for level in (0.05, 0.5, 0.95):
        quantile = next(hits for hits in range(throws + 1) if sum(terms[: hits + 1]) >= level - 1e-12)
        assert binomial_quantiles(throws, probability, (level,)) == (quantile,)
