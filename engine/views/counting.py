"""Numbers with their nouns and verbs, for sentences."""

from __future__ import annotations


def counted(count: int, noun: str, one: str = "", many: str = "") -> str:
    """A number with its noun, and if wanted the verb that goes with it.

    >>> counted(1, "slot"), counted(1200, "slot"), counted(1, "slot", "has", "have"), counted(2, "entry")
    ('1 slot', '1,200 slots', '1 slot has', '2 entries')
    """
    verb = one if count == 1 else many
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}" + (f" {verb}" if verb else "")
