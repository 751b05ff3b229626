"""The split preview of a bundle with very many topics: what ``engine.bundles.preview_all`` says, from columns.

Sums are added in the order of the hashes and not of the listing, so they can differ in their last digits. Where a
decision hangs on such digits ``None`` is the answer, and the caller asks topic by topic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, NamespaceBundles
from engine.bundles.flow import FlowLimits, flow_limits
from engine.bundles.loads import TopicLoad
from engine.bundles.plan import ChildShare, SplitPlan, SplitWarning, pulsar_admin_command, split_command
from engine.bundles.preview import PositionsFrom, SplitPreview
from engine.bundles.split import choose_cuts, outcome, plan_split
from engine.cluster.large_topics import LargeLoads, NumberedNames
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    TOPIC_COUNT_EQUALLY_DIVIDE,
    BrokerSettings,
    ReleaseBehaviour,
)
from engine.errors import Rejection
from engine.fleet.bundle_pieces import first_fit_cuts
from engine.names import NON_PERSISTENT
from engine.views.lazy import LazyRows

HAIR: Final = 1e-9
"""Nearer than this part of a limit, rounding may decide."""
_OF_REQUEST: Final = ("algorithm-not-known", "positions-not-used")


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
    loads: LargeLoads,
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


def large_preview(
    bundles: NamespaceBundles,
    parent: BundleRange,
    inside: Inside,
    settings: BrokerSettings,
    behaviour: ReleaseBehaviour,
    *,
    positions: tuple[int, ...] | None,
) -> tuple[SplitPreview, ...] | None:
    """``preview_all`` for a current bundle; None where rounding decides. O(n) in whole columns."""
    try:
        return _Preview(bundles, parent, inside, behaviour).lines(settings, positions)
    except RoundingDecidesError:
        return None


class _Preview:
    def __init__(
        self, bundles: NamespaceBundles, parent: BundleRange, inside: Inside, behaviour: ReleaseBehaviour
    ) -> None:
        self.bundles, self.parent, self.inside, self.behaviour = bundles, parent, inside, behaviour

    def lines(self, settings: BrokerSettings, positions: tuple[int, ...] | None) -> tuple[SplitPreview, ...]:
        limits = flow_limits(settings)
        about_topics = topic_warnings(self.inside, limits)
        given, source = self._positions(positions, settings)
        lines = []
        for name in SPLIT_ALGORITHMS:
            mine = given if name == SPECIFIED_POSITIONS_DIVIDE else None
            plan = self._plan(name, mine, settings, about_topics)
            refusal = plan if isinstance(plan, Rejection) else None
            if refusal is not None and refusal.error == "ClassCastException":
                default = replace(settings, defaultNamespaceBundleSplitAlgorithm=name)
                plan = self._plan(name, mine, default, about_topics)
            lines.append(
                SplitPreview(
                    name, plan, refusal, _command(plan, refusal), positions_from="" if mine is None else source
                )
            )
        return (*lines, self._proposed(settings, about_topics))

    def _positions(
        self, given: tuple[int, ...] | None, settings: BrokerSettings
    ) -> tuple[tuple[int, ...], PositionsFrom]:
        if given:
            return given, "given"
        cuts = _middle_cuts(self.inside.hashes)
        if cuts and self.parent.lower < cuts[0] < self.parent.upper:
            return cuts, "topic count"
        return (self.parent.lower + (self.parent.upper - self.parent.lower) // 2,), "middle"

    def _plan(
        self,
        name: str,
        positions: tuple[int, ...] | None,
        settings: BrokerSettings,
        about_topics: tuple[SplitWarning, ...],
    ) -> SplitPlan | Rejection:
        # Without topics the request is refused, or warned of, all the same.
        request = plan_split(
            self.bundles.namespace, self.bundles, str(self.parent), name, positions,
            topics=(), settings=settings, behaviour=self.behaviour,
        )  # fmt: skip
        if isinstance(request, Rejection):
            return request
        cuts = self._cuts(request.algorithm, positions, settings)
        if isinstance(cuts, Rejection):
            return cuts
        warned = tuple(each for each in request.warnings if each.code in _OF_REQUEST)
        return self._carried_out(replace(request, cuts=cuts, warnings=warned), settings, about_topics)

    def _cuts(
        self, algorithm: str, positions: tuple[int, ...] | None, settings: BrokerSettings
    ) -> tuple[int, ...] | Rejection | None:
        if algorithm == TOPIC_COUNT_EQUALLY_DIVIDE:
            return _middle_cuts(self.inside.hashes)
        if algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE:
            return flow_cuts(self.inside, flow_limits(settings))
        # The others only count the topics.
        return choose_cuts(self.parent, algorithm, positions, LazyRows(len(self.inside), self._load), settings)

    def _load(self, at: int) -> TopicLoad:
        return TopicLoad(self.inside.names[at], int(self.inside.hashes[at]))

    def _carried_out(
        self, plan: SplitPlan, settings: BrokerSettings, about_topics: tuple[SplitWarning, ...]
    ) -> SplitPlan | Rejection:
        """The plan with what its cuts make of the bundle."""
        found = outcome(self.bundles, self.parent, plan.cuts, (), settings)
        if isinstance(found, Rejection):
            return found
        children = tuple(self._share(each.bundle) for each in found.children)
        about_children = child_warnings(children, flow_limits(settings))
        # What is left of the warnings without topics: nothing to split, never answered, too many bundles.
        first = tuple(each for each in found.warnings if each.code in ("nothing-to-split", "never-answered"))
        last = tuple(each for each in found.warnings if each.code == "above-maximum-bundles")
        return replace(
            plan,
            children=children,
            after=found.after,
            status=found.status,
            warnings=(*plan.warnings, *first, *about_topics, *about_children, *last),
        )

    def _share(self, bundle: BundleRange) -> ChildShare:
        inside = self.inside
        past = bundle.upper + 1 if bundle.upper == FULL_UPPER_BOUND else bundle.upper
        low, high = np.searchsorted(inside.hashes, (bundle.lower, past), side="left").tolist()
        names = NumberedNames(inside.names.topics, inside.names.numbers[low:high])
        return ChildShare(bundle, names, _sum(inside.msgs_per_sec[low:high]), _sum(inside.bytes_per_sec[low:high]))

    def _proposed(self, settings: BrokerSettings, about_topics: tuple[SplitWarning, ...]) -> SplitPreview:
        cuts = proposed_cuts(self.inside)
        plan = self._carried_out(
            SplitPlan(
                requested_bundle=str(self.parent),
                parent=self.parent,
                algorithm=FLOW_OR_QPS_EQUALLY_DIVIDE,
                positions=(),
                cuts=cuts,
                children=(),
                after=self.bundles,
                status=None,
                unload=False,
                warnings=(),
            ),
            settings,
            about_topics,
        )
        command = "" if isinstance(plan, Rejection) or not plan.changes else _as_positions(plan)
        return SplitPreview(FLOW_OR_QPS_EQUALLY_DIVIDE, plan, None, command, as_proposed=True)


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
        for total, limit in ((_sum(msgs), limits.max_msgs_per_sec), (_sum(size), limits.max_bytes_per_sec))
    ]
    if all(below):
        return None
    return first_fit_cuts(hashes, *_twins_share(inside, hashes, np.flatnonzero(loaded), msgs, size), limits)


def proposed_cuts(inside: Inside) -> tuple[int, ...]:
    """``flow_or_qps_as_proposed``: where half of the traffic is passed."""
    known = np.flatnonzero(inside.has_stats)
    hashes, msgs, size = inside.hashes[known], inside.msgs_per_sec[known], inside.bytes_per_sec[known]
    totals = _sum(msgs), _sum(size)
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


def _middle_cuts(hashes: NDArray[np.int64]) -> tuple[int, ...] | None:
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


def _sum(values: NDArray[np.float64]) -> float:
    return float(values.sum())


def _command(plan: SplitPlan | Rejection, refusal: Rejection | None) -> str:
    if isinstance(plan, Rejection) or not plan.cuts:
        return ""
    return pulsar_admin_command(plan) if refusal is None and plan.changes else _as_positions(plan)


def _as_positions(plan: SplitPlan) -> str:
    return split_command(plan.namespace, plan.parent, SPECIFIED_POSITIONS_DIVIDE, plan.cuts or ())
