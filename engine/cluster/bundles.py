"""Bundles of a namespace: the topics that a broker lists for a split, the decision to split, and the state after it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.bundles.boundaries import namespace_bundles
from engine.bundles.columns import LoadColumns, PickedNames, Rows, includes
from engine.cluster.commands import SplitBundle
from engine.cluster.events import BundleWasSplit, Event, NamespaceSeen
from engine.cluster.limits import INT_64, MAX_POSITIONS, refuse_long_name
from engine.cluster.state import BundleSplit, ClusterState, Namespace, behaviour_in, bundles_of
from engine.cluster.tables.loads import filled
from engine.cluster.tables.topics import NumberedNames, TopicTable
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE
from engine.errors import Rejection
from engine.memo import Remembered
from engine.names import NON_PERSISTENT, partition_name, refuse_namespace
from engine.text import counted

if TYPE_CHECKING:
    from engine.bundles.plan import SplitPlan

LONGEST_NAME: Final = 512
"""In bytes; up to this length, names are sorted in a fixed-width table."""

_loads: Remembered[LoadColumns] = Remembered()
_numbers: Remembered[Rows] = Remembered()
_orders: Remembered[Mapping[str, Rows]] = Remembered()
_transient: Remembered[NDArray[np.bool_]] = Remembered()


def topic_loads(state: ClusterState, namespace: str) -> LoadColumns:
    """The input of a split in this namespace (``getOwnedTopicListForNamespaceBundle``).

    First what the broker lists (topics that are not partitioned, partitions with statistics; persistent before
    non-persistent), then the partitions known from metadata alone, each group in the order of names. O(n log n) once,
    in whole columns or a chunk of names at a time, so that other threads go on meanwhile.
    """
    return _loads.get(
        (state.topics, state.loads), (namespace,), lambda: loads_of(state, listed_numbers(state, namespace))
    )


def listed_numbers(state: ClusterState, namespace: str) -> Rows:
    """The partitions of ``topic_loads`` by their numbers."""
    return _numbers.get((state.topics, state.loads), (namespace,), lambda: _listed(state, namespace))


def _listed(state: ClusterState, namespace: str) -> Rows:
    topics = state.topics
    by_name = _orders.get((topics,), (), lambda: _by_name(topics)).get(namespace, np.zeros(0, dtype=np.int64))
    listed: Rows = by_name[np.argsort(_groups(state, by_name), kind="stable")]
    return listed


def _by_name(topics: TopicTable) -> Mapping[str, Rows]:
    """The partitions of each namespace by name."""
    numbers = _name_order(topics)
    return {name: numbers[rows] for name, rows in topics.by_namespace(numbers).items()}


def in_listing_order(state: ClusterState, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sort partitions, given by number, as ``topic_loads`` lists them. O(k log k) for k names, which are built."""
    rows = numbers.astype(np.int64)
    groups = _groups(state, rows).tolist()
    names = map(state.topics.partition_name, rows.tolist())
    ranked = sorted(zip(groups, names, rows.tolist(), strict=True))
    return np.array([number for *_, number in ranked], dtype=np.int32)


def loads_of(state: ClusterState, numbers: NDArray[np.int32] | Rows) -> LoadColumns:
    """The loads of some partitions, by their numbers and in their order."""
    topics, loads = state.topics, state.loads
    known = np.ones(len(numbers), dtype=np.bool_) if loads.known is None else loads.known[numbers]
    names = PickedNames(NumberedNames(topics, numbers.astype(np.int32)), np.arange(len(numbers)))
    return LoadColumns(names, topics.crc32[numbers], filled(loads.rates.take(numbers, axis=1)), known)


RATES_UNKNOWN: Final = "RatesUnknown"
"""``error`` of a split that would compare rates which the statistics of some topics lack."""


def refused_without_rates(state: ClusterState, numbers: NDArray[np.int32] | Rows, algorithm: str) -> Rejection | None:
    """Why an algorithm that compares rates cannot be computed for these partitions; None where it can."""
    lacking = int(lacking_rates(state, numbers).sum()) if algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE else 0
    if not lacking:
        return None
    text = f"{algorithm} compares rates, which the statistics of {counted(lacking, 'topic')} in the bundle lack"
    return Rejection(RATES_UNKNOWN, f"{text}: it cannot be computed; give whole statistics", "algorithm")


def lacking_rates(state: ClusterState, numbers: NDArray[np.int32] | Rows) -> NDArray[np.bool_]:
    """Whether each of these partitions has statistics without one of their rates."""
    lacking: NDArray[np.bool_] = np.logical_or.reduce(np.isnan(state.loads.rates.take(numbers, axis=1)))
    return lacking if state.loads.known is None else lacking & state.loads.known[numbers]


def _groups(state: ClusterState, numbers: Rows) -> NDArray[np.int64]:
    """(n,) the group of each partition, 0 for those that a broker lists first."""
    topic_of = state.topics.topic_of(numbers)
    group = _non_persistent(state.topics)[topic_of].astype(np.int64)
    if state.loads.known is not None:
        group += 2 * ((state.topics.partitions[topic_of] > 0) & ~state.loads.known[numbers])
    return group


def _name_order(topics: TopicTable) -> Rows:
    """The numbers of all partitions by their names, whose order in UTF-8 is that of the texts."""
    column = topics.names.column
    widest = int(np.diff(column.offsets).max(initial=0)) + len(partition_name("", 2**31))
    if widest > LONGEST_NAME or not bool(column.data.all()):  # a table drops the zero bytes at the end of a name
        names = [*chain.from_iterable(topics.partition_name_chunks())]
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    table = np.empty(topics.partition_count, dtype=f"S{widest}")
    at = 0
    for chunk in topics.partition_name_chunks():
        table[at : at + len(chunk)] = [name.encode("utf-8", "surrogatepass") for name in chunk]
        at += len(chunk)
    return np.argsort(table, kind="stable")


def _non_persistent(topics: TopicTable) -> NDArray[np.bool_]:
    """Whether each topic is of the other domain, in whatever case its letters are: (t,)."""
    return _transient.get((topics,), (), lambda: _find_non_persistent(topics))


def _find_non_persistent(topics: TopicTable) -> NDArray[np.bool_]:
    column = topics.names.column
    transient: NDArray[np.bool_] = (np.append(column.data, np.uint8(0))[column.offsets[:-1]] | 0x20) == ord(
        NON_PERSISTENT[0]
    )
    for row in np.flatnonzero(transient).tolist():
        transient[row] = topics.names[row].partition("://")[0].lower() == NON_PERSISTENT
    return transient


NOTHING_TO_SPLIT = "NothingToSplit"
"""``error`` of a :class:`SplitWithoutEffect`: the broker answers 204 and changes nothing."""

NEVER_ANSWERED = "NeverAnswered"
"""``error`` of a :class:`SplitWithoutEffect`: the broker drops the error, so the caller waits forever."""


class SplitWithoutEffect(Rejection, frozen=True):
    """A split that Pulsar accepts but that changes nothing: 204 with a log line only, or no answer at all.

    ``plan`` is what would have been done, with its warnings. ``status`` is 204, or 0 for no answer.
    """

    plan: SplitPlan | None = None


def split_bundle(state: ClusterState, command: SplitBundle) -> tuple[Event, ...] | Rejection:
    """Decide on a split. Refusals: those of ``plan_split`` with Pulsar's status, and :class:`SplitWithoutEffect`.

    O(topics log topics).
    """
    from engine.bundles.split import plan_split

    refusal = _refuse_input(command)
    if refusal is not None:
        return refusal
    if command.namespace not in state.namespaces:
        return Rejection("NotFound", f"namespace {command.namespace} does not exist", "namespace", 404)
    plan = plan_split(
        command.namespace,
        bundles_of(state, command.namespace),
        command.bundle,
        command.algorithm,
        command.positions or None,
        topics=topic_loads(state, command.namespace),
        settings=state.settings,
        behaviour=behaviour_in(state),
    )
    if isinstance(plan, Rejection):
        return plan
    listed = listed_numbers(state, command.namespace)
    inside = listed[includes(plan.parent, state.topics.crc32[listed])]
    if (unknown := refused_without_rates(state, inside, plan.algorithm)) is not None:
        return unknown
    if not plan.changes:
        return _without_effect(plan)
    # The children give the cuts in ascending order, however the algorithm listed them.
    cuts = tuple(child.bundle.lower for child in plan.children[1:])
    return (BundleWasSplit(command.namespace, plan.parent.lower, plan.parent.upper, cuts, plan.algorithm),)


def _without_effect(plan: SplitPlan) -> SplitWithoutEffect:
    place = f"{plan.namespace}/{plan.parent}"
    if plan.status is None:
        return SplitWithoutEffect(
            NEVER_ANSWERED,
            f"{plan.algorithm} gives equal boundaries for {place}: the broker never answers and nothing changes;"
            " leave out the repeated position or split by another algorithm",
            "positions",
            0,
            plan,
        )
    return SplitWithoutEffect(
        NOTHING_TO_SPLIT,
        f"{plan.algorithm} finds nothing to split in {place}: the broker answers 204 and nothing changes",
        "bundle",
        plan.status,
        plan,
    )


def _refuse_input(command: SplitBundle) -> Rejection | None:
    for field, text in (("bundle", command.bundle), ("algorithm", command.algorithm or "")):
        refusal = refuse_long_name(text, field)
        if refusal is not None:
            return refusal
    if len(command.positions) > MAX_POSITIONS:
        return Rejection("TooManyPositions", f"up to {MAX_POSITIONS} positions are taken here", "positions")
    for position in command.positions:
        if position not in INT_64:
            return Rejection("RestException", f"position {position} is not a 64-bit number", "positions", 400)
    return None


def bundle_objection(state: ClusterState, event: NamespaceSeen | BundleWasSplit) -> str:
    """Say why a namespace cannot get these bundles, or a bundle these cuts, "" when it can."""
    if isinstance(event, NamespaceSeen):
        if event.namespace in state.namespaces:
            return f"namespace {event.namespace!r} has bundles already"
        bundles = refuse_namespace(event.namespace) or namespace_bundles(event.namespace, event.boundaries)
        return str(bundles) if isinstance(bundles, Rejection) else ""
    namespace = state.namespaces.get(event.namespace)
    if namespace is None:
        return f"there is no namespace {event.namespace!r}"
    if (event.lower, event.upper) not in pairwise(namespace.boundaries):
        return f"{event.lower:#010x}_{event.upper:#010x} is not a bundle of {event.namespace}"
    edges = (event.lower, *event.cuts, event.upper)
    if not event.cuts or any(left >= right for left, right in pairwise(edges)):
        return "the cuts do not lie inside the bundle in ascending order"
    return ""


def with_bundle_event(state: ClusterState, event: NamespaceSeen | BundleWasSplit) -> ClusterState:
    """Return the state after a namespace got its first bundles, or after a split."""
    if isinstance(event, NamespaceSeen):
        namespace = Namespace(event.namespace, event.boundaries)
    else:
        before = state.namespaces[event.namespace]
        split = BundleSplit(event.lower, event.upper, event.cuts, event.algorithm)
        namespace = replace(before, splits=(*before.splits, split))
    return replace(state, namespaces={**state.namespaces, event.namespace: namespace})
