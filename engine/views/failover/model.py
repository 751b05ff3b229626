"""The content of a dashboard as plain values. A shell draws these and computes nothing.

Large values compare by identity (``eq=False``), small ones by value, so that an unchanged slice causes no repaint.
Consumers are referred to by their *position* in ``DashboardView.consumers``; -1 means nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.compare.verdict import Judgement, Verdict
from engine.views.reported.model import ReportedBroker, ReportedConsumer, ReportedLoad, ReportedView


class RuleInForce(Enum):
    """How the shown subscription's topics find their active consumer now."""

    MODULO = "modulo"
    RING = "ring"
    FIRST_CONNECTED = "first connected"
    MIXED = "mixed"
    NOBODY = "nobody"


class ConsumerRow(Struct, frozen=True):
    """One consumer in the dispatcher's sorted order.

    ``active_partitions`` counts the partitions it is active for. Shares are fractions 0..1 (ring: of the hash space;
    rate: of the messages per second that go out, of all shown partitions). ``standby`` is true outside the cohort (a
    lower priority). ``ring_points`` of 100 are its own; fewer means a name that collides, or a standby (0).
    ``tag`` (A .. Z, AA ..) and ``colour`` (from 0) follow the order of connecting over the whole history of the
    subscription, so that neither jumps to another consumer when one comes or goes. ``reported`` is what brokers
    reported of it; None where they reported nothing, or the simulation has gone on since.
    """

    consumer_id: int
    name: str
    tag: str
    priority_level: int
    standby: bool
    active_partitions: int
    ring_share: float
    rate_share: float
    msgs_per_sec: float
    ring_points: int
    gained: int
    lost: int
    colour: int = 0
    reported: ReportedConsumer | None = None


class TableFoot(Struct, frozen=True):
    """The line below the table.

    ``max_over_mean_*`` is the largest divided by the mean over the cohort, 0.0 for no partitions.
    ``idle_consumers`` counts members of the cohort that are active for no partition; standbys are idle by design.
    """

    consumers: int
    partitions: int
    msgs_per_sec: float
    max_over_mean_partitions: float
    max_over_mean_ring_share: float
    max_over_mean_rate: float
    idle_consumers: int


class RingView(Struct, frozen=True, eq=False):
    """The hash ring of the shown subscription and where its topics are on it.

    ``points`` are the ring's points ascending in 0 .. space_size - 1 (int64); ``point_owners`` the owner of each. A
    hash belongs to the first point at or after it, wrapping. ``topic_hashes``, ``topic_owners`` and ``topic_moved`` run
    in parallel over ``topic_names``: hash of the name, its active consumer (by the rule in force, so not always the
    ring's owner), and whether the last step moved it. ``lit`` is false while the ring decides nothing that is shown
    (modulo). Topics are in hash order. ``changed_arcs`` marks the points whose arc had, at least in
    part, another owner before the last step. ``centre`` is up to four lines of at most 26 characters for the middle.
    ``first_partitions_only`` is true where every topic shown is the partition 0 of one. ``topic_numbers``, in parallel
    too, puts partitions into the order of their topics.
    """

    space_size: int
    points: NDArray[np.int64]
    point_owners: NDArray[np.int64]
    changed_arcs: NDArray[np.bool_]
    topic_names: Sequence[str]
    topic_hashes: NDArray[np.int32] | NDArray[np.int64]
    topic_owners: NDArray[np.int32] | NDArray[np.int64]
    topic_moved: NDArray[np.bool_]
    lit: bool
    centre: tuple[str, ...]
    first_partitions_only: bool = False
    topic_numbers: NDArray[np.int32] | None = None


class PartitionRow(Struct, frozen=True):
    """One partition below a consumer's row. ``share`` is its part of the consumer's messages per second."""

    name: str
    partition_index: int
    msgs_per_sec: float
    topic_hash: int
    bundle: str
    moved: bool
    unacked_messages: int


class BundleNode(Struct, frozen=True):
    """One node of the bundle tree: a bundle in force (no children) or one that was split (children in order).

    ``msgs_per_sec`` and ``bytes_per_sec`` are in plus out. ``depth`` is 0 for the namespace's first bundles.
    ``reported`` is what a load report says of it, where no topics are known whose sums could be shown.
    """

    namespace: str
    range_text: str
    lower: int
    upper: int
    depth: int
    topics: int
    msgs_per_sec: float
    bytes_per_sec: float
    algorithm: str
    children: tuple[BundleNode, ...] = ()
    fresh: bool = False
    reported: ReportedLoad | None = None


class NamespaceNode(Struct, frozen=True):
    """A namespace with its bundles; ``reported`` are the sums of load reports where no topics are known."""

    name: str
    bundles: int
    topics: int
    msgs_per_sec: float
    roots: tuple[BundleNode, ...]
    reported: ReportedLoad | None = None


class BundleTopic(Struct, frozen=True):
    """A topic of a bundle, listed when its node is opened."""

    name: str
    topic_hash: int
    msgs_per_sec: float
    active_consumer: str


class EventLine(Struct, frozen=True):
    """The effect of one step, for the events panel.

    ``moved`` partitions changed their active consumer out of ``partitions``; ``least`` is the smallest number of moves
    by which the loads after the step could have been reached: the sum over consumers of max(0, after - before), where a
    partition that had nobody before does not count. For a Key_Shared subscription all three count slots, and all are 0
    where slots before and after cannot be compared (another mode, another slot space); ``moved_keys`` counts the known
    keys that changed their consumer, there too, and is 0 for Failover. ``handover_ms`` is how long a moved partition
    waits before the new active consumer is sent anything (``activeConsumerFailoverDelayTimeMillis``), 0 where brokers
    do not wait. ``kind`` is a word for a glyph: add, kill, setting, topic, split, release, send, ack, wait, fail,
    recover, open.
    """

    step: int
    kind: str
    text: str
    moved: int
    least: int
    partitions: int
    unacked_at_risk: int = 0
    moved_keys: int = 0
    handover_ms: int = 0
    verdict: Verdict | None = None


class TimelineView(Struct, frozen=True):
    """The one-line timeline: kinds of the steps along the current branch, and the cursor (0 = as opened)."""

    kinds: tuple[str, ...]
    cursor: int
    branches: int
    can_undo: bool
    can_redo: bool


class StatusView(Struct, frozen=True):
    """The status line: the rule in force in words, flag, release, subscription, and where the state is from.

    ``namespace`` is that of the shown subscription ("" when there is none): several can have the same name.
    ``flag_change`` is the word of ``DashboardView.flag_change``.
    """

    rule: RuleInForce
    rule_text: str
    consistent_hashing: bool
    flag_known: bool
    release: str
    subscription: str
    namespace: str
    subscription_type: str
    subscriptions: tuple[str, ...]
    source: str
    step: int
    steps: int
    seed: int
    problems: int
    flag_change: Judgement | None = None


class Notice(Struct, frozen=True):
    """A remark about the content, such as names that collide or a consumer that can never be active."""

    code: str
    text: str


class DashboardView(Struct, frozen=True, eq=False):
    """One screenful of facts.

    ``flag_change`` is the verdict on turning consistent hashing on or off here; None where the release does not know
    the flag, without consumers or partitions, and with more partitions than are computed at each step. ``reported`` is
    what brokers said of the subscription, if anything, and ``brokers`` are those whose load reports are all that is
    known of bundles.
    """

    status: StatusView
    consumers: tuple[ConsumerRow, ...]
    foot: TableFoot
    ring: RingView
    namespaces: tuple[NamespaceNode, ...]
    events: tuple[EventLine, ...]
    timeline: TimelineView
    notices: tuple[Notice, ...]
    flag_change: Verdict | None = None
    reported: ReportedView | None = None
    brokers: tuple[ReportedBroker, ...] = ()
