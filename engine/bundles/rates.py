"""Messages and bytes in both directions, which every limit and every rule compares as one number."""

from __future__ import annotations


class BothWays:
    """What has these four rates, in msg/s and bytes/s."""

    __slots__ = ()

    msg_rate_in: float
    msg_rate_out: float
    throughput_in_bytes_per_sec: float
    throughput_out_bytes_per_sec: float

    @property
    def msgs_per_sec(self) -> float:
        """In plus out (``totalMsgRate``)."""
        return self.msg_rate_in + self.msg_rate_out

    @property
    def bytes_per_sec(self) -> float:
        """In plus out (``totalMsgThroughput``)."""
        return self.throughput_in_bytes_per_sec + self.throughput_out_bytes_per_sec
