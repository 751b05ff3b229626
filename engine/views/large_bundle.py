"""What a split looks at, for a bundle with very many topics: the algorithms and the findings, from columns.

Twins of ``engine.bundles.flow``, ``algorithms`` and ``findings``. Sums are added in the order of the hashes and not of
the listing, so they can differ in their last digits; where a decision hangs on such digits ``RoundingDecidesError`` is
raised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND
from engine.bundles.bulk_flow import first_fit_cuts
from engine.bundles.flow import FlowLimits
from engine.bundles.plan import ChildShare, SplitWarning
from engine.cluster.topic_table import LoadTable, NumberedNames
from engine.names import NON_PERSISTENT

HAIR: Final = 1e-9
"""Nearer than this part of a limit, rounding may decide."""


@dataclass(frozen=True, eq=False, slots=True)
class Inside:
    """The topics of one bundle ascending by hash, those of one hash by name: arrays of (n,)."""

    names: NumberedNames
    hashes: NDArray[np.int64]
    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    has_stats: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.hashes)


class RoundingDecidesError(Exception):
    """A sum is so near to a limit that the order of the additions counts."""


def inside_of(
    loads: LoadTable,
    numbers: NDArray[np.int32],
    hashes: NDArray[np.int64],
    flow: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> Inside:
    """The topics of these numbers, given ascending by hash, with ``flow``: messages and bytes a second, (n,) each.

    O(n) for copies, and a sort of the topics that share a hash.
    """
    topics = loads.topics
    msgs, size = flow
    twins = _twins(hashes)
    if twins:
        numbers, msgs, size = numbers.copy(), msgs.copy(), size.copy()
    for low, high in twins:
        names = [topics.partition_name(number) for number in numbers[low:high].tolist()]
        order = low + np.array(sorted(range(high - low), key=names.__getitem__))
        numbers[low:high], msgs[low:high], size[low:high] = numbers[order], msgs[order], size[order]
    known = np.ones(len(numbers), dtype=np.bool_) if loads.known is None else loads.known[numbers]
    return Inside(NumberedNames(topics, numbers), hashes, msgs, size, known)


def topic_warnings(inside: Inside, limits: FlowLimits) -> tuple[SplitWarning, ...]:
    """What cannot be mended: hashes that topics share, the hottest topic above a limit, the hash Pulsar loses."""
    found = [
        SplitWarning("equal-hashes", topics=_listed(inside, range(low, high)), positions=(int(inside.hashes[low]),))
        for low, high in _twins(inside.hashes)
    ]
    msgs, size = inside.msgs_per_sec, inside.bytes_per_sec
    hot = np.flatnonzero(((msgs > limits.max_msgs_per_sec) | (size > limits.max_bytes_per_sec)) & inside.has_stats)
    if len(hot):
        times = np.maximum(msgs[hot] / max(limits.max_msgs_per_sec, 1), size[hot] / max(limits.max_bytes_per_sec, 1))
        at = _in_listing(inside, hot[times == times.max()].tolist())[0]
        found.append(
            SplitWarning(
                "hot-topic",
                topics=(inside.names[at],),
                msgs_per_sec=float(msgs[at]),
                bytes_per_sec=float(size[at]),
            )
        )
    lost = range(int(np.searchsorted(inside.hashes, FULL_UPPER_BOUND)), len(inside))
    return (*found, *([SplitWarning("lookup-fails", topics=_listed(inside, lost))] if lost else []))


def child_warnings(children: tuple[ChildShare, ...], limits: FlowLimits) -> tuple[SplitWarning, ...]:
    """The children without topics, and those that still exceed a limit."""
    found = []
    for child in children:
        if not len(child.topics):
            found.append(SplitWarning("empty-child", bundle=str(child.bundle)))
            continue
        over = [
            _exceeds(child.msgs_per_sec, limits.max_msgs_per_sec),
            _exceeds(child.bytes_per_sec, limits.max_bytes_per_sec),
        ]
        if any(over):
            found.append(
                SplitWarning(
                    "child-over-limit",
                    bundle=str(child.bundle),
                    msgs_per_sec=child.msgs_per_sec,
                    bytes_per_sec=child.bytes_per_sec,
                )
            )
    return tuple(found)


def flow_cuts(inside: Inside, limits: FlowLimits) -> tuple[int, ...] | None:
    """``flow_or_qps_equally_divide``."""
    if len(inside) <= 1:
        return None
    loaded = inside.has_stats & ~((inside.msgs_per_sec <= 0) & (inside.bytes_per_sec <= 0))
    hashes = inside.hashes[loaded]
    msgs, size = inside.msgs_per_sec[loaded], inside.bytes_per_sec[loaded]
    if not len(hashes) or hashes[0] == hashes[-1]:
        return None
    factor = limits.gate_factor
    below = [
        not _exceeds(total, limit * factor, equal=True)
        for total, limit in ((sum_of(msgs), limits.max_msgs_per_sec), (sum_of(size), limits.max_bytes_per_sec))
    ]
    if all(below):
        return None
    return first_fit_cuts(hashes, *_twins_share(inside, hashes, np.flatnonzero(loaded), msgs, size), limits)


def proposed_cuts(inside: Inside) -> tuple[int, ...]:
    """``flow_or_qps_as_proposed``: where half of the traffic is passed."""
    known = np.flatnonzero(inside.has_stats)
    hashes, msgs, size = inside.hashes[known], inside.msgs_per_sec[known], inside.bytes_per_sec[known]
    totals = sum_of(msgs), sum_of(size)
    passed = len(hashes)
    for values, total in zip(_twins_share(inside, hashes, known, msgs, size), totals, strict=True):
        running = np.cumsum(values)
        at = int(np.searchsorted(running, total / 2, side="right"))
        near = running[max(at - 1, 0) : at + 1]
        if total > 0 and bool((np.abs(near - total / 2) <= HAIR * total).any()):
            raise RoundingDecidesError
        passed = min(passed, at)
    if passed >= len(hashes):
        return ()
    before, here = int(hashes[passed - 1]) if passed else 0, int(hashes[passed])
    return (before + (here - before) // 2,)


def _twins_share(
    inside: Inside,
    hashes: NDArray[np.int64],
    places: NDArray[np.int64],
    msgs: NDArray[np.float64],
    size: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same traffic, where topics of one hash all have that of the last of them in the listing."""
    msgs, size = msgs.copy(), size.copy()
    for low, high in _twins(hashes):
        rows = places[low:high].tolist()
        last = rows.index(_in_listing(inside, rows)[-1]) + low
        msgs[low:high], size[low:high] = msgs[last], size[last]
    return msgs, size


def middle_cuts(hashes: NDArray[np.int64]) -> tuple[int, ...] | None:
    """``topic_count_equally_divide`` of ascending hashes."""
    if len(hashes) <= 1:
        return None
    half = len(hashes) // 2
    below, above = int(hashes[max(half - 1, 0)]), int(hashes[half])
    return (below + (above - below) // 2,)


def _twins(hashes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The stretches of equal hashes, two topics or more each."""
    same = np.flatnonzero(hashes[1:] == hashes[:-1])
    heads = same[np.append(True, np.diff(same) != 1)] if len(same) else same
    ends = same[np.append(np.diff(same) != 1, True)] if len(same) else same
    return [(low, high + 2) for low, high in zip(heads.tolist(), ends.tolist(), strict=True)]


def _in_listing(inside: Inside, rows: list[int]) -> list[int]:
    """Some topics as a broker lists them (see ``facts.topic_loads``)."""
    topics = inside.names.topics
    partitioned = topics.partitions[topics.topic_of(inside.names.numbers[rows])] > 0
    metadata_only = dict(zip(rows, (partitioned & ~inside.has_stats[rows]).tolist(), strict=True))
    names = {row: inside.names[row] for row in rows}

    def rank(row: int) -> tuple[bool, bool, str]:
        return metadata_only[row], names[row].partition("://")[0].lower() == NON_PERSISTENT, names[row]

    return sorted(rows, key=rank)


def _listed(inside: Inside, rows: range) -> tuple[str, ...]:
    return tuple(inside.names[row] for row in _in_listing(inside, list(rows)))


def _exceeds(total: float, limit: float, *, equal: bool = False) -> bool:
    """Whether a sum is above a limit (or equal to it); raises where its last digits decide."""
    if total and abs(total - limit) <= HAIR * max(abs(limit), abs(total)):
        raise RoundingDecidesError
    return total >= limit if equal else total > limit


def sum_of(values: NDArray[np.float64]) -> float:
    """The sum, in numpy's own order of additions."""
    return float(values.sum())
