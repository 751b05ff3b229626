"""Synthetic clusters: of any size by a few numbers, or one planned topic and its consumers by their names.

A deterministic function of its arguments, with rates as uneven as real ones: one pattern subscription of Failover, one
Key_Shared subscription in any of the four modes, or a partitioned topic with producers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import structs
from msgspec.structs import replace

from engine.bundles.boundaries import default_boundaries
from engine.cluster.commands import AddProducers, ShareKeys
from engine.cluster.decide import decide
from engine.cluster.evolve import evolve
from engine.cluster.keys.state import KeyConsumerJoined, KeysSeen, KeySubscriptionCreated, SharingMode
from engine.cluster.keys.subscriptions import routed_by, started
from engine.cluster.producers.decide import BROKERS
from engine.cluster.producers.state import ProducerPlan, ProducersSeen
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import LoadTable, load_of, synthetic_loads, synthetic_topics
from engine.cluster.tables.topics import NOTHING_REPORTED, Recipe, Topic, TopicTable
from engine.config import CURRENT, behaviour_of, default_settings
from engine.errors import InputError, Rejection
from engine.failover.model import Consumer
from engine.names import TopicName, parse_topic_name
from engine.routing.clients import JAVA_DEFAULT, MAX_PARTITIONS, KeyRouting
from engine.scenarios.opening import Opened
from engine.text import counted
from engine.views.failover.model import Notice

NAMESPACE: Final = "public/default"
SUBSCRIPTION: Final = "billing"
MAX_TOPICS: Final = 1_000_000
MAX_PARTITIONS_IN_ALL: Final = 1_000_000
MAX_CONSUMERS: Final = 10_000
MAX_BUNDLES: Final = 4_096
SEEDS: Final = range(2**63)


def synthetic_state(
    topics: int = 100,
    partitions: int = 1,
    consumers: int = 10,
    seed: int = 0,
    bundles: int | None = None,
    *,
    consistent_hashing: bool = False,
    release: str = CURRENT.label,
) -> Opened:
    """A cluster of one namespace and one pattern subscription.

    ``partitions`` is per topic, 0 makes topics that are not partitioned. Topics are ``topic-0 ..``, consumers
    ``billing-0 ..`` in connect order; names, and so their places on rings and in bundles, do not depend on ``seed``,
    rates and backlogs do. Without ``bundles`` the namespace has as many as the release gives a new one. The same
    arguments give equal states on every machine. Raises ``InputError`` with every number that is out of its limits.
    O(topics x partitions).
    """
    behaviour = behaviour_of(release)
    settings = default_settings(CURRENT if isinstance(behaviour, Rejection) else behaviour)
    bundles = settings.defaultNumberOfNamespaceBundles if bundles is None else bundles
    wrong = _out_of_limits(topics, partitions, consumers, seed, bundles)
    if isinstance(behaviour, Rejection):
        wrong.append(behaviour.message)
    if wrong:
        raise InputError("; ".join(wrong))
    boundaries = default_boundaries(bundles)
    assert not isinstance(boundaries, Rejection), boundaries
    table = synthetic_topics(Recipe(NAMESPACE, f"persistent://{NAMESPACE}/topic-", topics, partitions, seed))
    subscription = Subscription(
        key=SUBSCRIPTION,
        name=SUBSCRIPTION,
        namespace=NAMESPACE,
        topics=table.names,
        consumers=tuple(Consumer(at, f"{SUBSCRIPTION}-{at}") for at in range(consumers)),
    )
    state = ClusterState(
        release=release,
        settings=replace(
            settings,
            activeConsumerFailoverConsistentHashing=consistent_hashing,
            defaultNumberOfNamespaceBundles=bundles,
        ),
        topics=table,
        loads=synthetic_loads(table),
        subscriptions=(subscription,),
        namespaces={NAMESPACE: Namespace(NAMESPACE, boundaries)},
        next_consumer_id=consumers,
    )
    parts = f" of {partitions:,} partitions" if partitions > 1 else ""
    size = f"{counted(topics, 'topic')}{parts}, {counted(consumers, 'consumer')}"
    return Opened(state, f"made up: {size}, seed {seed}", seed=seed)


def _out_of_limits(topics: int, partitions: int, consumers: int, seed: int, bundles: int) -> list[str]:
    wrong = [
        f"{name} is {value}: give {low} to {high}"
        for name, value, low, high in (
            ("topics", topics, 0, MAX_TOPICS),
            ("partitions", partitions, 0, MAX_PARTITIONS_IN_ALL),
            ("consumers", consumers, 0, MAX_CONSUMERS),
            ("bundles", bundles, 1, MAX_BUNDLES),
        )
        if not low <= value <= high
    ]
    if seed not in SEEDS:
        wrong.append(f"seed is {seed}: give 0 to 2^63 - 1")
    if not wrong and topics * partitions > MAX_PARTITIONS_IN_ALL:
        wrong.append(f"{topics} topics of {partitions} partitions are more than {MAX_PARTITIONS_IN_ALL} in all")
    return wrong


KEY_SUBSCRIPTION: Final = "orders"
DEFAULT_MODE: Final = SharingMode.CONSISTENT_AUTO_SPLIT.value
DEFAULT_POINTS: Final = 100
MAX_KEYS: Final = 100_000
MAX_KEY_CONSUMERS: Final = 2_000


def synthetic_keys(
    keys: int = 1_000,
    consumers: int = 4,
    *,
    mode: str = DEFAULT_MODE,
    points: int = DEFAULT_POINTS,
    partitions: int = 0,
    routing: KeyRouting = JAVA_DEFAULT,
    seed: int = 0,
    release: str = "",
) -> Opened:
    """One topic with one Key_Shared subscription of consumers ``worker-0 ..`` and keys ``order-0 ..``.

    ``routing`` takes the partition of a key, where there are ``partitions`` (0: none).

    How many messages a key had follows a Pareto tail that ``seed`` decides; keys, and so their slots, do not depend on
    it. ``points`` are those of a node, for consistent sticky ranges. Raises ``InputError`` with every number that is
    out of its limits. O(keys + consumers^2).
    """
    wrong = [
        f"{name} is {value}: give {low} to {high}"
        for name, value, low, high in (
            ("keys", keys, 0, MAX_KEYS),
            ("consumers", consumers, 0, MAX_KEY_CONSUMERS),
            ("partitions", partitions, 0, MAX_PARTITIONS),
        )
        if not low <= value <= high
    ]
    modes = [known.value for known in SharingMode]
    if mode not in modes:
        wrong.append(f"mode is {mode}: give one of {', '.join(modes)}")
    if partitions and not routing.known:
        wrong.append(f"client is {routing.client}: it takes {routing.key_hash.random}, so nothing can be computed")
    if wrong:
        raise InputError("; ".join(wrong))
    state = replace(synthetic_state(1, partitions, 0, seed, release=release or CURRENT.label).state, subscriptions=())
    topic, namespace = next(iter(state.topics)), next(iter(state.namespaces))
    state = evolve(state, KeySubscriptionCreated(KEY_SUBSCRIPTION, KEY_SUBSCRIPTION, namespace, (topic,)))
    state = evolve(state, started(state, KEY_SUBSCRIPTION))
    if partitions:
        state = evolve(state, routed_by(KEY_SUBSCRIPTION, partitions, routing))
    counts = tuple((f"order-{at}", _messages(seed, f"order-{at}")) for at in range(keys))
    state = evolve(state, KeysSeen(KEY_SUBSCRIPTION, counts))
    if mode == SharingMode.AUTO_SPLIT.value:
        state = _changed(state, mode, 0)
    for number in range(consumers):
        state = evolve(state, KeyConsumerJoined(KEY_SUBSCRIPTION, number, f"worker-{number}"))
    if SharingMode(mode).declares:
        state = _changed(state, mode, points)
    parts = f"{counted(partitions, 'partition')} ({routing.hashing} of {routing.client}), " if partitions else ""
    source = f"made up: {keys:,} keys, {parts}{counted(consumers, 'consumer')}, {mode}, seed {seed}"
    return Opened(state, source, seed=seed)


def _messages(seed: int, key: str) -> int:
    # The square root of a topic's rate: keys are uneven too, but one key seldom is a whole topic.
    return math.isqrt(int(load_of(seed, key).msg_rate_in or 0))


def _changed(state: ClusterState, mode: str, points: int) -> ClusterState:
    outcome = decide(state, ShareKeys(KEY_SUBSCRIPTION, mode, points))
    if isinstance(outcome, Rejection):
        raise InputError(outcome.message)
    for event in outcome:
        state = evolve(state, event)
    return state


MAX_BROKERS: Final = 1_000
DEFAULT_PARTITIONS: Final = 12
REFUSED: Final = "producers-refused"


def synthetic_producers(
    plan: ProducerPlan,
    partitions: int = DEFAULT_PARTITIONS,
    *,
    brokers: int = BROKERS,
    seed: int = 0,
    release: str = "",
) -> Opened:
    """One partitioned topic with the producers of a plan (``count`` 0: none yet); no subscription.

    ``seed`` decides what clients draw at random. Raises ``InputError``, which names the argument, for numbers out of
    their limits and for what Pulsar or its clients refuse; producers beyond the one that an exclusive topic takes are
    noted. O(producers x partitions) for an eager start.
    """
    wrong = [
        f"{name} is {value}: give {low} to {high}"
        for name, value, low, high in (
            ("producers", plan.count, 0, 10_000),
            ("partitions", partitions, 1, 100_000),
            ("brokers", brokers, 1, MAX_BROKERS),
        )
        if not low <= value <= high
    ]
    if wrong:
        raise InputError("; ".join(wrong))
    cluster = synthetic_state(1, partitions, 0, seed, release=release or CURRENT.label).state
    state = replace(cluster, subscriptions=(), loads=LoadTable.of(cluster.topics, {}))
    topic = next(iter(state.topics))
    state = evolve(state, ProducersSeen(topic, partitions, brokers, seed))
    outcome = decide(state, AddProducers(topic, structs.replace(plan, count=max(1, plan.count))))
    if isinstance(outcome, Rejection):
        raise InputError(str(outcome))
    for event in outcome if plan.count else ():
        state = evolve(state, event)
    tally = state.producer_topics[0].tally
    notes: tuple[Notice, ...] = ()
    if plan.count and tally.refused:
        some = f"{tally.refused:,} of {plan.count:,} producers cannot start as {plan.access_mode}: {tally.error}"
        notes = (Notice(REFUSED, some),)
    many = f"{counted(plan.count, 'producer')} on {counted(partitions, 'partition')}"
    return Opened(state, f"made up: {many}, seed {seed}", notes=notes, seed=seed)


PLANNED = "planned"


def named_topic(
    topic: str, partitions: int | None, consumers: Sequence[str], *, release: str = CURRENT.label
) -> Opened:
    """A cluster of one topic with one Failover subscription, in a namespace as the release makes it by default.

    ``topic`` is any form that Pulsar takes; the name of a partition means its topic with at least that many
    partitions. ``consumers`` join in this order, all at priority level 0. ``partitions`` None: as many as in the name.
    Raises ``InputError`` for a name that Pulsar refuses, and for numbers beyond their limits.

    >>> named_topic("orders-partition-3", None, ["a", "b"]).state.topics["persistent://public/default/orders"].partitions
    4
    """
    behaviour = behaviour_of(release)
    if isinstance(behaviour, Rejection):
        raise InputError(behaviour.message)
    parsed = parse_topic_name(topic)
    if not isinstance(parsed, TopicName):
        raise InputError(f"{topic!r}: {parsed.message}")
    least = parsed.partition_index + 1
    count = least if partitions is None else partitions
    if not least <= count <= MAX_PARTITIONS_IN_ALL:
        raise InputError(f"partitions is {count}: give {least} to {MAX_PARTITIONS_IN_ALL}")
    if len(consumers) > MAX_CONSUMERS:
        raise InputError(f"{len(consumers)} consumers: give {MAX_CONSUMERS} at most")
    settings = default_settings(behaviour)
    boundaries = default_boundaries(settings.defaultNumberOfNamespaceBundles)
    assert not isinstance(boundaries, Rejection), boundaries
    table = TopicTable.of([Topic(parsed.partitioned_topic, count)])
    state = ClusterState(
        release=behaviour.label,
        settings=settings,
        topics=table,
        loads=LoadTable.of(table, NOTHING_REPORTED),
        subscriptions=(
            Subscription(
                key=PLANNED,
                name=PLANNED,
                namespace=parsed.namespace,
                topics=table.names,
                consumers=tuple(Consumer(at, name) for at, name in enumerate(consumers)),
            ),
        ),
        namespaces={parsed.namespace: Namespace(parsed.namespace, boundaries)},
        next_consumer_id=len(consumers),
    )
    return Opened(state, f"planned: {parsed.partitioned_topic}, {counted(len(consumers), 'consumer')}")
