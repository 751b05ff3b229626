"""The result of a split as data: children with their topics and traffic, the broker's answer, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from engine.answer import about
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange, NamespaceBundles
from engine.bundles.columns import LoadColumns, Rows, dealt_rows, in_columns, sum_in_order
from engine.bundles.loads import TopicLoad
from engine.config import SPECIFIED_POSITIONS_DIVIDE
from engine.text import shell_line

LoadManager = Literal["modular", "simple", "extensible"]

WarningCode = Literal[
    "nothing-to-split",  # answered 204, nothing changes
    "never-answered",  # equal boundaries fail in a step whose error is dropped: no answer, no change
    "empty-child",  # a child gets no topic
    "equal-hashes",  # topics of one hash stay together in every split
    "hot-topic",  # one topic alone exceeds a limit; no split of bundles divides a topic
    "child-over-limit",  # a child still exceeds a limit of the broker
    "recomputed-with-default",  # extensible: three or more children are computed again by the default algorithm
    "unload-ignored",  # extensible: the request's unload has no effect
    "hot-is-largest",  # HOT means LARGEST with this load manager
    "hot-from-current-rates",  # no stored averages were given; current throughput stands in for them
    "algorithm-not-known",  # an unknown name fell back to another algorithm
    "positions-not-used",  # this algorithm does not look at positions, or these lie outside the bundle
    "lookup-fails",  # a topic of hash 0xffffffff: the broker cannot look it up
    "above-maximum-bundles",  # more bundles than loadBalancerNamespaceMaximumBundles: no automatic split any more
]


@dataclass(frozen=True, slots=True)
class SplitWarning:
    """A warning about a split. Which members are filled depends on the code."""

    code: Annotated[WarningCode, about("What it is about.")]
    bundle: Annotated[str, about("A range.")] = ""
    topics: Annotated[tuple[str, ...], about("Full names.")] = ()
    positions: Annotated[tuple[int, ...], about("Hash values.", 0)] = ()
    name: Annotated[str, about("An algorithm.")] = ""
    msgs_per_sec: Annotated[float, about("Of the topic or child, in and out.")] = 0.0
    bytes_per_sec: Annotated[float, about("The same of bytes.")] = 0.0


@dataclass(frozen=True, slots=True)
class ChildShare:
    """One child of a split with the topics it would get, in list order, and their traffic, in plus out.

    The sums are plain doubles added in list order, as the broker adds them; not corrected for rounding.
    """

    bundle: BundleRange
    topics: Sequence[str]
    msgs_per_sec: float
    bytes_per_sec: float


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """The outcome of one split request.

    ``cuts`` is the algorithm's own answer (None for null, ``()`` for an empty list); ``children`` are empty and
    ``after`` equals the list before when nothing changes. ``status`` is the HTTP answer, None for a
    request that is never answered.
    """

    requested_bundle: str
    parent: BundleRange
    algorithm: str
    positions: tuple[int, ...]
    cuts: tuple[int, ...] | None
    children: tuple[ChildShare, ...]
    after: NamespaceBundles
    status: int | None
    unload: bool
    warnings: tuple[SplitWarning, ...]

    @property
    def namespace(self) -> str:
        return self.after.namespace

    @property
    def changes(self) -> bool:
        return bool(self.children)


def shares_of(children: Sequence[BundleRange], topics: Sequence[TopicLoad]) -> tuple[ChildShare, ...]:
    """Deal topics out to neighbouring children, with the sums of their traffic; topics in none of them are left out.

    ``children`` ascend. O(topics × log children).
    """
    loads, shares = in_columns(topics), []
    msgs, size = loads.flow
    all_known = bool(loads.has_stats.all())
    for child, rows in zip(children, dealt_rows(loads.hashes, children), strict=True):
        known = rows if all_known else rows[loads.has_stats[rows]]
        sums = sum_in_order(msgs[known]), sum_in_order(size[known])
        shares.append(ChildShare(child, loads.names.take(rows), *sums))
    return tuple(shares)


def split_command(
    namespace: str, parent: BundleRange, algorithm: str, positions: Sequence[int] = (), *, unload: bool = False
) -> str:
    """The ``pulsar-admin`` line for a split; positions, without duplicates, only with ``specified_positions_divide``.

    >>> split_command("t/n", BundleRange(0, 512), SPECIFIED_POSITIONS_DIVIDE, [106, 106])
    'pulsar-admin namespaces split-bundle t/n -b 0x00000000_0x00000200 -san specified_positions_divide -sb 106'
    """
    options = ["-b", str(parent), *(["-u"] if unload else []), "-san", algorithm]
    if algorithm == SPECIFIED_POSITIONS_DIVIDE and positions:
        options += ["-sb", ",".join(str(position) for position in sorted(set(positions)))]
    return shell_line("pulsar-admin", "namespaces", "split-bundle", namespace, *options)


def pulsar_admin_command(plan: SplitPlan) -> str:
    """The ``pulsar-admin`` line that asks a broker for this plan's split, with the range spelt out."""
    return split_command(plan.namespace, plan.parent, plan.algorithm, plan.positions, unload=plan.unload)


def topic_findings(topics: Sequence[TopicLoad], limits: FlowLimits) -> list[SplitWarning]:
    """Warnings about the topics: shared hashes, the hottest topic above a limit, the hash that Pulsar cannot look up.

    Shared hashes come in ascending order of the hash, each with its topics in list order. O(n log n).
    """
    loads = in_columns(topics)
    warnings = [
        SplitWarning("equal-hashes", topics=names, positions=(position,)) for position, names in loads.equal_hashes
    ]
    hot = hottest_rows(loads, limits)
    if len(hot):
        hottest = loads[int(hot[0])]
        warnings.append(
            SplitWarning(
                "hot-topic",
                topics=(hottest.name,),
                msgs_per_sec=hottest.msgs_per_sec,
                bytes_per_sec=hottest.bytes_per_sec,
            )
        )
    lost = np.flatnonzero(loads.hashes == FULL_UPPER_BOUND)
    return [*warnings, *([SplitWarning("lookup-fails", topics=tuple(loads.names.take(lost)))] if len(lost) else [])]


def hottest_rows(topics: LoadColumns, limits: FlowLimits) -> Rows:
    """The topics that exceed a limit by most, several where they are equal; none if no topic exceeds one."""
    msgs, size = topics.flow
    hot = np.flatnonzero(((msgs > limits.max_msgs_per_sec) | (size > limits.max_bytes_per_sec)) & topics.has_stats)
    times = np.maximum(msgs[hot] / max(limits.max_msgs_per_sec, 1), size[hot] / max(limits.max_bytes_per_sec, 1))
    hottest: Rows = hot[times == times.max(initial=0.0)]
    return hottest


def child_findings(
    children: Sequence[ChildShare], after: NamespaceBundles, limits: FlowLimits, maximum_bundles: int
) -> list[SplitWarning]:
    """Warnings about empty children, children still above a limit, and a namespace with the maximum of bundles."""
    warnings: list[SplitWarning] = []
    for child in children:
        if not child.topics:
            warnings.append(SplitWarning("empty-child", bundle=str(child.bundle)))
        elif _exceeds(child.msgs_per_sec, child.bytes_per_sec, limits):
            warnings.append(
                SplitWarning(
                    "child-over-limit",
                    bundle=str(child.bundle),
                    msgs_per_sec=child.msgs_per_sec,
                    bytes_per_sec=child.bytes_per_sec,
                )
            )
    if children and len(after) > maximum_bundles:
        warnings.append(SplitWarning("above-maximum-bundles"))
    return warnings


def _exceeds(msgs_per_sec: float, bytes_per_sec: float, limits: FlowLimits) -> bool:
    return msgs_per_sec > limits.max_msgs_per_sec or bytes_per_sec > limits.max_bytes_per_sec
