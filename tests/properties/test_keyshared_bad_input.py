"""Whatever ranges and keys come in: an answer or a refusal that names the field, never an exception."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Rejection
from engine.keyshared.explain import explain_key
from engine.keyshared.luck import luck_of
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, owner_of_key
from engine.keyshared.ownership import gaps_of, slots_by_consumer
from engine.keyshared.sticky import legacy_sticky_selector, policy_problem, sticky_selector
from tests.engine.keyshared.selectors import accepted

ENDS = st.integers(-3, 40) | st.sampled_from((65_534, 65_535, 65_536, 2**31 - 1, 2**31, -(2**31), -(2**40)))
RANGES = st.lists(st.tuples(ENDS, ENDS) | st.integers(0, 30).map(lambda start: (start, start + 2)), max_size=4)
DECLARED = st.none() | RANGES.map(tuple)
EMPTY = (accepted(sticky_selector()), accepted(legacy_sticky_selector()))


@settings(max_examples=100, deadline=None)
@given(st.lists(DECLARED, max_size=5), st.sampled_from(EMPTY), st.lists(st.binary(max_size=6), max_size=4))
def test_any_declared_ranges_are_taken_or_refused_by_name_and_the_good_ones_kept(
    declared: list[DeclaredRanges | None], empty: Selector, keys: list[bytes]
) -> None:
    selector = empty
    for number, ranges in enumerate(declared):
        joined = selector.join(Consumer(number, "c", ranges))
        if isinstance(joined, Rejection):
            assert joined.field == "ranges" and joined.message
            continue
        assert [consumer.consumer_id for consumer in joined.consumers] == [
            *(consumer.consumer_id for consumer in selector.consumers),
            number,
        ]
        assert all(joined.owner(start) == number for start, _ in ranges or ())
        selector = joined
    assert set(slots_by_consumer(selector)) == {consumer.consumer_id for consumer in selector.consumers}
    assert 0 <= gaps_of(selector.consumers, selector.ranges(), selector.slots).slot_count <= 65_535
    luck = luck_of(selector, dict.fromkeys(keys, 1.0))
    assert luck.keys + luck.ownerless_keys == len(set(keys))
    assert luck.misplaced == ()
    for key in keys:
        owner = explain_key(selector, key).owner
        assert (owner.consumer_id if owner else None) == owner_of_key(selector, key)


@settings(max_examples=100, deadline=None)
@given(RANGES.map(tuple))
def test_a_policy_that_the_client_lets_pass_is_taken_by_an_empty_broker(declared: DeclaredRanges) -> None:
    """The current form; what the client refuses, an empty broker may still take."""
    problem = policy_problem(declared)
    joined = EMPTY[0].join(Consumer(1, "c", declared))
    if problem is None:
        assert not isinstance(joined, Rejection)
    else:
        assert problem.field == "ranges"
        outside = any(start < 0 or end > 65_535 for start, end in declared)
        assert isinstance(joined, Rejection) or outside
