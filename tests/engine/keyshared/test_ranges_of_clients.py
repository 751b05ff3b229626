"""What a client says of its ranges, and what a change moved, against the plain rule value by value."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.keyshared.model import DeclaredRanges
from engine.keyshared.ownership import Impact, impact_of, subtract
from engine.keyshared.sticky import policy_problem
from engine.ranges import HashRange, join_neighbours

LAST = 65_535
ENDS = st.sampled_from([-1, 0, 1, 2, 5, 6, 9, LAST - 1, LAST, LAST + 1])
DECLARED = st.lists(st.tuples(ENDS, ENDS), max_size=5).map(tuple)
PIECES = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 5)).map(lambda pair: HashRange(pair[0], pair[0] + pair[1])), max_size=6
)


def problem_by_pairs(declared: DeclaredRanges) -> str:
    """The start of the client's words, by comparing each range with all others."""
    if any(end < start for start, end in declared):
        return "Range end must"
    if not declared:
        return "Ranges for KeyShared policy must not be empty"
    for at, (start, end) in enumerate(declared):
        if start < 0 or end > LAST:
            return f"Ranges must be [0, 65535] but provided range is [{start}, {end}]"
        for other, (low, high) in enumerate(declared):
            if other != at and low <= end and start <= high:
                return f"Ranges for KeyShared policy with overlap between [{start}, {end}] and [{low}, {high}]"
    return ""


@settings(max_examples=300, deadline=None)
@given(DECLARED)
@example(((0, LAST),))
@example(((0, 5), (5, 6)))
@example(((0, 5), (6, 9)))
@example(((2, 9), (0, 9), (5, 5)))
@example(((0, 9), (1, 2), (5, 6), (9, 9)))
def test_the_first_problem_is_found_with_its_pair(declared: DeclaredRanges) -> None:
    problem, expected = policy_problem(declared), problem_by_pairs(declared)
    assert (problem is None) == (not expected)
    if problem is not None:
        assert (problem.error, problem.field) == ("IllegalArgumentException", "ranges")
        assert problem.message.startswith(expected)


def values(pieces: tuple[HashRange, ...] | list[HashRange]) -> set[int]:
    return {value for piece in pieces for value in range(piece.start, piece.end + 1)}


@settings(max_examples=300, deadline=None)
@given(PIECES, PIECES)
def test_what_is_left_after_a_subtraction_is_the_difference_of_the_values(
    pieces: list[HashRange], others: list[HashRange]
) -> None:
    left = subtract(pieces, others)
    assert values(left) == values(pieces) - values(others)
    assert left == join_neighbours(left)


def test_an_impact_names_whom_it_touches_and_nobody_else() -> None:
    was = {1: (HashRange(0, 4),), 2: (HashRange(5, 9),), 4: (HashRange(20, 29),)}
    now = {1: (HashRange(0, 6),), 3: (HashRange(7, 9),), 4: (HashRange(20, 29),)}
    assert impact_of(was, now) == Impact(
        removed={2: (HashRange(5, 9),)}, added={1: (HashRange(5, 6),), 3: (HashRange(7, 9),)}
    )
