"""Every sequence of up to six joins and leaves of four consumers on 16 slots, against each rule written out plainly.

The references change lists in place, as Pulsar does; the engine derives its answers from who is there.
"""

from __future__ import annotations

from itertools import product
from typing import Final, Protocol

import mmh3
import pytest
from hypothesis import given, settings

from engine.keyshared.model import DeclaredRanges, Selector, SlotSpace
from engine.keyshared.ring import RingForm
from engine.keyshared.sticky import sticky_selector
from tests.engine.keyshared.selectors import accepted, auto_split, ring
from tests.properties.keyshared_checks import all_slots, check_answers, moved_between_bystanders, owners, toggle
from tests.properties.strategies import memberships

NAMES: Final = ["a", "b", "a", "c"]
POINTS: Final = 3
DECLARED: Final[tuple[DeclaredRanges, ...]] = (((0, 3), (8, 9)), ((4, 7),), ((3, 5), (11, 11)), ((10, 15),))
"""The third clashes with each of the others, so joins are refused all the time."""


class Reference(Protocol):
    def toggle(self, number: int) -> None: ...

    def owner(self, slot: int) -> int | None: ...


class PlainAutoSplit:
    """The owner of each of the values 1 .. 16, one by one; slot 0 is folded into 1."""

    def __init__(self) -> None:
        self.cells: list[int] = []

    def toggle(self, number: int) -> None:
        if not self.cells:
            self.cells = [number] * 16
        elif number in self.cells:
            self._leave(number)
        else:
            widest = max(dict.fromkeys(self.cells), key=self.cells.count)
            start, width = self.cells.index(widest), self.cells.count(widest)
            self.cells[start : start + width - width // 2] = [number] * (width - width // 2)

    def _leave(self, number: int) -> None:
        end = 16 - self.cells[::-1].index(number)
        start = self.cells.index(number)
        if (start, end) == (0, 16):
            self.cells = []
        else:
            self.cells[start:end] = [self.cells[end] if end < 16 else self.cells[start - 1]] * (end - start)

    def owner(self, slot: int) -> int | None:
        return self.cells[slot - 1] if self.cells else None


class PlainRing:
    """A dictionary from point to the list of its claimants, changed as each form of the ring changes it."""

    def __init__(self, form: RingForm, slots: SlotSpace) -> None:
        self.form, self.slots = form, slots
        self.points: dict[int, list[int]] = {}
        self.indices: dict[int, int] = {}
        self.arrived: list[int] = []

    def toggle(self, number: int) -> None:
        if number in self.arrived:
            self._leave(number)
        else:
            self._join(number)

    def _points_of(self, number: int, index: int) -> list[int]:
        middle = {RingForm.NAME_I: "", RingForm.NAME_NUL_I: "\0"}.get(self.form, f"\0{index}\0")
        texts = [f"{NAMES[number]}{middle}{replica}" for replica in range(POINTS)]
        hashes = [mmh3.hash(text, 0, signed=False) & 0x7FFFFFFF for text in texts]
        return [value % self.slots.size + self.slots.low for value in hashes]

    def _join(self, number: int) -> None:
        self.arrived.append(number)
        taken = {index for other, index in self.indices.items() if NAMES[other] == NAMES[number]}
        self.indices[number] = next(index for index in range(4) if index not in taken)
        for point in self._points_of(number, self.indices[number]):
            if self.form is RingForm.CURRENT:
                self.points.setdefault(point, []).append(number)
            elif self.form is RingForm.INDEXED_REPLACE:
                self.points[point] = [number]
            else:
                here = set(self.points.get(point, [])) | {number}
                self.points[point] = sorted(here, key=lambda each: (NAMES[each], self.arrived.index(each)))
        if self.form is RingForm.INDEXED_REPLACE:
            held = {owner for here in self.points.values() for owner in here}
            self.indices = {each: index for each, index in self.indices.items() if each in held}

    def _leave(self, number: int) -> None:
        self.arrived.remove(number)
        index = self.indices.pop(number, None)
        if index is None:
            return
        for point in self._points_of(number, index):
            here = self.points.get(point, [])
            if self.form is RingForm.CURRENT and here[:1] == [number]:
                left = here[1:]
            else:
                left = [each for each in here if each != number]
            self.points[point] = left
            if not left:
                del self.points[point]

    def owner(self, slot: int) -> int | None:
        if not self.points:
            return None
        above = [point for point in self.points if point >= slot]
        here = self.points[min(above or self.points)]
        return here[slot % len(here)] if self.form in (RingForm.NAME_I, RingForm.NAME_NUL_I) else here[0]


class PlainSticky:
    """The owner of each slot; a newcomer that finds one of its slots taken stays out."""

    def __init__(self) -> None:
        self.cells: dict[int, int] = {}

    def toggle(self, number: int) -> None:
        mine = [slot for start, end in DECLARED[number] for slot in range(start, end + 1)]
        if number in self.cells.values():
            self.cells = {slot: owner for slot, owner in self.cells.items() if owner != number}
        elif not set(mine) & set(self.cells):
            self.cells.update(dict.fromkeys(mine, number))

    def owner(self, slot: int) -> int | None:
        return self.cells.get(slot)


def start_of(kind: str) -> tuple[Selector, Reference]:
    if kind == "auto-split":
        return auto_split(16), PlainAutoSplit()
    if kind == "sticky":
        return accepted(sticky_selector(16)), PlainSticky()
    form = RingForm(kind)
    slots = SlotSpace(1, 16) if form is RingForm.CURRENT else SlotSpace(0, 15, folds_zero=False)
    return ring(points=POINTS, form=form, slots=slots), PlainRing(form, slots)


@pytest.mark.parametrize("kind", ["auto-split", "sticky", *(form.value for form in RingForm)])
def test_L2_L3_L4_every_sequence_of_six_joins_and_leaves_agrees_with_the_plain_rule(kind: str) -> None:
    """All 4^6 of them, and so all shorter ones. What moves is judged where Pulsar promises it."""
    first, _ = start_of(kind)
    promised = kind in ("auto-split", "current", "sticky")
    declared = DECLARED if kind == "sticky" else None
    states: dict[tuple[int, ...], Selector] = {(): first}
    seen: set[tuple[object, ...]] = set()
    for moves in product(range(4), repeat=6):
        _, plain = start_of(kind)
        for length, mover in enumerate(moves, start=1):
            plain.toggle(mover)
            if moves[:length] in states:
                continue
            before = states[moves[: length - 1]]
            selector = states[moves[:length]] = toggle(before, mover, NAMES, declared)
            result = owners(selector)
            assert result == [plain.owner(slot) for slot in all_slots(selector)], moves[:length]
            assert not promised or moved_between_bystanders(before, selector, mover) == []
            answer = (selector.consumers, *result)
            if answer not in seen:
                seen.add(answer)
                check_answers(selector, full=kind != "sticky")
    assert len(states) == sum(4**length for length in range(7))
    assert len({answer[0] for answer in seen}) > 16


@settings(max_examples=100, deadline=None)
@given(memberships(members=6, max_size=24))
def test_longer_histories_of_auto_split_with_odd_widths_agree_with_the_plain_rule_too(moves: list[int]) -> None:
    """Six moves halve only even widths; merged intervals bring odd ones, whose lower part is the larger."""
    # Widths 12, 6 and 3, then 7: so that one is met whatever else is drawn.
    moves = [1, 2, 3, 1, 1, 4, 3, 3, *moves]
    selector, plain = start_of("auto-split")
    for mover in moves:
        plain.toggle(mover)
        selector = toggle(selector, mover, [""] * 6)
        assert owners(selector) == [plain.owner(slot) for slot in all_slots(selector)]
