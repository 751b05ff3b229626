"""What more partitions do to keys: which move with which client, and which clients disagree about them anyway."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import Rejection
from engine.routing.key_moves import HASHING_SCHEMES, client_disagreements, moved_keys_by_scheme
from engine.routing.keys import HashingScheme

CLIENTS_OF: dict[HashingScheme, str] = {
    "JavaStringHash": "the Java client",
    "Murmur3_32Hash": "the Java client on request",
    "BoostHash": "the Python and C++ clients",
}


@dataclass(frozen=True, slots=True)
class SchemeMoves:
    """One hashing scheme: ``moved`` of the keys go elsewhere, where ``expected_share`` (0..1) of random ones would."""

    hashing: HashingScheme
    clients: str
    moved: int
    expected_share: float


@dataclass(frozen=True, slots=True)
class KeyGrowth:
    """One key: its partition before and after under each scheme, in the order of ``HASHING_SCHEMES``.

    None where a client takes the empty key for none.
    """

    key: str
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]

    @property
    def moves(self) -> bool:
        """Whether it moves for any client."""
        return self.before != self.after

    @property
    def disagrees(self) -> bool:
        """Whether Java's and Python's default put it into different partitions after the growth."""
        return self.after[0] != self.after[-1]


@dataclass(frozen=True, slots=True)
class GrowthView:
    """A growth from ``before`` to ``after`` partitions; equal numbers only compare clients.

    ``disagreeing`` keys go to different partitions from Java and from Python after it, where ``expected_disagreeing``
    (0..1) of independent hashes would.
    """

    before: int
    after: int
    schemes: tuple[SchemeMoves, ...]
    keys: tuple[KeyGrowth, ...]
    disagreeing: int
    expected_disagreeing: float


def growth_view(keys: Iterable[str], before: int, after: int) -> GrowthView | Rejection:
    """Each key under each scheme. Refused: partitions below 1, or fewer than before. Linear in the keys.

    >>> view = growth_view(["k0", "k1"], 4, 6)
    >>> [(each.key, each.before, each.after) for each in view.keys], [each.moved for each in view.schemes]
    ([('k0', (1, 2, 3), (5, 4, 5)), ('k1', (2, 2, 1), (0, 2, 1))], [2, 1, 1])
    """
    told = tuple(dict.fromkeys(keys))
    found = moved_keys_by_scheme(told, before, after)
    if isinstance(found, Rejection):
        return found
    apart = client_disagreements(told, after)
    if isinstance(apart, Rejection):
        return apart
    places = [found[scheme].places for scheme in HASHING_SCHEMES]
    rows = tuple(
        KeyGrowth(key, tuple(each.left for each in row), tuple(each.right for each in row))
        for key, *row in zip(told, *places, strict=True)
    )
    return GrowthView(
        before=before,
        after=after,
        schemes=tuple(
            SchemeMoves(scheme, CLIENTS_OF[scheme], len(moves.moved), moves.expected_share)
            for scheme, moves in found.items()
        ),
        keys=rows,
        disagreeing=len(apart.disagreeing),
        expected_disagreeing=apart.expected_share,
    )
