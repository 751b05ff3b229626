"""Known troubles of Pulsar at the size of a fleet: the bulk forms show them as the scalar theories do."""

from __future__ import annotations

import numpy as np

from engine.bundles.columns import bundle_map
from engine.failover.bulk_ring import build_rings
from engine.keyshared.bulk import slot_owners
from tests.engine.keyshared.selectors import ring


def test_F09_a_name_that_extends_another_by_a_digit_takes_ten_of_its_points() -> None:
    rings = build_rings([["c1", "c11"]])
    points, owners = rings.points_of(0), rings.owners_of(0)
    twice = np.flatnonzero(points[1:] == points[:-1])
    assert len(twice) == 10
    assert set(owners[twice].tolist()) == {1}, "the longer name sorts last, so it comes first among the claimants"
    assert set(owners[twice + 1].tolist()) == {0}


def test_F10_of_namesakes_only_the_last_connected_one_owns_anything() -> None:
    rings = build_rings([["c", "c", "c"]])
    assert set(rings.look_up(0, np.arange(0, 2**31, 2**20)).tolist()) == {2}


def test_K13_in_the_16_bit_ring_early_joiners_own_more_and_slots_lack_points() -> None:
    """A thousand consumers named host-0 .. host-999 that join in order: about 118 slots each, then about 29."""
    owners = slot_owners(ring([f"host-{at}" for at in range(1_000)])).look_up(np.arange(1, 65_536))
    slots = np.bincount(owners, minlength=1_001)[1:]
    assert round(float(slots[:100].mean())) == 118
    assert round(float(slots[-100:].mean())) == 29
    assert (int(slots.min()), int(slots.max())) == (13, 139)


def test_the_topic_with_the_highest_hash_has_a_bundle_here() -> None:
    """Pulsar's own look-up fails for 0xffffffff."""
    bundles = bundle_map([(0, 0x80000000, 0xFFFFFFFF), (0, 0xFFFFFFFF)])
    assert bundles.look_up(np.array([0, 1]), np.array([0xFFFFFFFF, 0xFFFFFFFF])).tolist() == [1, 2]
