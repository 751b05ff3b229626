"""The content of a dashboard as plain values. A shell draws these and computes nothing.

Large values compare by identity (``eq=False``), small ones by value, so that an unchanged slice causes no repaint.
Consumers are referred to by their *position* in ``DashboardView.consumers``; -1 means nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.answer import about
from engine.compare.verdict import Judgement, Verdict
from engine.views.reported.model import ReportedBroker, ReportedConsumer, ReportedLoad, ReportedView

StepKind = Literal[
    "add", "kill", "setting", "topic", "split", "release", "send", "ack", "wait", "fail", "recover", "open"
]  # fmt: skip
"""A step by the glyph it has."""


class RuleInForce(Enum):
    """How the shown subscription's topics find their active consumer now."""

    MODULO = "modulo"
    RING = "ring"
    FIRST_CONNECTED = "first connected"
    MIXED = "mixed"
    NOBODY = "nobody"


class ConsumerRow(Struct, frozen=True):
    """One consumer in the dispatcher's sorted order.

    Letters and colours follow the order of connecting over the whole history of the subscription, so that neither jumps
    to another consumer when one comes or goes. ``reported`` is None where brokers reported nothing, or the simulation
    has gone on since.
    """

    consumer_id: Annotated[int, about("Unique over the whole history.", 0)]
    name: Annotated[str, about("Consumer name; empty when the client sent none.")]
    tag: Annotated[str, about("Letter tag, stable over the history.")]
    priority_level: Annotated[int, about("A lower number is a higher priority.", -2147483648, 2147483647)]
    standby: Annotated[bool, about("Outside the cohort that can be active now.")]
    active_partitions: Annotated[int, about("Partitions it is active for.", 0)]
    ring_share: Annotated[float, about("Share of the ring's hash space. Fraction 0..1.", 0, 1)]
    rate_share: Annotated[
        float | None,
        about(
            "Share of the messages per second of all shown partitions; null where no answer has the rate of one of"
            " them. Fraction 0..1.",
            0,
            1,
        ),
    ]
    msgs_per_sec: Annotated[
        float | None,
        about(
            "Messages per second that go out to it: what this subscription dispatches from its partitions; null where"
            " no answer has the rate of one of them.",
            0,
        ),
    ]
    ring_points: Annotated[int, about("Ring points it owns; 100 unless names collide, 0 for a standby.", 0, 100)]
    gained: Annotated[int, about("Partitions it has since the last step.", 0)]
    lost: Annotated[int, about("Partitions it had before the last step.", 0)]
    colour: Annotated[int, about("Number of its colour, from 0, stable over the history.", 0)] = 0
    reported: ReportedConsumer | None = None


class TableFoot(Struct, frozen=True):
    """The line below the table. Standbys are idle by design and do not count as such."""

    consumers: Annotated[int, about("Connected consumers, standbys included.", 0)]
    partitions: Annotated[int, about("Partitions of the subscription; a topic without partitions counts as one.", 0)]
    msgs_per_sec: Annotated[
        float | None,
        about("Messages per second that go out to the consumers of the subscription; null if any is not known.", 0),
    ]
    max_over_mean_partitions: Annotated[
        float, about("Most partitions of one consumer divided by the mean; 0 when there is nothing to divide.", 0)
    ]
    max_over_mean_ring_share: Annotated[
        float, about("Largest ring share divided by the mean; 0 when there is nothing to divide.", 0)
    ]
    max_over_mean_rate: Annotated[
        float | None,
        about(
            "Highest messages per second divided by the mean; 0 when there is nothing to divide, null if unknown.", 0
        ),
    ]
    idle_consumers: Annotated[int, about("Consumers of the cohort that are active for no partition.", 0)]


class RingView(Struct, frozen=True, eq=False):
    """The hash ring of the shown subscription and where its topics are on it.

    ``points`` are the ring's points ascending in 0 .. space_size - 1 (int64); ``point_owners`` the owner of each. A
    hash belongs to the first point at or after it, wrapping. ``topic_hashes``, ``topic_owners`` and ``topic_moved`` run
    in parallel over ``topic_names``: hash of the name, its active consumer (by the rule in force, so not always the
    ring's owner), and whether the last step moved it. ``lit`` is false while the ring decides nothing that is shown
    (modulo). Topics are in hash order. ``changed_arcs`` marks the points whose arc had, at least in
    part, another owner before the last step. ``centre`` is up to four lines of at most 26 characters for the middle.
    ``first_partitions_only`` is true where every topic shown is the partition 0 of one. ``topic_numbers``, in parallel
    too, puts partitions into the order of their topics. ``sent`` are the messages of Key_Shared that went out in the
    last step: slot, and position of the consumer.
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
    sent: tuple[tuple[int, int], ...] = ()

    def share(self, first: int, last: int) -> float:
        """The part of the ring from one hash to another, both included; the first may be the greater one."""
        return ((last - first + 1) % self.space_size or self.space_size) / self.space_size


class PartitionRow(Struct, frozen=True):
    """One partition below a consumer's row; a number is None where no answer has it."""

    name: str
    partition_index: int
    msgs_per_sec: float | None
    topic_hash: int
    bundle: str
    moved: bool
    unacked_messages: int | None


class BundleNode(Struct, frozen=True):
    """One node of the bundle tree: a bundle in force (no children), or one that was split."""

    namespace: str
    range_text: Annotated[str, about("Range text.", key="range")]
    lower: Annotated[int, about("Lower bound, inside.", 0, 4294967295)]
    upper: Annotated[int, about("Upper bound, outside unless it is 4294967295.", 0, 4294967295)]
    depth: Annotated[int, about("0 for the namespace's first bundles.", 0)]
    topics: Annotated[int, about("Partitions in it.", 0)]
    msgs_per_sec: Annotated[float | None, about("Messages per second, in plus out; null if any is not known.", 0)]
    bytes_per_sec: Annotated[float | None, about("Bytes per second, in plus out; null if any is not known.", 0)]
    algorithm: Annotated[str, about("Algorithm that split it, null for a bundle in force.", null="")]
    fresh: Annotated[bool, about("Whether the last step made it.")] = False
    reported: Annotated[
        ReportedLoad | None, about("What a load report says of it where no topic is known; else null.")
    ] = None
    children: Annotated[tuple[BundleNode, ...], about("What it was split into, ascending.")] = ()


class NamespaceNode(Struct, frozen=True):
    """A namespace and its bundles."""

    name: Annotated[str, about("tenant/namespace")]
    bundles: Annotated[int, about("Bundles in force.", 1)]
    topics: Annotated[int, about("Partitions in it.", 0)]
    msgs_per_sec: Annotated[float | None, about("Messages per second, in plus out; null if any is not known.", 0)]
    roots: Annotated[tuple[BundleNode, ...], about("The namespace's first bundles, ascending.")]
    reported: Annotated[ReportedLoad | None, about("Sums of load reports where no topic is known; else null.")] = None


class BundleTopic(Struct, frozen=True):
    """A topic of a bundle, listed when its node is opened."""

    name: str
    topic_hash: int
    msgs_per_sec: float | None


class Step(Struct, frozen=True):
    """One step of the simulation."""

    step: Annotated[int, about("Its number; 0 is the opening.", 0)]
    kind: Annotated[StepKind, about("What kind of step it was.")]
    text: Annotated[str, about("The command.")]


class EventLine(Step, frozen=True):
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

    moved: int
    least: int
    partitions: int
    unacked_at_risk: int | None = 0
    moved_keys: int = 0
    handover_ms: int = 0
    verdict: Verdict | None = None


class TimelineView(Struct, frozen=True):
    """The one-line timeline of the current branch; its cursor is 0 for the state as opened."""

    kinds: Annotated[tuple[StepKind, ...], about("Kind of each step.")]
    cursor: Annotated[int, about("Steps that are applied.", 0)]
    branches: Annotated[int, about("Branches of the history.", 0)]
    can_undo: Annotated[bool, about("Whether there is a step to take back.")]
    can_redo: Annotated[bool, about("Whether there is a step to apply again.")]


class StatusView(Struct, frozen=True):
    """The status line. ``flag_change`` is the word of ``DashboardView.flag_change``."""

    rule: Annotated[RuleInForce, about("How partitions find their active consumer now.")]
    rule_text: Annotated[str, about("The rule in words.")]
    consistent_hashing: Annotated[bool, about("The setting activeConsumerFailoverConsistentHashing.")]
    flag_known: Annotated[bool, about("Whether the release knows that setting; one that does not ignores it.")]
    release: Annotated[str, about("Pulsar version of the model.")]
    subscription: Annotated[str, about("Key of the shown subscription, empty when there is none.")]
    namespace: Annotated[str, about("Namespace of the shown subscription, empty when there is none.")]
    subscription_type: Annotated[str, about("Pulsar's word for its type.")]
    subscriptions: Annotated[tuple[str, ...], about("Keys of all subscriptions, in order.")]
    source: Annotated[str, about("Where the state is from.")]
    step: Annotated[int, about("Steps that are applied; 0 is the state as opened.", 0)]
    steps: Annotated[int, about("Steps of the current branch.", 0)]
    seed: Annotated[int, about("Seed of a made-up state, else 0.", 0)]
    problems: Annotated[int, about("How many things were wrong with the input.", 0)]
    flag_change: Judgement | None = None


class Notice(Struct, frozen=True):
    """A remark about the content, such as names that collide or a consumer that can never be active."""

    code: Annotated[str, about("Stable word.")]
    text: Annotated[str, about("A sentence.")]


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
