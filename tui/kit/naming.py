"""A name for the next consumer, in the manner of those that are there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

_NUMBERED: Final = re.compile(r"(?P<stem>.*?)(?P<number>[0-9]{1,9})", re.DOTALL)
FIRST_NAME: Final = "consumer-0"


def next_name(names: Iterable[str]) -> str:
    """The commonest stem with the number after its highest one, as wide as that one; never a name that is taken.

    >>> next_name(["billing-0", "billing-1", "audit"]), next_name(["c-08", "c-09"]), next_name([]), next_name(["audit"])
    ('billing-2', 'c-10', 'consumer-0', 'audit-1')
    """
    taken = list(names)
    found = [match for name in taken if (match := _NUMBERED.fullmatch(name))]
    if not found:
        named = next((name for name in taken if name), "")
        return f"{named}-1" if named else FIRST_NAME
    stem, _ = Counter(match["stem"] for match in found).most_common(1)[0]
    highest = max(
        (match["number"] for match in found if match["stem"] == stem), key=lambda number: (int(number), number)
    )
    return f"{stem}{int(highest) + 1:0{len(highest)}}"
