"""Who inherits a hash of the ring, against a ring that is built anew without the owner."""

from __future__ import annotations

from bisect import bisect_left

import mmh3
import pytest

from engine.views.failover.ring import heir_of
from tests.oracles.failover import Connected, ring_points


def owner_at(names: list[str], hash_value: int) -> str:
    cohort = [Connected(number, name, 0) for number, name in enumerate(names)]
    points = ring_points(cohort, lambda data: mmh3.hash(data, 0, signed=False) & 0x7FFFFFFF)
    places = sorted(points)
    return names[points[places[bisect_left(places, hash_value) % len(places)]]]


@pytest.mark.parametrize(
    "names", [["a", "b"], ["c-1", "c-10", "c-11", "c-2"], ["c1", "c11", "c111"], ["dup", "dup", "x"]]
)
def test_the_heir_is_who_a_ring_without_the_owner_gives(names: list[str]) -> None:
    """Names whose points collide are among them: such a point goes back to the name that it was taken from."""
    for hash_value in range(0, 2**31, 2**31 // 499):
        owner = max(at for at, name in enumerate(names) if name == owner_at(names, hash_value))
        heir = heir_of(names, owner, hash_value)
        assert heir is not None and heir != owner
        assert names[heir] == owner_at([*names[:owner], *names[owner + 1 :]], hash_value)


def test_nobody_inherits_from_the_only_consumer() -> None:
    assert heir_of(["a"], 0, 7) is None
