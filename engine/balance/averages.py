"""What the modular load manager remembers of a bundle's load: a short-term and a long-term average.

After ``BundleData`` and ``TimeAverageMessageData``. Rates are messages per second, throughput is bytes per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.balance.limits import BundleStats
from engine.bundles.loads import BothWays, BundleAverage

NUM_SHORT_SAMPLES: Final = 10
NUM_LONG_SAMPLES: Final = 1000
DEFAULT_MESSAGE_RATE: Final = 50.0
DEFAULT_MESSAGE_THROUGHPUT: Final = 50_000.0
SETTLED_WITHIN: Final = 1e-9
"""By how much of itself an average may change at one more sample and still be settled."""


@dataclass(frozen=True, slots=True)
class TimeAverageMessageData(BothWays):
    """One average over a window of ``max_samples`` samples (at least 1), of which ``num_samples`` were seen.

    Until the window is full it is the plain mean; then each sample weighs ``1 / max_samples`` and old ones fade without
    ever leaving, so a step in the traffic shows slowly.
    """

    max_samples: int
    num_samples: int = 0
    msg_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    throughput_in_bytes_per_sec: float = 0.0
    throughput_out_bytes_per_sec: float = 0.0

    def update(self, sample: BundleStats) -> TimeAverageMessageData:
        """This average with one more sample: ``((n - 1) × average + sample) / n``. The first replaces start values.

        >>> rate = lambda value: BundleStats("t/n/0x00000000_0xffffffff", msg_rate_in=value)
        >>> average = TimeAverageMessageData(2, msg_rate_in=50.0)
        >>> for value in (10.0, 20.0, 30.0):
        ...     average = average.update(rate(value))
        ...     print(average.num_samples, average.msg_rate_in)
        1 10.0
        2 15.0
        2 22.5
        """
        assert self.max_samples >= 1, self.max_samples
        count = min(self.num_samples + 1, self.max_samples)
        before = count - 1
        # Written out: a leader updates every bundle of a cluster whenever a report is written.
        return TimeAverageMessageData(
            self.max_samples,
            count,
            (before * self.msg_rate_in + sample.msg_rate_in) / count,
            (before * self.msg_rate_out + sample.msg_rate_out) / count,
            (before * self.throughput_in_bytes_per_sec + sample.throughput_in_bytes_per_sec) / count,
            (before * self.throughput_out_bytes_per_sec + sample.throughput_out_bytes_per_sec) / count,
        )


@dataclass(frozen=True, slots=True)
class BundleData:
    """Both averages of one bundle, and the number of topics of its last sample."""

    short_term: TimeAverageMessageData
    long_term: TimeAverageMessageData
    topics: int = 0

    def update(self, sample: BundleStats) -> BundleData:
        """This data with one more sample in both averages."""
        return BundleData(self.short_term.update(sample), self.long_term.update(sample), sample.topics)

    @property
    def stored(self) -> BundleAverage:
        """The part of it that the word ``HOT`` looks at."""
        long_term = self.long_term
        return BundleAverage(self.topics, long_term.throughput_in_bytes_per_sec, long_term.throughput_out_bytes_per_sec)


def new_bundle_data(
    num_short_samples: int = NUM_SHORT_SAMPLES,
    num_long_samples: int = NUM_LONG_SAMPLES,
    start: BundleStats | None = None,
) -> BundleData:
    """The data of a bundle never seen before, and of one whose history a split attempt has just deleted.

    Without ``start`` the values ``ModularLoadManagerImpl`` gives: 50 msg/s and 50000 bytes/s each way. They count only
    until the first sample.

    >>> new_bundle_data().long_term.msgs_per_sec
    100.0
    """
    given = start or BundleStats(
        "",
        msg_rate_in=DEFAULT_MESSAGE_RATE,
        msg_rate_out=DEFAULT_MESSAGE_RATE,
        throughput_in_bytes_per_sec=DEFAULT_MESSAGE_THROUGHPUT,
        throughput_out_bytes_per_sec=DEFAULT_MESSAGE_THROUGHPUT,
    )

    def window(samples: int) -> TimeAverageMessageData:
        return TimeAverageMessageData(
            samples,
            0,
            given.msg_rate_in,
            given.msg_rate_out,
            given.throughput_in_bytes_per_sec,
            given.throughput_out_bytes_per_sec,
        )

    return BundleData(window(num_short_samples), window(num_long_samples), given.topics)
