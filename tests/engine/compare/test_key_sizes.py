"""Key_Shared rings: scores against the selectors that a broker would have, consumer by consumer and slot by slot."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from engine.compare.key_shared import POINTS_TRIED, KnownKeys, key_consumers_needed, points_needed, work_of_keys
from engine.compare.names import Fit, RingKind, Work, fit_names, key_shared_ring, score_of, shares_of
from engine.compare.sizes import Sizing
from engine.compare.verdict import Goal
from engine.config import CURRENT, BrokerSettings, behaviour_of
from engine.errors import Rejection
from engine.keyshared.autosplit import auto_split_selector
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.ring import ring_selector

RING = BrokerSettings(subscriptionKeySharedUseConsistentHashing=True)
HALVES = BrokerSettings(subscriptionKeySharedUseConsistentHashing=False)
KEYS = KnownKeys.of({f"order-{at}".encode(): float(at % 7 + 1) for at in range(60)})


def kind(points: int = 100) -> RingKind:
    ring = key_shared_ring(replace(RING, subscriptionKeySharedConsistentHashingReplicaPoints=points), CURRENT)
    assert isinstance(ring, RingKind)
    return ring


def counted(selector: Selector, keys: KnownKeys | None) -> list[float]:
    """Slot by slot, or key by key."""
    counts = {consumer.consumer_id: 0.0 for consumer in selector.consumers}
    if keys is None:
        for slot in range(1, 65_536):
            owner = selector.owner(slot)
            assert owner is not None
            counts[owner] += 1
    else:
        for key, rate in zip(keys.keys, keys.rates.tolist(), strict=True):
            owner = selector.owner(selector.slots.slot_of_key(key))
            assert owner is not None
            counts[owner] += rate
    return list(counts.values())


def ratio(values: list[float]) -> float:
    return max(values) * len(values) / sum(values)


def joined(empty: Selector | Rejection, names: list[str]) -> Selector:
    assert not isinstance(empty, Rejection)
    selector: Selector | Rejection = empty
    for at, name in enumerate(names):
        assert not isinstance(selector, Rejection)
        selector = selector.join(Consumer(at, name))
    assert not isinstance(selector, Rejection)
    return selector


@pytest.mark.parametrize(("names", "points"), [(["a", "b", "c"], 100), (["a"], 3), (["ä", "b"], 1), (["x", "y"], 3000)])
def test_a_score_is_what_the_selector_gives(names: list[str], points: int) -> None:
    selector = joined(ring_selector(points=points), names)
    for keys in (None, KEYS):
        work = Work.of_space() if keys is None else work_of_keys(keys, kind(points))
        assert shares_of(names, work, kind(points)).tolist() == pytest.approx(counted(selector, keys))
        left = [ratio(counted(selector.leave(at), keys)) for at in range(len(names))] if len(names) > 1 else [0.0]
        score = score_of(names, work, kind(points))
        assert (score.now, score.after_loss) == pytest.approx((ratio(counted(selector, keys)), max(left)))


def test_fitted_names_are_as_good_as_reported_on_the_slots() -> None:
    names = [f"w-{at}" for at in range(5)]
    fit = fit_names(names, Work.of_space(), tries=200, ring=kind())
    assert isinstance(fit, Fit)
    assert fit.after.now < fit.before.now
    selector = joined(ring_selector(), list(fit.names))
    assert fit.after.now == pytest.approx(ratio(counted(selector, None)))


def test_keys_have_a_half_that_was_held_out() -> None:
    fit = fit_names(["a", "b", "c"], work_of_keys(KEYS, kind()), tries=50, ring=kind())
    assert isinstance(fit, Fit)
    assert fit.held_out_after is not None


def accepted(sizing: Sizing | Rejection) -> Sizing:
    assert isinstance(sizing, Sizing), sizing
    return sizing


def needed(settings: BrokerSettings, goal: Goal, keys: KnownKeys = KEYS, last: int = 5) -> Sizing:
    numbers = range(1, last + 1)
    return accepted(key_consumers_needed(["c-0", "c-1"], keys, goal, numbers, settings=settings, behaviour=CURRENT))


@pytest.mark.parametrize("settings", [RING, HALVES], ids=["ring", "halves"])
def test_rows_are_what_selectors_give(settings: BrokerSettings) -> None:
    for by_messages in (False, True):
        sizing = needed(settings, Goal(by_messages=by_messages))
        for row in sizing.rows:
            names = [f"c-{at}" for at in range(row.number)]
            empty = ring_selector() if settings is RING else auto_split_selector()
            selector = joined(empty, names)
            keys = KEYS if by_messages else None
            assert row.max_over_mean == pytest.approx(ratio(counted(selector, keys)))
            assert row.busiest_msgs == pytest.approx(max(counted(selector, KEYS)))
            assert row.idle == 0
            if row.number > 1:
                left = [ratio(counted(selector.leave(at), keys)) for at in range(row.number)]
                assert row.after_loss == pytest.approx(max(left))


def test_powers_of_two_are_even_where_ranges_are_halved() -> None:
    sizing = needed(HALVES, Goal(1.001), last=8)
    assert [row.number for row in sizing.rows if row.good] == [1, 2, 4, 8]
    assert not any(row.chance_high for row in sizing.rows)


def test_a_hot_key_rules_and_is_named() -> None:
    keys = KnownKeys.of({b"hot": 60.0, b"a": 20.0, b"b": 20.0})
    sizing = needed(RING, Goal(1.1, by_messages=True), keys)
    assert (sizing.hottest, sizing.hottest_share) == ("hot", 0.6)
    assert [row.number for row in sizing.rows if row.good] == [1]
    assert all(row.max_over_mean >= 0.6 * row.number for row in sizing.rows)


def test_points_around_the_present_ones() -> None:
    settings = replace(RING, subscriptionKeySharedConsistentHashingReplicaPoints=30)
    sizing = accepted(points_needed(["a", "b"], KEYS, Goal(), settings=settings, behaviour=CURRENT))
    assert sizing.now == 30
    assert {row.number for row in sizing.rows} == {*POINTS_TRIED, 30}
    for row in sizing.rows[:6]:
        assert row.max_over_mean == pytest.approx(score_of(["a", "b"], Work.of_space(), kind(row.number)).now)
    chances = {row.number: row.chance_high - row.chance_low for row in sizing.rows}
    assert chances[1] > chances[100] > 0


def test_what_has_no_ring_to_search_is_refused() -> None:
    old = behaviour_of("3.0.0")
    assert not isinstance(old, Rejection)
    for settings, behaviour in ((RING, old), (HALVES, CURRENT)):
        assert isinstance(key_shared_ring(settings, behaviour), Rejection)
        assert isinstance(points_needed(["a"], KEYS, Goal(), settings=settings, behaviour=behaviour), Rejection)
    assert isinstance(points_needed([], KEYS, Goal(), settings=RING, behaviour=CURRENT), Rejection)
    nothing = KnownKeys((), np.zeros(0))
    for numbers in (range(0), range(1, 300)):
        refused = key_consumers_needed(["a"], nothing, Goal(), numbers, settings=RING, behaviour=CURRENT)
        assert isinstance(refused, Rejection)
