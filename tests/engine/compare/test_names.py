"""Names that make a ring even: never worse, the same for a seed, and worth what an exact ring says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.compare.names import MOST, Fit, Work, fit_names, score_of
from engine.errors import Rejection
from engine.failover.choose import choose_many
from engine.failover.model import Consumer
from engine.hashing import HASH_SPACE_SIZE, murmur3_32

TOPICS = [f"persistent://t/n/orders-{at}-partition-0" for at in range(60)]
WORK = Work.of_topics(np.array([murmur3_32(name) for name in TOPICS]), np.ones(len(TOPICS)))
NAMES = [f"billing-{at}" for at in range(6)]


def by_choice(names: list[str]) -> tuple[float, float]:
    """max/mean now and after the worst loss, topic by topic by the scalar rule."""

    def ratio(among: list[str]) -> float:
        consumers = [Consumer(at, name) for at, name in enumerate(among)]
        chosen = choose_many(consumers, [(name, 0) for name in TOPICS], consistent_hashing=True)
        counts = [sum(choice.active.consumer_id == at for choice in chosen) for at in range(len(among))]
        return max(counts) * len(among) / len(TOPICS)

    left = [[name for name in names if name != gone] for gone in names]
    return ratio(names), max(map(ratio, left)) if len(names) > 1 else 0.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c-1", "c-11", "c-19", "ä", "z" * 9]), min_size=1, max_size=6, unique=True))
def test_a_score_is_what_the_scalar_rule_gives(names: list[str]) -> None:
    score = score_of(names, WORK)
    assert (score.now, score.after_loss) == pytest.approx(by_choice(names))


def fitted(**how: object) -> Fit:
    names = fit_names(NAMES, WORK, tries=400, **how)  # type: ignore[arg-type]
    assert isinstance(names, Fit), names
    return names


def test_fitted_names_are_more_even_and_as_good_as_reported() -> None:
    fit = fitted(seed=5)
    assert fit.after.now < fit.before.now
    assert fit.after.after_loss < fit.before.after_loss
    assert (fit.after.now, fit.after.after_loss) == pytest.approx(by_choice(list(fit.names)))
    assert len(set(fit.names)) == len(NAMES)
    assert all(new == old or new.startswith(f"{old}-") for old, new in zip(NAMES, fit.names, strict=True))


def test_a_seed_gives_the_same_names_and_another_one_others() -> None:
    assert fitted(seed=1).names == fitted(seed=1).names
    assert fitted(seed=1).names != fitted(seed=2).names


def test_a_goal_that_is_met_changes_nothing() -> None:
    fit = fitted(goal=10.0)
    assert fit.names == tuple(NAMES)
    assert (fit.tried, fit.before) == (0, fit.after)


def test_held_out_topics_are_reported_where_there_are_enough() -> None:
    assert fitted().held_out_after is not None
    few = fit_names(NAMES, WORK.part(np.arange(10)), tries=50)
    assert isinstance(few, Fit)
    assert few.held_out_before is few.held_out_after is None


def test_the_hash_space_is_shared_out_whole() -> None:
    space = Work.of_space()
    assert score_of(["a"], space).now == 1.0
    fit = fit_names(NAMES, space, tries=300)
    assert isinstance(fit, Fit)
    assert 1.0 <= fit.after.now < fit.before.now
    # The same with every 4096th hash as a topic is nearly the same.
    grid = np.arange(0, HASH_SPACE_SIZE, 4096)
    assert score_of(NAMES, Work.of_topics(grid, np.ones(len(grid)))).now == pytest.approx(fit.before.now, rel=1e-2)


@pytest.mark.parametrize("names", [[], ["a", "a"], [f"c-{at}" for at in range(MOST + 1)]], ids=len)
def test_what_cannot_be_searched_is_refused(names: list[str]) -> None:
    assert isinstance(fit_names(names, WORK), Rejection)
