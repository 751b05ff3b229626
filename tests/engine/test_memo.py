"""A computed sequence is indexed as the tuple of its items is, and what is remembered is computed once."""

from __future__ import annotations

import pytest

from engine.memo import REMEMBERED_ANSWERS, Computed, Remembered, RememberedEach


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


def test_an_answer_is_computed_once_for_the_same_parts() -> None:
    memory: Remembered[list[int]] = Remembered()
    part = (1, 2)
    first = memory.get((part,), (3,), lambda: [1])
    assert memory.get((part,), (3,), lambda: [2]) is first
    assert memory.get((part,), (4,), lambda: [2]) == [2]


def test_the_oldest_answer_goes_first() -> None:
    memory: Remembered[int] = Remembered()
    parts = [(number, "part") for number in range(REMEMBERED_ANSWERS + 1)]
    for number, part in enumerate(parts):
        memory.get((part,), (), lambda number=number: number)  # type: ignore[misc]
    assert memory.get((parts[-1],), (), lambda: -1) == REMEMBERED_ANSWERS
    assert memory.get((parts[0],), (), lambda: -1) == -1


def test_an_answer_kept_while_another_thread_computed_it_is_the_answer_of_both() -> None:
    """The other thread stands here as a call between the look and the end of the computing."""
    memory: Remembered[list[str]] = Remembered()
    part = ("part",)
    kept: list[list[str]] = []

    def compute() -> list[str]:
        kept.append(memory.get((part,), (), lambda: ["first"]))
        return ["second"]

    assert memory.get((part,), (), compute) is kept[0]
    assert memory.get((part,), (), compute) == ["first"] and len(kept) == 1


def test_of_a_list_only_the_items_with_other_parts_are_made_again() -> None:
    kept: RememberedEach[tuple[int, str]] = RememberedEach()
    made: list[int] = []

    def make(small: int, part: list[str]) -> tuple[int, str]:
        made.append(small)
        return small, part[0]

    parts = [["a"], ["b"], ["c"]]
    first = kept.get("list", enumerate((part,) for part in parts), make)
    assert first == ((0, "a"), (1, "b"), (2, "c"))
    assert kept.get("list", enumerate((part,) for part in parts), make) is first
    assert kept.get("another", [(7, (parts[0],))], make) == ((7, "a"),)
    parts[1] = ["B"]
    made.clear()
    changed = kept.get("list", enumerate((part,) for part in parts), make)
    assert (changed, made) == (((0, "a"), (1, "B"), (2, "c")), [1])
    assert changed[0] is first[0]
    assert kept.get("list", enumerate((part,) for part in parts[:2]), make) == ((0, "a"), (1, "B"))


def test_the_list_asked_for_first_is_forgotten_first() -> None:
    kept: RememberedEach[str] = RememberedEach()
    part = "part"
    lists = [kept.get(number, [(number, (part,))], lambda small, part: f"{part} {small}") for number in range(30)]
    again = [
        kept.get(number, [(number, (part,))], lambda small, part: f"{part} {small}") for number in range(29, -1, -1)
    ]
    assert sum(new is old for new, old in zip(again, reversed(lists), strict=True)) == REMEMBERED_ANSWERS
