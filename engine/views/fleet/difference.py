"""Compare two runs of a fleet: partitions that moved, what got worse or better, what is new or gone.

Owners are the active consumers that the rule in force gives each partition: computed, not what brokers reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

import numpy as np

from engine.answer import FLAT, about
from engine.compare.matching import Coded, Ints, keyed, matched, missing_in
from engine.lint.model import SeverityLabel

MeasureName = Literal["spare_msg_rate", "idle", "busiest_over_average"]
MEASURES: Final[tuple[MeasureName, ...]] = get_args(MeasureName)
"""What a subscription is judged by, less being better; lists of what got worse are sorted by them in this order."""
SUBSCRIPTION: Final = ("cluster", "namespace", "subscription")
SAME: Final = 1e-9
"""Within this relative distance two numbers are the same: sums of rates depend on the order of additions."""
TOPICS_LISTED: Final = 100
"""The most moved partitions that are listed per subscription; all are counted."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the folder that it is read from, and what its tables say of themselves (``snapshot_time``: ISO 8601)."""

    place: Annotated[str, about("The folder or URI that the run is read from.")]
    run_id: Annotated[str, about("Which run it is.")]
    snapshot_time: Annotated[
        str | None,
        about("The latest moment of the answers that the run is about, ISO 8601; null where the tables do not say."),
    ]


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """A table of both runs by column: texts, and numbers of either run, NaN for none."""

    texts: Mapping[str, Coded]
    numbers: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def keys(self, *names: str) -> tuple[Ints, Ints]:
        """The keys of the rows of either run by these columns."""
        return keyed(*(self.texts[name] for name in names))

    def row(self, at: int, names: Iterable[str], *, before: bool = False) -> dict[str, Any]:
        """The texts of a row by column, empty where it has none."""
        columns = {name: self.texts[name] for name in names}
        codes = {name: (column.before if before else column.after)[at] for name, column in columns.items()}
        return {name: columns[name].name(int(code)) or "" for name, code in codes.items()}


Part = Literal["owners", "subscriptions", "findings", "topics", "brokers"]
Readers = Mapping[Part, Callable[[], Columns]]
"""How to read what both runs have, one table after the other: a fleet's topics alone are large.

``owners`` has a row for each partition of each Failover subscription, ``subscriptions`` numbers for each of
``MEASURES``; ``topics`` and ``brokers`` have a cluster and a name.
"""


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """``partitions`` that went from one consumer to another; None is nobody."""

    before: Annotated[str | None, about("The owner in A; null for nobody.")]
    after: Annotated[str | None, about("The owner in B; null for nobody.")]
    partitions: Annotated[int, about("How many.", 1)]


@dataclass(frozen=True, slots=True)
class MovedTopic:
    topic: Annotated[str, about("Its full name.")]
    before: Annotated[str | None, about("The owner in A; null for nobody.")]
    after: Annotated[str | None, about("The owner in B; null for nobody.")]


@dataclass(frozen=True, slots=True)
class SubscriptionMoves:
    """``partitions`` of a subscription that both runs have, and those ``moved``; ``topics`` lists some of these."""

    cluster: Annotated[str, about("Its cluster, empty where the folder that was read is of one cluster.")]
    namespace: Annotated[str, about("Its namespace, tenant/name.")]
    subscription: Annotated[str, about("Its name.")]
    partitions: Annotated[int, about("Its partitions and topics that both runs have.", 1)]
    moved: Annotated[int, about("Those of them with another owner.", 1)]
    owners: Annotated[tuple[OwnerChange, ...], about("From whom to whom they went, the most first.")]
    topics: Annotated[tuple[MovedTopic, ...], about("The first hundred of them.")]


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of a subscription in one run; ``spare_msg_rate`` in messages/s."""

    spare_msg_rate: Annotated[
        float | None, about("Messages/s that the other consumers could take while the busiest one works as it does.", 0)
    ]
    idle: Annotated[float | None, about("Consumers that are active nowhere.", 0)]
    busiest_over_average: Annotated[
        float | None,
        about("The most times its even share of what it reads that a consumer has; null where nobody has anything.", 0),
    ]
    verdict: Annotated[str | None, about("What explains the spread of a Key_Shared subscription.")]


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """A subscription of both runs; ``worse`` and ``better`` name the measures that rose and fell."""

    cluster: Annotated[str, about("Its cluster, empty where the folder that was read is of one cluster.")]
    namespace: Annotated[str, about("Its namespace, tenant/name.")]
    subscription: Annotated[str, about("Its name.")]
    type: Annotated[str, about("Its type.")]
    worse: Annotated[tuple[MeasureName, ...], about("Measures that rose.")]
    better: Annotated[tuple[MeasureName, ...], about("Measures that fell.")]
    before: Annotated[Measured, about("What A says.")]
    after: Annotated[Measured, about("What B says.")]


@dataclass(frozen=True, slots=True)
class FindingPlace:
    """A finding without its numbers, which differ from run to run."""

    rule: Annotated[str, about("The rule of the doctor.")]
    severity: Annotated[SeverityLabel, about("How bad it is.")]
    cluster: Annotated[str, about("Its cluster, empty where the folder that was read is of one cluster.")]
    namespace: Annotated[str, about("Its namespace, empty for none.")]
    subscription: Annotated[str, about("Its subscription, empty for none.")]
    bundle: Annotated[str, about("Its bundle, empty for none.")]
    topic: Annotated[str, about("Its topic, empty for none.")]
    consumer: Annotated[str, about("Its consumer, empty for none.")]


@dataclass(frozen=True, slots=True)
class SubscriptionName:
    cluster: Annotated[str, about("Its cluster, empty where the folder that was read is of one cluster.")]
    namespace: Annotated[str, about("Its namespace, tenant/name.")]
    subscription: Annotated[str, about("Its name.")]


@dataclass(frozen=True, slots=True)
class NameInCluster:
    """A topic or a broker."""

    cluster: Annotated[str, about("Its cluster, empty where the folder that was read is of one cluster.")]
    name: Annotated[str, about("Its name.")]


@dataclass(frozen=True, slots=True)
class FleetSums:
    """Counts over everything, None where one of the runs lacks the table.

    ``worse``: subscriptions of which a measure rose, ``better``: of which one fell and none rose, ``verdicts``: with
    another verdict. ``idle`` and ``spare_msg_rate`` (messages/s): how much more there is of it in all subscriptions.
    """

    partitions: Annotated[int | None, about("Pairs of Failover subscription and partition that both runs have.", 0)] = (
        None
    )
    moved: Annotated[int | None, about("Those of them with another owner.", 0)] = None
    moved_subscriptions: Annotated[int | None, about("Subscriptions that these are of.", 0)] = None
    worse: Annotated[int | None, about("Subscriptions of which a measure rose.", 0)] = None
    better: Annotated[int | None, about("Subscriptions of which a measure fell and none rose.", 0)] = None
    verdicts: Annotated[int | None, about("Subscriptions with another verdict.", 0)] = None
    idle: Annotated[int | None, about("By how many the idle consumers of all subscriptions rose.")] = None
    spare_msg_rate: Annotated[
        float | None, about("By how many messages/s the spare rate of all subscriptions rose.")
    ] = None
    new_findings: Annotated[int | None, about("Findings that only B has.", 0)] = None
    gone_findings: Annotated[int | None, about("Findings that only A has.", 0)] = None
    topics_appeared: Annotated[int | None, about("Topics that only B has.", 0)] = None
    topics_vanished: Annotated[int | None, about("Topics that only A has.", 0)] = None
    subscriptions_appeared: Annotated[int | None, about("Subscriptions that only B has.", 0)] = None
    subscriptions_vanished: Annotated[int | None, about("Subscriptions that only A has.", 0)] = None
    brokers_appeared: Annotated[int | None, about("Brokers that only B has.", 0)] = None
    brokers_vanished: Annotated[int | None, about("Brokers that only A has.", 0)] = None

    @property
    def items(self) -> int | None:
        """What shares in limits are of."""
        return self.partitions


LIMITED: Final = tuple(field.name for field in fields(FleetSums) if field.name != "partitions")
"""The sums that ``--fail-on`` accepts."""


@dataclass(frozen=True, slots=True)
class FleetLists:
    """What the sums count, the most important first; each list is cut at the same length."""

    moved: Annotated[
        tuple[SubscriptionMoves, ...],
        about("Subscriptions with moved partitions. Every list is cut at --top rows; the sums count all."),
    ] = ()
    worse: Annotated[
        tuple[SubscriptionChange, ...], about("Subscriptions that got worse, those that lose most first.")
    ] = ()
    better: Annotated[
        tuple[SubscriptionChange, ...], about("Subscriptions that got better, those that gain most first.")
    ] = ()
    verdicts: Annotated[tuple[SubscriptionChange, ...], about("Subscriptions with another verdict.")] = ()
    new_findings: Annotated[tuple[FindingPlace, ...], about("Findings that only B has.")] = ()
    gone_findings: Annotated[tuple[FindingPlace, ...], about("Findings that only A has.")] = ()
    topics_appeared: Annotated[tuple[NameInCluster, ...], about("Topics that only B has.")] = ()
    topics_vanished: Annotated[tuple[NameInCluster, ...], about("Topics that only A has.")] = ()
    subscriptions_appeared: Annotated[tuple[SubscriptionName, ...], about("Subscriptions that only B has.")] = ()
    subscriptions_vanished: Annotated[tuple[SubscriptionName, ...], about("Subscriptions that only A has.")] = ()
    brokers_appeared: Annotated[tuple[NameInCluster, ...], about("Brokers that only B has.")] = ()
    brokers_vanished: Annotated[tuple[NameInCluster, ...], about("Brokers that only A has.")] = ()


@dataclass(frozen=True, slots=True)
class FleetDifference:
    """Two runs of a fleet side by side. Owners are computed by the rule in force."""

    FORMAT: ClassVar = "ringside.fleet-diff/1"

    before: Annotated[Run, about("The run A.")]
    after: Annotated[Run, about("The run B.")]
    sums: Annotated[FleetSums, about("Counts over everything; null where one of the runs lacks the table.")]
    lists: Annotated[FleetLists, FLAT]
    not_compared: Annotated[
        Sequence[Literal["assignments", "subscription_loads", "worst_subscriptions", "findings", "topics", "brokers"]],
        about("Tables that one of the runs lacks."),
    ] = ()


def fleet_difference(
    before: Run, after: Run, readers: Readers, *, top: int, not_compared: Sequence[Any] = ()
) -> FleetDifference:
    """The difference of two runs, of each list the first ``top``. O(rows log rows); values are made for lists only."""
    found = _Found(top)
    for part, read in readers.items():
        columns = read()
        match part:
            case "owners":
                _compare_owners(columns, found)
            case "subscriptions":
                found.add_one_sided(columns, SubscriptionName, "subscriptions_vanished", "subscriptions_appeared")
                _compare_subscriptions(columns, found)
            case "findings":
                found.add_one_sided(columns, FindingPlace, "gone_findings", "new_findings")
            case _:
                found.add_one_sided(columns, NameInCluster, f"{part}_vanished", f"{part}_appeared")
    return FleetDifference(before, after, FleetSums(**found.sums), FleetLists(**found.lists), not_compared)


@dataclass(slots=True)
class _Found:
    """What is counted, and of each list the first ``top``."""

    top: int
    sums: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, Any] = field(default_factory=dict)

    def add_one_sided(self, columns: Columns, kind: Callable[..., Any], gone: str, new: str) -> None:
        """Add the rows that only one of the runs has, as values of a kind; how bad a finding is plays no part."""
        names = list(columns.texts) if kind is not SubscriptionName else SUBSCRIPTION
        keys = columns.keys(*(name for name in names if name != "severity"))
        for name, mine, others, before in ((gone, *keys, True), (new, *keys[::-1], False)):
            rows = missing_in(mine, others)
            self.sums[name] = len(rows)
            self.lists[name] = tuple(kind(*columns.row(at, names, before=before).values()) for at in rows[: self.top])


def _compare_owners(columns: Columns, found: _Found) -> None:
    owner = columns.texts["owner"]
    first, second = matched(*columns.keys("cluster", "subscription", "topic"))
    order = np.argsort(second)
    first, second = first[order], second[order]
    old, new = owner.before[first], owner.after[second]
    _, groups = columns.keys(*SUBSCRIPTION)
    _, example, group, partitions = np.unique(
        groups[second], return_index=True, return_inverse=True, return_counts=True
    )
    changed = np.flatnonzero(old != new)
    moved = np.bincount(group[changed], minlength=len(partitions))
    changed = changed[np.argsort(group[changed], kind="stable")]
    ends = np.cumsum(moved)
    found.sums |= {"partitions": len(first), "moved": len(changed), "moved_subscriptions": int(np.count_nonzero(moved))}
    most = np.argsort(-moved, kind="stable")[: found.top]

    def topic(row: int) -> MovedTopic:
        sides = owner.name(int(old[row])), owner.name(int(new[row]))
        return MovedTopic(columns.row(second[row], ["topic"])["topic"], *sides)

    found.lists["moved"] = tuple(
        SubscriptionMoves(
            **columns.row(second[example[at]], SUBSCRIPTION),
            partitions=int(partitions[at]),
            moved=int(moved[at]),
            owners=_owner_changes(owner, old[rows], new[rows]),
            topics=tuple(topic(row) for row in rows[:TOPICS_LISTED]),
        )
        for at in most[moved[most] > 0]
        for rows in [changed[ends[at] - moved[at] : ends[at]]]
    )


def _owner_changes(owner: Coded, old: Ints, new: Ints) -> tuple[OwnerChange, ...]:
    """How many partitions went from whom to whom, the most first."""
    pairs, counts = np.unique(np.stack([old, new]), axis=1, return_counts=True)
    return tuple(
        OwnerChange(owner.name(int(pairs[0, at])), owner.name(int(pairs[1, at])), int(counts[at]))
        for at in np.argsort(-counts, kind="stable")
    )


def _compare_subscriptions(columns: Columns, found: _Found) -> None:
    verdict = columns.texts["verdict"]
    first, second = matched(*columns.keys(*SUBSCRIPTION))
    pairs = {name: (columns.numbers[name][0][first], columns.numbers[name][1][second]) for name in MEASURES}
    rises = {name: _rise(old, new) for name, (old, new) in pairs.items()}
    worse = np.any([rise > 0 for rise in rises.values()], axis=0)
    better = np.any([rise < 0 for rise in rises.values()], axis=0) & ~worse
    verdicts = verdict.before[first] != verdict.after[second]
    summed: tuple[tuple[MeasureName, type], ...] = (("idle", int), ("spare_msg_rate", float))
    for measure, new_sum in summed:
        old_values, new_values = columns.numbers[measure]
        found.sums[measure] = new_sum(np.nansum(new_values) - np.nansum(old_values))

    def change(at: int) -> SubscriptionChange:
        return SubscriptionChange(
            **columns.row(second[at], (*SUBSCRIPTION, "type")),
            worse=tuple(name for name in MEASURES if rises[name][at] > 0),
            better=tuple(name for name in MEASURES if rises[name][at] < 0),
            before=measured(at, 0, verdict.before[first[at]]),
            after=measured(at, 1, verdict.after[second[at]]),
        )

    def measured(at: int, side: int, code: int) -> Measured:
        values = {name: float(pair[side][at]) for name, pair in pairs.items()}
        numbers = {name: None if np.isnan(value) else value for name, value in values.items()}
        return Measured(**numbers, verdict=verdict.name(int(code)))

    for name, where, sign in (("worse", worse, 1), ("better", better, -1), ("verdicts", verdicts, 1)):
        rows = np.flatnonzero(where)
        order = np.lexsort([-sign * rises[measure][rows] for measure in reversed(MEASURES)])
        found.sums[name] = len(rows)
        found.lists[name] = tuple(change(int(at)) for at in rows[order][: found.top])


def _rise(old: Any, new: Any) -> Any:
    """By how much each number rose; 0 where the two are the same or one of them is not known."""
    rise = new - old
    known = ~np.isnan(rise) & (np.abs(rise) > SAME * np.maximum(np.abs(old), np.abs(new)))
    return np.where(known, rise, 0.0)
