"""English for what an unload interrupts beyond connections."""

from __future__ import annotations

from collections.abc import Iterable

from engine.admin.facts import total
from engine.admin.interruptions import Interruption
from engine.text import counted


def anew_parts(interruptions: Iterable[Interruption]) -> list[str]:
    """What becomes of active consumers, draining slots and unacknowledged messages; what is 0 or not known is left out.

    >>> anew_parts([Interruption(2, 1, 3, 1, 0, 5), Interruption(1, 0, 1, 1, 0, 0)])
    ['2 active consumers chosen anew', '5 unacknowledged messages may come twice']
    """
    several = tuple(interruptions)
    counts = (
        (sum(one.handovers for one in several), "active consumer", "chosen anew"),
        (sum(one.draining_slots for one in several), "slot", "no longer draining"),
        (total(one.unacked_messages for one in several), "unacknowledged message", "may come twice"),
    )
    return [f"{counted(count, noun)} {what}" for count, noun, what in counts if count]
