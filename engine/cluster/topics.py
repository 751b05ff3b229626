"""A topic and the traffic of one partition, as values: what one row of the table of topics says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from engine.names import partition_name


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic by its complete name without ``-partition-N``; ``partitions`` is 0 when it is not partitioned."""

    name: str
    partitions: int = 0

    def partition_names(self) -> tuple[str, ...]:
        """The names that have a dispatcher each: the partitions, or the topic itself."""
        if self.partitions == 0:
            return (self.name,)
        return tuple(partition_name(self.name, index) for index in range(self.partitions))


@dataclass(frozen=True, slots=True)
class Load:
    """The traffic of one partition: messages and bytes per second, and what waits unacknowledged."""

    msg_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    throughput_in_bytes_per_sec: float = 0.0
    throughput_out_bytes_per_sec: float = 0.0
    unacked_messages: int = 0
    backlog_entries: int = 0


NOTHING_REPORTED: Final[Mapping[str, Load]] = MappingProxyType({})
