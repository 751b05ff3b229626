"""What can be suggested, and how even it has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SuggestionKind = Literal["names", "consumers", "partitions", "points", "flag"]
KINDS: Final[tuple[SuggestionKind, ...]] = ("names", "consumers", "partitions", "points", "flag")


@dataclass(frozen=True, slots=True)
class Goal:
    """At most ``max_over_mean`` by messages where ``by_messages`` (else by partitions), also after a loss where
    ``survive``, and at most ``busiest_msgs`` messages a second for one consumer (0.0: any).
    """

    max_over_mean: float = 1.3
    survive: bool = False
    by_messages: bool = False
    busiest_msgs: float = 0.0
