"""What each release does, from the table of versions (PIPs and pull requests beside each line)."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, int, int]


def version_of(text: str) -> Version:
    """``4.0.7`` as three numbers."""
    major, minor, patch = text.split(".")
    return int(major), int(minor), int(patch)


@dataclass(frozen=True)
class Release:
    """Rules by release; a flag is true where the newer rule is in force."""

    version: Version

    def _since(self, *branches: Version) -> bool:
        """In the newest branch named and all after it, and in each older branch (same first two numbers) from there."""
        newest = branches[0]
        return self.version >= newest or any(
            self.version[:2] == branch[:2] and self.version >= branch for branch in branches[1:]
        )

    @property
    def nonpartitioned_ring(self) -> bool:
        return self.version >= (3, 0, 0)  # 19502

    @property
    def knows_failover_flag(self) -> bool:
        return self._since((4, 0, 1), (3, 3, 3), (3, 0, 8))  # PIP-392, 23584

    @property
    def ring_form(self) -> str:
        if self.version >= (4, 0, 0):
            return "current"  # 23441, 23447
        if self._since((3, 3, 2), (3, 0, 7)):
            return "indexed_replace"  # 23327
        if self._since((3, 3, 0), (3, 2, 1), (3, 0, 3)):
            return "name_nul_i"  # 22053
        return "name_i"

    @property
    def sixteen_bit_slots(self) -> bool:
        return self.version >= (4, 0, 0)  # PIP-379: slot 0 means no hash

    @property
    def draining(self) -> bool:
        return self.version >= (4, 0, 0)  # PIP-379, 23352

    @property
    def takes_slots_back(self) -> bool:
        return self._since((4, 1, 1), (4, 0, 7))  # 24736

    @property
    def sticky_gaps_unserved(self) -> bool:
        return self._since((4, 1, 1), (4, 0, 7), (3, 3, 9), (3, 0, 14))  # 24730

    @property
    def ownerless_stops_all(self) -> bool:
        return self.version < (3, 0, 0)  # seen in 2.11.0, not in 3.0.2

    @property
    def flow_algorithm(self) -> bool:
        return self.version >= (3, 0, 0)  # PIP-169

    @property
    def flow_by_name(self) -> bool:
        return self.version >= (5, 0, 0)  # seen in 5.0.1, not in 4.2.4

    @property
    def answers_failed_splits(self) -> bool:
        return self._since((5, 0, 0), (4, 2, 5), (4, 0, 14))  # 26735

    @property
    def classic_dispatcher(self) -> bool:
        return self.version < (5, 0, 0)  # 26687

    @property
    def publishers_added_once(self) -> bool:
        return self.version >= (3, 0, 0)  # 18807
