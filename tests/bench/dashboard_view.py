"""The whole dashboard as values after a step, beside a plain loop that finds active consumers and nothing else."""

from __future__ import annotations

import bisect
import statistics
import time
from collections import Counter

import mmh3

from engine.cluster.commands import KillConsumer
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_state
from engine.views.failover.dashboard import dashboard_view
from tests.bench.table import Row

TOPICS, CONSUMERS, STEPS = 1_000, 100, 15
POINTS = 100


def naive(state: ClusterState) -> Counter[str]:
    """How many topics each consumer is active for: the ring as a sorted list, a search for each topic."""
    subscription = state.subscriptions[0]
    ring = sorted(
        (mmh3.hash(f"{consumer.name}{replica}", signed=False) & 0x7FFFFFFF, consumer.name)
        for consumer in subscription.consumers
        for replica in range(POINTS)
    )
    points = [point for point, _ in ring]
    actives: Counter[str] = Counter()
    for topic in subscription.topics:
        for name in state.topics[topic].partition_names():
            at = bisect.bisect_left(points, mmh3.hash(name, signed=False) & 0x7FFFFFFF)
            actives[ring[at % len(ring)][1]] += 1
    return actives


def rows(topics: int = TOPICS, consumers: int = CONSUMERS, steps: int = STEPS) -> list[Row]:
    """One row: every step kills another consumer, so nothing is known from the step before."""
    opened = synthetic_state(topics=topics, partitions=1, consumers=consumers, consistent_hashing=True)
    timeline = Timeline.start(opened.state, source="bench")
    dashboard_view(timeline)
    ours, peer = [], []
    for victim in range(steps):
        timeline, refused = timeline.submit(KillConsumer(opened.state.subscriptions[0].key, victim))
        assert refused is None, refused
        begin = time.perf_counter()
        dashboard_view(timeline)
        middle = time.perf_counter()
        naive(timeline.state)
        ours.append((middle - begin) * 1000)
        peer.append((time.perf_counter() - middle) * 1000)
    what = f"dashboard_view after a step: {topics} topics x {consumers} consumers"
    return [
        Row(what, statistics.median(ours), "a plain loop over topics, active consumers only", statistics.median(peer))
    ]
