"""All hypothesis strategies for consumers, topics and rings; each says what it aims at.

Sizes are small on purpose: few names from a small pool meet, collide and repeat, which is where rings go wrong.
"""

from __future__ import annotations

from hypothesis import strategies as st

from engine.failover.model import Consumer

NARROW_SPACES = (2**8, 2**11, 2**16)
"""Hash spaces so small that points of different consumers meet all the time."""

COLLIDING_NAMES = ("c", "c-1", "c-10", "c-11", "c-110", "c1", "c11", "", "1", "11")
"""Names that extend one another by digits: they share point keys in the failover ring."""


def consumer_names() -> st.SearchStrategy[str]:
    """Names of every kind: colliding ones, plain ones, and any Unicode with the two ends of the UTF-16 order."""
    exotic = st.text(alphabet=st.sampled_from("a1\u00e9\ud7ff\ue000\uffee\U0001f600\U0010ffff"), max_size=3)
    numbered = st.integers(0, 120).map(lambda number: f"c-{number}")
    return st.sampled_from(COLLIDING_NAMES) | numbered | exotic


@st.composite
def cohorts(draw: st.DrawFn, *, max_size: int = 8, levels: int = 1) -> tuple[Consumer, ...]:
    """One to ``max_size`` consumers in connect order, ids 0, 1, ...; names may repeat; levels 0 .. ``levels`` - 1."""
    names = draw(st.lists(consumer_names(), min_size=1, max_size=max_size))
    priority = st.integers(0, levels - 1)
    return tuple(Consumer(number, name, draw(priority)) for number, name in enumerate(names))


def topics() -> st.SearchStrategy[tuple[str, int]]:
    """A full topic name with its partition index; -1 for a topic that is not partitioned."""
    base = st.integers(0, 10**6).map(lambda number: f"persistent://t/n/topic-{number}")
    partitioned = st.builds(lambda name, index: (f"{name}-partition-{index}", index), base, st.integers(0, 200))
    return partitioned | base.map(lambda name: (name, -1))


def narrow_spaces() -> st.SearchStrategy[int]:
    """A hash space of 8, 11 or 16 bits."""
    return st.sampled_from(NARROW_SPACES)


def memberships(members: int = 6, max_size: int = 24) -> st.SearchStrategy[list[int]]:
    """Joins and leaves: each number names a member that joins if it is out, and leaves if it is in."""
    return st.lists(st.integers(0, members - 1), max_size=max_size)


def point_sets(members: int = 6, space: int = 2**4) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """For each member a handful of points in a space so small that most points have several claimants."""
    return st.lists(
        st.lists(st.integers(0, space - 1), min_size=1, max_size=5).map(tuple), min_size=members, max_size=members
    )
