"""What a join or leave moved: the ranges each consumer lost and gained.

Source: ``ConsumerHashAssignmentsSnapshot.resolveImpactedConsumers`` (PIP-379), with the added ranges of #24736.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.keyshared.model import RangesById
from engine.ranges import HashRange, join_neighbours


@dataclass(frozen=True, slots=True)
class Impact:
    """By consumer id, the slots it owned before and not after (``removed``), and the other way round (``added``).

    The consumer that left is in ``removed`` with all it had, the one that joined in ``added``.
    """

    removed: RangesById
    added: RangesById


def impact_of(before: RangesById, after: RangesById) -> Impact:
    """Compare the ranges before and after a change; O(n log n).

    >>> was = {1: (HashRange(1, 9),)}
    >>> now = {1: (HashRange(5, 9),), 2: (HashRange(1, 4),)}
    >>> impact_of(was, now) == Impact(removed={1: (HashRange(1, 4),)}, added={2: (HashRange(1, 4),)})
    True
    """
    return Impact(removed=_only_in(before, after), added=_only_in(after, before))


def _only_in(these: RangesById, those: RangesById) -> RangesById:
    found = {owner: subtract(pieces, those.get(owner, ())) for owner, pieces in these.items()}
    return {owner: pieces for owner, pieces in found.items() if pieces}


def subtract(pieces: Sequence[HashRange], others: Sequence[HashRange]) -> tuple[HashRange, ...]:
    """The values of ``pieces`` that ``others`` do not have, as few ranges as possible; O(n log n).

    >>> [str(piece) for piece in subtract([HashRange(0, 9)], [HashRange(3, 4), HashRange(9, 12)])]
    ['[0,2]', '[5,8]']
    """
    cuts = join_neighbours(others)
    left: list[HashRange] = []
    at = 0
    for piece in join_neighbours(pieces):
        start = piece.start
        while at < len(cuts) and cuts[at].end < start:
            at += 1
        ahead = at
        while ahead < len(cuts) and cuts[ahead].start <= piece.end:
            if cuts[ahead].start > start:
                left.append(HashRange(start, cuts[ahead].start - 1))
            start = cuts[ahead].end + 1
            ahead += 1
        if start <= piece.end:
            left.append(HashRange(start, piece.end))
    return tuple(left)
