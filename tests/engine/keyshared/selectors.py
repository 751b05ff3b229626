"""Selectors with their joins and leaves, for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from engine.errors import Rejection
from engine.keyshared.autosplit import AutoSplitSelector, auto_split_selector
from engine.keyshared.model import Consumer, DeclaredRanges, Selector, SlotSpace
from engine.keyshared.ring import RingForm, RingSelector, ring_selector

T = TypeVar("T")


def accepted(outcome: T | Rejection) -> T:
    assert not isinstance(outcome, Rejection), outcome
    return outcome


def auto_split(size: int = 65_536) -> AutoSplitSelector:
    return accepted(auto_split_selector(size))


def ring(
    names: Iterable[str] = (), *, form: RingForm = RingForm.CURRENT, points: int = 100, slots: SlotSpace | None = None
) -> RingSelector:
    """A ring of consumers 1, 2, ... with these names, joining in order."""
    selector = accepted(ring_selector(form, points=points, slots=slots))
    for number, name in enumerate(names, start=1):
        selector = selector.join(Consumer(number, name))
    return selector


def sticky(selector: Selector | Rejection, *declared: DeclaredRanges) -> Selector:
    """A sticky selector with consumers 1, 2, ... that declare these ranges."""
    joined = accepted(selector)
    for number, ranges in enumerate(declared, start=1):
        joined = accepted(joined.join(Consumer(number, f"c{number}", ranges)))
    return joined


def texts(selector: Selector, consumer_id: int) -> str:
    return " ".join(str(piece) for piece in selector.ranges().get(consumer_id, ()))
