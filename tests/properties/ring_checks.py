"""The invariants of a ``Ring`` in one place; the whole state is shown when one fails."""

from __future__ import annotations

from typing import Any

from engine.ranges import HashRange, covers_exactly
from engine.ring import Ring


def check_ring(ring: Ring[Any]) -> None:
    """Claims are those of the members, in rank order; pieces cover the space once and fall on their points."""
    try:
        ring._claims._check()
        claims = {(point, member) for point, claimants in ring.claims() for member in claimants}
        assert claims == {(point, member) for member in ring.members for point in ring._points_of(member)}
        assert sum(len(claimants) for _, claimants in ring.claims()) == len(claims), "a member is twice at a point"
        ranked = ring.members
        for point, claimants in ring.claims():
            assert 0 <= point < ring._space, f"point {point} is outside the space"
            assert claimants == tuple(member for member in ranked if member in claimants), f"order at {point}"
        pieces = list(ring.stretches(0, ring._space - 1))
        assert not pieces or covers_exactly((piece for piece, _ in pieces), HashRange(0, ring._space - 1)), "gaps"
        for piece, claimants in pieces:
            for hash_value in (piece.start, piece.end):
                hit = ring.successor(hash_value)
                assert hit is not None and hit.owner == ring.owner(hash_value), f"look-ups differ at {hash_value}"
                assert ring.claimants(hit.point) == claimants, f"piece and look-up differ at {hash_value}"
    except AssertionError as failure:
        raise AssertionError(f"{failure}\nmembers {ring.members}, claims {list(ring.claims())}") from failure
