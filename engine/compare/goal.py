"""What can be suggested, and how even it has to be."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Struct

from engine.answer import about

SuggestionKind = Literal["names", "consumers", "partitions", "points", "flag"]
KINDS: Final[tuple[SuggestionKind, ...]] = ("names", "consumers", "partitions", "points", "flag")


class Goal(Struct, frozen=True):
    """At most ``max_over_mean`` by messages where ``by_messages`` (else by partitions), also after a loss where
    ``survive``, and at most ``busiest_msgs`` messages a second for one consumer (0.0: any).
    """

    max_over_mean: Annotated[float, about("At most.")] = 1.3
    survive: Annotated[bool, about("Also after the loss of any one.")] = False
    by_messages: Annotated[bool, about("By messages instead of partitions.")] = False
    busiest_msgs: Annotated[float, about("Most messages per second of one consumer; 0 for any.")] = 0.0
