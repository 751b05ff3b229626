"""A fleet in one page: totals, the worst first, findings and what was set aside; and the same as metrics.

The same tables give the same bytes: nothing here depends on the order of rows, on time or on the machine.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from engine.errors import InputError, Problem
from engine.views.metrics import Family, Sample

VERSION: Final = 4
FILE_NAME: Final = "summary.json"


def unknown_of(name: str) -> str:
    """The column with how many topics lack a number, of which another column is the sum.

    >>> unknown_of("msg_rate_in")
    'msg_rate_in_unknown'
    """
    return f"{name}_unknown"


@dataclass(frozen=True, slots=True)
class FleetTotals:
    """What there is. Rates in messages/s, throughput in bytes/s; ``subscriptions`` counts those of every partition,
    ``subscription_names`` names in their namespaces.

    Here as in rows of namespaces, subscriptions and groups a sum is of the numbers that are known, None where none is,
    and ``unknown`` says how many topics lack the number, by the name of the sum, unless all have it.
    """

    topics: int = 0
    partitioned_topics: int = 0
    listed_only: int = 0
    namespaces: int = 0
    subscriptions: int = 0
    subscription_names: int = 0
    consumers: int = 0
    publishers: int = 0
    clusters: int = 0
    brokers: int = 0
    bundles: int = 0
    msg_rate_in: float | None = 0.0
    msg_rate_out: float | None = 0.0
    msg_throughput_in: float | None = 0.0
    msg_throughput_out: float | None = 0.0
    storage_size_bytes: int | None = 0
    backlog_size_bytes: int | None = 0
    unknown: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyTotals:
    """All Failover subscriptions under one policy; the worst of those that a better spread exists for."""

    policy: str
    in_force: bool
    partitions: int
    idle: int
    moved: int
    least_moved: int
    worst_busiest_over_average: float | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Active consumers that brokers ``reported``, and how many of them the rules in force give as well."""

    reported: int = 0
    agreeing: int = 0


@dataclass(frozen=True, slots=True)
class NowTotals:
    """All Failover subscriptions under their rules in force: consumers that get nothing, and the worst of those that a
    better spread exists for."""

    idle: int = 0
    worst_busiest_over_average: float | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """Records that the import ``read``, and those of them that were set aside as ``bad``."""

    read: int = 0
    bad: int = 0


@dataclass(frozen=True, slots=True)
class ClusterRules:
    """The rules of one cluster, how each is known (given, reported, inferred, assumed), and how far they agree with the
    active consumers that its brokers reported."""

    cluster: str
    release: str
    release_basis: str
    consistent_hashing: bool
    flag_basis: str
    reported: int
    agreeing: int


@dataclass(frozen=True, slots=True)
class KeyModeTotals:
    """All key spaces in one mode of Key_Shared; ``verdicts``: how many spaces each verdict explains."""

    mode: str
    in_force: bool
    worst_busiest_over_average: float | None
    verdicts: dict[str, int]


@dataclass(frozen=True, slots=True)
class WorstSubscription:
    """One subscription under the rule in force.

    ``busiest_over_average``: the most times its even share of what it reads that a consumer has, of partitions
    (Failover) or messages (Key_Shared); ``improvable``: a better spread exists. ``lists``: how many different lists of
    consumers the topics have, ``spare_msg_rate``: messages/s that an even spread would give to less busy consumers.
    ``worst_topic``: the first topic with the list of consumers that makes ``busiest_over_average``, which has
    ``worst_consumers``, of which ``worst_active`` have a partition.

    ``msg_rate_out`` (messages/s) and ``msg_backlog_entries`` are sums over its topics and partitions.
    """

    cluster: str
    namespace: str
    subscription: str
    type: str
    policy: str
    partitions: int
    consumers: int
    idle: int
    busiest_over_average_rate: float | None
    moved: int
    least_moved: int
    verdict: str | None
    findings: int
    worst_severity: str | None
    msg_rate_out: float | None = 0.0
    msg_backlog_entries: int | None = 0
    busiest_over_average: float | None = None
    lists: int = 1
    spare_msg_rate: float = 0.0
    worst_topic: str | None = None
    worst_consumers: int | None = None
    worst_active: int | None = None
    improvable: bool = False
    unknown: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorstNamespace:
    """One namespace; ``bundles_to_split``: those the modular load manager would split by the numbers of now."""

    cluster: str
    namespace: str
    topics: int
    subscriptions: int
    msg_rate_in: float | None
    msg_rate_out: float | None
    msg_throughput_in: float | None
    msg_throughput_out: float | None
    backlog_size_bytes: int | None
    bundles: int
    bundles_to_split: int
    worst_busiest_over_average: float | None
    worst_subscription: str | None
    idle: int
    findings: int
    worst_severity: str | None
    unknown: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """The totals of one cluster, or with ``tenant`` of one tenant of it."""

    cluster: str
    tenant: str
    topics: int
    msg_rate_in: float | None
    msg_rate_out: float | None
    storage_size_bytes: int | None
    backlog_size_bytes: int | None
    unknown: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorstBundle:
    """One bundle by its full name; ``outcome`` and ``reason`` are the modular load manager's verdict.

    ``msgs_per_sec`` and ``bytes_per_sec``, in and out together, are None where one of the two is not known at all.
    """

    cluster: str
    bundle: str
    broker: str | None
    topics: int
    msgs_per_sec: float | None
    bytes_per_sec: float | None
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class BalanceTotals:
    """What load balancers do in the next ``cycles``: clusters, those without a forecast (``refused``), unloads, of them
    those of the next cycle, topics that they interrupt, bundles that go round or are unloaded for nothing (``loops``),
    pairs of brokers that give each other bundles (``swaps``), and the weighted usage of the fullest broker now."""

    clusters: int = 0
    refused: int = 0
    reports: int = 0
    brokers: int = 0
    unloads: int = 0
    next_unloads: int = 0
    topics_interrupted: int = 0
    loops: int = 0
    swaps: int = 0
    max_usage: float = 0.0
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class WorstBroker:
    """One broker by its weighted usage now and after the forecast; ``next_outcome``: what the next cycle does with it.

    ``cluster`` is the folder of its answers; ``loops`` counts bundles that come back to it. ``figure`` was compared
    with ``limit``, both of ``measure``.
    """

    cluster: str
    broker: str
    usage: float | None
    usage_after: float | None
    fullest: str | None
    bundles: int
    next_unloads: int
    unloads: int
    gained: int
    loops: int
    next_outcome: str
    figure: float | None
    limit: float | None
    shedder: str
    measure: str | None = None


@dataclass(frozen=True, slots=True)
class NextUnload:
    """One bundle that the next cycle unloads; ``destination`` is the one that the seed draws of all possible ones."""

    cluster: str
    bundle: str
    source: str
    destination: str | None
    topics: int
    msg_rate: float


@dataclass(frozen=True, slots=True)
class BalanceLoop:
    """What goes round, by its ``kind``.

    A bundle comes back (``returns``) or is unloaded and given to its broker again (``stays``), or two brokers give each
    other bundles (``swaps``).
    """

    cluster: str
    kind: str
    bundle: str
    brokers: list[str]
    times: int


@dataclass(frozen=True, slots=True)
class ScalableTotals:
    """Sums over all scalable topics; ``score`` and ``flaps`` are those of the topic with the most, None for none."""

    blocked: int = 0
    stuck: int = 0
    unattached: int = 0
    uncovered: int = 0
    score: float | None = None
    flaps: int | None = None


@dataclass(frozen=True, slots=True)
class WorstScalableTopic:
    """One scalable topic: segments that wait, hand-overs that never end, idle consumers, heat and the next step."""

    cluster: str
    namespace: str
    topic: str
    blocked: int
    stuck: int
    unattached: int
    consumers: int
    idle: int
    segments: int
    score: float | None
    backlog: int
    next: str
    reason: str


@dataclass(frozen=True, slots=True)
class FindingCount:
    """How often one rule of the doctor found something."""

    rule: str
    severity: str
    count: int


@dataclass(frozen=True, slots=True)
class WorstFinding:
    """One finding; a part of its place that does not apply is empty."""

    cluster: str
    namespace: str
    subscription: str
    rule: str
    severity: str
    bundle: str
    topic: str
    consumer: str
    what: str

    @property
    def place(self) -> str:
        """The cluster, then the name of what it is about, and which consumer of it."""
        about = self.topic or self.bundle or self.namespace
        return " ".join(part for part in (self.cluster, about, self.subscription, self.consumer) if part)


@dataclass(frozen=True, slots=True)
class QuarantineCount:
    """What was set aside: ``rows`` of ``table`` with so many ``problems``; ``kind``: bad, superseded or note."""

    source: str
    table: str
    kind: str
    rows: int
    problems: int


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """The summary of one result folder. ``jobs``: those whose tables are there; ``tables``: rows by table; ``failed``:
    jobs of the last run that could not be finished, with the reason. ``run_id`` is of the run that read the answers,
    ``snapshot_time`` (ISO 8601, UTC) the moment of the latest of them."""

    version: int
    jobs: tuple[str, ...]
    totals: FleetTotals
    policies: tuple[PolicyTotals, ...]
    key_modes: tuple[KeyModeTotals, ...]
    worst_subscriptions: tuple[WorstSubscription, ...]
    worst_namespaces: tuple[WorstNamespace, ...]
    worst_bundles: tuple[WorstBundle, ...]
    findings: tuple[FindingCount, ...]
    quarantine: tuple[QuarantineCount, ...]
    tables: dict[str, int]
    rules: tuple[ClusterRules, ...] = ()
    agreement: Agreement = Agreement()
    failed: dict[str, str] = field(default_factory=dict)
    now: NowTotals = NowTotals()
    records: Records = Records()
    balance: BalanceTotals = BalanceTotals()
    worst_brokers: tuple[WorstBroker, ...] = ()
    next_unloads: tuple[NextUnload, ...] = ()
    balance_loops: tuple[BalanceLoop, ...] = ()
    scalable: ScalableTotals = ScalableTotals()
    worst_scalable_topics: tuple[WorstScalableTopic, ...] = ()
    run_id: str = ""
    snapshot_time: str | None = None
    groups: tuple[GroupTotals, ...] = ()
    worst_findings: tuple[WorstFinding, ...] = ()


class _Version(msgspec.Struct):
    version: int


def summary_text(summary: FleetSummary) -> bytes:
    """A summary as JSON; equal summaries give equal bytes. O(size)."""
    return msgspec.json.format(msgspec.json.encode(summary, order="deterministic"), indent=1) + b"\n"


def read_summary(data: bytes, source: str = FILE_NAME) -> FleetSummary:
    """A summary again. Raises ``InputError`` for other JSON, for none, and for a summary of another version.

    >>> empty = FleetSummary(VERSION, (), FleetTotals(), (), (), (), (), (), (), (), {})
    >>> read_summary(summary_text(empty)) == empty
    True
    """
    try:
        version = msgspec.json.decode(data, type=_Version).version
        if version != VERSION:
            raise _refused(source, f"it has version {version}, and this release reads {VERSION}")
        return msgspec.json.decode(data, type=FleetSummary)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise _refused(source, str(fault)) from fault


def _refused(source: str, reason: str) -> InputError:
    problem = Problem(source, "$", f"is not a summary of a fleet: {reason}", "make it again with ringside fleet report")
    return InputError(str(problem), (problem,))


_TOTALS: Final = {
    "topics": "topics with statistics, partitions counted one by one",
    "namespaces": "namespaces",
    "subscriptions": "subscriptions, those of every partition counted",
    "consumers": "consumers",
    "publishers": "producers",
    "clusters": "clusters",
    "brokers": "brokers",
    "bundles": "bundles",
    "msg_rate_in": "messages a second in",
    "msg_rate_out": "messages a second out",
    "msg_throughput_in": "bytes a second in",
    "msg_throughput_out": "bytes a second out",
    "storage_size_bytes": "bytes stored",
    "backlog_size_bytes": "bytes of backlog",
}


def fleet_families(summary: FleetSummary, owners: Mapping[str, str] | None = None) -> tuple[Family, ...]:
    """All figures of a summary; those that no job counted are left out.

    ``owners``: of namespaces and tenants, as a label of what is about a namespace, so that an alert finds its owner.
    """
    return tuple(family for family in _families(summary, owners) if family.samples)


def read_owners(text: str) -> dict[str, str]:
    """The owner of each namespace or tenant, from CSV with the columns ``tenant`` or ``namespace``, and ``owner``.

    Raises ``InputError`` where a column is missing.

    >>> read_owners("tenant,namespace,owner\\nshop,,sales\\n,shop/orders,ordering\\n")
    {'shop': 'sales', 'shop/orders': 'ordering'}
    """
    rows = csv.DictReader(text.removeprefix("\ufeff").splitlines())
    columns = set(rows.fieldnames or ())
    if "owner" not in columns or columns.isdisjoint(("tenant", "namespace")):
        raise InputError("the first line has to name the columns tenant or namespace, and owner")
    named = ((row.get("namespace") or row.get("tenant") or "", row["owner"] or "") for row in rows)
    return {name.strip(): owner.strip() for name, owner in named if name.strip()}


def _owner(namespace: str, owners: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    if owners is None:
        return ()
    return (("owner", owners.get(namespace) or owners.get(namespace.partition("/")[0], "")),)


def _families(summary: FleetSummary, owners: Mapping[str, str] | None) -> Iterable[Family]:
    if summary.run_id:
        yield Family(
            "ringside_fleet_run", "the run of these figures", (Sample(1, (("run_id", summary.run_id),)),), "info"
        )
    if summary.snapshot_time is not None:
        moment = datetime.fromisoformat(summary.snapshot_time).timestamp()
        yield _single("snapshot_seconds", "the moment of the latest answer", moment)
    for name, meaning in _TOTALS.items():
        value = getattr(summary.totals, name)
        if value is not None:
            yield _single(name, meaning, value)
    yield Family(
        "ringside_fleet_topics_lacking", "topics that lack a number, of which the sum is then that of the others",
        tuple(Sample(count, (("number", name),)) for name, count in summary.totals.unknown.items()),
    )  # fmt: skip
    yield _single("jobs_failed", "jobs of the last run that could not be finished", len(summary.failed))
    if "import" in summary.jobs:
        yield _single("records", "records that were read", summary.records.read)
        yield _single("records_bad", "records that were set aside as bad", summary.records.bad)
    if "assign" in summary.jobs:
        yield _single("idle_consumers", "consumers that get nothing under the rule in force", summary.now.idle)
        if summary.now.worst_busiest_over_average is not None:
            yield _single(
                "worst_busiest_over_average",
                "the most times its even share that a consumer has where a better spread exists",
                summary.now.worst_busiest_over_average,
            )  # fmt: skip
        yield _single("reported_active_consumers", "active consumers that were reported", summary.agreement.reported)
        agreeing = summary.agreement.agreeing
        yield _single("agreeing_active_consumers", "reported ones that the rules in force give as well", agreeing)
        yield Family(
            "ringside_fleet_cluster_disagreeing", "reported active consumers that the rules of the cluster do not give",
            tuple(Sample(row.reported - row.agreeing, (("cluster", row.cluster),)) for row in summary.rules),
        )  # fmt: skip
    if "balance" in summary.jobs:
        balance = summary.balance
        yield _single("max_broker_usage", "weighted usage of the fullest broker, a share", balance.max_usage)
        yield _single("unloads", "bundles that load balancers unload in all cycles ahead", balance.unloads)
        yield _single("next_unloads", "bundles that they unload in the next cycle", balance.next_unloads)
        yield _single(
            "bundle_loops",
            "bundles that come back to a broker they had left, or are unloaded for nothing",
            balance.loops,
        )
    yield Family(
        "ringside_fleet_findings", "what the doctor found",
        tuple(Sample(row.count, (("rule", row.rule), ("severity", row.severity))) for row in summary.findings),
    )  # fmt: skip
    yield Family(
        "ringside_fleet_set_aside", "rows that were set aside",
        tuple(
            Sample(row.rows, (("job", row.source), ("table", row.table), ("kind", row.kind)))
            for row in summary.quarantine
        ),
    )  # fmt: skip
    named = ("cluster", "namespace", "subscription", "type")
    uneven = [
        ((*((name, getattr(row, name)) for name in named), *_owner(row.namespace, owners)), row)
        for row in summary.worst_subscriptions
    ]
    yield Family(
        "ringside_fleet_busiest_over_average",
        "the most times its even share that a consumer of these subscriptions has",
        tuple(
            Sample(row.busiest_over_average, labels) for labels, row in uneven if row.busiest_over_average is not None
        ),
    )  # fmt: skip
    yield Family(
        "ringside_fleet_spare_msg_rate", "messages a second that an even spread would give to less busy consumers",
        tuple(Sample(row.spare_msg_rate, labels) for labels, row in uneven),
    )  # fmt: skip
    yield Family(
        "ringside_fleet_idle_of_subscription", "consumers of these subscriptions that get nothing",
        tuple(Sample(row.idle, labels) for labels, row in uneven),
    )  # fmt: skip


def _single(name: str, meaning: str, value: float) -> Family:
    return Family(f"ringside_fleet_{name}", meaning, (Sample(value),))
