"""All commands that a person or a demo script can give. ``decide`` answers each with events or a ``Rejection``.

``topic`` is any name of a topic; ``producer`` is a producer's number in the order of creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engine.cluster.producers.state import ProducerPlan
from engine.errors import Rejection
from engine.routing.clients import key_routing
from engine.routing.producers.settings import (
    ACCESS_MODES,
    CLIENTS,
    DEFAULT_MSG_SIZE_BYTES,
    AccessMode,
    ProducerSettings,
    RouterKind,
    Routing,
    checked_limit,
    checked_settings,
    new_router,
)
from engine.scalable.model import Kind


class AddProducers(Struct, frozen=True):
    """Producers are created on a partitioned topic, one after another."""

    topic: str
    plan: ProducerPlan


class SendByProducers(Struct, frozen=True):
    """Messages with this key, or without one, through one producer or (None) through all that are not closed."""

    topic: str
    producer: int | None = None
    key: str | None = None
    times: int = 1
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES


class SetProducerRate(Struct, frozen=True):
    """Messages a second through one producer or (None) through each that is not closed, from now on.

    They have this key, or one of ``keys`` keys in turn, or none.
    """

    topic: str
    producer: int | None
    msgs_per_sec: float
    size_bytes: int = DEFAULT_MSG_SIZE_BYTES
    key: str | None = None
    keys: int = 0


class CloseProducer(Struct, frozen=True):
    """A producer is closed by its application; what waits in its queues is lost."""

    topic: str
    producer: int


class FailPartition(Struct, frozen=True):
    """A partition is not served any more, as when the broker that owns it is gone."""

    topic: str
    partition: int


class RecoverPartition(Struct, frozen=True):
    """A partition is served again."""

    topic: str
    partition: int


ProducerCommand = AddProducers | SendByProducers | SetProducerRate | CloseProducer | FailPartition | RecoverPartition


class SplitSegment(Struct, frozen=True):
    """A segment of a scalable topic is split into its two halves."""

    topic: str
    segment: int


class MergeSegments(Struct, frozen=True):
    """Two segments that touch become one."""

    topic: str
    first: int
    second: int


class RebucketSegment(Struct, frozen=True):
    """A segment gets a successor of the same range with another number of buckets."""

    topic: str
    segment: int
    buckets: int


class SetSegmentRate(Struct, frozen=True):
    """The traffic of a segment, or (None) of the whole topic by the ranges of its segments, from now on."""

    topic: str
    segment: int | None
    msgs_in_per_sec: float
    msgs_out_per_sec: float
    msg_bytes: int = DEFAULT_MSG_SIZE_BYTES


class SendToSegments(Struct, frozen=True):
    """Messages of these keys are published to a scalable topic, ``times`` over; without keys round by round."""

    topic: str
    keys: tuple[str, ...]
    times: int = 1


class JoinSegments(Struct, frozen=True):
    """A consumer joins a subscription of a scalable topic; ``kind`` is STREAM, CHECKPOINT or QUEUE."""

    topic: str
    subscription: str
    name: str
    kind: Kind = "STREAM"


class LeaveSegments(Struct, frozen=True):
    """A consumer of a scalable topic closes, or (not ``closes``) its connection is lost."""

    topic: str
    subscription: str
    name: str
    closes: bool = True


class AcknowledgeSegments(Struct, frozen=True):
    """A consumer (None: each) of a scalable topic acknowledges ``count`` of its messages (0: all)."""

    topic: str
    subscription: str
    name: str | None = None
    count: int = 0


ScalableCommand = (
    SplitSegment
    | MergeSegments
    | RebucketSegment
    | SetSegmentRate
    | SendToSegments
    | JoinSegments
    | LeaveSegments
    | AcknowledgeSegments
)


ROUTER_WORDS: Final[Mapping[str, RouterKind]] = {
    "round-robin": "RoundRobinPartition",
    "single": "SinglePartition",
    "partial": "PartialRoundRobin",
}
_MODES: Final[Mapping[str, AccessMode]] = {mode.lower(): mode for mode in ACCESS_MODES}


def plan_settings(plan: ProducerPlan, partitions: int) -> tuple[ProducerSettings, Routing] | Rejection:
    """Settings and routing of a plan on a topic of so many partitions. Refused: what no client would take.

    >>> settings, routing = plan_settings(ProducerPlan(lazy=True, router="partial", limit=3), 10)
    >>> settings.starts_lazily, routing.kind, routing.num_partitions_limit
    (True, 'PartialRoundRobin', 3)
    >>> plan_settings(ProducerPlan(router="partial"), 10).message
    'numPartitionsLimit should be greater than or equal to 1'
    """
    client, kind, mode = (
        CLIENTS.get(plan.client),
        ROUTER_WORDS.get(plan.router),
        _MODES.get(plan.access_mode.lower()),
    )
    if client is None:
        return _unknown("client", plan.client, CLIENTS)
    if kind is None:
        return _unknown("router", plan.router, ROUTER_WORDS)
    if mode is None:
        return _unknown("accessMode", plan.access_mode, ACCESS_MODES)
    keys = key_routing(plan.client, plan.hashing)
    if isinstance(keys, Rejection):
        return replace(keys, field="hashingScheme")
    if kind == "PartialRoundRobin":
        limit = checked_limit(plan.limit, partitions, allow_above=plan.allow_limit_above)
        if isinstance(limit, Rejection):
            return limit
    elif plan.limit:
        message = f"a limit belongs to the router partial, not to {plan.router}"
        return Rejection("IllegalArgumentException", message, field="numPartitionsLimit")
    settings = checked_settings(
        ProducerSettings(
            producer_name=plan.name,
            client=client,
            access_mode=mode,
            lazy_start_partitioned_producers=plan.lazy,
            max_pending_messages=plan.max_pending_messages,
            max_pending_messages_across_partitions=plan.max_pending_messages_across_partitions,
        )
    )
    if isinstance(settings, Rejection):
        return settings
    hashing = None if plan.hashing is None else keys.hashing
    routing = Routing(kind, plan.limit, hashing, plan.batching, plan.publish_delay_ms, plan.switch_frequency)
    router = new_router(routing, client, partitions, "any")
    return router if isinstance(router, Rejection) else (settings, routing)


def _unknown(field: str, text: str, known: Iterable[str]) -> Rejection:
    listed = ", ".join(known)
    return Rejection("IllegalArgumentException", f"{text[:60]!r} is none of {listed}", field=field)


class AddConsumer(Struct, frozen=True):
    """A consumer connects to every topic of the subscription.

    ``ranges`` are those of a STICKY policy, where the subscription is Key_Shared and its consumers declare them.
    """

    subscription: str
    name: str
    priority_level: int = 0
    ranges: tuple[tuple[int, int], ...] | None = None


class KillConsumer(Struct, frozen=True):
    """A consumer's connection drops."""

    subscription: str
    consumer_id: int


class RenameConsumer(Struct, frozen=True):
    """A consumer leaves and connects again under another name (a broker knows no renaming)."""

    subscription: str
    consumer_id: int
    name: str


class SetPriorityLevel(Struct, frozen=True):
    """A consumer leaves and connects again with another priority level."""

    subscription: str
    consumer_id: int
    priority_level: int


class SetSetting(Struct, frozen=True):
    """A broker setting takes another value; ``text`` is what broker.conf has after the ``=``."""

    name: str
    text: str


class SetRelease(Struct, frozen=True):
    """The cluster runs another Pulsar version."""

    version: str


class AddTopic(Struct, frozen=True):
    """A topic is created; ``partitions`` 0 makes it non-partitioned. Subscriptions that accept new topics take it."""

    topic: str
    partitions: int = 0


class RemoveTopic(Struct, frozen=True):
    """A topic is deleted with all its partitions."""

    topic: str


class RepartitionTopic(Struct, frozen=True):
    """A partitioned topic grows to ``partitions``; Pulsar never shrinks one."""

    topic: str
    partitions: int


class SplitBundle(Struct, frozen=True):
    """A split on request: ``bundle`` is a range text, ``LARGEST`` or ``HOT``; ``positions`` are decimal hash values."""

    namespace: str
    bundle: str
    algorithm: str | None = None
    positions: tuple[int, ...] = ()


class SubscribeKeyShared(Struct, frozen=True):
    """A Key_Shared subscription is created on a topic; its mode is what ``ShareKeys`` makes of it."""

    name: str
    topic: str
    allow_out_of_order_delivery: bool = False


class ShareKeys(Struct, frozen=True):
    """All consumers of a Key_Shared subscription stop and come back in another mode, one of ``SharingMode``.

    Between the two automatic modes a broker's setting decides, so the broker restarts, and with it all subscriptions.
    ``points`` are those of a node, for consistent sticky ranges.
    """

    subscription: str
    mode: str
    points: int = 0


class RouteKeys(Struct, frozen=True):
    """Producers of this client family send from now on: its hash takes the partition of a key.

    ``client`` is a word of ``ROUTING_CLIENTS``; ``hashing`` None is the client's default.
    """

    subscription: str
    client: str
    hashing: str | None = None


class SendKeys(Struct, frozen=True):
    """Messages of these keys are published, ``times`` over, one after another.

    ``batched``: in one batch each time, not made by key (``BatcherBuilder.KEY_BASED``), so that it goes whole to the
    owner of its first key; a producer has such a batch for each partition.
    """

    subscription: str
    keys: tuple[str, ...]
    times: int = 1
    batched: bool = False


class Acknowledge(Struct, frozen=True):
    """A consumer (None: each) acknowledges the oldest ``count`` messages it holds (0: all), of one key or of any."""

    subscription: str
    consumer_id: int | None = None
    key: str | None = None
    count: int = 0


class PassTime(Struct, frozen=True):
    """Simulated time goes on, in milliseconds."""

    duration_ms: int


Command = (
    AddConsumer
    | KillConsumer
    | RenameConsumer
    | SetPriorityLevel
    | SetSetting
    | SetRelease
    | AddTopic
    | RemoveTopic
    | RepartitionTopic
    | SplitBundle
    | SubscribeKeyShared
    | ShareKeys
    | RouteKeys
    | SendKeys
    | Acknowledge
    | PassTime
    | ProducerCommand
    | ScalableCommand
)


class Undo(Struct, frozen=True):
    """The cursor one step back."""


class Redo(Struct, frozen=True):
    """The cursor one step forward."""


class Home(Struct, frozen=True):
    """The state as opened."""


class End(Struct, frozen=True):
    """The last step of the branch."""


class GoTo(Struct, frozen=True):
    """The state after ``step`` steps of the branch, 0 being the state as opened."""

    step: int


class SwitchBranch(Struct, frozen=True):
    """The end of another branch; ``branch`` counts from 1 in the order in which branches were opened."""

    branch: int


TimelineCommand = Undo | Redo | Home | End | GoTo | SwitchBranch
