"""Small states for tests of projections, and a strategy that walks through states by commands."""

from __future__ import annotations

from hypothesis import strategies as st

from engine.cluster.commands import Command
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.topics import Load, Topic
from engine.cluster.timeline import Timeline
from engine.config import BrokerSettings
from engine.failover.model import Consumer

FLAG = "activeConsumerFailoverConsistentHashing"
NAMESPACE = "t/n"
QUARTERS = (0, 0x40000000, 0x80000000, 0xC0000000, 0xFFFFFFFF)


def topic_name(local: str) -> str:
    return f"persistent://{NAMESPACE}/{local}"


def cluster(
    names: list[str],
    topics: dict[str, int],
    *,
    flag: bool = False,
    release: str = "4.2.4",
    levels: list[int] | None = None,
    rate: float = 1.0,
) -> ClusterState:
    """One subscription "sub" with consumers of these names (in connect order) over topics: local name -> partitions."""
    result = {topic_name(local): Topic(topic_name(local), partitions) for local, partitions in topics.items()}
    partitions = [name for topic in result.values() for name in topic.partition_names()]
    return ClusterState(
        release=release,
        settings=BrokerSettings(activeConsumerFailoverConsistentHashing=flag),
        topics=result,
        loads={name: Load(msg_rate_out=rate * at, unacked_messages=at) for at, name in enumerate(partitions, 1)},
        subscriptions=(
            Subscription(
                "sub",
                "sub",
                NAMESPACE,
                tuple(result),
                tuple(Consumer(at, name, (levels or [0] * len(names))[at]) for at, name in enumerate(names)),
            ),
        ),
        namespaces={NAMESPACE: Namespace(NAMESPACE, QUARTERS)},
        next_consumer_id=len(names),
    )


def submitted(timeline: Timeline, *commands: Command) -> Timeline:
    """The timeline after commands that must be carried out."""
    for command in commands:
        timeline, rejection = timeline.submit(command)
        assert rejection is None, rejection
    return timeline


names = st.lists(st.sampled_from(["a", "b", "c", "c-1", "c-11", "c-19", "", "ä", "z" * 40]), max_size=7)
# No cluster has a topic that is named like a partition of another one.
topics = st.dictionaries(st.sampled_from(["x", "y", "z", "x-partition-3", "é"]), st.integers(0, 5), max_size=4).filter(
    lambda found: "x-partition-3" not in found or found.get("x", 0) <= 3
)
releases = st.sampled_from(["2.11.0", "3.2.0", "4.0.0", "4.2.4"])
clusters = st.builds(
    lambda names, topics, flag, release, levels: cluster(
        names, topics, flag=flag, release=release, levels=levels[: len(names)]
    ),
    names,
    topics,
    st.booleans(),
    releases,
    st.lists(st.integers(0, 2), min_size=7, max_size=7),
)
