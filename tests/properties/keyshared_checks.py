"""What the tests of the Key_Shared laws share: moves of consumers, and answers compared slot by slot."""

from __future__ import annotations

from engine.errors import Rejection
from engine.keyshared.model import Consumer, DeclaredRanges, Selector
from engine.keyshared.ownership import slots_by_consumer
from engine.keyshared.ring import RingSelector


def toggle(
    selector: Selector, number: int, names: list[str], declared: tuple[DeclaredRanges, ...] | None = None
) -> Selector:
    """A consumer joins if it is out and leaves if it is in; a refused join changes nothing."""
    if any(consumer.consumer_id == number for consumer in selector.consumers):
        return selector.leave(number)
    joined = selector.join(Consumer(number, names[number], declared[number] if declared else None))
    return selector if isinstance(joined, Rejection) else joined


def all_slots(selector: Selector) -> range:
    """The slots that occur."""
    return range(max(selector.slots.low, int(selector.slots.folds_zero)), selector.slots.high + 1)


def owners(selector: Selector) -> list[int | None]:
    """The answer of the look-up for every slot of a small space."""
    return [selector.owner(slot) for slot in all_slots(selector)]


def check_answers(selector: Selector, *, full: bool = True) -> None:
    """L3 and L4: every slot of a small space has at most one owner, exactly one where ``full``: the reported one."""
    results: dict[int, int] = {}
    for owner, owned in slots_by_consumer(selector).items():
        for piece in owned:
            for slot in range(piece.range.start, piece.range.end + 1):
                if piece.contains(slot):
                    assert slot not in results
                    results[slot] = owner
    space = all_slots(selector)
    assert owners(selector) == [results.get(slot) for slot in space]
    # In one earlier form newcomers take points away for good, so a ring with consumers can have no point left.
    empty = not len(selector.ring) if isinstance(selector, RingSelector) else not selector.consumers
    assert not full or len(results) == (0 if empty else len(space))


def moved_between_bystanders(before: Selector, after: Selector, mover: int) -> list[int]:
    """L2: the slots that changed hands although neither hand is the mover's."""
    was, now = owners(before), owners(after)
    joined = len(after.consumers) > len(before.consumers)
    return [
        slot
        for slot, old, new in zip(all_slots(before), was, now, strict=True)
        if old != new and (new if joined else old) != mover and old is not None and new is not None
    ]
