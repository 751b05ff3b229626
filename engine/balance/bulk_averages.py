"""The leader's averages of all bundles in numpy columns: one pass for a reading of all reports.

The bulk form of what :func:`engine.balance.leadership.state.reports_read` does to averages, equal to the last bit:
sums are added in the order of the reports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.balance.averages import SETTLED_WITHIN, BundleData, TimeAverageMessageData, new_bundle_data
from engine.balance.java_maps import CopiedOrder, MapOrder
from engine.balance.limits import BundleStats
from engine.balance.shedding.model import RankedAverages, TrafficMeasure
from engine.bundles.loads import RATE_FIELDS, BothWays

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def _rates(traffic: BothWays) -> tuple[float, float, float, float]:
    return (
        traffic.msg_rate_in,
        traffic.msg_rate_out,
        traffic.throughput_in_bytes_per_sec,
        traffic.throughput_out_bytes_per_sec,
    )


def _columns(rows: Iterable[BothWays], count: int) -> Floats:
    """The rates of some rows, a line for each of ``RATE_FIELDS``."""
    flat = (rate for row in rows for rate in _rates(row))
    return np.fromiter(flat, float, count * len(RATE_FIELDS)).reshape(count, len(RATE_FIELDS)).T.copy()


class _Window:
    """One average of every bundle, over a window of ``length`` samples."""

    __slots__ = ("length", "rates", "samples")

    def __init__(self, averages: Sequence[TimeAverageMessageData]) -> None:
        self.length = averages[0].max_samples if averages else 1
        self.samples = np.fromiter((average.num_samples for average in averages), np.int64, len(averages))
        self.rates = _columns(averages, len(averages))

    def update(self, at: Places, sample: Floats) -> None:
        """One more sample of the bundles at these places, each of which is there once."""
        count = np.minimum(self.samples[at] + 1, self.length)
        before = count - 1
        self.samples[at] = count
        for line in range(len(RATE_FIELDS)):
            self.rates[line, at] = (before * self.rates[line, at] + sample[line, at]) / count

    def data(self, place: int) -> TimeAverageMessageData:
        rates = (float(self.rates[line, place]) for line in range(len(RATE_FIELDS)))
        return TimeAverageMessageData(self.length, int(self.samples[place]), *rates)

    @property
    def totals(self) -> tuple[Floats, Floats]:
        """Messages/s and bytes/s of every bundle."""
        return self.rates[0] + self.rates[1], self.rates[2] + self.rates[3]


def has_one_window(data: Iterable[BundleData]) -> bool:
    """Whether the averages of all bundles go over as many samples, as those of one leader do."""
    return len({(bundle.short_term.max_samples, bundle.long_term.max_samples) for bundle in data}) <= 1


@dataclass(frozen=True, slots=True)
class _Reported:
    """Which bundles the brokers report: places in the order of the reports, the number of the broker of each, and how
    often the bundle came before, since a broker may still report one that another one has as well.
    """

    reports: tuple[Places, ...]
    at: Places
    brokers: Places
    earlier: Places

    @classmethod
    def of(cls, reports: tuple[Places, ...]) -> _Reported:
        at = np.concatenate(reports) if reports else np.zeros(0, np.int64)
        brokers = np.repeat(np.arange(len(reports)), [len(report) for report in reports])
        order = np.argsort(at, kind="stable")
        ordered = at[order]
        first = np.flatnonzero(np.diff(ordered, prepend=-1))
        sizes = np.diff(first, append=len(at))
        earlier = np.empty(len(at), np.int64)
        earlier[order] = np.arange(len(at)) - np.repeat(first, sizes)
        return cls(reports, at, brokers, earlier)


class AverageColumns:
    """Averages of the bundles of a cluster, whose traffic stays as it is: what every sample of a bundle says.

    ``order`` is the leader's map of the bundles that it knows, ``data`` what it knows of them; ``copied`` are those of
    which a shedder gets to know.
    """

    def __init__(
        self,
        stats: Sequence[BundleStats],
        order: MapOrder,
        data: Mapping[str, BundleData],
        copied: Collection[str],
    ) -> None:
        self.places: Final = {bundle.bundle: place for place, bundle in enumerate(stats)}
        self.order: Final = CopiedOrder(order, copied.__contains__)
        self.copied: Final = copied
        self._names: Final = [bundle.bundle for bundle in stats]
        self._sample: Final = _columns(stats, len(stats))
        self._topics: Final = [bundle.topics for bundle in stats]
        blank = new_bundle_data()
        known = [data.get(bundle, blank) for bundle in self._names]
        self._stored_topics: Final = [bundle.topics for bundle in known]
        self._short: Final = _Window([bundle.short_term for bundle in known])
        self._long: Final = _Window([bundle.long_term for bundle in known])
        self._known = np.fromiter((bundle in data for bundle in self._names), bool, len(stats))
        self._is_sampled: Final = np.zeros(len(stats), bool)
        self._reported = _Reported.of(())
        self._totals: tuple[list[float], list[float]] | None = None

    def is_known(self, bundle: str) -> bool:
        place = self.places.get(bundle)
        return place is not None and bool(self._known[place])

    def data(self, bundle: str) -> BundleData:
        """Both averages of a bundle that is known."""
        place = self.places[bundle]
        topics = (self._topics if self._is_sampled[place] else self._stored_topics)[place]
        return BundleData(self._short.data(place), self._long.data(place), topics)

    def read(self, reports: tuple[Places, ...]) -> tuple[Floats, bool]:
        """Take a sample of every bundle in every report, brokers in the order of the leader's map.

        Returned: messages/s and bytes/s in and out of each broker, a line for each rate, which are the sums of its
        bundles' long-term averages; and whether no average has changed, but for rounding. Bundles in no report are
        forgotten. O(bundles), in a few passes.
        """
        if reports is not self._reported.reports:
            self._reported = _Reported.of(reports)
        reported = self._reported
        times = np.bincount(reported.at, minlength=len(self._names))
        fresh = self._forget_and_meet(times > 0, reported.at)
        self._totals = None
        averages = np.empty((len(RATE_FIELDS), len(reported.at)))
        with np.errstate(all="ignore"):
            before = (*self._short.totals, *self._long.totals)
            for earlier in range(int(times.max(initial=0))):
                here = reported.earlier == earlier
                at = reported.at[here]
                self._short.update(at, self._sample)
                self._long.update(at, self._sample)
                averages[:, here] = self._long.rates[:, at]
            after = (*self._short.totals, *self._long.totals)
            seen = self._known
            is_settled = not fresh and all(
                bool(_are_near(old[seen], new[seen]).all()) for old, new in zip(before, after, strict=True)
            )
        self._is_sampled[seen] = True
        sums = [np.bincount(reported.brokers, weights=line, minlength=len(reports)) for line in averages]
        return np.array(sums), is_settled

    def _forget_and_meet(self, reported: NDArray[np.bool_], at: Places) -> bool:
        """Forget the bundles that nobody reports, and start those anew that were forgotten; whether there are some."""
        fresh = reported & ~self._known
        lost = np.flatnonzero(self._known & ~reported)
        if fresh.any():
            blank = new_bundle_data(self._short.length, self._long.length)
            for place in dict.fromkeys(at[fresh[at]].tolist()):
                self.order.add(self._names[place])
            for window, start in ((self._short, blank.short_term), (self._long, blank.long_term)):
                window.samples[fresh] = 0
                window.rates[:, fresh] = np.array(_rates(start))[:, None]
        for place in lost.tolist():
            self.order.remove(self._names[place])
        self._known = reported
        return bool(fresh.any())

    def short_term(self, bundles: Iterable[str], measure: TrafficMeasure) -> list[float]:
        """Short-term messages/s or bytes/s of bundles that are known."""
        if self._totals is None:
            with np.errstate(all="ignore"):
                msgs, octets = self._short.totals
            self._totals = (msgs.tolist(), octets.tolist())
        totals = self._totals[0 if measure == "messages" else 1]
        return [totals[self.places[bundle]] for bundle in bundles]


def _are_near(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """``math.isclose`` with ``SETTLED_WITHIN``, for each."""
    largest = np.maximum(np.abs(one), np.abs(other))
    near: NDArray[np.bool_] = (one == other) | (
        np.isfinite(largest) & (np.abs(one - other) <= SETTLED_WITHIN * largest)
    )
    return near


class ShedAverages(RankedAverages):
    """What a shedder sees of averages in columns: the bundles that are shed, in the order of its map."""

    __slots__ = ("_columns", "_ranks")

    def __init__(self, columns: AverageColumns, ranks: Mapping[str, int] | None = None) -> None:
        self._columns = columns
        self._ranks = ranks

    def __contains__(self, bundle: object) -> bool:
        return isinstance(bundle, str) and self._columns.is_known(bundle) and bundle in self._columns.copied

    def __getitem__(self, bundle: str) -> BundleData:
        if bundle not in self:
            raise KeyError(bundle)
        return self._columns.data(bundle)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.order if self._ranks is None else sorted(self._ranks, key=self._ranks.__getitem__))

    def __len__(self) -> int:
        return len(self._columns.order)

    def in_order(self, bundles: Iterable[str]) -> list[str]:
        ranks = self._ranks
        return sorted(bundles, key=self._columns.order.rank if ranks is None else ranks.__getitem__)

    def short_term(self, bundles: Iterable[str], measure: TrafficMeasure) -> list[float]:
        return self._columns.short_term(bundles, measure)

    def reordered(self, bundles: Iterable[str]) -> ShedAverages:
        return ShedAverages(self._columns, {bundle: rank for rank, bundle in enumerate(bundles)})
