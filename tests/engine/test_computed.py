"""A computed sequence is indexed as the tuple of its items is."""

from __future__ import annotations

import pytest

from engine.memo import Computed


class Tens(Computed[int]):
    def __len__(self) -> int:
        return 4

    def item(self, at: int) -> int:
        assert 0 <= at < 4
        return at * 10


def test_every_index_and_slice_is_that_of_a_tuple() -> None:
    items = (0, 10, 20, 30)
    assert tuple(Tens()) == items
    assert [Tens()[at] for at in range(-4, 4)] == [items[at] for at in range(-4, 4)]
    places = (None, -9, -4, -1, 0, 1, 4, 9)
    for start in places:
        for stop in places:
            for step in (None, -2, 3):
                assert Tens()[start:stop:step] == items[start:stop:step]


@pytest.mark.parametrize("at", [-6, -5, 4, 5])
def test_an_index_outside_is_an_error(at: int) -> None:
    with pytest.raises(IndexError):
        Tens()[at]
