"""The cursor of one subscription on one topic, as far as a hand-over moves it; positions are plain entry numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cursor:
    """``read_position`` is the entry that is read next; all entries up to ``mark_delete`` are acknowledged.

    ``acknowledged`` are those above ``mark_delete`` that were acknowledged one by one. ``read_position`` always
    lies above ``mark_delete``.
    """

    read_position: int = 0
    mark_delete: int = -1
    acknowledged: frozenset[int] = frozenset()

    @property
    def unacknowledged(self) -> tuple[int, ...]:
        """Entries that were sent and wait for their acknowledgement: the ones a rewind sends again."""
        sent = range(self.mark_delete + 1, self.read_position)
        return tuple(entry for entry in sent if entry not in self.acknowledged)

    def next_entries(self, count: int) -> tuple[int, ...]:
        """What a read of ``count`` entries brings: acknowledged ones are skipped."""
        found: list[int] = []
        entry = self.read_position
        while len(found) < count:
            if entry not in self.acknowledged:
                found.append(entry)
            entry += 1
        return tuple(found)

    def after_reading(self, entries: tuple[int, ...]) -> Cursor:
        return replace(self, read_position=entries[-1] + 1) if entries else self

    def rewound(self) -> Cursor:
        """Back to just after the mark-delete position (``ManagedCursor.rewind``).

        >>> Cursor(read_position=5, mark_delete=1, acknowledged=frozenset({3})).rewound().next_entries(3)
        (2, 4, 5)
        """
        return replace(self, read_position=self.mark_delete + 1)

    def acknowledge(self, *entries: int) -> Cursor:
        """Acknowledge entries one by one, whoever sends it: a late acknowledgement of a former active consumer counts.

        >>> Cursor(read_position=3).acknowledge(1).acknowledge(0)
        Cursor(read_position=3, mark_delete=1, acknowledged=frozenset())
        """
        acknowledged = self.acknowledged.union(entries)
        mark_delete = self.mark_delete
        while mark_delete + 1 in acknowledged:
            mark_delete += 1
        return Cursor(
            read_position=max(self.read_position, mark_delete + 1),
            mark_delete=mark_delete,
            acknowledged=frozenset(entry for entry in acknowledged if entry > mark_delete),
        )
