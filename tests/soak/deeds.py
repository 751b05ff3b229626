"""Random deeds: each is a kind and a number, and becomes a command when the state is known.

So a walk can lose any of its deeds and still mean something: the rest find other consumers, topics and bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddProducers,
    AddTopic,
    CloseProducer,
    Command,
    End,
    FailPartition,
    GoTo,
    Home,
    KillConsumer,
    PassTime,
    RecoverPartition,
    Redo,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SendByProducers,
    SendKeys,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
    SubscribeKeyShared,
    SwitchBranch,
    TimelineCommand,
    Undo,
)
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.config import SPLIT_ALGORITHMS

T = TypeVar("T")

NAMES = ("c", "c-1", "c-10", "c-11", "c-110", "c1", "c11", "", "1", "11", "\uffee", "\U0001f600", "é", "w-7")
LOCALS = ("x", "y", "z", "z-partition-1", "x-partition-3", "x-partition-03", "é")
TOPICS = (
    *(f"persistent://t/n/{local}" for local in LOCALS),
    "non-persistent://t/n/x",
    "persistent://t/m/w",
    "persistent://t/late/v",
)
RELEASES = (
    "2.10.0", "2.11.0", "3.0.2", "3.0.3", "3.0.7", "3.0.8", "3.0.14", "3.1.0", "3.2.0", "3.2.1", "3.3.0", "3.3.2",
    "3.3.3", "3.3.9", "4.0.0", "4.0.1", "4.0.6", "4.0.7", "4.1.0", "4.1.1", "4.2.4", "4.2.4", "4.2.5", "5.0.1", "5.0.1",
)  # fmt: skip
KEYS = (*(f"k:{number}" for number in range(24)), "", "hex:00ff", "text:hex:aa", "é")
FEW_KEYS = KEYS[:4]
MANY_CONSUMERS = 9


@dataclass(frozen=True, slots=True)
class Deed:
    """The kind of a step, and the number from which its details are derived."""

    kind: str
    number: int


@dataclass(slots=True)
class Draws:
    """Draws from one number."""

    random: Random

    def one_of(self, values: Sequence[T]) -> T:
        return values[int(self.random.random() * len(values))]

    def upto(self, most: int) -> int:
        """0 .. ``most``."""
        return int(self.random.random() * (most + 1))

    def chance(self, part: float) -> bool:
        return self.random.random() < part


def walk(random: Random, length: int) -> list[Deed]:
    """So many deeds, of the kinds of this walk more than of others."""
    kinds = list(WEIGHTS)
    weights = [WEIGHTS[kind] * random.choice((0, 0.3, 1, 1, 3)) for kind in kinds]
    if not any(weights):
        weights = list(WEIGHTS.values())
    first = [kind for kind, part in FIRST if random.random() < part]
    later = random.choices(kinds, weights, k=length - len(first))
    return [Deed(kind, random.getrandbits(32)) for kind in (*first, *later)]


def command_of(deed: Deed, timeline: Timeline) -> Command | TimelineCommand:
    """The command of a deed where the timeline is now."""
    return DEEDS[deed.kind](Draws(Random(deed.number)), timeline)


def _subscription(draws: Draws, state: ClusterState, *, keyed: bool | None = None) -> Any:
    groups = {True: state.key_subscriptions, False: state.subscriptions}
    result = [*state.subscriptions, *state.key_subscriptions] if keyed is None else groups[keyed]
    return draws.one_of(result) if result else None


def _consumer(draws: Draws, subscription: Any) -> int:
    """The id of a connected consumer; seldom one that is not there."""
    if subscription is None or not subscription.consumers or draws.chance(0.03):
        return draws.upto(40)
    return draws.one_of(subscription.consumers).consumer_id


def _key(subscription: Any) -> str:
    return "nobody" if subscription is None else subscription.key


def _add(draws: Draws, timeline: Timeline) -> Command:
    subscription = _subscription(draws, timeline.state)
    if subscription is not None and len(subscription.consumers) > MANY_CONSUMERS:
        return KillConsumer(subscription.key, _consumer(draws, subscription))
    level = draws.one_of((0, 0, 0, 0, 1, 2, -1))
    ranges = None
    if subscription is not None and getattr(subscription, "declares", False) and draws.chance(0.8):
        ranges = _ranges(draws, subscription)
    return AddConsumer(_key(subscription), draws.one_of(NAMES), level, ranges)


def _ranges(draws: Draws, subscription: Any) -> tuple[tuple[int, int], ...]:
    """Of any width, often at a power of two, and often where a range of another consumer begins or ends."""
    edges = (0, 1, 2, 15, 16, 255, 4095, 4096, 16_384, 30_000, 32_767, 32_768, 49_152, 60_000, 65_534, 65_535, 65_536)
    declared = [pair for consumer in subscription.consumers for pair in consumer.declared or ()]
    result = []
    for _ in range(1 + draws.upto(2)):
        if declared and draws.chance(0.3):
            start = draws.one_of(draws.one_of(declared)) + draws.upto(1)
        else:
            start = draws.one_of(edges) if draws.chance(0.5) else draws.upto(65_535)
        end = draws.one_of(edges) if draws.chance(0.3) else start + draws.upto(8_000)
        result.append((start, end) if draws.chance(0.02) else (min(start, end), max(start, end)))
    return tuple(result)


def _kill(draws: Draws, timeline: Timeline) -> Command:
    subscription = _subscription(draws, timeline.state)
    return KillConsumer(_key(subscription), _consumer(draws, subscription))


def _rename(draws: Draws, timeline: Timeline) -> Command:
    subscription = _subscription(draws, timeline.state)
    return RenameConsumer(_key(subscription), _consumer(draws, subscription), draws.one_of(NAMES))


def _level(draws: Draws, timeline: Timeline) -> Command:
    subscription = _subscription(draws, timeline.state, keyed=False if draws.chance(0.95) else None)
    return SetPriorityLevel(_key(subscription), _consumer(draws, subscription), draws.one_of((0, 0, 1, -1)))


def _flag(draws: Draws, timeline: Timeline) -> Command:
    return SetSetting(
        "activeConsumerFailoverConsistentHashing", draws.one_of(("true", "true", "false", "TRUE", "maybe"))
    )


def _setting(draws: Draws, timeline: Timeline) -> Command:
    name, texts = draws.one_of(SETTINGS)
    return SetSetting(name, draws.one_of(texts))


SETTINGS: Sequence[tuple[str, Sequence[str]]] = (
    ("maxConsumersPerSubscription", ("0", "0", "3", "6")),
    ("maxConsumersPerTopic", ("0", "0", "4", "9")),
    ("maxProducersPerTopic", ("0", "0", "2", "40")),
    ("subscriptionKeySharedUseConsistentHashing", ("true", "false")),
    ("subscriptionKeySharedConsistentHashingReplicaPoints", ("1", "2", "3", "12", "100", "0")),
    ("subscriptionKeySharedUseClassicPersistentImplementation", ("true", "false", "false")),
    ("keySharedUnblockingIntervalMs", ("0", "10", "25")),
    ("keySharedLookAheadMsgInReplayThresholdPerConsumer", ("0", "2", "2000")),
    ("keySharedLookAheadMsgInReplayThresholdPerSubscription", ("0", "5", "20000")),
    ("maxUnackedMessagesPerConsumer", ("0", "3", "50000")),
    ("maxUnackedMessagesPerSubscription", ("0", "9", "200000")),
    ("aggregatePublisherStatsByProducerName", ("true", "false")),
    ("defaultNumberOfNamespaceBundles", ("4", "1", "3", "7")),
    ("defaultNamespaceBundleSplitAlgorithm", (*SPLIT_ALGORITHMS, "flow_or_qps_equally_divide", "flow_count")),
    ("supportedNamespaceBundleSplitAlgorithms", (",".join(SPLIT_ALGORITHMS), ",".join(SPLIT_ALGORITHMS[:2]))),
    ("loadBalancerNamespaceBundleMaxMsgRate", ("100", "700", "30000")),
    ("loadBalancerNamespaceBundleMaxBandwidthMbytes", ("1", "3", "100", "2048", "4096")),
    ("flowOrQpsDifferenceThresholdPercentage", ("0", "10", "90")),
    ("loadBalancerNamespaceBundleMaxTopics", ("1", "2", "4", "1000")),
    ("loadBalancerNamespaceBundleMaxSessions", ("0", "3", "1000")),
    ("loadBalancerNamespaceMaximumBundles", ("2", "6", "9", "128")),
    ("loadBalancerNamespaceBundleSplitConditionHitCountThreshold", ("0", "1", "3")),
    ("loadBalancerMaxNumberOfBundlesToSplitPerCycle", ("1", "10")),
    ("loadBalancerAutoUnloadSplitBundlesEnabled", ("true", "false")),
    ("noSuchSetting", ("1",)),
)


def _release(draws: Draws, timeline: Timeline) -> Command:
    return SetRelease(draws.one_of(RELEASES) if draws.chance(0.98) else "2.9.4")


def _add_topic(draws: Draws, timeline: Timeline) -> Command:
    return AddTopic(draws.one_of(TOPICS), draws.one_of((0, 0, 1, 3, 5, 8, -1)))


def _topic(draws: Draws, state: ClusterState, *, partitioned: bool = False) -> str:
    names = [topic.name for topic in state.topics.values() if topic.partitions or not partitioned]
    return draws.one_of(names) if names and draws.chance(0.95) else draws.one_of(TOPICS)


def _remove_topic(draws: Draws, timeline: Timeline) -> Command:
    return RemoveTopic(_topic(draws, timeline.state))


def _grow(draws: Draws, timeline: Timeline) -> Command:
    topic = _topic(draws, timeline.state, partitioned=True)
    known = timeline.state.topics.get(topic)
    return RepartitionTopic(topic, min(24, (known.partitions if known else 0) + draws.one_of((1, 1, 2, 5, 0, -1))))


def _split(draws: Draws, timeline: Timeline) -> Command:
    state = timeline.state
    namespace = draws.one_of(tuple(state.namespaces)) if draws.chance(0.97) else "t/none"
    known = state.namespaces.get(namespace)
    boundaries = known.boundaries if known else (0, 0xFFFFFFFF)
    lower, upper = draws.one_of(list(pairwise(boundaries)))
    text = f"0x{lower:08x}_0x{upper:08x}"
    if draws.chance(0.3):
        text = draws.one_of(("LARGEST", "LARGEST", "HOT", "0x00000000_0x00000001"))
    algorithm = draws.one_of((None, None, "", *SPLIT_ALGORITHMS, "flow_or_qps_equally_divide"))
    positions = ()
    if algorithm == "specified_positions_divide" or draws.chance(0.2):
        width = upper - lower
        near = (lower, lower + 1, upper - 1, upper, lower + width // 2, lower + width // 3)
        positions = tuple(draws.one_of(near) for _ in range(draws.upto(3)))
    return SplitBundle(namespace, text, algorithm, positions)


def _subscribe(draws: Draws, timeline: Timeline) -> Command:
    state = timeline.state
    if len(state.key_subscriptions) >= 2 and draws.chance(0.8):
        return _send(draws, timeline)
    if not state.topics:
        return _add_topic(draws, timeline)
    return SubscribeKeyShared(draws.one_of(("orders", "bills", "left", " ")), _topic(draws, state), draws.chance(0.3))


def _share(draws: Draws, timeline: Timeline) -> Command:
    modes = ("auto-split", "consistent-auto-split", "sticky", "sticky", "consistent-sticky", "sideways")
    subscription = _subscription(draws, timeline.state, keyed=True)
    if subscription is None:
        return _subscribe(draws, timeline)
    return ShareKeys(
        _key(subscription), draws.one_of(modes[:5] if draws.chance(0.97) else modes), draws.one_of((1, 4, 30, 0))
    )


def _send(draws: Draws, timeline: Timeline) -> Command:
    subscription = _subscription(draws, timeline.state, keyed=True)
    if subscription is None:
        return _subscribe(draws, timeline)
    if sum(len(dispatcher.backlog) for dispatcher in subscription.dispatchers) > 60:
        return Acknowledge(subscription.key, None, None, draws.upto(40))
    pool = FEW_KEYS if draws.chance(0.6) else KEYS
    keys = tuple(draws.one_of(pool) for _ in range(1 + draws.upto(4)))
    return SendKeys(_key(subscription), keys, draws.one_of((1, 1, 2, 3, 0)))


def _acknowledge(draws: Draws, timeline: Timeline) -> Command:
    subscription = _subscription(draws, timeline.state, keyed=True)
    if subscription is None:
        return _add(draws, timeline)
    who = None if draws.chance(0.3) else _consumer(draws, subscription)
    key = draws.one_of(FEW_KEYS) if draws.chance(0.3) else None
    return Acknowledge(_key(subscription), who, key, draws.one_of((0, 1, 1, 2, 5, -1)))


def _wait(draws: Draws, timeline: Timeline) -> Command:
    return PassTime(draws.one_of((1, 5, 9, 10, 11, 40, 59_999, 60_000, 0)))


def _add_producers(draws: Draws, timeline: Timeline) -> Command:
    state = timeline.state
    if not any(topic.partitions for topic in state.topics.values()):
        return AddTopic(draws.one_of(TOPICS[:3]), draws.one_of((1, 3, 4, 7)))
    if sum(len(topic.producers.producers) for topic in state.producer_topics) > 14:
        return _send_producers(draws, timeline)
    client = draws.one_of(("java", "java", "java", "python", "cpp"))
    partial = client == "java" and draws.chance(0.3)
    plan = ProducerPlan(
        count=draws.one_of((1, 1, 2, 3, 0)),
        name=draws.one_of((None, None, "a", "b", "standalone-0-1", " ")),
        lazy=draws.chance(0.6),
        router="partial" if partial else draws.one_of(("round-robin", "round-robin", "single")),
        limit=draws.one_of((1, 2, 3, 9, 0)) if partial else 0 if draws.chance(0.98) else 2,
        allow_limit_above=draws.chance(0.7),
        client=client if draws.chance(0.98) else "go",
        access_mode=draws.one_of(
            ("Shared",) * 12 + ("shared", "Exclusive", "ExclusiveWithFencing", "WaitForExclusive")
        ),
        hashing=draws.one_of((None, None, None, "Murmur3_32Hash", "BoostHash")),
        batching=draws.one_of((None, False, False, True)),
        publish_delay_ms=draws.one_of((None, None, None, 25, 1)),
        switch_frequency=draws.one_of((None, 2)) if client == "java" else None,
        max_pending_messages=draws.one_of((0, 0, 2)),
        max_pending_messages_across_partitions=draws.one_of((0, 0, 3, 20, -1)),
    )
    return AddProducers(_topic(draws, state, partitioned=True), plan)


def _producer_topic(draws: Draws, timeline: Timeline) -> Any:
    return draws.one_of(timeline.state.producer_topics) if timeline.state.producer_topics else None


def _send_producers(draws: Draws, timeline: Timeline) -> Command:
    topic = _producer_topic(draws, timeline)
    if topic is None:
        return _add_producers(draws, timeline)
    who = None if draws.chance(0.4) else draws.upto(len(topic.producers.producers))
    key = draws.one_of(("k:0", "k:1", "", "é", "order 17")) if draws.chance(0.4) else None
    size = draws.one_of((100, 100, 0, 70_000, 200_000))
    return SendByProducers(topic.topic, who, key, draws.one_of((1, 1, 2, 5, 0)), size)


def _close_producer(draws: Draws, timeline: Timeline) -> Command:
    topic = _producer_topic(draws, timeline)
    if topic is None:
        return _add_producers(draws, timeline)
    return CloseProducer(topic.topic, draws.upto(len(topic.producers.producers)))


def _serve(draws: Draws, timeline: Timeline) -> Command:
    topic = _producer_topic(draws, timeline)
    if topic is None:
        return _add_producers(draws, timeline)
    name, most = topic.topic, topic.partitions - draws.chance(0.95)
    return (FailPartition if draws.chance(0.5) else RecoverPartition)(name, draws.upto(most) - (draws.chance(0.02)))


def _travel(draws: Draws, timeline: Timeline) -> TimelineCommand:
    kind = draws.upto(11)
    if kind < 5 and timeline.can_undo:
        return Undo()
    if kind < 8:
        return Redo()
    if kind < 9:
        return draws.one_of((Home(), End(), End()))
    if kind < 11:
        return GoTo(max(0, timeline.cursor - 3 + draws.upto(6)))
    return SwitchBranch(1 + draws.upto(max(0, len(timeline.tips) - 1)))


DEEDS: dict[str, Callable[[Draws, Timeline], Command | TimelineCommand]] = {
    "add": _add,
    "kill": _kill,
    "rename": _rename,
    "level": _level,
    "flag": _flag,
    "setting": _setting,
    "release": _release,
    "add topic": _add_topic,
    "remove topic": _remove_topic,
    "grow": _grow,
    "split": _split,
    "subscribe": _subscribe,
    "share": _share,
    "send": _send,
    "acknowledge": _acknowledge,
    "wait": _wait,
    "add producers": _add_producers,
    "send by producers": _send_producers,
    "close producer": _close_producer,
    "serve": _serve,
    "travel": _travel,
}
FIRST = (
    ("flag", 0.5), ("add topic", 1), ("add topic", 0.5), ("subscribe", 0.8), ("subscribe", 0.2), ("share", 0.6),
    ("add", 1), ("add", 0.7), ("add", 0.7), ("send", 0.5), ("add producers", 0.6), ("add producers", 0.3),
)  # fmt: skip
"""What most walks begin with, so that there is something to do."""
WEIGHTS = {
    "add": 14, "kill": 8, "rename": 3, "level": 3, "flag": 2, "setting": 3, "release": 1.5, "add topic": 3,
    "remove topic": 1, "grow": 2, "split": 4, "subscribe": 2, "share": 2, "send": 12, "acknowledge": 8, "wait": 4,
    "add producers": 3, "send by producers": 6, "close producer": 1, "serve": 3, "travel": 6,
}  # fmt: skip
