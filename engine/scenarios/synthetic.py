"""Synthetic clusters of any size: a deterministic function of a few numbers, with rates as uneven as real ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.bundles.boundaries import default_boundaries
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import synthetic_loads, synthetic_topics
from engine.cluster.tables.topics import Recipe
from engine.config import CURRENT, behaviour_of, default_settings
from engine.errors import InputError, Rejection
from engine.failover.model import Consumer
from engine.scenarios.opening import Opened
from engine.text import counted

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
    made = synthetic_topics(Recipe(NAMESPACE, f"persistent://{NAMESPACE}/topic-", topics, partitions, seed))
    subscription = Subscription(
        key=SUBSCRIPTION,
        name=SUBSCRIPTION,
        namespace=NAMESPACE,
        topics=made.names,
        consumers=tuple(Consumer(at, f"{SUBSCRIPTION}-{at}") for at in range(consumers)),
    )
    state = ClusterState(
        release=release,
        settings=replace(
            settings,
            activeConsumerFailoverConsistentHashing=consistent_hashing,
            defaultNumberOfNamespaceBundles=bundles,
        ),
        topics=made,
        loads=synthetic_loads(made),
        subscriptions=(subscription,),
        namespaces={NAMESPACE: Namespace(NAMESPACE, boundaries)},
        next_consumer_id=consumers,
    )
    parts = f" of {partitions:,} partitions" if partitions > 1 else ""
    made_up = f"{counted(topics, 'topic')}{parts}, {counted(consumers, 'consumer')}"
    return Opened(state, f"made up: {made_up}, seed {seed}", seed=seed)


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
