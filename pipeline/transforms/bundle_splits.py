"""The children that cuts would make of many bundles, as columns of ``bundle_splits`` and ``bundle_children``.

There is a row per bundle and algorithm, so everything here works on whole columns.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.balance.limits import bandwidth_limit
from engine.bundles.bulk_splits import Answer, Cuts
from engine.bundles.columns import BundleMap, sum_by
from engine.config import BrokerSettings
from pipeline.schemas import BUNDLE_CHILDREN, BUNDLE_SPLITS

REFUSALS: Final = (
    "nothing-to-split",
    "too-narrow",
    "boundary-not-inside",
    "equal-boundaries",
    "not-the-default-algorithm",
)
_NOT_DEFAULT: Final = 4
_FEWEST_TOPICS: Final = 2
"""Both load managers leave a bundle with fewer loaded topics whole, however busy it is."""
_NONE: Final = -1
_HEX: Final = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_SHIFTS: Final = np.arange(28, -1, -4)
_TEXT_BYTES: Final = 21


def range_texts(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Any:
    """``0x%08x_0x%08x`` of each range (``engine.bundles.BundleRange``) as an Arrow column; bounds 0 .. 0xffffffff.

    >>> range_texts(np.array([0x10]), np.array([0xffffffff])).to_pylist()
    ['0x00000010_0xffffffff']
    """
    count = len(lower)
    text = np.empty((count, _TEXT_BYTES), dtype=np.uint8)
    text[:] = np.frombuffer(b"0x--------_0x--------", dtype=np.uint8)
    text[:, 2:10] = _HEX[(lower[:, None] >> _SHIFTS) & 15]
    text[:, 13:21] = _HEX[(upper[:, None] >> _SHIFTS) & 15]
    offsets = np.arange(count + 1, dtype=np.int32) * _TEXT_BYTES
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))


class Children:
    """The children that the cuts of one algorithm would make of each bundle.

    ``bundle`` (topics,) is the index of each topic's bundle, -1 outside of all; ``loads`` (6, topics) are publishers,
    consumers and the four rates. Topics without ``has_stats`` are not loaded: the algorithms count them, the load
    manager does not.

    ``refusal`` (bundles,) is the index of a reason in ``REFUSALS``, -1 where a broker would carry the cuts out. (To
    ``nothing-to-split`` a broker answers, and does nothing; to ``equal-boundaries`` it never answers.) ``parent``,
    ``lower``, ``upper`` and the sums ``topics``, ``loaded``, ``sessions``, ``msgs`` and ``volume`` are (children,), by
    bundle and lower bound; ``start`` (bundles + 1,) is where the children of each bundle begin.
    """

    def __init__(
        self, bundles: BundleMap, cuts: Cuts, bundle: NDArray[np.int64], hashes: NDArray[np.int64],
        loads: NDArray[np.float64], *, has_stats: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        lower, upper = bundles.lower, bundles.upper
        count = len(bundles)
        self._cuts = cuts
        owner = np.repeat(np.arange(count), np.diff(cuts.start))
        inside = (lower[owner] < cuts.positions) & (cuts.positions < upper[owner])
        outside = np.bincount(owner[~inside], minlength=count) > 0
        again = np.append(False, (np.diff(cuts.positions) == 0) & (np.diff(owner) == 0))[: len(owner)]
        repeated = np.bincount(owner[again], minlength=count) > 0
        nothing = (cuts.answer != Answer.CUTS) | (np.diff(cuts.start) == 0)
        self.refusal = np.select([nothing, upper - lower <= 1, outside, repeated], [0, 1, 2, 3], _NONE)
        kept = self.refusal[owner] == _NONE
        starts = np.concatenate((np.arange(count), owner[kept]))
        bounds = np.concatenate((lower, cuts.positions[kept]))
        order = np.lexsort((bounds, starts))
        self.parent = starts[order]
        self.lower = bounds[order]
        self.start = np.searchsorted(self.parent, np.arange(count + 1))
        self.upper = np.append(self.lower[1:], 0)
        self.upper[self.start[1:] - 1] = upper
        placed = bundle >= 0
        key = (self.parent << 32) | self.lower
        child = np.searchsorted(key, (bundle[placed] << 32) | hashes[placed], side="right") - 1
        inner = loads[:, placed]
        self.topics = np.bincount(child, minlength=len(key))
        self.loaded = np.bincount(child[has_stats[placed]], minlength=len(key))
        self.sessions = sum_by(child, inner[0] + inner[1], len(key))
        self.msgs = sum_by(child, inner[2] + inner[3], len(key))
        self.volume = sum_by(child, inner[4] + inner[5], len(key))

    def split_columns(
        self, bundles: Any, namespaces: Any, algorithm: str, settings: BrokerSettings, *, is_default: bool
    ) -> Any:
        """Rows of ``bundle_splits``, one per bundle; ``bundles`` and ``namespaces`` are their names as Arrow columns.

        ``is_default`` False: no broker would take this algorithm; the refusal says so, beside what it would do.
        """
        count = len(bundles)
        whole = self.refusal != _NONE
        refusals = np.where(~whole & (not is_default), _NOT_DEFAULT, self.refusal)
        begins = self.start[:-1]
        empty, over = (self.topics == 0).astype(np.int64), self._over_limit(settings).astype(np.int64)
        arrays = [
            bundles,
            namespaces,
            pa.repeat(algorithm, count),
            pa.ListArray.from_arrays(pa.array(self._cuts.start.astype(np.int32)), pa.array(self._cuts.positions)),
            pa.array(np.where(whole, 0, np.diff(self.start))),
            pa.array(REFUSALS, pa.string()).take(pa.array(refusals, mask=refusals == _NONE)),
            pa.array(np.where(whole, 0, np.add.reduceat(empty, begins) if count else empty)),
            pa.array(np.where(whole, 1.0, self._largest_share(self.topics))),
            pa.array(np.where(whole, 1.0, self._largest_share(self.msgs))),
            pa.array(np.where(whole, 0, np.add.reduceat(over, begins) if count else over)),
        ]
        return pa.Table.from_arrays(arrays, names=list(BUNDLE_SPLITS.names))

    def child_columns(self, bundles: Any, namespaces: Any, algorithm: str) -> Any:
        """Rows of ``bundle_children``; a bundle that stays whole has none."""
        shown = np.flatnonzero((self.refusal == _NONE)[self.parent])
        parent = pa.array(self.parent[shown])
        spaces = namespaces.take(parent)
        texts = range_texts(self.lower[shown], self.upper[shown])
        arrays = [
            bundles.take(parent),
            spaces,
            pa.repeat(algorithm, len(shown)),
            pc.binary_join_element_wise(spaces, texts, "/"),
            *(pa.array(values[shown]) for values in (self.lower, self.upper, self.topics, self.msgs, self.volume)),
        ]
        return pa.Table.from_arrays(arrays, names=list(BUNDLE_CHILDREN.names))

    def _largest_share(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """(bundles,) the share of the largest child in the sum of its bundle, 1 where that sum is 0."""
        begins = self.start[:-1]
        if not len(begins):
            return np.zeros(0)
        sums, largest = (reduce.reduceat(values, begins).astype(np.float64) for reduce in (np.add, np.maximum))
        return np.divide(largest, sums, out=np.ones(len(begins)), where=sums > 0)

    def _over_limit(self, settings: BrokerSettings) -> NDArray[np.bool_]:
        """(children,) whether the load manager would split it again: above a limit, with at least two loaded topics."""
        most_sessions = settings.loadBalancerNamespaceBundleMaxSessions
        over = self.loaded > settings.loadBalancerNamespaceBundleMaxTopics
        over |= (self.sessions > most_sessions) & (most_sessions > 0)
        over |= self.msgs > settings.loadBalancerNamespaceBundleMaxMsgRate
        over |= self.volume > bandwidth_limit(settings).pulsar_bytes_per_sec
        over &= (self.loaded >= _FEWEST_TOPICS) & (self.upper - self.lower > 1)
        return over
