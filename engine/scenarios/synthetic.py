"""Made-up clusters of any size: a deterministic function of a few numbers, with rates as uneven as real ones."""

from __future__ import annotations

from typing import Final

from engine.bundles.boundaries import default_boundaries
from engine.cluster.state import ClusterState, Load, Namespace, Subscription, Topic
from engine.config import CURRENT, BrokerSettings, behaviour_of
from engine.errors import InputError, Rejection
from engine.failover.model import Consumer
from engine.hashing import murmur3_32
from engine.scenarios.opening import Opened

NAMESPACE: Final = "public/default"
SUBSCRIPTION: Final = "billing"
MAX_TOPICS: Final = 100_000
MAX_PARTITIONS_IN_ALL: Final = 1_000_000
MAX_CONSUMERS: Final = 10_000
MAX_BUNDLES: Final = 4_096
SEEDS: Final = range(2**63)

_MEDIAN_MSGS_PER_SEC: Final = 4.0
_TAIL: Final = 1.2
"""Exponent of the rates' Pareto tail: about a fifth of the topics carry most of the traffic."""
_BUSIEST_FACTOR: Final = 2_000.0
_MESSAGE_BYTES: Final = (64, 128, 256, 512, 1_024, 4_096)
_DRAW_SPACE: Final = 2**31


def synthetic_state(
    topics: int = 100,
    partitions: int = 1,
    consumers: int = 10,
    seed: int = 0,
    bundles: int = 4,
    *,
    consistent_hashing: bool = False,
    release: str = CURRENT.label,
) -> Opened:
    """A cluster of one namespace and one pattern subscription.

    ``partitions`` is per topic, 0 makes topics that are not partitioned. Topics are ``topic-0 ..``, consumers
    ``billing-0 ..`` in connect order; names, and so their places on rings and in bundles, do not depend on ``seed``,
    rates and backlogs do. The same arguments give equal states on every machine. Raises ``InputError`` with every
    number that is out of its limits. O(topics x partitions).
    """
    behaviour = behaviour_of(release)
    wrong = _out_of_limits(topics, partitions, consumers, seed, bundles)
    if isinstance(behaviour, Rejection):
        wrong.append(behaviour.message)
    if wrong:
        raise InputError("; ".join(wrong))
    boundaries = default_boundaries(bundles)
    assert not isinstance(boundaries, Rejection), boundaries
    made = [Topic(f"persistent://{NAMESPACE}/topic-{at}", partitions) for at in range(topics)]
    loads = {name: load_of(seed, name) for topic in made for name in topic.partition_names()}
    subscription = Subscription(
        key=SUBSCRIPTION,
        name=SUBSCRIPTION,
        namespace=NAMESPACE,
        topics=tuple(topic.name for topic in made),
        consumers=tuple(Consumer(at, f"{SUBSCRIPTION}-{at}") for at in range(consumers)),
    )
    state = ClusterState(
        release=release,
        settings=BrokerSettings(
            activeConsumerFailoverConsistentHashing=consistent_hashing, defaultNumberOfNamespaceBundles=bundles
        ),
        topics={topic.name: topic for topic in made},
        loads=loads,
        subscriptions=(subscription,),
        namespaces={NAMESPACE: Namespace(NAMESPACE, boundaries)},
        next_consumer_id=consumers,
    )
    parts = f" of {partitions} partitions" if partitions > 1 else ""
    made_up = f"{topics} topic{'' if topics == 1 else 's'}{parts}, {consumers} consumer{'' if consumers == 1 else 's'}"
    return Opened(state, f"made up: {made_up}, seed {seed}", seed=seed)


def load_of(seed: int, partition: str) -> Load:
    """The traffic of one partition: a function of the seed and the name, whatever else there is.

    Rates follow a Pareto tail above half the median, cut at 2,000 times that; what goes out lags a little behind.
    """
    rate = round(_MEDIAN_MSGS_PER_SEC / 2 * min(_draw(seed, partition, 0) ** (-1 / _TAIL), _BUSIEST_FACTOR), 3)
    size = _MESSAGE_BYTES[int(_draw(seed, partition, 1) * len(_MESSAGE_BYTES))]
    lag = _draw(seed, partition, 2)
    out = round(rate * (1 - 0.05 * lag), 3)
    return Load(
        msg_rate_in=rate,
        msg_rate_out=out,
        throughput_in_bytes_per_sec=rate * size,
        throughput_out_bytes_per_sec=out * size,
        unacked_messages=int(out * lag),
        backlog_entries=int(rate * lag * 10),
    )


def _draw(seed: int, name: str, counter: int) -> float:
    """A number in (0, 1), excluding 0 and 1: a hash of seed, name and counter instead of a generator with a state."""
    return (murmur3_32(f"{seed}/{counter}/{name}") + 0.5) / _DRAW_SPACE


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
